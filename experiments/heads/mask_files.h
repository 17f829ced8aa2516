/* mask_files.h: which key a query may see, as command lines and files say it. Frameworks disagree
 * about what a mask's numbers mean and leave out dimensions, so an option names the meaning, and a
 * shape that can be read in two ways is refused with both.
 */
#ifndef HEADS_MASK_FILES_H
#define HEADS_MASK_FILES_H

#include <stdio.h>

#include "common/options.h"
#include "tt/mask.h"

/* ---- The mask options, the same for every subcommand ----------------------------------------- */

/* Each help begins with the text. "mask-per" is one of mask_axis_word. */
#define MASK_FILE_OPTIONS(with)                                                                    \
    {"key-lengths", "FILE", "",                                                                    \
     with "one length for each batch entry: keys beyond it are masked"},                           \
        {"allowed", "FILE", "", with "a mask: 1 may attend, 0 may not; its shapes: see below"},    \
        {"hidden", "FILE", "",                                                                     \
         with "a mask the other way round, as of torch's MultiheadAttention: 1 may not attend"},   \
        {"mask-additive", "FILE", "",                                                              \
         with "a mask that is added to logits: 0 may attend, -1e4 or less (-inf) may not"},        \
    {                                                                                              \
        "mask-per", "NAME", "",                                                                    \
            with "what the first dimension of these counts, where the sizes leave it open: "       \
    }

#define MASK_OPTIONS                                                                               \
    {"mask", "NAME", "", "which keys a query may see (default: none masked): "},                   \
        {"causal", NULL, "", "short for --mask causal-top-left, where that is the only one"},      \
        MASK_FILE_OPTIONS("")

typedef struct mask_request {
    tt_causal causal;
    bool unaligned;          /* --causal: it did not say at which corner */
    const char *key_lengths; /* a path; "" for none */
    const char *file;        /* of --allowed, --hidden or --mask-additive */
    int meaning;             /* which of them */
    int axis;                /* of mask_axis_word; -1: not said */
} mask_request;

/* Reads the options of MASK_OPTIONS; prints one line and returns false on what cannot be meant. */
bool mask_request_read(const options *o, mask_request *out);

/* Whether the mask is one thing only for these sizes; if not, prints one line that names both
 * masks that could be meant. */
bool mask_request_fits(const mask_request *mask, tt_size queries, tt_size keys);

/* "none", "causal-top-left", "causal-bottom-right", by tt_causal, or NULL: a word_list. */
const char *mask_word(int causal);

/* "batch", "head", "query", or NULL: a word_list. */
const char *mask_axis_word(int axis);

/* "allowed", "hidden" or "additive mask": what a report calls a mask from a file. */
const char *mask_file_word(const mask_request *mask);

/* The shapes of mask files and what each stands for: a note for help; the i-th shape, or NULL. */
void mask_shapes_help(FILE *to);
const char *mask_shape(int i);

/* ---- The files ------------------------------------------------------------------------------- */

typedef struct mask_sizes {
    tt_size batch, heads, queries, keys;
} mask_sizes;

/* What the files said. */
typedef struct mask_files {
    tt_size *key_lengths;   /* [B] or NULL */
    unsigned char *allowed; /* [B or 1, H or 1, Tq, Tk] or NULL; 1 may attend */
    tt_size batches, heads; /* of allowed */
} mask_files;

/* Reads the files of the request, accept being what of enum array_accept holds for all files.
 * Returns EXIT_OK and the caller frees *out; or EXIT_FAILED (a file) or EXIT_USAGE (an option), one
 * line was printed, and there is nothing to free. */
int mask_files_read(const mask_request *mask, const mask_sizes *sizes, unsigned accept,
                    mask_files *out);

void mask_files_free(mask_files *m);

/* The mask [Tq,Tk] of head h of batch entry b, to be freed with m. */
tt_mask mask_files_at(const mask_files *m, tt_causal causal, const mask_sizes *sizes, tt_size b,
                      tt_size h);

#endif

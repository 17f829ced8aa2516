/* head_files.h: attention from files. Whoever wants to look at the attention of a model has
 * Q, K, V (and perhaps the gradient of the output) in files and says on the command line which key
 * a query may attend to; here both become matrices and masks that fit each other, or one line that
 * says why not. Everything is kept as the files have it: keys that serve several heads are stored
 * once, and one head at a time is handed out as views.
 */
#ifndef HEADS_HEAD_FILES_H
#define HEADS_HEAD_FILES_H

#include "common/options.h"
#include "heads/array.h"
#include "heads/mask_files.h"
#include "tt/tensor.h"

/* ---- Options that the subcommands share ------------------------------------------------------ */

#define HEAD_FILE_OPTIONS                                                                          \
    { "bf16", NULL, "", ".npy of two raw bytes a number ('<V2', '|V2', uint16) are bfloat16" }

/* ---- The files ------------------------------------------------------------------------------- */

typedef struct head_paths {
    const char *q, *k, *v, *d_out; /* "" for none; Q and K there must be */
    bool bf16;                     /* --bf16 */
} head_paths;

/* What --bf16 adds to enum array_accept. */
unsigned head_paths_accept(const head_paths *paths);

/* Q [B,H,Tq,d_k], K [B,G,Tk,d_k], V [B,G,Tk,d_v], dO [B,H,Tq,d_v]; without B, or without B and H,
 * where the files have fewer dimensions (these sizes are then 1). Heads come in groups: key head g
 * serves the H/G heads from g H/G on. */
typedef struct head_files {
    head_paths paths;
    array q, k, v, d_out; /* .data is NULL for what was not given */
    tt_size batch, heads, key_heads, queries, keys, d_k, d_v;
    tt_causal causal;
    mask_files masks;
} head_files;

/* One head of one batch entry, as views; a tensor's data is NULL where its file was not given. */
typedef struct attention_head {
    tt_tensor q, k, v, d_out; /* [1,T,d] */
    tt_mask mask;
} attention_head;

/* Reads the files and the mask's, and checks that all fit: sizes, and that every number is finite
 * but those of keys that no query may attend to. Of a CSV whose first row or column seems to number
 * it, one line warns. Returns EXIT_OK and the caller frees *out; or EXIT_FAILED (a file) or
 * EXIT_USAGE (an option), one line was printed, and there is nothing to free. The paths are
 * borrowed. */
int head_files_read(const head_paths *paths, const mask_request *mask, head_files *out);

void head_files_free(head_files *f);

/* The most matrices [Tq,Tk] of doubles that attention with its backward keeps of one head, or a
 * subcommand that shows two scales at once. */
enum { HEAD_MATRICES = 10 };

/* Whether memory holds so many of them; if not, prints one line. */
bool head_files_fit(const head_files *f, tt_size matrices);

/* Head `entry`, counted over heads, then batch entries: 0 <= entry < batch * heads. */
attention_head head_files_at(const head_files *f, tt_size entry);

/* Which head of K and V it uses, counted likewise: 0 .. batch * key_heads - 1. */
tt_size head_files_key_entry(const head_files *f, tt_size entry);

/* The heads that --heads lists, from 0; of each batch entry, if there are several. */
typedef struct head_choice {
    int64_t head[LIST_MOST];
    int count; /* 0: it was not given */
} head_choice;

/* Reads the option; on bad input prints one line and returns false. */
bool head_choice_read(const options *o, head_choice *out);

/* Whether the files have all of them; if not, prints one line. */
bool head_choice_fits(const head_choice *c, const head_files *f);

/* Whether the list has this head. */
bool head_choice_has(const head_choice *c, tt_size head);

/* Whether the head's logits [1,Tq,Tk] are finite wherever a query may attend to a key; if not, the
 * first place that is not. Finite queries and keys can have a product that is not. */
bool head_logits_finite(const attention_head *head, tt_tensor logits, tt_size *query, tt_size *key);

#endif

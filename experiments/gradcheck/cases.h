/* cases.h: what `sqrtdk gradcheck` checks: each operation of the library, attention over
 * widths, scales and masks, saturated rows, and the deliberately wrong backward of a demonstration.
 */
#ifndef GRADCHECK_CASES_H
#define GRADCHECK_CASES_H

#include "common/scaling.h"
#include "gradcheck/faulty.h"
#include "tt/attention.h"
#include "tt/gradcheck.h"

enum { CASE_BYTES = 128, CASE_INPUTS = 4 };

/* The end of a case's text whose rows are saturated. */
extern const char CASE_SATURATED[];

/* The masks that a case can draw for itself. */
typedef enum mask_kind {
    MASK_NONE, /* the first three are those of tt_causal */
    MASK_TOP_LEFT,
    MASK_BOTTOM_RIGHT,
    MASK_KEY_LENGTHS, /* a random length for each entry of the batch, 0 included */
    MASK_ALLOWED,     /* each pair with probability 0.7 */
    MASK_ALL          /* on the command line: each of these */
} mask_kind;

/* By mask_kind, or NULL: a word_list. */
const char *case_mask_name(int i);

typedef struct check_shape {
    tt_size batch, tokens, keys, d_k, d_v;
} check_shape;

/* One case: an operation, its inputs (owned by the case) and what its builder needs. */
typedef struct check_case {
    const char *op;
    char text[CASE_BYTES]; /* "d_k=8 scale=sqrt mask=none" */
    int inputs;            /* owned */
    int checked;           /* the first so many; the rest are constants */
    const char *name[CASE_INPUTS];
    tt_tensor input[CASE_INPUTS];
    tt_gradcheck_build *build;
    tt_attention_options attention;
    double factor; /* of the op "mul_scalar" and of a faulty attention */
    fault fault;
    void *mask_storage;
} check_case;

/* The i-th elementary operation, or NULL: a word_list. */
const char *case_op_name(int i);

/* Each draws its inputs from a stream that belongs to (seed, op, case) alone; false without memory.
 * The caller frees with case_free. The rule is borrowed. `learned`: with a logit scale exp(tau). */
bool case_op(check_case *c, int op, const check_shape *shape, uint64_t seed);
bool case_attention(check_case *c, const char *op, const check_shape *shape, const scaling *rule,
                    mask_kind mask, double sharpness, bool learned, uint64_t seed);
bool case_faulty(check_case *c, const check_shape *shape, fault f, uint64_t seed);
void case_free(check_case *c);

#endif

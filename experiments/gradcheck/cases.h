/* cases.h: what `sqrtdk gradcheck` checks: each operation of the library, attention over
 * widths, scales and masks, saturated rows, and the deliberately wrong backward of a demonstration.
 */
#ifndef GRADCHECK_CASES_H
#define GRADCHECK_CASES_H

#include "gradcheck/faulty.h"
#include "tt/attention.h"
#include "tt/gradcheck.h"
#include "tt/rng.h"

enum { CASE_BYTES = 96, CASE_INPUTS = 3 };

/* The masks that a case can draw for itself. */
typedef enum mask_kind {
    MASK_NONE,
    MASK_TOP_LEFT,
    MASK_BOTTOM_RIGHT,
    MASK_KEY_LENGTHS, /* a random length for each entry of the batch, 0 included */
    MASK_ALLOWED,     /* each pair with probability 0.7 */
    MASK_KINDS
} mask_kind;

extern const char *const MASK_NAMES[MASK_KINDS];

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
    tt_check_build *build;
    tt_attention_options attention;
    double scale; /* of the op "scale" and of a faulty attention */
    fault fault;
    void *mask_storage;
} check_case;

/* The elementary operations, by name, NULL-terminated. */
extern const char *const ELEMENTARY_OPS[];

/* Each draws its inputs from the generator; false without memory. The caller frees with
 * case_free. */
bool case_elementary(check_case *c, const char *op, const check_shape *shape, tt_rng *rng);
bool case_attention(check_case *c, const char *op, const check_shape *shape,
                    const tt_scale_rule *rule, mask_kind mask, double sharpness, tt_rng *rng);
bool case_faulty(check_case *c, const check_shape *shape, fault f, tt_rng *rng);
void case_free(check_case *c);

#endif

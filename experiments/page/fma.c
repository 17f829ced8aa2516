/* fma.c: whether this engine's multiply-add rounds once, as every result needs. A browser may do
 * the relaxed instruction as a product and a sum, each rounded.
 */
#include <math.h>

#include "page/page.h"
#include "tt/ops.h"
#include "tt/tape.h"

/* [1,2] x [2,1]: 0 + 1 c, exactly, and then a b is added by the fused step of the kernels. */
double page_fma(double a, double b, double c) {
    double left[] = {1, a}, right[] = {c, b}, result = NAN;
    tt_tape *tape = tt_tape_new();
    if (!tape) return NAN;
    const tt_var product = tt_matmul(tape, tt_const(tape, tt_tensor_view(left, 1, 1, 2)),
                                     tt_const(tape, tt_tensor_view(right, 1, 2, 1)));
    if (!tt_tape_error(tape)) result = tt_value(tape, product).data[0];
    tt_tape_free(tape);
    return result;
}

int page_fma_faults(void) {
    /* a b + c, and what two roundings make of it is another number */
    static const struct {
        double a, b, c, once;
    } HARD[] = {
        {1 + 0x1p-52, 1 - 0x1p-52, -1, -0x1p-104},
        {1 + 0x1p-30, 1 + 0x1p-30, -1 - 0x1p-29, 0x1p-60},
        {0x1.0000000000001p+0, 0x1.0000000000001p+0, -0x1.0000000000002p+0, 0x1p-104},
        {1 + 0x1p-27, 1 + 0x1p-27, 0x1p-53, 0x1.0000004000001p+0},
        {3, 1.0 / 3, -1, -0x1p-54},
        {-10, 0.1, 1, -0x1p-54},
    };
    int faults = 0;
    for (int i = 0; i < (int)(sizeof HARD / sizeof *HARD); i++)
        faults += page_fma(HARD[i].a, HARD[i].b, HARD[i].c) != HARD[i].once;
    return faults;
}

/* attention.c: one query attends to two keys, and how the error would change with the query. Both C
 * and C++; with the library installed:
 *   cc attention.c $(pkg-config --cflags --libs tensortape)
 */
#include <stdio.h>

#include "tt/tt.h"

int main(void) {
    double q[] = {1, 0}, k[] = {1, 0, 0, 1}, v[] = {10, 0, 0, 20}, target[] = {10, 0},
           dq[] = {0, 0};
    tt_attention_options options = {0};
    options.scale = 0.7071067811865476; /* 1/sqrt(d_k) */
    tt_tape *tape = tt_tape_new();
    tt_var query = tt_param(tape, tt_tensor_view(q, 1, 1, 2), tt_tensor_view(dq, 1, 1, 2));
    tt_var keys = tt_const(tape, tt_tensor_view(k, 1, 2, 2));
    tt_var values = tt_const(tape, tt_tensor_view(v, 1, 2, 2));
    tt_var out = tt_attention(tape, query, keys, values, options);
    tt_backward(tape, tt_mse(tape, out, tt_const(tape, tt_tensor_view(target, 1, 1, 2))));
    if (tt_tape_error(tape)) return puts(tt_tape_error(tape)), 1;
    printf("output %.4f %.4f, gradient of the query %.4f %.4f\n", tt_value(tape, out).data[0],
           tt_value(tape, out).data[1], dq[0], dq[1]);
    tt_tape_free(tape);
    return 0;
}

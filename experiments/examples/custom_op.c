/* custom_op.c: check a backward pass of your own. The operation is softplus, y = ln(1 + e^x), with
 * dy/dx = 1 / (1 + e^-x); put yours in its place. `make example` builds build/custom_op.
 */
#include <math.h>
#include <stdio.h>

#include "tt/elementary.h"
#include "tt/gradcheck.h"

static void softplus(const tt_call *c) {
    for (tt_size i = 0; i < tt_tensor_count(c->out); i++)
        c->out.data[i] = fmax(c->in[0].data[i], 0) + tt_log1p(tt_exp(-fabs(c->in[0].data[i])));
}

static void softplus_backward(const tt_call *c) {
    for (tt_size i = 0; i < tt_tensor_count(c->out); i++) /* += : an input may be used twice */
        c->din[0].data[i] += c->dout.data[i] / (1 + tt_exp(-c->in[0].data[i]));
}

static tt_var build(tt_tape *tape, const tt_var *input, void *context) {
    tt_tensor x = tt_value(tape, input[0]);
    return tt_custom(tape, "softplus", 1, input, x.batch, x.rows, x.cols, softplus,
                     softplus_backward, context);
}

int main(void) {
    double x[] = {-30, -2, -0.5, 0, 0.5, 2, 30};
    tt_tensor input = tt_tensor_view(x, 1, 1, 7);
    tt_gradcheck_options defaults = {0};
    tt_gradcheck_result r;
    const char *error = tt_gradcheck(build, NULL, &input, 1, &defaults, &r);
    if (error) return puts(error), 1;
    printf("softplus: %td derivatives, %td PASS, %td FAIL, %td INCONCLUSIVE; Taylor slope %.2f\n",
           r.checked, r.passed, r.failed, r.inconclusive, r.taylor_slope);
    printf("worst: [%td] analytic %.10g, numeric %.10g +- %.1g\n", r.worst.index, r.worst.analytic,
           r.worst.numeric, r.worst.error_bar);
    return r.failed > 0;
}

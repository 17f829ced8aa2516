/* steps.c: the differences are taken as a textbook takes them,
 * from the loss as one number: what is shown is how far that goes.
 */
#include "gradcheck/steps.h"

#include <math.h>

#include "common/csv.h"
#include "tt/attention.h"
#include "tt/ops.h"
#include "tt/rng.h"

enum { QUERIES = 4, KEYS = 5, WIDTH_V = 3, PER_DECADE = 4, DECADES = 12 };

typedef struct setting {
    tt_tape *tape;
    tt_tensor q, k, v, w;
    double scale;
} setting;

static tt_var loss_of(const setting *s, tt_var q) {
    tt_var k = tt_const(s->tape, s->k), v = tt_const(s->tape, s->v);
    return tt_dot(s->tape,
                  tt_attention(s->tape, q, k, v, (tt_attention_options){.scale = s->scale}), s->w);
}

static double loss_at(const setting *s, double *x, double value) {
    const double before = *x;
    *x = value;
    tt_tape_reset(s->tape);
    tt_tensor loss = tt_value(s->tape, loss_of(s, tt_const(s->tape, s->q)));
    *x = before;
    return loss.data ? loss.data[0] : NAN;
}

static double central(const setting *s, double *x, double h) {
    return (loss_at(s, x, *x + h) - loss_at(s, x, *x - h)) / (2 * h);
}

/* Two steps of Richardson's extrapolation: the terms in h^2 and h^4 are gone. */
static double extrapolated(const setting *s, double *x, double h) {
    double one = central(s, x, h), half = central(s, x, h / 2), quarter = central(s, x, h / 4);
    double first = half + (half - one) / 3, second = quarter + (quarter - half) / 3;
    return second + (second - first) / 15;
}

/* 10^(-i/4), the quarters rounded to nearest; a whole power's rounding adds half an ulp. */
static double step_size(int i) {
    static const double QUARTERS[PER_DECADE] = {1, 0.56234132519034908039, 0.31622776601683793320,
                                                0.17782794100389228012};
    static const double DECADE[DECADES + 1] = {1,    1e-1, 1e-2, 1e-3,  1e-4,  1e-5, 1e-6,
                                               1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12};
    return QUARTERS[i % PER_DECADE] * DECADE[i / PER_DECADE];
}

static void write_rows(FILE *to, const setting *s, double *x, double exact) {
    char number[NUMBER_BYTES];
    const double base = loss_at(s, x, *x);
    for (int i = 0; i <= PER_DECADE * DECADES; i++) {
        const double h = step_size(i);
        const double forward = (loss_at(s, x, *x + h) - base) / h;
        const struct {
            const char *method;
            double value;
        } all[] = {{"forward", forward},
                   {"central", central(s, x, h)},
                   {"extrapolated", extrapolated(s, x, h)}};
        for (int m = 0; m < 3; m++) {
            (void)fprintf(to, "%td,%s,%s", s->q.cols, all[m].method, csv_format(number, h));
            (void)fprintf(to, ",%s\n", csv_format(number, fabs(all[m].value / exact - 1)));
        }
    }
}

static const char *write_width(FILE *to, setting *s) {
    tt_tape_reset(s->tape);
    tt_var q = tt_param(s->tape, s->q, (tt_tensor){0, 0, 0, NULL});
    tt_backward(s->tape, loss_of(s, q));
    if (tt_tape_error(s->tape)) return tt_tape_error(s->tape);
    tt_tensor grad = tt_grad(s->tape, q);
    tt_size largest = 0;
    for (tt_size i = 1; i < tt_tensor_count(grad); i++)
        if (fabs(grad.data[i]) > fabs(grad.data[largest])) largest = i;
    write_rows(to, s, &s->q.data[largest], grad.data[largest]);
    return tt_tape_error(s->tape);
}

const char *gradcheck_steps_csv(FILE *to, uint64_t seed) {
    static const tt_size D_K[] = {8, 512};
    const char *error = NULL;
    (void)fputs("d_k,method,h,error\n", to);
    for (int i = 0; i < 2 && !error; i++) {
        tt_rng rng;
        setting s = {tt_tape_new(),
                     tt_tensor_new(1, QUERIES, D_K[i]),
                     tt_tensor_new(1, KEYS, D_K[i]),
                     tt_tensor_new(1, KEYS, WIDTH_V),
                     tt_tensor_new(1, QUERIES, WIDTH_V),
                     1 / sqrt((double)D_K[i])};
        tt_tensor *all[] = {&s.q, &s.k, &s.v, &s.w};
        bool good = s.tape != NULL;
        tt_rng_seed(&rng, seed);
        for (int t = 0; t < 4; t++) {
            good = good && all[t]->data;
            if (good) tt_rng_normal(&rng, all[t]->data, tt_tensor_count(*all[t]));
        }
        error = good ? write_width(to, &s) : "out of memory";
        for (int t = 0; t < 4; t++) tt_tensor_free(all[t]);
        tt_tape_free(s.tape);
    }
    return error;
}

/* steps.c: the differences are taken as a textbook takes them, from the loss as one number: what is
 * shown is how far that goes, and beside it what tt/gradcheck.h makes of the same function.
 */
#include "gradcheck/steps.h"

#include <math.h>

#include "common/csv.h"
#include "tt/attention.h"
#include "tt/gradcheck.h"
#include "tt/ops.h"
#include "tt/rng.h"

enum { QUERIES = 4, KEYS = 5, WIDTH_V = 3, PER_DECADE = 4, DECADES = 12, SAMPLED = 16 };

typedef struct setting {
    tt_tape *tape;
    tt_tensor q, k, v, w;
    const char *scale_name;
    double scale;
    bool starved; /* some loss had no memory; a reset of the tape forgets it */
} setting;

static tt_var loss_of(tt_tape *tape, const tt_var *q, void *context) {
    const setting *s = context;
    tt_var k = tt_const(tape, s->k), v = tt_const(tape, s->v);
    return tt_dot(tape, tt_attention(tape, *q, k, v, (tt_attention_options){.scale = s->scale}),
                  s->w);
}

static double loss_at(setting *s, double *x, double value) {
    const double before = *x;
    *x = value;
    tt_tape_reset(s->tape);
    tt_var q = tt_const(s->tape, s->q);
    tt_tensor loss = tt_value(s->tape, loss_of(s->tape, &q, s));
    *x = before;
    s->starved = s->starved || !loss.data;
    return loss.data ? loss.data[0] : NAN;
}

static double central(setting *s, double *x, double h) {
    return (loss_at(s, x, *x + h) - loss_at(s, x, *x - h)) / (2 * h);
}

/* Two steps of Richardson's extrapolation: the terms in h^2 and h^4 are gone. */
static double extrapolated(setting *s, double *x, double h) {
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

static void write_row(FILE *to, const setting *s, const char *method, double h, double error) {
    char number[NUMBER_BYTES];
    (void)fprintf(to, "%td,%s,%s,%s", s->q.cols, s->scale_name, method, csv_format(number, h));
    (void)fprintf(to, ",%s", csv_format(number, error));
}

static void write_differences(FILE *to, setting *s, double *x, double exact) {
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
            write_row(to, s, all[m].method, h, fabs(all[m].value / exact - 1));
            (void)fputs(",\n", to);
        }
    }
}

/* The smallest and the largest step of the plateau, with its error and bar. */
static void write_plateau(FILE *to, const setting *s, const tt_gradcheck_point *p) {
    const double steps[] = {p->step, p->widest};
    for (int i = 0; i < 2; i++) {
        write_row(to, s, "plateau", steps[i], fabs(p->numeric / p->analytic - 1));
        csv_number(to, p->error_bar / fabs(p->analytic));
        (void)fputc('\n', to);
    }
}

static void keep_largest(void *context, int input, const tt_gradcheck_point *point) {
    tt_gradcheck_point *largest = context;
    (void)input;
    if (point->index >= 0 && fabs(point->analytic) > fabs(largest->analytic)) *largest = *point;
}

static const char *write_setting(FILE *to, setting *s, uint64_t seed) {
    tt_gradcheck_point p = {.analytic = 0};
    tt_gradcheck_result r;
    const tt_gradcheck_options options = {
        .most_coordinates = SAMPLED, .seed = seed, .each = keep_largest, .each_context = &p};
    const char *error = tt_gradcheck(loss_of, s, &s->q, 1, &options, &r);
    if (error) return error;
    write_differences(to, s, &s->q.data[p.index], p.analytic);
    write_plateau(to, s, &p);
    return s->starved ? "out of memory" : NULL;
}

const char *gradcheck_steps_csv(FILE *to, uint64_t seed) {
    static const struct {
        tt_size d_k;
        const char *scale;
    } SETTINGS[] = {{8, "sqrt"}, {512, "none"}};
    const char *error = NULL;
    (void)fputs("d_k,scale,method,h,error,bar\n", to);
    for (int i = 0; i < 2 && !error; i++) {
        const tt_size d_k = SETTINGS[i].d_k;
        tt_rng rng;
        setting s = {tt_tape_new(),
                     tt_tensor_new(1, QUERIES, d_k),
                     tt_tensor_new(1, KEYS, d_k),
                     tt_tensor_new(1, KEYS, WIDTH_V),
                     tt_tensor_new(1, QUERIES, WIDTH_V),
                     SETTINGS[i].scale,
                     i == 0 ? 1 / sqrt((double)d_k) : 1,
                     false};
        tt_tensor *all[] = {&s.q, &s.k, &s.v, &s.w};
        bool good = s.tape != NULL;
        tt_rng_seed(&rng, seed);
        for (int t = 0; t < 4; t++) {
            good = good && all[t]->data;
            if (good) tt_rng_normal(&rng, all[t]->data, tt_tensor_count(*all[t]));
        }
        error = good ? write_setting(to, &s, seed) : "out of memory";
        for (int t = 0; t < 4; t++) tt_tensor_free(all[t]);
        tt_tape_free(s.tape);
    }
    return error;
}

/* differences.c: how often is tt_gradcheck wrong? Derivatives whose truth is known, of many kinds
 * and scales, are given to it right and with each of several faults. One row a kind is printed; a
 * right one that is FAIL, or a wrong one that is PASS, is false, and the exit code is 1 then. So it
 * is where too few are decided.
 *
 *   calibrate-differences [DERIVATIVES-A-KIND [SEED [THREADS]]]      50000, 1, 2
 *
 * The truth of a function of one number is its derivative in long double; that of attention is the
 * library's own backward, which is exact to some 1e-14. A fault stands in one derivative, whose
 * neighbours and whose scale are right; `all 0` is a backward that gives 0 everywhere. What is
 * resolvable is said by the truth alone: eps <|W|, |out|> / L < 1e-7 |truth|, where L is max |x|
 * or, if that is smaller, the length on which the function changes: its unit beside an offset x,
 * the distance to a kink; half an ulp of x moves the output too.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/parallel.h"
#include "common/scaling.h"
#include "tt/attention.h"
#include "tt/gradcheck.h"
#include "tt/rng.h"

enum { PIECES = 64, POINTS = 96 };

/* ---- What is counted ------------------------------------------------------------------------- */

/* How a derivative is given. */
enum { RIGHT, FLIPPED, ZERO, HUNDREDTH, TEN_THOUSANDTH, ALL_ZERO, GIVEN };
static const double TIMES[GIVEN] = {1, -1, 0, 1.01, 1.0001, 0};
static const char *const GIVEN_NAME[GIVEN] = {"right",  "x -1",     "x 0",
                                              "x 1.01", "x 1.0001", "all 0"};

typedef struct tally {
    long verdict[GIVEN][3];    /* by tt_gradcheck_verdict */
    long resolvable[GIVEN][3]; /* of those among them that are */
    long evaluations;
} tally;

static void add_tally(tally *to, const tally *from) {
    for (int g = 0; g < GIVEN; g++)
        for (int v = 0; v < 3; v++) {
            to->verdict[g][v] += from->verdict[g][v];
            to->resolvable[g][v] += from->resolvable[g][v];
        }
    to->evaluations += from->evaluations;
}

/* ---- Functions of one number ----------------------------------------------------------------- */

typedef struct function {
    double (*value)(double);
    long double (*slope)(long double);
} function;

static double square(double x) {
    return x * x;
}
static long double square_slope(long double x) {
    return 2 * x;
}
static double cube(double x) {
    return x * x * x;
}
static long double cube_slope(long double x) {
    return 3 * x * x;
}
static double linear(double x) {
    return 3 * x;
}
static long double linear_slope(long double x) {
    return x - x + 3;
}
static long double minus_sin(long double x) {
    return -sinl(x);
}
static long double tanh_slope(long double x) {
    return 1 / (coshl(x) * coshl(x));
}
static double bell(double x) {
    return exp(-20 * x * x);
}
static long double bell_slope(long double x) {
    return -40 * x * expl(-20 * x * x);
}
static double logistic(double x) {
    return 1 / (1 + exp(-x));
}
static long double logistic_slope(long double x) {
    return expl(-x) / ((1 + expl(-x)) * (1 + expl(-x)));
}
static double softplus(double x) {
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}
static long double softplus_slope(long double x) {
    return 1 / (1 + expl(-x));
}
static long double atan_slope(long double x) {
    return 1 / (1 + x * x);
}
static double witch(double x) {
    return 1 / (1 + x * x);
}
static long double witch_slope(long double x) {
    return -2 * x / ((1 + x * x) * (1 + x * x));
}
static double hyperbola(double x) {
    return sqrt(1 + x * x);
}
static long double hyperbola_slope(long double x) {
    return x / sqrtl(1 + x * x);
}
static double log_square(double x) {
    return log1p(x * x);
}
static long double log_square_slope(long double x) {
    return 2 * x / (1 + x * x);
}
static double wave(double x) {
    return sin(10 * x);
}
static long double wave_slope(long double x) {
    return 10 * cosl(10 * x);
}
static double packet(double x) {
    return x * exp(-x * x);
}
static long double packet_slope(long double x) {
    return (1 - 2 * x * x) * expl(-x * x);
}
static long double erf_slope(long double x) {
    return 1.12837916709551257389615890312154517L * expl(-x * x);
}

static const function SMOOTH[] = {
    {exp, expl},
    {sin, cosl},
    {cos, minus_sin},
    {tanh, tanh_slope},
    {square, square_slope},
    {cube, cube_slope},
    {linear, linear_slope},
    {bell, bell_slope},
    {logistic, logistic_slope},
    {softplus, softplus_slope},
    {atan, atan_slope},
    {witch, witch_slope},
    {hyperbola, hyperbola_slope},
    {log_square, log_square_slope},
    {wave, wave_slope},
    {packet, packet_slope},
    {erf, erf_slope},
};

/* Its own rounding makes stairs that grow towards 0. */
static double cancelling(double x) {
    return x == 0 ? 0.5 : (1 - cos(x)) / (x * x);
}
static long double cancelling_slope(long double x) {
    return fabsl(x) < 1e-3L ? -x / 12 + x * x * x / 180
                            : (x * sinl(x) - 2 * (1 - cosl(x))) / (x * x * x);
}
static double in_float(double x) {
    return sinf((float)x);
}
static const function STAIRS[] = {{cancelling, cancelling_slope}, {in_float, cosl}};

static double relu(double x) {
    return fmax(x, 0);
}
static long double relu_slope(long double x) {
    return x > 0;
}
static double leaky(double x) {
    return x > 0 ? x : 0.1 * x;
}
static long double leaky_slope(long double x) {
    return x > 0 ? 1 : 0.1L;
}
static long double abs_slope(long double x) {
    return x > 0 ? 1 : -1;
}
static double clipped(double x) {
    return fmin(fmax(x, 0), 1);
}
static long double clipped_slope(long double x) {
    return x > 0 && x < 1;
}
static double bent(double x) {
    return x > 0 ? exp(x) : 1 + 2 * x;
}
static long double bent_slope(long double x) {
    return x > 0 ? expl(x) : 2;
}

static const function KINKED[] = {
    {relu, relu_slope},       {leaky, leaky_slope}, {fabs, abs_slope},
    {clipped, clipped_slope}, {bent, bent_slope},
};

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- One set of inputs ----------------------------------------------------------------------- */

/* y = f(x / scale - shift) + lift, element by element, or attention. */
typedef struct problem {
    const char *kind;
    bool counts; /* is a false verdict one too many? */
    const function *f;
    double scale, shift, lift;
    tt_attention_options attention;
    double unit[5]; /* the length on which the function changes at each element; infinite where the
                       size of the inputs is */
    const double *x;
    double times;  /* backward gives so much of the truth */
    double weight; /* <|W|, |out|>, as backward saw it */
} problem;

static void apply(const tt_call *c) {
    const problem *p = c->context;
    for (tt_size i = 0; i < tt_tensor_count(c->out); i++)
        c->out.data[i] = p->f->value(c->in[0].data[i] / p->scale - p->shift) + p->lift;
}

static void note_weight(problem *p, const tt_call *c) {
    p->weight = 0;
    for (tt_size i = 0; i < tt_tensor_count(c->out); i++)
        p->weight += fabs(c->dout.data[i] * c->out.data[i]);
}

static void apply_backward(const tt_call *c) {
    problem *p = c->context;
    note_weight(p, c);
    for (tt_size i = 0; i < tt_tensor_count(c->out); i++) {
        const double t = c->in[0].data[i] / p->scale - p->shift; /* as forward rounds it */
        c->din[0].data[i] +=
            (double)(p->times * p->f->slope(t) / p->scale * (long double)c->dout.data[i]);
    }
}

static tt_var build_function(tt_tape *tape, const tt_var *input, void *context) {
    tt_tensor x = tt_value(tape, input[0]);
    return tt_custom(tape, "function", 1, input, x.batch, x.rows, x.cols, apply, apply_backward,
                     context);
}

static void pass_on(const tt_call *c) {
    memcpy(c->out.data, c->in[0].data, (size_t)tt_tensor_count(c->out) * sizeof(double));
}

static void pass_on_backward(const tt_call *c) {
    problem *p = c->context;
    note_weight(p, c);
    for (tt_size i = 0; i < tt_tensor_count(c->out); i++)
        c->din[0].data[i] += p->times * c->dout.data[i];
}

static tt_var build_attention(tt_tape *tape, const tt_var *input, void *context) {
    const problem *p = context;
    tt_var out = tt_attention(tape, input[0], input[1], input[2], p->attention);
    tt_tensor o = tt_value(tape, out);
    return tt_custom(tape, "pass on", 1, &out, o.batch, o.rows, o.cols, pass_on, pass_on_backward,
                     context);
}

/* ---- The check and what it says -------------------------------------------------------------- */

typedef struct collector {
    tt_gradcheck_point point[POINTS];
    int input[POINTS], count;
} collector;

static void collect(void *context, int input, const tt_gradcheck_point *point) {
    collector *c = context;
    c->input[c->count] = input;
    c->point[c->count++] = *point;
}

static void run(problem *p, tt_gradcheck_build *build, const tt_tensor *in, int count, double times,
                collector *to, tt_gradcheck_result *r) {
    const tt_gradcheck_options options = {.each = collect, .each_context = to};
    to->count = 0;
    p->times = times;
    const char *error = tt_gradcheck(build, p, in, count, &options, r);
    if (!error) return;
    (void)fprintf(stderr, "calibrate-differences: %s\n", error);
    exit(EXIT_FAILURE);
}

static double size_of(tt_tensor x) {
    double size = 0;
    for (tt_size i = 0; i < tt_tensor_count(x); i++) size = fmax(size, fabs(x.data[i]));
    return size;
}

/* Says all of a verdict that is false. */
static void name_false(const problem *p, int given, const tt_gradcheck_point *q, double truth,
                       tt_gradcheck_verdict verdict) {
    if (verdict != (given == RIGHT ? TT_GRADCHECK_FAIL : TT_GRADCHECK_PASS)) return;
    (void)fprintf(stderr,
                  "false: %s, given %s: shift %g lift %g [%td]: truth %.17g numeric %.17g +- %.3g "
                  "unseen %.3g steps %.3g to %.3g\n",
                  p->kind, GIVEN_NAME[given], p->shift, p->lift, q->index, truth, q->numeric,
                  q->error_bar, q->unseen, q->step, q->widest);
}

/* By the truth alone: is the rounding of the output, and of x, over the length on which the
 * function changes below 1e-7 of it? */
static bool is_resolvable(const problem *p, const tt_gradcheck_point *q, double size) {
    const double truth = fabs(q->analytic), x = p->f ? fabs(p->x[q->index]) : 0;
    const double length = p->f ? fmin(size, p->unit[q->index]) : size;
    return DBL_EPSILON * (p->weight / length + truth * (x / length)) < 1e-7 * truth;
}

/* A wrong value is told from the truth only where it is another number, and zero from what the
 * check's own floor calls zero. */
static void count_given(const problem *p, tally *t, int given, const tt_gradcheck_point *q,
                        double truth, double floor, bool resolvable) {
    if (given != RIGHT && (truth == 0 || fabs(truth) < floor)) return;
    t->verdict[given][q->verdict]++;
    if (resolvable) t->resolvable[given][q->verdict]++;
    if (p->counts) name_false(p, given, q, truth, q->verdict);
}

static void check(problem *p, tt_gradcheck_build *build, const tt_tensor *in, int count, tally *t) {
    static _Thread_local collector right, zero;
    tt_gradcheck_result r[3], r0[3];
    run(p, build, in, count, 1, &right, r);
    run(p, build, in, count, 0, &zero, r0);
    for (int i = 0; i < right.count; i++) {
        tt_gradcheck_point q = right.point[i];
        const int input = right.input[i];
        const double truth = q.analytic;
        const bool resolvable = is_resolvable(p, &q, size_of(in[input]));
        for (int g = 0; g < ALL_ZERO; g++) {
            q.analytic = TIMES[g] * truth;
            q.verdict = tt_gradcheck_judge(&q, r[input].floor, 4, 1e-6);
            count_given(p, t, g, &q, truth, r[input].floor, resolvable);
        }
        count_given(p, t, ALL_ZERO, &zero.point[i], truth, r0[input].floor, resolvable);
    }
    for (int i = 0; i < count; i++) t->evaluations += r[i].evaluations;
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

typedef struct kind {
    const char *name;
    void (*draw)(const struct kind *k, tt_rng *rng, tally *t);
    double scale;     /* of a function's input */
    bool offsets;     /* of its input and output */
    const char *rule; /* of attention */
    double decades;   /* over which the sizes of its inputs are spread */
    double sharpness; /* of its keys */
} kind;

static double uniform(tt_rng *rng) {
    double u;
    tt_rng_uniform(rng, &u, 1);
    return u;
}

static double normal(tt_rng *rng) {
    double x;
    tt_rng_normal(rng, &x, 1);
    return x;
}

static double one_of(tt_rng *rng, const double *list, int count) {
    return list[(int)(uniform(rng) * count)];
}

/* Each function in turn, with 1 or 5 elements, now and then one of them near 0. */
static void draw_smooth(const kind *k, tt_rng *rng, tally *t) {
    static const double SHIFTS[] = {0, 3, 30, 1000}, LIFTS[] = {0, 1, -10, 1e4};
    double x[5];
    for (int f = 0; f < LENGTH(SMOOTH); f++) {
        problem p = {.kind = k->name, .counts = true, .f = &SMOOTH[f], .scale = k->scale, .x = x};
        if (k->offsets) p.shift = one_of(rng, SHIFTS, 4);
        if (k->offsets) p.lift = one_of(rng, LIFTS, 4);
        const tt_size count = uniform(rng) < 0.2 ? 1 : 5;
        for (tt_size i = 0; i < count; i++) {
            double tiny = uniform(rng) < 0.1 ? pow(10, -12 * uniform(rng)) : 1;
            x[i] = p.scale * (p.shift + tiny * normal(rng));
            p.unit[i] = p.shift == 0 ? INFINITY : p.scale;
        }
        tt_tensor in = tt_tensor_view(x, 1, 1, count);
        check(&p, build_function, &in, 1, t);
    }
}

static void draw_stairs(const kind *k, tt_rng *rng, tally *t) {
    double x[5];
    problem p = {.kind = k->name, .f = &STAIRS[(int)k->scale], .scale = 1, .x = x};
    for (tt_size i = 0; i < 5; i++) {
        x[i] = pow(10, -6 * uniform(rng)) * normal(rng);
        p.unit[i] = INFINITY;
    }
    tt_tensor in = tt_tensor_view(x, 1, 1, 5);
    check(&p, build_function, &in, 1, t);
}

/* Kinks of the functions at 0, or at `shift`, and elements at distances 0 to 1 from them. */
static void draw_kinked(const kind *k, tt_rng *rng, tally *t) {
    static const double SHIFTS[] = {0, 1, -100};
    double x[5];
    for (int f = 0; f < LENGTH(KINKED); f++) {
        problem p = {.kind = k->name, .counts = true, .f = &KINKED[f], .scale = k->scale, .x = x};
        if (k->offsets) p.shift = one_of(rng, SHIFTS, 3);
        const tt_size count = uniform(rng) < 0.3 ? 1 : 5;
        for (tt_size i = 0; i < count; i++) {
            double distance = uniform(rng) < 0.1 ? 0 : pow(10, -16 * uniform(rng));
            x[i] = p.scale * (p.shift + (uniform(rng) < 0.5 ? -distance : distance));
            p.unit[i] = fabs(x[i] - p.scale * p.shift);
        }
        tt_tensor in = tt_tensor_view(x, 1, 1, count);
        check(&p, build_function, &in, 1, t);
    }
}

static void draw_attention(const kind *k, tt_rng *rng, tally *t) {
    static const tt_size WIDTHS[] = {1, 2, 4, 8};
    enum { QUERIES = 2, KEYS = 3, WIDTH_V = 2 };
    const tt_size d = WIDTHS[(int)(uniform(rng) * 4)];
    double q[QUERIES * 8], key[KEYS * 8], v[KEYS * WIDTH_V];
    const tt_tensor in[] = {tt_tensor_view(q, 1, QUERIES, d), tt_tensor_view(key, 1, KEYS, d),
                            tt_tensor_view(v, 1, KEYS, WIDTH_V)};
    problem p = {.kind = k->name,
                 .counts = true,
                 .scale = 1,
                 .attention.rule = &scaling_find(k->rule)->rule};
    p.attention.mask.causal = uniform(rng) < 0.2 ? TT_CAUSAL_BOTTOM_RIGHT : TT_CAUSAL_NONE;
    for (int i = 0; i < 3; i++) {
        const double factor =
            pow(10, k->decades * (uniform(rng) - 0.5)) * (i == 1 ? k->sharpness : 1);
        for (tt_size e = 0; e < tt_tensor_count(in[i]); e++) in[i].data[e] = factor * normal(rng);
    }
    check(&p, build_attention, in, 3, t);
}

static const kind KINDS[] = {
    {"smooth", draw_smooth, 1, false, NULL, 0, 0},
    {"smooth, offsets", draw_smooth, 1, true, NULL, 0, 0},
    {"smooth 1e3", draw_smooth, 1e3, false, NULL, 0, 0},
    {"smooth 1e3, offsets", draw_smooth, 1e3, true, NULL, 0, 0},
    {"smooth 1e-3", draw_smooth, 1e-3, false, NULL, 0, 0},
    {"smooth 1e-3, offsets", draw_smooth, 1e-3, true, NULL, 0, 0},
    {"smooth 1e140", draw_smooth, 1e140, false, NULL, 0, 0},
    {"smooth 1e140, offsets", draw_smooth, 1e140, true, NULL, 0, 0},
    {"smooth 1e-140", draw_smooth, 1e-140, false, NULL, 0, 0},
    {"smooth 1e-140, offsets", draw_smooth, 1e-140, true, NULL, 0, 0},
    {"kinks", draw_kinked, 1, false, NULL, 0, 0},
    {"kinks, offsets", draw_kinked, 1, true, NULL, 0, 0},
    {"kinks 1e140", draw_kinked, 1e140, true, NULL, 0, 0},
    {"kinks 1e-140", draw_kinked, 1e-140, true, NULL, 0, 0},
    {"attention none", draw_attention, 1, false, "none", 0, 1},
    {"attention sqrt", draw_attention, 1, false, "sqrt", 0, 1},
    {"attention saturated", draw_attention, 1, false, "none", 0, 20},
    {"none, 16 decades", draw_attention, 1, false, "none", 16, 1},
    {"sqrt, 16 decades", draw_attention, 1, false, "sqrt", 16, 1},
    {"cosine, 16 decades", draw_attention, 1, false, "cosine", 16, 1},
    {"rms, 16 decades", draw_attention, 1, false, "rms", 16, 1},
};

/* What no difference resolves, as tt/gradcheck.h says: shown, and not counted. The scale is the
 * function's place. */
static const kind LIMITS[] = {
    {"(1 - cos x) / x^2", draw_stairs, 0, false, NULL, 0, 0},
    {"float32 inside", draw_stairs, 1, false, NULL, 0, 0},
};

/* ---- The run --------------------------------------------------------------------------------- */

typedef struct calibration {
    const kind *kind;
    long wanted; /* derivatives a piece */
    uint64_t seed;
    int pieces; /* each draws from a stream of its own */
    tally piece[PIECES];
} calibration;

static long total(long verdict[3]) {
    return verdict[0] + verdict[1] + verdict[2];
}

static void run_piece(void *context, tt_size i) {
    calibration *c = context;
    tt_rng rng;
    tally *t = &c->piece[i];
    tt_rng_seed(&rng, c->seed * 100003 + (uint64_t)i);
    while (total(t->verdict[RIGHT]) < c->wanted) c->kind->draw(c->kind, &rng, t);
}

static tally run_kind(calibration *c, const kind *k, int threads) {
    tally t = {0};
    memset(c->piece, 0, sizeof c->piece);
    c->kind = k;
    c->seed++; /* streams of its own */
    parallel_for(threads, c->pieces, run_piece, c);
    for (int i = 0; i < c->pieces; i++) add_tally(&t, &c->piece[i]);
    return t;
}

static double percent(long part, long whole) {
    return whole == 0 ? 100 : 100.0 * (double)part / (double)whole;
}

/* Returns how many verdicts are false. */
static long say(const char *name, tally *t) {
    const long count = total(t->verdict[RIGHT]);
    long bad = t->verdict[RIGHT][TT_GRADCHECK_FAIL];
    printf("%-23s %8ld", name, count);
    for (int g = 0; g < GIVEN; g++) {
        const long *v = t->verdict[g];
        printf("  %7ld %7ld %7ld", v[TT_GRADCHECK_PASS], v[TT_GRADCHECK_FAIL],
               v[TT_GRADCHECK_INCONCLUSIVE]);
        if (g != RIGHT) bad += v[TT_GRADCHECK_PASS];
    }
    printf("  %8ld", total(t->resolvable[RIGHT]));
    for (int g = 0; g < GIVEN; g++)
        printf(" %6.2f",
               percent(t->resolvable[g][g == RIGHT ? TT_GRADCHECK_PASS : TT_GRADCHECK_FAIL],
                       total(t->resolvable[g])));
    printf(" %5.1f\n", (double)t->evaluations / (double)count);
    (void)fflush(stdout);
    return bad;
}

/* At least 95 % of the right ones are PASS and 99 % of the faults of 1.01 and more are FAIL. */
static bool decides(tally *t) {
    for (int g = 0; g < GIVEN; g++) {
        const int wanted = g == RIGHT ? TT_GRADCHECK_PASS : TT_GRADCHECK_FAIL;
        if (g == TEN_THOUSANDTH) continue;
        if (percent(t->resolvable[g][wanted], total(t->resolvable[g])) < (g == RIGHT ? 95 : 99))
            return false;
    }
    return true;
}

static void say_head(long wanted, uint64_t seed) {
    printf(
        "%ld derivatives a kind, seed %llu; of those that are resolvable, right ones that are PASS "
        "and faults that are FAIL, %%\n%-32s",
        wanted, (unsigned long long)seed, "");
    for (int g = 0; g < GIVEN; g++) printf("  %-23s", GIVEN_NAME[g]);
    printf("  resolvable");
    for (int g = 0; g < GIVEN; g++)
        printf(" %6s", g == RIGHT ? "right" : GIVEN_NAME[g] + 2 * (g < ALL_ZERO));
    printf("\n%-23s %8s", "", "");
    for (int g = 0; g < GIVEN; g++) printf("  %7s %7s %7s", "PASS", "FAIL", "INC.");
    printf("\n");
}

int main(int argc, char **argv) {
    static calibration c;
    const long wanted = argc > 1 ? atol(argv[1]) : 50000;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const int threads = argc > 3 ? atoi(argv[3]) : 2;
    tally all = {0};
    long bad = 0;
    c.seed = seed * 1000;
    c.pieces = wanted < 1000L * PIECES ? (int)(wanted / 1000) + 1 : PIECES;
    c.wanted = (wanted + c.pieces - 1) / c.pieces;
    say_head(wanted, seed);
    for (int k = 0; k < LENGTH(KINDS); k++) {
        tally t = run_kind(&c, &KINDS[k], threads);
        bad += say(KINDS[k].name, &t);
        add_tally(&all, &t);
    }
    (void)say("all", &all);
    for (int k = 0; k < LENGTH(LIMITS); k++) {
        tally t = run_kind(&c, &LIMITS[k], threads);
        (void)say(LIMITS[k].name, &t);
    }
    printf("%ld false verdicts, those of the last %d kinds not counted\n", bad, LENGTH(LIMITS));
    return bad > 0 || !decides(&all) ? EXIT_FAILURE : EXIT_SUCCESS;
}

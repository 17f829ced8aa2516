/* bench.c: what a change of the loops costs or gains, and how near they are to what one core can
 * do at all: its peak of fused multiply-adds is measured beside them. No test: it judges nothing.
 *
 *   bench [--csv FILE]
 *
 * Times are CPU time of one thread, so that other programs take none of it (what they do to caches
 * and clock stays); medians, for what they do stay.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

#include "common/csv.h"
#include "common/stats.h"
#include "gemm.h"
#include "softmax.h"
#include "training/columns.h"
#include "tt/attention.h"
#include "tt/kernel.h"

enum { RUNS = 9, ITEMS_MOST = 3, LOG_BLOCK = 5 };
static const double SHORTEST = 5e-3; /* seconds of a run: the clock's own cost is then nothing */

typedef struct item {
    const char *group;
    char name[40];
    void (*call)(void *context);
    void *context;
    int steps;    /* in a call; times are of one */
    double flops; /* of a step; nan: not counted */
    double seconds[RUNS];
} item;

static FILE *csv;
static tt_tape *memory; /* of the item that is measured */
static tt_rng rng;
static double peak = NAN; /* flops a second; nan: not known */

static void need(bool good, const char *what) {
    if (good) return;
    (void)fprintf(stderr, "bench: %s\n", what);
    exit(EXIT_FAILURE);
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static double time_calls(const item *t, long calls) {
    struct timespec from, to;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (long i = 0; i < calls; i++) t->call(t->context);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

/* In turn, so that what slows the machine for a while slows all of them. Sorts the times. */
static void measure(item *items, int count) {
    long calls[ITEMS_MOST];
    for (int i = 0; i < count; i++) {
        items[i].call(items[i].context); /* the first call takes its memory from the system */
        for (calls[i] = 1; time_calls(&items[i], calls[i]) < SHORTEST;) calls[i] *= 2;
    }
    for (int run = 0; run < RUNS; run++)
        for (int i = 0; i < count; i++)
            items[i].seconds[run] =
                time_calls(&items[i], calls[i]) / (double)calls[i] / items[i].steps;
    for (int i = 0; i < count; i++) stats_sort(items[i].seconds, RUNS);
}

static double median(const item *t) {
    return stats_quantile(t->seconds, RUNS, 0.5);
}

/* A row of the table and of the CSV, where what is not known is nan and nothing; the note is the
 * table's alone. */
static void report(const item *t, const char *note) {
    const double rate = t->flops / median(t), percent = 100 * rate / peak;
    printf("%-9s %-19s %12.6g %12.6g %9.1f %9.0f%s\n", t->group, t->name, 1e6 * median(t),
           1e6 * t->seconds[0], rate / 1e9, percent, note);
    (void)fflush(stdout);
    if (!csv) return;
    (void)fprintf(csv, "%s,%s", t->group, t->name);
    csv_number(csv, median(t));
    csv_number(csv, t->seconds[0]);
    csv_known(csv, rate / 1e9);
    csv_known(csv, percent);
    (void)fprintf(csv, ",%s,%d\n", tt_kernel_name(tt_kernel_here()), RUNS);
}

/* ---- The peak -------------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
enum { FMA_ROUNDS = 4096, CHAINS = 12 };

/* Two units, each with four or five multiply-adds under way, want ten chains; twelve and the two
 * factors fit AVX2's sixteen registers. The chains start apart, or they would be made one. The
 * factors are not known here, and 1/2 and 1 keep all numbers normal. */
#define FMA_PEAK(NAME, TARGET, VECTOR, SET, FMA)                                                   \
    __attribute__((target(TARGET))) static void NAME(void *context) {                              \
        double *number = context;                                                                  \
        const VECTOR x = SET(number[0]), y = SET(number[1]);                                       \
        VECTOR a = SET(1), b = SET(2), c = SET(3), d = SET(4), e = SET(5), f = SET(6);             \
        VECTOR g = SET(7), h = SET(8), i = SET(9), j = SET(10), k = SET(11), l = SET(12);          \
        for (int round = 0; round < FMA_ROUNDS; round++) {                                         \
            a = FMA(a, x, y), b = FMA(b, x, y), c = FMA(c, x, y), d = FMA(d, x, y);                \
            e = FMA(e, x, y), f = FMA(f, x, y), g = FMA(g, x, y), h = FMA(h, x, y);                \
            i = FMA(i, x, y), j = FMA(j, x, y), k = FMA(k, x, y), l = FMA(l, x, y);                \
        }                                                                                          \
        number[2] = (a + b + c + d + e + f + g + h + i + j + k + l)[0];                            \
    }
FMA_PEAK(peak_avx2, "avx2,fma", __m256d, _mm256_set1_pd, _mm256_fmadd_pd)
FMA_PEAK(peak_avx512, "avx512f", __m512d, _mm512_set1_pd, _mm512_fmadd_pd)

/* The best run counts, since a peak is what can be reached; the row's own number is the median. */
static void bench_peak(void) {
    const bool wide = tt_kernel_here() == TT_KERNEL_AVX512;
    double number[] = {0.5, 1, 0};
    item t = {"peak", "fma", wide ? peak_avx512 : peak_avx2, number, 1, 0, {0}};
    if (tt_kernel_here() == TT_KERNEL_PORTABLE) return;
    t.flops = 2.0 * (double)FMA_ROUNDS * (double)CHAINS * (wide ? 8 : 4);
    measure(&t, 1);
    peak = t.flops / t.seconds[0];
    report(&t, "");
}
#else
static void bench_peak(void) {}
#endif

/* ---- Products, attention, training ----------------------------------------------------------- */

static tt_tensor draw(tt_size batch, tt_size rows, tt_size cols) {
    tt_tensor t = tt_tape_tensor(memory, batch, rows, cols);
    need(t.data, "out of memory");
    tt_rng_normal(&rng, t.data, tt_tensor_count(t));
    return t;
}

typedef struct product {
    tt_gemm_form form;
    tt_size m, n, k;
    tt_tensor a, b, c;
} product;

static void multiply(void *context) {
    const product *p = context;
    tt_gemm(p->form, p->m, p->n, p->k, p->a.data, p->b.data, p->c.data, false);
}

static void bench_products(void) {
    static const tt_gemm_form FORM[] = {TT_GEMM_TN, TT_GEMM_NN, TT_GEMM_NT};
    static const char *const NAME[] = {"TN", "NN", "NT"};
    /* The first, as of dL/dW in a student's step, is met as TN only. */
    static const tt_size SIZE[][3] = {
        {512, 32, 512}, {16, 16, 512}, {512, 512, 32}, {64, 64, 64}, {1024, 64, 1024}};
    for (int i = 0; i < 5; i++)
        for (int f = 0; f < (i == 0 ? 1 : 3); f++) {
            const tt_size m = SIZE[i][0], n = SIZE[i][1], k = SIZE[i][2];
            product p = {FORM[f], m, n, k, draw(1, m, k), draw(1, k, n), draw(1, m, n)};
            item t = {"products", "", multiply, &p, 1, 2 * (double)(m * n * k), {0}};
            (void)snprintf(t.name, sizeof t.name, "%s %tdx%tdx%td", NAME[f], m, n, k);
            measure(&t, 1);
            report(&t, "");
            tt_tape_reset(memory);
        }
}

enum { INPUTS = 3 };

typedef struct head {
    tt_tape *tape;
    tt_tensor value[INPUTS], grad[INPUTS], cotangent;
    tt_tensor p, dz; /* [1,T,T], for the loops alone */
    tt_tensor out;
} head;

static void attend(void *context) {
    const head *h = context;
    const tt_attention_options options = {.scale = 1 / sqrt((double)h->cotangent.cols)};
    tt_var in[INPUTS];
    for (int i = 0; i < INPUTS; i++) in[i] = tt_param(h->tape, h->value[i], h->grad[i]);
    tt_backward_from(h->tape, tt_attention(h->tape, in[0], in[1], in[2], options), h->cotangent);
    need(!tt_tape_error(h->tape), "attention failed");
    tt_tape_reset(h->tape);
}

/* The products and softmax rows of the same, without a tape: what it adds is seen by comparison. */
static void attend_by_loops(void *context) {
    const head *h = context;
    const tt_size n = h->cotangent.rows, d = h->cotangent.cols;
    const double scale = 1 / sqrt((double)d);
    double *p = h->p.data, *dz = h->dz.data;
    for (tt_size b = 0; b < h->cotangent.batch; b++) {
        const double *q = tt_tensor_matrix(h->value[0], b).data;
        const double *k = tt_tensor_matrix(h->value[1], b).data;
        const double *v = tt_tensor_matrix(h->value[2], b).data;
        const double *dout = tt_tensor_matrix(h->cotangent, b).data;
        tt_gemm(TT_GEMM_NT, n, n, d, q, k, p, false);
        for (tt_size i = 0; i < n * n; i++) p[i] *= scale;
        for (tt_size i = 0; i < n; i++) tt_softmax_row(p + i * n, NULL, n, p + i * n);
        tt_gemm(TT_GEMM_NN, n, d, n, p, v, tt_tensor_matrix(h->out, b).data, false);
        tt_gemm(TT_GEMM_TN, n, d, n, p, dout, tt_tensor_matrix(h->grad[2], b).data, true);
        tt_gemm(TT_GEMM_NT, n, n, d, dout, v, dz, false);
        for (tt_size i = 0; i < n; i++)
            tt_softmax_row_backward(p + i * n, dz + i * n, NULL, n, dz + i * n);
        for (tt_size i = 0; i < n * n; i++) dz[i] *= scale;
        tt_gemm(TT_GEMM_NN, n, d, n, dz, k, tt_tensor_matrix(h->grad[0], b).data, true);
        tt_gemm(TT_GEMM_TN, n, d, n, dz, q, tt_tensor_matrix(h->grad[1], b).data, true);
    }
}

/* Its six products are counted, two forward and four backward. */
static void bench_attention(void) {
    static const tt_size SHAPE[][3] = {{1, 16, 8},    {1, 16, 64},  {1, 16, 512}, {8, 64, 64},
                                       {1, 64, 512},  {8, 64, 512}, {1, 512, 64}, {1, 1024, 64},
                                       {1, 2048, 64}, {1, 4096, 64}};
    char last_name[40] = "";
    double last = NAN;
    for (size_t s = 0; s < sizeof SHAPE / sizeof *SHAPE; s++) {
        const tt_size b = SHAPE[s][0], rows = SHAPE[s][1], d = SHAPE[s][2];
        head h = {.tape = tt_tape_new(), .cotangent = draw(b, rows, d)};
        const double flops = 12 * (double)(b * rows * rows * d);
        item t[] = {{"attention", "", attend, &h, 1, flops, {0}},
                    {"loops", "", attend_by_loops, &h, 1, flops, {0}}};
        char note[100];
        need(h.tape, "out of memory");
        for (int i = 0; i < INPUTS; i++) {
            h.value[i] = draw(b, rows, d);
            h.grad[i] = draw(b, rows, d); /* added to, whatever it is */
        }
        h.p = draw(1, rows, rows);
        h.dz = draw(1, rows, rows);
        h.out = draw(b, rows, d);
        for (int i = 0; i < 2; i++)
            (void)snprintf(t[i].name, sizeof t[i].name, "%tdx%tdx%td", b, rows, d);
        measure(t, 2);
        (void)snprintf(note, sizeof note, "  %.2f times %s, tape of %.1f MB", median(&t[0]) / last,
                       last_name, 1e-6 * (double)tt_tape_bytes(h.tape));
        report(&t[0], s > 0 ? note : "");
        (void)snprintf(note, sizeof note, "  the tape adds %.0f %%",
                       100 * (median(&t[0]) / median(&t[1]) - 1));
        report(&t[1], note);
        last = median(&t[0]);
        (void)snprintf(last_name, sizeof last_name, "%s", t[0].name);
        tt_tape_free(h.tape);
        tt_tape_reset(memory);
    }
}

typedef struct training {
    teacher from;
    student student;
    meter meter;
    double *row;
    int every; /* steps from one row of the log to the next; 0: no log */
} training;

/* What training/sweep.c does, for as many steps as a row of the default log stands for. */
static void train(void *context) {
    training *a = context;
    for (int step = 0; step < LOG_BLOCK; step++) {
        const bool logged = a->every && step % a->every == 0;
        need(teacher_next(&a->from) && !student_learn(&a->student, &a->from), "no step");
        need(student_loss(&a->student) < 10 * student_loss_uniform(&a->student, &a->from),
             "training diverged");
        need(!logged || !meter_read(&a->meter, &a->student, &a->from, a->row), "no row");
        need(student_update(&a->student), "training diverged");
        need(!logged || !meter_read_update(&a->meter, &a->student, &a->from, a->row), "no row");
    }
}

static void bench_stall(void) {
    static const tt_size D_K[] = {8, 64, 512};
    static const int EVERY[] = {0, LOG_BLOCK, 1};
    static const char *const LOG[] = {"no log", "default log", "every step"};
    const student_config with = {.rule = scaling_find("sqrt"), .gain = 1, .lr = 1};
    for (int d = 0; d < 3; d++) {
        training_config config = {
            .batch = 32, .tokens = 16, .d_model = 32, .d_k = D_K[d], .d_v = 32};
        training all[ITEMS_MOST];
        item t[ITEMS_MOST];
        for (int i = 0; i < ITEMS_MOST; i++) {
            training *a = &all[i];
            a->every = EVERY[i];
            a->row = draw(1, 1, columns_count()).data;
            need(teacher_new(&a->from, &config, 0) && student_new(&a->student, &a->from, &with) &&
                     meter_new(&a->meter, &config),
                 "out of memory");
            t[i] = (item){"stall", "", train, a, LOG_BLOCK, NAN, {0}};
            (void)snprintf(t[i].name, sizeof t[i].name, "d_k %td %s", D_K[d], LOG[i]);
        }
        measure(t, ITEMS_MOST);
        for (int i = 0; i < ITEMS_MOST; i++) {
            char note[64];
            (void)snprintf(note, sizeof note, "  %.0f steps/s, %.2f times no log",
                           1 / median(&t[i]), median(&t[i]) / median(&t[0]));
            report(&t[i], note);
            meter_free(&all[i].meter);
            student_free(&all[i].student);
            teacher_free(&all[i].from);
        }
        tt_tape_reset(memory);
    }
}

int main(int argc, char **argv) {
    need(argc == 1 || (argc == 3 && strcmp(argv[1], "--csv") == 0), "usage: bench [--csv FILE]");
    if (argc == 3) csv = fopen(argv[2], "w");
    need(argc == 1 || csv, "cannot write the CSV");
    if (csv)
        (void)fputs("group,name,seconds_median,seconds_min,gflops,percent_of_peak,kernel,runs\n",
                    csv);
    printf("One core, kernel %s; medians of %d runs of at least %g ms of CPU time; times in us\n",
           tt_kernel_name(tt_kernel_here()), RUNS, 1e3 * SHORTEST);
    printf("%-9s %-19s %12s %12s %9s %9s\n", "group", "name", "median", "least", "GFLOP/s",
           "% of peak");
    memory = tt_tape_new();
    need(memory, "out of memory");
    tt_rng_seed(&rng, 1);
    bench_peak();
    bench_products();
    bench_attention();
    bench_stall();
    tt_tape_free(memory);
    need(!csv || fclose(csv) == 0, "cannot write the CSV");
    return EXIT_SUCCESS;
}

/* lessons.c: the inputs are small enough to follow by hand, or drawn as
 * PyTorch draws them, so that every number can be had elsewhere.
 */
#include "trace/lessons.h"

#include <math.h>
#include <string.h>

#include "common/message.h"
#include "tt/attention.h"
#include "tt/ops.h"
#include "tt/rng.h"

typedef struct trace_lesson {
    const char *name, *about;
    tt_size queries, keys;
    int (*run)(const trace_settings *settings, const mask_request *mask);
} trace_lesson;

static attention_head head_of(double *q, double *k, double *v, tt_size queries, tt_size keys,
                              tt_size d_k, tt_size d_v, const mask_request *mask) {
    return (attention_head){.q = {1, queries, d_k, q},
                            .k = {1, keys, d_k, k},
                            .v = {1, keys, d_v, v},
                            .mask = {.causal = mask->causal}};
}

/* ---- soft-lookup ----------------------------------------------------------------------------- */

static int run_soft_lookup(const trace_settings *settings, const mask_request *mask) {
    double q[] = {1, 0};
    double k[] = {1, 0, 0, 1};
    double v[] = {10, 0, 0, 20};
    attention_head head = head_of(q, k, v, 1, 2, 2, 2, mask);
    return trace_steps(settings, &head, NULL);
}

/* ---- five-tokens ----------------------------------------------------------------------------- */

static void draw(tt_rng *rng, double *out, tt_size n, bool normal) {
    float x[15];
    if (normal)
        (void)tt_rng_normal_f32(rng, x, n);
    else
        tt_rng_uniform_f32(rng, x, n);
    for (tt_size i = 0; i < n; i++) out[i] = x[i];
}

bool five_tokens_new(five_tokens *f) {
    tt_rng rng;
    tt_rng_seed(&rng, 42);
    draw(&rng, f->x, 15, false);
    draw(&rng, f->w_q, 9, true);
    draw(&rng, f->w_k, 9, true);
    draw(&rng, f->w_v, 9, true);
    tt_tape *tape = tt_tape_new();
    if (!tape) return false;
    double *w[] = {f->w_q, f->w_k, f->w_v}, *to[] = {f->q, f->k, f->v};
    tt_var x = tt_const(tape, tt_tensor_view(f->x, 1, 5, 3));
    for (int i = 0; i < 3; i++) {
        tt_var product = tt_matmul(tape, x, tt_const(tape, tt_tensor_view(w[i], 1, 3, 3)));
        if (!tt_tape_error(tape)) memcpy(to[i], tt_value(tape, product).data, sizeof f->q);
    }
    bool good = !tt_tape_error(tape);
    tt_tape_free(tape);
    return good;
}

static int run_five_tokens(const trace_settings *settings, const mask_request *mask) {
    five_tokens f;
    const show *s = &settings->show;
    if (!five_tokens_new(&f)) return message_fail(EXIT_FAILED, "out of memory");
    shown x = {"X", {1, 5, 3, f.x}, NULL, false}, w_q = {"W_q", {1, 3, 3, f.w_q}, NULL, false};
    shown w_k = {"W_k", {1, 3, 3, f.w_k}, NULL, false},
          w_v = {"W_v", {1, 3, 3, f.w_v}, NULL, false};
    show_heading(s, "0. Tokens X and the projections: Q = X W_q, K = X W_k, V = X W_v");
    show_pair(s, &x, &w_q);
    show_pair(s, &w_k, &w_v);
    attention_head head = head_of(f.q, f.k, f.v, 5, 5, 3, 3, mask);
    return trace_steps(settings, &head, NULL);
}

/* ---- batch ----------------------------------------------------------------------------------- */

enum { B = 2, T = 3, H = 4 };

static double batch_q[B][T * H] = {{1, 0, 2, -1, 0, 2, 1, 0, -1, 1, 0, 2},
                                   {2, -1, 0, 1, 1, 1, 1, 1, 0, 0, 3, -2}};
static double batch_k[B][T * H] = {{2, 1, 0, -1, 0, 1, 1, 1, 1, -1, 1, 3},
                                   {1, 0, 1, 0, 0, 2, -1, 1, -1, 1, 2, -1}};
static double batch_v[B][T * H] = {{1, 0, 0, 2, 0, 3, 1, 0, 2, 1, 0, 1},
                                   {0, 1, 2, 0, 1, 1, 0, 3, 3, 0, 1, 1}};

static void show_batch_shapes(const show *s) {
    show_table_head(s, "Shapes: batch B = 2, tokens T = 3, head size H = d_k = 4", "B x T x H",
                    NULL);
    show_table_row(s, "Q, K, V", "[2,3,4]", NULL);
    show_table_row(s, "S = Q K^T, Z, P: a T x T matrix for each batch entry", "[2,3,3]", NULL);
    show_table_row(s, "O = P V", "[2,3,4]", NULL);
    show_gap(s);
}

static int run_batch(const trace_settings *settings, const mask_request *mask) {
    const show *s = &settings->show;
    head_stats sharp[B][2];
    char label[ITEM_BYTES + 8];
    show_batch_shapes(s);
    for (int b = 0; b < B; b++) {
        attention_head head = head_of(batch_q[b], batch_k[b], batch_v[b], T, T, H, H, mask);
        show_heading(s, b == 0 ? "Batch entry 0" : "Batch entry 1");
        int code = trace_steps(settings, &head, sharp[b]);
        if (code != EXIT_OK) return code;
    }
    (void)snprintf(label, sizeof label, "with %s", settings->rule->name);
    for (int n = settings->rule == scaling_find("none"); n < 2; n++)
        show_line(s, "Whole batch, %s: mean entropy %.4f nats, mean largest weight %.4f.%s",
                  n == 0 ? label : "without the scale",
                  (sharp[0][n].value[HEAD_ENTROPY] + sharp[1][n].value[HEAD_ENTROPY]) / 2,
                  (sharp[0][n].value[HEAD_MAX_WEIGHT] + sharp[1][n].value[HEAD_MAX_WEIGHT]) / 2,
                  s->markdown ? "\n" : "");
    return EXIT_OK;
}

/* ---- one-hot --------------------------------------------------------------------------------- */

enum { NARROW = 4, WIDEST = 4096, QUERIES = 2, KEYS = 3 };

/* Q and K of a width from those of width 4: n = d_k/4 copies side by side, of which K's first
 * (n + sqrt(n))/2 keep their sign and the rest have the opposite one. So each entry stays as large
 * as it was and Q K^T grows by sqrt(n), as that of independent random entries does. */
static void widen(tt_size d_k, double *q, double *k) {
    static const double Q4[QUERIES][NARROW] = {{1, -1, 2, 0}, {0, 1, -1, 1}};
    static const double K4[KEYS][NARROW] = {{1, 0, 1, -1}, {-1, 1, 0, 1}, {1, 1, 1, 1}};
    tt_size copies = d_k / NARROW;
    double kept = ((double)copies + sqrt((double)copies)) / 2;
    for (tt_size c = 0; c < d_k; c++) {
        tt_size copy = c / NARROW;
        double sign = (double)copy < kept ? 1 : -1;
        for (tt_size i = 0; i < QUERIES; i++) q[i * d_k + c] = Q4[i][c % NARROW];
        for (tt_size j = 0; j < KEYS; j++) k[j * d_k + c] = sign * K4[j][c % NARROW];
    }
}

/* Statistics of the head under one rule; the least of the rows' largest weights is *least. False
 * without memory. */
static bool sharpness_of(const attention_head *head, const scaling *rule, head_stats *out,
                         double *least) {
    tt_tape *tape = tt_tape_new();
    if (!tape) return false;
    tt_var o = tt_attention(
        tape, tt_const(tape, head->q), tt_const(tape, head->k), tt_const(tape, head->v),
        (tt_attention_options){.rule = &rule->rule, .mask = head->mask, .rows = TT_ATTENTION_ALL});
    tt_tensor p = tt_attention_weights(tape, o);
    bool good = !tt_tape_error(tape) &&
                head_stats_compute(&head->mask, tt_attention_logits(tape, o), p, out);
    *least = 1;
    for (tt_size i = 0; good && i < p.rows; i++) {
        double most = 0;
        for (tt_size j = 0; j < p.cols; j++) most = fmax(most, p.data[i * p.cols + j]);
        *least = fmin(*least, most);
    }
    tt_tape_free(tape);
    return good;
}

static bool show_width(const trace_settings *settings, const attention_head *head, double *least) {
    head_stats with, without;
    double ignored;
    char label[64], a[32], b[32];
    if (!sharpness_of(head, settings->rule, &with, &ignored) ||
        !sharpness_of(head, scaling_find("none"), &without, least))
        return false;
    (void)snprintf(label, sizeof label, "d_k %td", head->q.cols);
    (void)snprintf(a, sizeof a, "%.3g (%.6f)", with.value[HEAD_ENTROPY],
                   with.value[HEAD_MAX_WEIGHT]);
    (void)snprintf(b, sizeof b, "%.3g (%.6f)", without.value[HEAD_ENTROPY],
                   without.value[HEAD_MAX_WEIGHT]);
    show_table_row(&settings->show, label, a, b);
    return true;
}

static int run_one_hot(const trace_settings *settings, const mask_request *mask) {
    static double q[QUERIES * WIDEST], k[KEYS * WIDEST];
    double v[] = {1, 0, 0, 1, 1, 1}, least = 0;
    char label[ITEM_BYTES];
    attention_head head = {0};
    show_line(
        &settings->show,
        "Each entry of Q and K keeps its size; q.k grows as sqrt(d_k), as that of independent "
        "entries.\n");
    (void)snprintf(label, sizeof label, "with %.14s", settings->rule->name);
    show_table_head(&settings->show, "Mean entropy, nats (mean largest weight)", label,
                    "without the scale");
    for (tt_size d_k = NARROW; d_k <= WIDEST && least < 1 - 1e-6; d_k *= 4) {
        widen(d_k, q, k);
        head = head_of(q, k, v, QUERIES, KEYS, d_k, 2, mask);
        if (!show_width(settings, &head, &least)) return message_fail(EXIT_FAILED, "out of memory");
    }
    show_gap(&settings->show);
    show_line(&settings->show,
              "At d_k %td the smallest of the rows' largest weights is 1 - %.1e without the scale. "
              "In full:\n",
              head.q.cols, 1 - least);
    return trace_steps(settings, &head, NULL);
}

/* ---- The table ------------------------------------------------------------------------------- */

static const trace_lesson LESSONS[] = {
    {"soft-lookup", "one query looks up two keys and gets a mixture of their values", 1, 2,
     run_soft_lookup},
    {"five-tokens", "X = rand(5,3), W_q, W_k, W_v = randn(3,3) after torch.manual_seed(42)", 5, 5,
     run_five_tokens},
    {"batch", "small whole numbers, B x T x H", T, T, run_batch},
    {"one-hot", "the same Q and K at growing d_k, until the weights are one-hot", QUERIES, KEYS,
     run_one_hot},
};

enum { LESSON_COUNT = sizeof LESSONS / sizeof *LESSONS };

const char *trace_lesson_name(int i) {
    return i < LESSON_COUNT ? LESSONS[i].name : NULL;
}

void trace_lessons_help(FILE *to) {
    (void)fputs("Lessons:\n", to);
    for (int i = 0; i < LESSON_COUNT; i++)
        (void)fprintf(to, "  %-12s %s\n", LESSONS[i].name, LESSONS[i].about);
}

int trace_lesson_run(int lesson, const trace_settings *settings, const mask_request *mask) {
    const trace_lesson *l = &LESSONS[lesson];
    const show *s = &settings->show;
    if (!mask_request_fits(mask, l->queries, l->keys)) return EXIT_USAGE;
    show_line(s, "%sLesson %s: %s\n", s->markdown ? "# " : "", l->name, l->about);
    if (mask->causal != TT_CAUSAL_NONE) show_line(s, "Mask: %s\n", mask_word((int)mask->causal));
    return l->run(settings, mask);
}

/* lessons.c: what each lesson prints beside the steps of its head. */
#include "trace/lessons.h"

#include <math.h>
#include <string.h>

#include "common/message.h"
#include "tt/attention.h"

/* ---- soft-lookup ----------------------------------------------------------------------------- */

static int run_soft_lookup(const trace_settings *settings, const tt_mask *mask) {
    lesson_input in;
    if (!lesson_input_new(SOFT_LOOKUP, 0, &in)) return message_fail(EXIT_FAILED, "out of memory");
    attention_head head = lesson_head(&in, mask);
    return trace_steps(settings, &head, NULL);
}

/* ---- five-tokens ----------------------------------------------------------------------------- */

static int run_five_tokens(const trace_settings *settings, const tt_mask *mask) {
    five_tokens f;
    const show *s = &settings->show;
    if (!five_tokens_new(&f)) return message_fail(EXIT_FAILED, "out of memory");
    shown x = {"X", {1, 5, 3, f.x}, NULL, false}, w_q = {"W_q", {1, 3, 3, f.w_q}, NULL, false};
    shown w_k = {"W_k", {1, 3, 3, f.w_k}, NULL, false},
          w_v = {"W_v", {1, 3, 3, f.w_v}, NULL, false};
    show_heading(s, trace_heading(0, false));
    show_pair(s, &x, &w_q);
    show_pair(s, &w_k, &w_v);
    attention_head head = {.q = {1, 5, 3, f.q}, .k = {1, 5, 3, f.k}, .v = {1, 5, 3, f.v}};
    head.mask = *mask;
    return trace_steps(settings, &head, NULL);
}

/* ---- batch ----------------------------------------------------------------------------------- */

static void show_batch_shapes(const show *s) {
    show_table_head(s, "Shapes: batch B = 2, tokens T = 3, head size H = d_k = 4", "B x T x H",
                    NULL);
    show_table_row(s, "Q, K, V", "[2,3,4]", NULL);
    show_table_row(s, "S = Q K^T, Z, P: a T x T matrix for each batch entry", "[2,3,3]", NULL);
    show_table_row(s, "O = P V", "[2,3,4]", NULL);
    show_gap(s);
}

static int run_batch(const trace_settings *settings, const tt_mask *mask) {
    const show *s = &settings->show;
    head_stats sharp[BATCH_B][2];
    char label[ITEM_BYTES + 8];
    show_batch_shapes(s);
    for (int b = 0; b < BATCH_B; b++) {
        lesson_input in;
        if (!lesson_input_new(BATCH, b, &in)) return message_fail(EXIT_FAILED, "out of memory");
        attention_head head = lesson_head(&in, mask);
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

enum { WIDEST = 4096 };

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

static int run_one_hot(const trace_settings *settings, const tt_mask *mask) {
    static double q[ONE_HOT_QUERIES * WIDEST], k[ONE_HOT_KEYS * WIDEST];
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
    for (tt_size d_k = ONE_HOT_NARROW; d_k <= WIDEST && least < 1 - 1e-6; d_k *= 4) {
        one_hot_widen(d_k, q, k);
        head = (attention_head){.q = {1, ONE_HOT_QUERIES, d_k, q},
                                .k = {1, ONE_HOT_KEYS, d_k, k},
                                .v = {1, ONE_HOT_KEYS, 2, v},
                                .mask = *mask};
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

static int (*const RUN[LESSON_COUNT])(const trace_settings *settings,
                                      const tt_mask *mask) = {[SOFT_LOOKUP] = run_soft_lookup,
                                                              [FIVE_TOKENS] = run_five_tokens,
                                                              [BATCH] = run_batch,
                                                              [ONE_HOT] = run_one_hot};

void trace_lessons_help(FILE *to) {
    (void)fputs("Lessons:\n", to);
    for (int i = 0; i < LESSON_COUNT; i++)
        (void)fprintf(to, "  %-12s %s\n", trace_lesson_name(i), trace_lesson_about(i));
}

int trace_lesson_run(int lesson, const trace_settings *settings, const mask_request *mask) {
    const show *s = &settings->show;
    const tt_mask asked = {.causal = mask->causal};
    lesson_input in;
    if (!lesson_input_new(lesson, 0, &in)) return message_fail(EXIT_FAILED, "out of memory");
    if (!mask_request_fits(mask, in.queries, in.keys)) return EXIT_USAGE;
    show_line(s, "%sLesson %s: %s\n", s->markdown ? "# " : "", trace_lesson_name(lesson),
              trace_lesson_about(lesson));
    if (mask->causal != TT_CAUSAL_NONE) show_line(s, "Mask: %s\n", mask_word((int)mask->causal));
    return RUN[lesson](settings, &asked);
}

/* page.c: the students of the page are those of `stall` and, with a gain, the cells of `map`: the
 * same calls in the same order, so the same bits.
 */
#include "page/page.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/stats.h"
#include "map/grid.h"
#include "saturation/theory.h"
#include "trace/inputs.h"
#include "trace/matrices.h"
#include "training/columns.h"
#include "training/kappa.h"
#include "training/ratios.h"
#include "training/verdict.h"
#include "tt/attention.h"
#include "tt/norm.h"

#ifdef __wasm__
/* There is no environment; the C library's would ask the browser for one. */
char *getenv(const char *name) {
    (void)name;
    return NULL;
}
#endif

/* ---- Words ----------------------------------------------------------------------------------- */

static const char *rule_word(int i, int which) {
    const scaling *rule = scaling_at(i);
    if (!rule) return NULL;
    return which == PAGE_NAME ? rule->name : which == PAGE_MEANING ? rule->formula : rule->source;
}

static const char *optimizer_word(int i, int which) {
    const optimizer *o = optimizer_at(i);
    if (!o || which == PAGE_SOURCE) return NULL;
    return which == PAGE_NAME ? o->name : o->meaning;
}

static const char *column_word(int i, int which) {
    if (which == PAGE_SOURCE) return NULL;
    return which == PAGE_NAME ? column_name(i) : column_meaning(i);
}

static const char *verdict_word(int i, int which) {
    if (which == PAGE_SOURCE) return NULL;
    return which == PAGE_NAME ? verdict_name(i) : verdict_meaning(i);
}

static const char *lesson_word(int i, int which) {
    if (which == PAGE_SOURCE) return NULL;
    return which == PAGE_NAME ? trace_lesson_name(i) : trace_lesson_about(i);
}

const char *page_word(int list, int i, int which) {
    if (i < 0) return NULL;
    if (list == PAGE_RULES) return rule_word(i, which);
    if (list == PAGE_OPTIMIZERS) return optimizer_word(i, which);
    if (list == PAGE_COLUMNS) return column_word(i, which);
    if (list == PAGE_LESSONS) return lesson_word(i, which);
    if (list == PAGE_HEADINGS) return which == PAGE_SOURCE ? NULL : trace_heading(i, which != 0);
    return list == PAGE_VERDICTS ? verdict_word(i, which) : NULL;
}

int page_limit(int i) {
    static const int LIMITS[] = {PAGE_STEPS, PAGE_D_K_MOST, PAGE_TOKENS_MOST, PAGE_BATCH_MOST};
    return i >= 0 && i < (int)(sizeof LIMITS / sizeof *LIMITS) ? LIMITS[i] : 0;
}

double page_optimizer_lr(int i) {
    const optimizer *o = i < 0 ? NULL : optimizer_at(i);
    return o ? o->lr : NAN;
}

/* ---- Step by step ---------------------------------------------------------------------------- */

static struct {
    lesson_input input;
    attention_head head;
    trace_head trace;
    bool traced;
} step;

int page_lesson(int lesson) {
    if (step.traced) trace_free(&step.trace);
    step.traced = false;
    return lesson >= 0 && lesson < LESSON_COUNT && lesson_input_new(lesson, 0, &step.input);
}

double *page_input(int which) {
    return which == PAGE_Q   ? step.input.q
           : which == PAGE_K ? step.input.k
           : which == PAGE_V ? step.input.v
                             : NULL;
}

int page_attend(int rule, int causal, int backward) {
    const tt_mask mask = {.causal = causal ? TT_CAUSAL_TOP_LEFT : TT_CAUSAL_NONE};
    const scaling *s = rule < 0 ? NULL : scaling_at(rule);
    if (!s || step.input.queries == 0) return 0;
    if (step.traced) trace_free(&step.trace);
    step.head = lesson_head(&step.input, &mask);
    step.traced = true;
    return trace_compute(&step.trace, &step.head, s, backward != 0) == NULL;
}

static tt_tensor matrix(int which, int side) {
    const tt_tensor none = {0, 0, 0, NULL};
    const trace_head *t = &step.trace;
    if (!step.traced || which < 0 || which >= PAGE_SIDES + MATRICES || side < 0 || side >= t->sides)
        return none;
    const tt_tensor shared[PAGE_SIDES] = {step.head.q, step.head.k, step.head.v,
                                          t->scores,   t->d_out,    t->d_weights};
    return which < PAGE_SIDES ? shared[which] : t->side[side].m[which - PAGE_SIDES];
}

const double *page_matrix(int which, int side) {
    return matrix(which, side).data;
}

int page_rows(int which, int side) {
    return matrix(which, side).data ? (int)matrix(which, side).rows : 0;
}

int page_cols(int which, int side) {
    return matrix(which, side).data ? (int)matrix(which, side).cols : 0;
}

/* ---- Training -------------------------------------------------------------------------------- */

typedef struct trainee {
    student student;
    const optimizer *optimizer;
    recipe recipe;
    double kappa, ratio[PAGE_STEPS], columns[64], row_gradient[PAGE_TOKENS_MOST];
    bool active, diverged;
} trainee;

static struct {
    teacher teacher;
    meter meter;
    uint64_t seed;
    bool there;
    trainee trainee[PAGE_STUDENTS];
} now;

static trainee *trainee_at(int which) {
    return which >= 0 && which < PAGE_STUDENTS && now.trainee[which].active ? &now.trainee[which]
                                                                            : NULL;
}

static void dismiss(int which) {
    if (now.trainee[which].active) student_free(&now.trainee[which].student);
    now.trainee[which].active = false;
}

static void leave(void) {
    for (int i = 0; i < PAGE_STUDENTS; i++) dismiss(i);
    if (!now.there) return;
    meter_free(&now.meter);
    teacher_free(&now.teacher);
    now.there = false;
}

static bool within(int x, int least, int most) {
    return x >= least && x <= most;
}

int page_teacher(int d_k, int tokens, int batch, double seed) {
    const training_config config = {
        .batch = batch, .tokens = tokens, .d_model = 32, .d_k = d_k, .d_v = 32, .target_gain = 1};
    leave();
    if (!within(d_k, 1, PAGE_D_K_MOST) || !within(tokens, 2, PAGE_TOKENS_MOST) ||
        !within(batch, 1, PAGE_BATCH_MOST) || !(seed >= 0 && seed <= UINT32_MAX))
        return 0;
    now.seed = (uint64_t)seed;
    if (!teacher_new(&now.teacher, &config, now.seed)) return 0;
    now.there = meter_new(&now.meter, &config);
    if (!now.there) teacher_free(&now.teacher);
    return now.there;
}

/* kappa at its start; nan without memory. */
static double first_kappa(const trainee *t, const scaling *rule, double lr, double gain) {
    const training_config *config = &now.teacher.config;
    double per_lr = kappa_per_lr(rule, t->optimizer, config, gain);
    if (isnan(per_lr) &&
        !kappa_measure(&rule, 1, t->optimizer, &t->recipe, config, gain, now.seed, &per_lr))
        return NAN;
    return lr * per_lr;
}

/* Student `which` from now on: kappa, lr, gain and the recipe are set; its optimizer was. */
static int enrol(int which, const scaling *rule, double lr, double gain) {
    trainee *t = &now.trainee[which];
    const student_config config = {rule, gain, t->optimizer, lr, &t->recipe};
    t->diverged = false;
    t->active = lr > 0 && isfinite(lr) && student_new(&t->student, &now.teacher, &config);
    return t->active;
}

/* A place for student `which` with this optimizer; NULL if there is none. */
static trainee *place(int which, int method) {
    if (!now.there || !within(which, 0, PAGE_STUDENTS - 1) || method < 0) return NULL;
    dismiss(which);
    now.trainee[which].optimizer = optimizer_at(method);
    now.trainee[which].recipe = RECIPE_PLAIN;
    return now.trainee[which].optimizer ? &now.trainee[which] : NULL;
}

int page_student(int which, int rule, int method, double lr, double gain) {
    const scaling *s = rule < 0 ? NULL : scaling_at(rule);
    trainee *t = place(which, method);
    if (!t || !s || !(gain > 0 && isfinite(gain))) return 0;
    t->kappa = first_kappa(t, s, lr, gain);
    return enrol(which, s, lr, gain);
}

int page_point(int which, int method, double sigma0, double kappa) {
    trainee *t = place(which, method);
    if (!t || !(sigma0 > 0 && isfinite(sigma0) && kappa > 0 && isfinite(kappa))) return 0;
    const int64_t d_k = now.teacher.config.d_k, seed = (int64_t)now.seed;
    const scaling *rule = scaling_find("sqrt");
    const map_config config = {.optimizer = &t->optimizer,
                               .optimizer_count = 1,
                               .scale = &rule,
                               .scale_count = 1,
                               .d_k = &d_k,
                               .d_k_count = 1,
                               .sigma0 = &sigma0,
                               .kappa = &kappa,
                               .sigma0_count = 1,
                               .kappa_count = 1,
                               .seed = &seed,
                               .seed_count = 1,
                               .training = now.teacher.config,
                               .recipe = RECIPE_PLAIN,
                               .steps = PAGE_STEPS};
    map m;
    if (!map_new(&m, &config)) return 0;
    const cell c = m.cells[0];
    t->recipe = cell_recipe(&config, &c);
    t->kappa = kappa;
    map_free(&m);
    return enrol(which, rule, c.lr, c.gain);
}

int page_next(void) {
    return now.there && teacher_next(&now.teacher);
}

static void keep_row_gradients(trainee *t) {
    const tt_tensor dz = tt_attention_logits_grad(t->student.tape, t->student.output);
    const double rows = (double)(dz.batch * dz.rows);
    for (tt_size r = 0; r < dz.rows; r++)
        t->row_gradient[r] = rows * tt_norm(dz.data + r * dz.cols, dz.cols);
}

/* As a run of a sweep (training/sweep.c) takes it. */
int page_step(int which, int measured) {
    trainee *t = trainee_at(which);
    if (!t || t->diverged || t->student.steps >= PAGE_STEPS) return 0;
    student *s = &t->student;
    if (student_learn(s, &now.teacher)) return 0;
    const double ratio = student_loss(s) / student_loss_uniform(s, &now.teacher);
    t->ratio[s->steps] = ratio;
    t->diverged = !isfinite(ratio);
    if (t->diverged) return -1;
    now.meter.brief = measured == PAGE_BRIEF;
    if (measured && meter_read(&now.meter, s, &now.teacher, t->columns)) return 0;
    if (measured) keep_row_gradients(t);
    t->diverged = !student_update(s);
    if (measured && meter_read_update(&now.meter, s, &now.teacher, t->columns)) return 0;
    return t->diverged ? -1 : 1;
}

int page_steps(int which) {
    const trainee *t = trainee_at(which);
    return t ? (int)t->student.steps : 0;
}

const double *page_ratios(int which) {
    const trainee *t = trainee_at(which);
    return t ? t->ratio : NULL;
}

const double *page_columns(int which) {
    const trainee *t = trainee_at(which);
    return t ? t->columns : NULL;
}

const double *page_weights(int which) {
    const trainee *t = trainee_at(which);
    return t ? tt_attention_weights(t->student.tape, t->student.output).data : NULL;
}

const double *page_teacher_weights(void) {
    return now.there ? now.teacher.weights.data : NULL;
}

const double *page_row_gradients(int which) {
    const trainee *t = trainee_at(which);
    return t ? t->row_gradient : NULL;
}

/* Of the run that ends here. */
static ratios ratios_of(const trainee *t) {
    ratios r = {.steps = 0};
    for (tt_size i = 0; i < t->student.steps; i++) ratios_add(&r, t->student.steps, t->ratio[i]);
    return r;
}

double page_ratio(int which) {
    const trainee *t = trainee_at(which);
    if (!t) return NAN;
    const ratios r = ratios_of(t);
    return t->diverged ? INFINITY : ratios_last(&r);
}

int page_verdict(int which) {
    const trainee *t = trainee_at(which);
    if (!t) return -1;
    if (t->diverged) return DIVERGED;
    const ratios r = ratios_of(t);
    const double gone = travelled(&t->recipe, t->optimizer, t->kappa, r.steps);
    return (int)verdict_of(ratios_last(&r), ratios_middle(&r), gone < t->optimizer->enough);
}

double page_kappa(int which) {
    const trainee *t = trainee_at(which);
    return t ? t->kappa : NAN;
}

double page_kappa_now(int which) {
    const trainee *t = trainee_at(which);
    return t ? kappa_now_of(&t->student, t->optimizer, now.teacher.config.tokens) : NAN;
}

double page_sigma_now(int which) {
    const trainee *t = trainee_at(which);
    if (!t) return NAN;
    const tt_tensor z = tt_attention_logits(t->student.tape, t->student.output);
    return z.data ? stats_deviation(z.data, tt_tensor_count(z)) : NAN;
}

/* ---- Saturation ------------------------------------------------------------------------------ */

const double *page_theory(int n, int d_k, int rule) {
    static theory_moments moments;
    const scaling *s = rule < 0 ? NULL : scaling_at(rule);
    if (!s || !within(n, 1, 4096) || !within(d_k, 1, 65536)) return NULL;
    /* what the first projection is smaller by, the logits of random queries are, too */
    const double factor = scaling_factor(s, d_k, n) * scaling_query_gain(s, d_k);
    if (!(factor * sqrt((double)d_k) <= 64)) return NULL;
    theory_qk(n, d_k, factor, &moments);
    return &moments.sum_w2;
}

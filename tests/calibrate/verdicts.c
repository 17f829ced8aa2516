/* verdicts.c: does a run that is called stalled stay so, and is `early` early enough? Runs of all
 * rules, learning rates and starts are trained for twice as long as the verdict is about: one that
 * is called stalled at N steps and has halved its ratio at 2N is an exception, and listed. For soft
 * starts it is counted how far (kappa times the steps) they travel until they are trained: most are
 * by `enough` of the optimizers (training/recipe.c).
 *   build/calibrate-verdicts [SEEDS [D_K...]]      2 seeds, d_k 8, 128 and 512, unless given
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/machine.h"
#include "common/parallel.h"
#include "common/stats.h"
#include "training/kappa.h"
#include "training/verdict.h"

enum { MOST_STEPS = 2000, SPAN = 20, RATES = 5, WIDTHS_MOST = 16, RULES_MOST = 64 };
static const tt_size STEPS[] = {100, 200, 300, 500, 700, 1000};
enum { STEP_COUNT = sizeof STEPS / sizeof *STEPS };

/* By optimizer: from a thousandth of its usual rate to ten or a hundred times that; gradient
 * descent under every rule, the others under none and sqrt, which is where they differ. */
static const struct {
    const char *name;
    double lr[RATES];
    int rules;
} OPTIMIZERS[] = {{"sgd", {0.001, 0.01, 0.1, 1, 10}, RULES_MOST},
                  {"momentum", {0.0001, 0.001, 0.01, 0.1, 1}, 2},
                  {"adam", {1e-5, 1e-4, 1e-3, 0.01, 0.1}, 2}};
enum { OPTIMIZER_COUNT = sizeof OPTIMIZERS / sizeof *OPTIMIZERS };

/* Where training starts: at draws of its own, softer or sharper by d_k^(1/4), or at the teacher. */
enum { AT_DRAWS, SOFTER, SHARPER_START, AT_TEACHER, STARTS };
static const char *const START[STARTS] = {"", "gain d_k^-1/4", "gain d_k^1/4", "init teacher"};

/* One run, its ratio at every step. */
typedef struct trial {
    const scaling *rule;
    const optimizer *optimizer;
    double lr, kappa;
    student student;
    bool active;
    double ratio[MOST_STEPS];
    tt_size steps;
} trial;

/* What one teacher teaches. */
typedef struct lesson {
    tt_size d_k;
    uint64_t seed;
    int start;
    trial *trial;
    int count;
} lesson;

static void need(bool good, const char *what) {
    if (good) return;
    (void)fprintf(stderr, "calibrate-verdicts: %s\n", what);
    exit(EXIT_FAILURE);
}

static double gain_of(const lesson *l) {
    const double root = sqrt(sqrt((double)l->d_k));
    return l->start == SOFTER ? 1 / root : l->start == SHARPER_START ? root : 1;
}

static training_config config_of(const lesson *l) {
    return (training_config){.batch = 32,
                             .tokens = 16,
                             .d_model = 32,
                             .d_k = l->d_k,
                             .d_v = 32,
                             .start_teacher = l->start == AT_TEACHER};
}

static void list_trials(lesson *l) {
    const training_config config = config_of(l);
    l->trial = calloc((size_t)(RULES_MOST * OPTIMIZER_COUNT * RATES), sizeof *l->trial);
    need(l->trial, "out of memory");
    for (int o = 0; o < OPTIMIZER_COUNT; o++)
        for (int k = 0; k < OPTIMIZERS[o].rules && scaling_at(k); k++) {
            const optimizer *by = optimizer_find(OPTIMIZERS[o].name);
            const scaling *rule = scaling_at(k);
            double per_lr = kappa_per_lr(rule, by, &config, gain_of(l));
            if (!scaling_is_constant(rule))
                need(kappa_measure(&rule, 1, by, &RECIPE_PLAIN, &config, gain_of(l), l->seed,
                                   &per_lr),
                     "out of memory");
            for (int r = 0; r < RATES; r++) {
                trial *t = &l->trial[l->count++];
                t->rule = rule;
                t->optimizer = by;
                t->lr = OPTIMIZERS[o].lr[r];
                t->kappa = t->lr * per_lr;
            }
        }
}

static void train(void *context, tt_size i) {
    lesson *l = (lesson *)context + i;
    const training_config config = config_of(l);
    teacher from;
    list_trials(l);
    need(teacher_new(&from, &config, l->seed), "out of memory");
    for (int k = 0; k < l->count; k++) {
        trial *t = &l->trial[k];
        const student_config with = {t->rule, gain_of(l), t->optimizer, t->lr, &RECIPE_PLAIN};
        t->active = student_new(&t->student, &from, &with);
        need(t->active, "out of memory");
    }
    for (int step = 0; step < MOST_STEPS; step++) {
        need(teacher_next(&from), "out of memory");
        for (int k = 0; k < l->count; k++) {
            trial *t = &l->trial[k];
            if (!t->active) continue;
            need(!student_learn(&t->student, &from), "training failed");
            const double uniform = student_loss_uniform(&t->student, &from);
            t->ratio[t->steps] = student_loss(&t->student) / uniform;
            t->active = isfinite(t->ratio[t->steps]);
            t->steps += t->active;
            t->active = t->active && student_update(&t->student);
        }
    }
    for (int k = 0; k < l->count; k++) student_free(&l->trial[k].student);
    teacher_free(&from);
}

/* The median ratio of the steps from first to before last. */
static double median_of(const trial *t, tt_size first, tt_size last) {
    double x[SPAN];
    tt_size n = 0;
    for (tt_size i = first; i < last; i++) x[n++] = t->ratio[i];
    return stats_median(x, n);
}

/* ---- What came out --------------------------------------------------------------------------- */

enum { SOFT_MOST = 4096 };

typedef struct tally {
    long verdicts[STEP_COUNT][VERDICTS], exceptions[STEP_COUNT];
    double travelled[SOFT_MOST]; /* until trained, of soft starts */
    tt_size soft;
} tally;

static void judge(const lesson *l, const trial *t, tally *to) {
    const sweep_config plain = {.recipe = RECIPE_PLAIN};
    for (int s = 0; s < STEP_COUNT; s++) {
        const tt_size n = STEPS[s];
        run r = {.optimizer = t->optimizer, .kappa = t->kappa, .steps = n};
        r.ratio = t->steps < n ? INFINITY : median_of(t, n - SPAN, n);
        r.middle = t->steps < n ? INFINITY : median_of(t, n / 2 - SPAN / 2, n / 2 + SPAN / 2);
        const verdict v = verdict_of_run(&plain, &r);
        to->verdicts[s][v]++;
        if (v != STALLED || t->steps < 2 * n) continue;
        const double later = median_of(t, 2 * n - SPAN, 2 * n);
        if (later >= 0.5 * r.ratio) continue;
        to->exceptions[s]++;
        printf("stalled at %4td steps: d_k %td %s %s %g seed %d %s: ratio %.3g, at %td %.3g\n", n,
               l->d_k, t->rule->name, t->optimizer->name, t->lr, (int)l->seed, START[l->start],
               r.ratio, 2 * n, later);
    }
}

/* How far a soft start travelled until the median of 20 ratios was 0.1. */
static void measure(const trial *t, tally *to) {
    const sweep_config plain = {.recipe = RECIPE_PLAIN};
    for (tt_size n = SPAN; n <= t->steps; n++) {
        if (median_of(t, n - SPAN, n) > 0.1) continue;
        const run r = {.optimizer = t->optimizer, .kappa = t->kappa, .steps = n};
        need(to->soft < SOFT_MOST, "too many seeds");
        to->travelled[to->soft++] = verdict_travelled(&plain, &r);
        return;
    }
}

static void say(const char *name, tally *t) {
    printf("\n%s\n%6s", name, "steps");
    for (int v = 0; v < VERDICTS; v++) printf(" %9s", verdict_name(v));
    printf(" %9s\n", "halved");
    for (int s = 0; s < STEP_COUNT; s++) {
        printf("%6td", STEPS[s]);
        for (int v = 0; v < VERDICTS; v++) printf(" %9ld", t->verdicts[s][v]);
        printf(" %9ld\n", t->exceptions[s]);
    }
    stats_sort(t->travelled, t->soft);
    if (t->soft > 0)
        printf("%td soft starts trained after kappa N = %.3g, %.3g, %.3g (least, median, most)\n",
               t->soft, t->travelled[0], stats_quantile(t->travelled, t->soft, 0.5),
               t->travelled[t->soft - 1]);
}

int main(int argc, char **argv) {
    static tally of[OPTIMIZER_COUNT];
    tt_size width[WIDTHS_MOST] = {8, 128, 512};
    int widths = argc > 2 ? 0 : 3;
    const int seeds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2;
    for (int i = 2; i < argc && widths < WIDTHS_MOST; i++)
        width[widths++] = (tt_size)strtol(argv[i], NULL, 10);
    const tt_size count = (tt_size)widths * seeds * STARTS;
    lesson *lessons = calloc((size_t)count, sizeof *lessons);
    need(lessons && count > 0, "out of memory, or no seeds");
    for (tt_size i = 0; i < count; i++) {
        lessons[i].d_k = width[widths - 1 - i / ((tt_size)seeds * STARTS)];
        lessons[i].seed = (uint64_t)(i / STARTS % seeds);
        lessons[i].start = (int)(i % STARTS);
    }
    parallel_for((int)machine_processors(), count, train, lessons);
    for (tt_size i = 0; i < count; i++) {
        const lesson *l = &lessons[i];
        for (int k = 0; k < l->count; k++) {
            const trial *t = &l->trial[k];
            const bool soft = l->start == AT_DRAWS && t->rule == scaling_find("sqrt");
            for (int o = 0; o < OPTIMIZER_COUNT; o++) {
                if (t->optimizer != optimizer_find(OPTIMIZERS[o].name)) continue;
                judge(l, t, &of[o]);
                if (soft) measure(t, &of[o]);
            }
        }
        free(l->trial);
    }
    for (int o = 0; o < OPTIMIZER_COUNT; o++) say(OPTIMIZERS[o].name, &of[o]);
    free(lessons);
    return EXIT_SUCCESS;
}

/* stall.c: `sqrtdk stall`, the experiment of this project: does attention without 1/sqrt(d_k) stall
 * where d_k is large, and which gradient vanishes? Options, files and signals live here; the
 * training is in training/, the words are in findings.c.
 */
#include "stall/stall.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/machine.h"
#include "common/message.h"
#include "common/progress.h"
#include "common/resumable.h"
#include "common/scale_option.h"
#include "common/settings.h"
#include "common/stop.h"
#include "stall/findings.h"
#include "stall/recall.h"
#include "training/log.h"
#include "training/recipe_option.h"
#include "training/sweep_runs.h"

enum { LR_WEIGHT, LR_LOGIT, LR_UNITS };

static const char *unit_word(int i) {
    static const char *const WORDS[LR_UNITS + 1] = {"weight", "logit"};
    return WORDS[i];
}

static const option_words WORDS[] = {{"init", teacher_init_word},
                                     {"target", teacher_target_word},
                                     {"lr-unit", unit_word},
                                     {NULL, NULL}};

static const option_spec OPTIONS[] = {
    {"d-k", "LIST", "8,16,32,64,128,256,512", "key widths, 1 to 65536; a..b is a range"},
    {"scale", "LIST", "none,sqrt", "scaling rules of the student's logits, or numbers; see below"},
    RECIPE_OPTIONS,
    {"lr-unit", "NAME", "weight",
     "with logit, each rate is kappa, the nominal step in logits; see below: "},
    {"seed", "LIST", "0..4", "seeds, as for torch.manual_seed"},
    {"steps", "N", "500", "training steps a run"},
    {"batch", "B", "32", "sequences a step"},
    {"tokens", "T", "16", "tokens a sequence, at least 2"},
    {"d-model", "N", "32", "width of the tokens"},
    {"d-v", "N", "32", "width of the values"},
    {"init", "NAME", "standard", "where the student starts, teacher being Wq*, Wk*: "},
    {"init-gain", "G", "1", "factor on its first Wq, Wk: a number, dk^-1/4 or dk^1/4"},
    {"target", "NAME", "soft", "what is learned, hard being 1 at the teacher's largest logit: "},
    {"target-gain", "G", "1", "factor on the teacher's logits"},
    {"fixed-batch", NULL, "", "train on the first batch only"},
    {"train-values", NULL, "", "give the student its own Wv and train it"},
    {"every", "N", "5", "log every n-th step; the first and the last always"},
    {"threads", "N", "", "threads (default: all processors); no result depends on it"},
    RESULTS_OPTIONS("results/stall.csv", "the log"),
    RESUMABLE_OPTIONS,
    {"quiet", NULL, "", "no progress, no table, no sentences"},
};

/* ---- Options --------------------------------------------------------------------------------- */

typedef struct request {
    const options *text;
    int64_t d_k[LIST_MOST], seed[LIST_MOST];
    optimizer_rate rate[LIST_MOST];
    scale_list scale;
    sweep_config config;
} request;

static const char *text_of(const request *q, const char *name) {
    return options_text(q->text, name);
}

static bool read_scales(request *q) {
    if (!scale_option_list(q->text, &q->scale)) return false;
    q->config.scale = q->scale.rule;
    q->config.scale_count = q->scale.count;
    return true;
}

/* kappa of adam, adamw is of another kind: rates by it are not the same step. */
static bool read_unit(request *q) {
    const sweep_config *c = &q->config;
    int unit;
    if (!options_choice(q->text, "lr-unit", &unit)) return false;
    q->config.lr_in_logits = unit == LR_LOGIT;
    for (int i = 0; c->lr_in_logits && i < c->rate_count; i++)
        if (c->rate[i].optimizer->normalised)
            return complain("--lr-unit logit with --optimizer %s: expected optimizers whose steps "
                            "grow with the gradient",
                            c->rate[i].optimizer->name);
    return true;
}

static bool read_start_and_target(request *q) {
    training_config *m = &q->config.training;
    int init, target;
    if (!options_choice(q->text, "init", &init) || !options_choice(q->text, "target", &target))
        return false;
    m->start_teacher = init == INIT_TEACHER;
    m->hard_target = target == TARGET_HARD;
    return options_positive(q->text, "target-gain", &m->target_gain);
}

static bool read_gain(request *q) {
    const char *text = text_of(q, "init-gain");
    sweep_config *c = &q->config;
    c->gain_kind = GAIN_NUMBER;
    if (strcmp(text, "dk^-1/4") == 0) c->gain_kind = GAIN_DK_DOWN;
    if (strcmp(text, "dk^1/4") == 0) c->gain_kind = GAIN_DK_UP;
    if (c->gain_kind != GAIN_NUMBER) return true;
    return (options_number(text, &c->gain) && c->gain >= 1e-6 && c->gain <= 1e6) ||
           complain("--init-gain '%s': expected a number from 1e-6 to 1e6, dk^-1/4 or dk^1/4",
                    text);
}

/* d_k, scale, optimizer, rate and seed are the key of a run: kappas that differ in their last digit
 * may come out as one rate. */
static bool rates_differ(const sweep *s) {
    const sweep_config *c = &s->config;
    for (tt_size i = 0; i < s->count; i++) {
        const run *a = &s->runs[i];
        const int rate = (int)(i / c->seed_count % c->rate_count);
        for (int r = 1; r <= rate; r++) {
            const run *b = a - (tt_size)r * c->seed_count;
            if (b->lr == a->lr && b->optimizer == a->optimizer)
                return complain("--lr %.17g and %.17g with --lr-unit logit are one rate, %.17g, at "
                                "d_k %" PRId64 ", scale %s; expected kappas further apart",
                                b->kappa, a->kappa, a->lr, a->d_k, a->scale->name);
        }
    }
    return true;
}

/* Extreme rates and gains can overflow or vanish on the way to the rate that is used. */
static bool rates_make_sense(const request *q, const sweep *s) {
    for (tt_size i = 0; i < s->count; i++) {
        const run *c = &s->runs[i];
        if (c->elsewhere || (isfinite(c->lr) && c->lr > 0 && isfinite(c->kappa))) continue;
        return complain("--optimizer %s, --lr '%s', --lr-unit %s, --init-gain %s: at d_k %" PRId64
                        ", scale %s the rate is %g and kappa %g; expected finite ones above 0",
                        text_of(q, "optimizer"), text_of(q, "lr"), text_of(q, "lr-unit"),
                        text_of(q, "init-gain"), c->d_k, c->scale->name, c->lr, c->kappa);
    }
    return rates_differ(s);
}

/* Refuses what this machine cannot hold before anything is allocated, and runs no more runs at
 * once than fit. */
static bool fits_memory(request *q) {
    const double job = sweep_job_bytes(&q->config), log = sweep_log_bytes(&q->config);
    if (!machine_fits(job + log,
                      "--d-k %s, --batch %s, --tokens %s, --d-model %s, --d-v %s, --steps %s: the "
                      "runs of the largest d_k, trained together, and the log need",
                      text_of(q, "d-k"), text_of(q, "batch"), text_of(q, "tokens"),
                      text_of(q, "d-model"), text_of(q, "d-v"), text_of(q, "steps")))
        return false;
    const double at_once = (machine_memory() - log) / job;
    if (machine_memory() > 0 && at_once < q->config.threads)
        q->config.threads = at_once < 1 ? 1 : (int)at_once;
    return true;
}

static bool read_sizes(request *q) {
    sweep_config *c = &q->config;
    training_config *m = &c->training;
    const options *o = q->text;
    return options_size(o, "steps", 1, 1000000000, &c->steps) &&
           options_size(o, "batch", 1, 65536, &m->batch) &&
           options_size(o, "tokens", 2, 65536, &m->tokens) &&
           options_size(o, "d-model", 1, 65536, &m->d_model) &&
           options_size(o, "d-v", 1, 65536, &m->d_v) &&
           options_size(o, "every", 1, 1000000000, &c->every);
}

static bool read_request(request *q, resumable *kept) {
    sweep_config *c = &q->config;
    const options *o = q->text;
    *c = (sweep_config){.d_k = q->d_k, .rate = q->rate, .seed = q->seed};
    c->training.fixed_batch = options_flag(o, "fixed-batch");
    c->training.train_values = options_flag(o, "train-values");
    return options_int_list(o, "d-k", 1, 65536, q->d_k, &c->d_k_count) && read_scales(q) &&
           recipe_option(o, q->rate, &c->rate_count, &c->recipe) &&
           options_int_list(o, "seed", 0, 4294967295, q->seed, &c->seed_count) && read_sizes(q) &&
           read_start_and_target(q) && read_gain(q) && read_unit(q) &&
           settings_threads(o, &c->threads) && resumable_option(kept, o) && fits_memory(q);
}

/* ---- Running --------------------------------------------------------------------------------- */

typedef struct running {
    const request *request;
    sweep sweep;
    resumable kept;
    progress progress;
} running;

static bool on_finished(void *context, const run *c) {
    running *r = context;
    progress_item(&r->progress, "d_k %td %s %s lr %.3g seed %td: ratio %.2g", (tt_size)c->d_k,
                  c->scale->name, c->optimizer->name, c->lr, (tt_size)c->seed, c->ratio);
    bool good = resumable_add(&r->kept, c - r->sweep.runs);
    if (!good) progress_end(&r->progress);
    return good;
}

static void on_advanced(void *context, tt_size steps, double work) {
    running *r = context;
    progress_advance(&r->progress, steps, work);
}

enum { LOG, RUNS, SUMMARY, BANDS, FILES };
static const char *const ENDINGS[FILES] = {"", "_runs.csv", "_summary.csv", "_bands.csv"};

static bool open_files(running *r) {
    const options *o = r->request->text;
    return resumable_open(&r->kept, o, "runs", sweep_runs(&r->sweep, o->command->name), ENDINGS,
                          FILES);
}

/* ---- Results --------------------------------------------------------------------------------- */

static bool write_files(running *r, const report *rep) {
    results *to = &r->kept.results;
    if (!r->kept.direct && !results_open(to, r->request->text, ENDINGS, FILES)) return false;
    to->missing = rep->missing;
    log_write(to->file[LOG].stream, &r->sweep);
    if (!to->direct) {
        report_runs_csv(to->file[RUNS].stream, rep);
        report_summary_csv(to->file[SUMMARY].stream, rep);
        if (!report_bands_csv(to->file[BANDS].stream, rep)) return complain_of_memory();
    }
    return results_commit(to);
}

static void say_results(const running *r, const report *rep) {
    FILE *to = results_people(&r->kept.results);
    if (r->kept.quiet) return;
    if (rep->missing == 0) {
        findings_table(to, rep);
        findings_say(to, rep);
    }
    results_say(&r->kept.results, to);
}

/* What was given beside the axes of the sweep; the caller frees. */
static char *given_beside(const options *o) {
    static const char *const BUT[] = {"d-k",  "scale", "optimizer", "lr",
                                      "seed", "steps", "every",     NULL};
    return settings_given(o, BUT);
}

static int finish(running *r) {
    report rep;
    char *given = given_beside(r->request->text);
    if (!given || !report_new(&rep, &r->sweep, given)) {
        free(given);
        return message_fail(EXIT_FAILED, "out of memory");
    }
    bool good = write_files(r, &rep);
    good = good && partial_remove(&r->kept.partial);
    if (good) say_results(r, &rep);
    report_free(&rep);
    free(given);
    return good ? EXIT_OK : EXIT_FAILED;
}

static int train_and_finish(running *r) {
    char error[256];
    double work = 0;
    stop_spare_writes();
    const sweep_config *c = &r->sweep.config;
    for (tt_size i = 0; i < r->sweep.count; i++)
        if (!r->sweep.runs[i].finished && !r->sweep.runs[i].elsewhere)
            work += (double)c->steps * sweep_job_work(c, r->sweep.runs[i].d_k) / c->scale_count;
    progress_start(&r->progress, r->kept.own, work, r->kept.quiet);
    r->progress.items_done = r->kept.finished;
    sweep_observer observer = {r, on_finished, on_advanced};
    sweep_result result = sweep_train(&r->sweep, &observer, &stop_signal, error, sizeof error);
    progress_end(&r->progress);
    if (result == SWEEP_STOPPED && r->kept.finished < r->kept.own)
        return resumable_interrupted(&r->kept);
    if (result != SWEEP_FAILED)
        return c->shard.count > 0 ? resumable_share_done(&r->kept) : finish(r);
    return error[0] ? message_fail(EXIT_FAILED, "%s", error) : EXIT_FAILED;
}

/* Lays out the runs of the request. EXIT_OK, or the exit code after one line. */
static int lay_out(running *r, const request *q) {
    sweep_config config = q->config;
    config.shard = r->kept.shard;
    if (!sweep_new(&r->sweep, &config) || !sweep_measure(&r->sweep, &stop_signal))
        return message_fail(EXIT_FAILED, "out of memory");
    if (stop_signal) return resumable_interrupted(&r->kept);
    return rates_make_sense(q, &r->sweep) ? EXIT_OK : EXIT_USAGE;
}

static int run_stall(const options *o) {
    static request q;
    running r = {.request = &q};
    q.text = o;
    if (!read_request(&q, &r.kept)) return EXIT_USAGE;
    stop_catch_signals();
    int code = lay_out(&r, &q);
    if (code == EXIT_OK && open_files(&r))
        code = train_and_finish(&r);
    else if (code == EXIT_OK)
        code = stop_signal ? EXIT_SIGNAL + stop_signal : EXIT_FAILED;
    resumable_close(&r.kept);
    sweep_free(&r.sweep);
    return code;
}

static int merge_stall(const options *o, const share_files *files) {
    static request q;
    running r = {.request = &q};
    q.text = o;
    if (!read_request(&q, &r.kept)) return EXIT_USAGE;
    int code = lay_out(&r, &q);
    if (code == EXIT_OK)
        code = resumable_merge(&r.kept, o, sweep_runs(&r.sweep, o->command->name), files) < 0
                   ? EXIT_FAILED
                   : finish(&r);
    resumable_close(&r.kept);
    sweep_free(&r.sweep);
    return code;
}

static int report_stall(const options *o, const char *path, FILE *to) {
    static request q;
    sweep s = {.runs = NULL};
    resumable kept = {.output = NULL};
    report rep;
    char *given = given_beside(o);
    q.text = o;
    bool good =
        (given || complain_of_memory()) && read_request(&q, &kept) &&
        ((sweep_new(&s, &q.config) && sweep_measure(&s, &stop_signal)) || complain_of_memory()) &&
        recall_sweep(&s, path);
    good = good && (report_new(&rep, &s, given) || complain_of_memory());
    if (good) {
        findings_table(to, &rep);
        findings_say(to, &rep);
        report_free(&rep);
    }
    sweep_free(&s);
    free(given);
    return good ? EXIT_OK : EXIT_FAILED;
}

static void print_more(FILE *to) {
    columns_help(to);
    (void)fputc('\n', to);
    scale_option_help(to);
    (void)fputc('\n', to);
    recipe_option_help(to);
}

static const char *const EXAMPLES[] = {
    "stall --d-k 8,64 --seed 0 --steps 200 --output results/quick.csv",
    "stall --d-k 64 --seed 0 --lr-unit logit --output results/step.csv", NULL};

const command_spec STALL_COMMAND = {
    .name = "stall",
    .summary =
        "Trains attention at several d_k with and without the scale, and says what was seen.",
    .options = OPTIONS,
    .count = sizeof OPTIONS / sizeof *OPTIONS,
    .words = WORDS,
    .explained = RECIPE_WORDS,
    .notes = "Beside the log FILE = stem.csv: stem_runs.csv (how each run ended), stem_summary.csv "
             "(a row for each d_k, scale and lr), stem_bands.csv (median and quartiles over seeds, "
             "for plots) and stem.meta (the settings). With --output - the log goes to standard "
             "output, the table to standard error, and nothing else is written; so too where FILE "
             "is a pipe or a device.\n"
             "Verdict of a run within its steps, by the median of loss / loss_uniform over the "
             "last 20: trained <= 0.1; else early, if kappa times the steps is below 300 (adam, "
             "adamw: 8), by which most soft starts that were tried had trained; else stalled, if "
             ">= 1 (no better than not attending) and less than 10 % better than in the middle; "
             "else slow. A state beside it: sharper or flatter than the teacher, if entropies "
             "differ by more than ln T / 10 and one scalar on the logits would halve the ratio; "
             "else alike.\n"
             "kappa, the nominal step in logits (how far a step moves them at a given gradient of "
             "the logits, over that of sqrt at lr 1): lr s^2 d_k (g_q^2 + g_k^2) / 2 for a factor "
             "s and first weights times g_q, g_k (sqrt: lr; none: lr d_k); adam, adamw: lr s d_k "
             "(g_q + g_k) / 2; for rules that divide by norms measured on the first batch.",
    .examples = EXAMPLES,
    .more = print_more,
    .run = run_stall,
    .report = report_stall,
    .merge = merge_stall,
};

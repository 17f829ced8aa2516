/* stall.c: `sqrtdk stall`, the experiment of this project: does attention without 1/sqrt(d_k) stall
 * where d_k is large, and which gradient vanishes? Options, files and signals live here; the
 * training is in sweep.c and model.c, the columns in measure.c, the words in stall_report.c.
 */
#include "stall/stall.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/machine.h"
#include "common/message.h"
#include "common/output.h"
#include "common/progress.h"
#include "common/scale_option.h"
#include "common/settings.h"
#include "stall/report.h"
#include "training/log.h"
#include "training/partial.h"

static const option_spec OPTIONS[] = {
    {"d-k", "LIST", "8,16,32,64,128,256,512", "key widths, 1 to 65536; a..b is a range"},
    {"scale", "LIST", "none,sqrt", "scaling rules of the student's logits, or numbers; see below"},
    {"lr", "LIST", "1", "learning rates"},
    {"seed", "LIST", "0..4", "seeds, as for torch.manual_seed"},
    {"steps", "N", "500", "training steps a run"},
    {"batch", "B", "32", "sequences a step"},
    {"tokens", "T", "16", "tokens a sequence, at least 2"},
    {"d-model", "N", "32", "width of the tokens"},
    {"d-v", "N", "32", "width of the values"},
    {"init", "NAME", "standard", "where the student starts: standard, or teacher (Wq*, Wk*)"},
    {"init-gain", "G", "1", "factor on its first Wq, Wk: a number, dk^-1/4 or dk^1/4"},
    {"lr-unit", "NAME", "weight", "weight, or logit: --lr is lr s^2 d_k G^2"},
    {"fixed-batch", NULL, "", "train on the first batch only"},
    {"train-values", NULL, "", "give the student its own Wv and train it"},
    {"every", "N", "5", "log every n-th step; the first and the last always"},
    {"threads", "N", "", "threads (default: all processors); no result depends on it"},
    {"output", "FILE", "results/stall.csv", "the log; - for standard output"},
    {"resume", NULL, "", "go on from FILE.partial of an interrupted run"},
    {"quiet", NULL, "", "no progress, no table, no sentences"},
};

const command_spec STALL_COMMAND = {
    "stall",
    "Trains attention at several d_k with and without the scale, and says what was seen.",
    OPTIONS,
    sizeof OPTIONS / sizeof *OPTIONS,
    "Beside the log FILE = stem.csv: stem_runs.csv (how each run ended), stem_summary.csv (a row\n"
    "for each d_k, scale and lr), stem_bands.csv (median and quartiles over seeds, for plots) and "
    "stem.meta (the settings).\n"
    "With --output - the log goes to standard output, the table to standard error, and nothing\n"
    "else is written; so too where FILE is a pipe or a device.\n"
    "Verdict of a run, by the median of loss / loss_uniform over its last 20 steps: trained <= "
    "0.1,\n"
    "stalled >= 1 (no better than not attending), else slow.",
    scale_option_help,
};

/* ---- Options --------------------------------------------------------------------------------- */

typedef struct lists {
    int64_t d_k[LIST_MOST], seed[LIST_MOST];
    double lr[LIST_MOST];
    scale_list scale;
} lists;

typedef struct request {
    options text;
    lists lists;
    sweep_config config;
    const char *output, *init;
    bool direct, quiet, resume;
} request;

static const char *text_of(const request *q, const char *name) {
    return options_text(&STALL_COMMAND, &q->text, name);
}

static bool read_size(const request *q, const char *name, int64_t least, int64_t most,
                      tt_size *out) {
    int64_t value;
    if (!options_int(name, text_of(q, name), least, most, &value)) return false;
    *out = (tt_size)value;
    return true;
}

/* A choice of one out of two names; *second says whether it was the second. */
static bool read_choice(const request *q, const char *name, const char *a, const char *b,
                        bool *second) {
    const char *text = text_of(q, name);
    *second = strcmp(text, b) == 0;
    if (*second || strcmp(text, a) == 0) return true;
    (void)message_fail(0, "--%s '%s': expected %s or %s", name, text, a, b);
    return false;
}

static bool read_scales(request *q) {
    if (!scale_option_list(text_of(q, "scale"), &q->lists.scale)) return false;
    q->config.scale = q->lists.scale.rule;
    q->config.scale_count = q->lists.scale.count;
    return true;
}

/* A step in logits is defined only where the factor is one number. */
static bool read_unit(request *q) {
    sweep_config *c = &q->config;
    if (!read_choice(q, "lr-unit", "weight", "logit", &c->lr_in_logits)) return false;
    for (int k = 0; c->lr_in_logits && k < c->scale_count; k++)
        if (!c->scale[k]->squared || c->scale[k]->squared(c->scale[k], 1) == 0) {
            (void)message_fail(0,
                               "--lr-unit logit with --scale %s: expected rules with a constant "
                               "factor above 0 (none, sqrt, linear, t5, numbers)",
                               c->scale[k]->name);
            return false;
        }
    return true;
}

static bool read_gain(request *q) {
    const char *text = text_of(q, "init-gain");
    sweep_config *c = &q->config;
    c->gain_kind = GAIN_NUMBER;
    if (strcmp(text, "dk^-1/4") == 0) c->gain_kind = GAIN_DK_DOWN;
    if (strcmp(text, "dk^1/4") == 0) c->gain_kind = GAIN_DK_UP;
    if (c->gain_kind != GAIN_NUMBER) return true;
    if (options_number(text, &c->gain) && c->gain >= 1e-6 && c->gain <= 1e6) return true;
    (void)message_fail(0, "--init-gain '%s': expected a number from 1e-6 to 1e6, dk^-1/4 or dk^1/4",
                       text);
    return false;
}

/* Extreme rates and gains can overflow or vanish on the way to the rate that is used. */
static bool rates_make_sense(const request *q, const sweep *s) {
    for (tt_size i = 0; i < s->count; i++) {
        const cell *c = &s->cells[i];
        if (isfinite(c->lr) && c->lr > 0 && !isinf(c->kappa)) continue;
        (void)message_fail(0,
                           "--lr %s with --lr-unit %s, --init-gain %s: at d_k %" PRId64
                           ", scale %s the rate is %g and kappa %g; expected finite ones above 0",
                           text_of(q, "lr"), text_of(q, "lr-unit"), text_of(q, "init-gain"), c->d_k,
                           c->scale->name, c->lr, c->kappa);
        return false;
    }
    return true;
}

/* Refuses what this machine cannot hold before anything is allocated, and runs no more cells at
 * once than fit. */
static bool fits_memory(request *q) {
    const double gib = 1024.0 * 1024 * 1024, memory = machine_memory();
    double job = sweep_job_bytes(&q->config), log = sweep_log_bytes(&q->config);
    if (memory <= 0) return true; /* the system does not say */
    if (job + log > memory) {
        (void)message_fail(0,
                           "--d-k %s, --batch %s, --tokens %s, --d-model %s, --d-v %s, --steps %s: "
                           "one cell at the largest d_k needs %.3g GiB and the log %.3g GiB; "
                           "allowed are %.3g GiB, this machine's memory",
                           text_of(q, "d-k"), text_of(q, "batch"), text_of(q, "tokens"),
                           text_of(q, "d-model"), text_of(q, "d-v"), text_of(q, "steps"),
                           job / q->config.scale_count / gib, log / gib, memory / gib);
        return false;
    }
    double at_once = (memory - log) / job;
    if (at_once < q->config.threads) q->config.threads = at_once < 1 ? 1 : (int)at_once;
    return true;
}

static bool read_request(request *q) {
    sweep_config *c = &q->config;
    model_config *m = &c->model;
    const options *o = &q->text;
    bool good = options_int_list("d-k", text_of(q, "d-k"), 1, 65536, q->lists.d_k, &c->d_k_count) &&
                read_scales(q) &&
                options_positive_list("lr", text_of(q, "lr"), q->lists.lr, &c->lr_count) &&
                options_int_list("seed", text_of(q, "seed"), 0, 4294967295, q->lists.seed,
                                 &c->seed_count) &&
                read_size(q, "steps", 1, 1000000000, &c->steps) &&
                read_size(q, "batch", 1, 65536, &m->batch) &&
                read_size(q, "tokens", 2, 65536, &m->tokens) &&
                read_size(q, "d-model", 1, 65536, &m->d_model) &&
                read_size(q, "d-v", 1, 65536, &m->d_v) &&
                read_choice(q, "init", "standard", "teacher", &m->start_teacher) && read_gain(q) &&
                read_unit(q) && read_size(q, "every", 1, 1000000000, &c->every) &&
                settings_threads(text_of(q, "threads"), &c->threads);
    if (!good) return false;
    c->d_k = q->lists.d_k;
    c->lr = q->lists.lr;
    c->seed = q->lists.seed;
    m->fixed_batch = options_flag(&STALL_COMMAND, o, "fixed-batch");
    m->train_values = options_flag(&STALL_COMMAND, o, "train-values");
    q->init = text_of(q, "init");
    q->output = text_of(q, "output");
    q->direct = output_is_direct(q->output);
    q->resume = options_flag(&STALL_COMMAND, o, "resume");
    q->quiet = options_flag(&STALL_COMMAND, o, "quiet");
    if (q->output[0] == '\0') {
        (void)message_fail(0, "--output '': expected a file name, or - for standard output");
        return false;
    }
    if (q->direct && q->resume) {
        (void)message_fail(0, "--resume with --output '%s': only a regular file can be resumed",
                           q->output);
        return false;
    }
    return fits_memory(q);
}

/* ---- Running --------------------------------------------------------------------------------- */

static volatile sig_atomic_t stop_signal;

static void on_signal(int number) {
    stop_signal = number;
}

/* The first Ctrl-C ends the run in order, a second one at once. */
static void catch_signals(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

typedef struct run {
    const request *request;
    sweep sweep;
    char *settings;
    output direct;      /* where the log is written directly */
    unfinished partial; /* elsewhere, while it lasts */
    progress progress;
    tt_size finished;
} run;

static bool on_finished(void *context, const cell *c) {
    run *r = context;
    r->finished++;
    progress_cell(&r->progress);
    if (!r->partial.path) return true;
    bool good = unfinished_add(&r->partial, c);
    if (!good) progress_end(&r->progress);
    return good;
}

static void on_advanced(void *context, tt_size steps, double work) {
    run *r = context;
    progress_advance(&r->progress, steps, work);
}

enum { LOG, RUNS, SUMMARY, BANDS, META, FILES };
static const char *const ENDINGS[FILES] = {NULL, "_runs.csv", "_summary.csv", "_bands.csv",
                                           ".meta"};

/* What would only come out after hours of training: a folder where a file is to be. */
static bool targets_fit(const request *q) {
    bool good = q->output[strlen(q->output) - 1] != '/';
    if (!good) (void)message_fail(0, "cannot write %s: it is a folder", q->output);
    for (int f = 0; good && f < FILES; f++) {
        struct stat info;
        char *path = f == LOG ? NULL : output_beside(q->output, ENDINGS[f]);
        const char *target = f == LOG ? q->output : path;
        good = !target || stat(target, &info) != 0 || !S_ISDIR(info.st_mode);
        if (!good) (void)message_fail(0, "cannot write %s: it is a folder", target);
        free(path);
    }
    return good;
}

static bool open_files(run *r) {
    const request *q = r->request;
    if (q->direct) return output_open(&r->direct, q->output);
    if (!targets_fit(q)) return false;
    bool good = unfinished_open(&r->partial, q->output, r->settings, q->init, &r->sweep, q->resume,
                                q->quiet);
    for (tt_size i = 0; i < r->sweep.count; i++) r->finished += r->sweep.cells[i].finished;
    return good;
}

/* ---- Results --------------------------------------------------------------------------------- */

static bool write_file(const run *r, const report *rep, int which, FILE *to) {
    if (which == LOG) stall_log_all(to, &r->sweep, r->request->init);
    if (which == RUNS) report_runs_csv(to, rep);
    if (which == SUMMARY) report_summary_csv(to, rep);
    if (which == BANDS) return report_bands_csv(to, rep);
    if (which == META) (void)fputs(r->settings, to);
    return true;
}

/* All files are complete under temporary names before the first takes its place. */
static bool write_files(const run *r, const report *rep) {
    output o[FILES] = {{NULL, NULL, NULL}};
    bool good = true, memory_left = true;
    for (int f = 0; good && f < FILES; f++) {
        char *path = output_beside(r->request->output, f == LOG ? "" : ENDINGS[f]);
        const char *target = f == LOG ? r->request->output : path;
        good = path && output_open(&o[f], target);
        if (good && !write_file(r, rep, f, o[f].stream)) memory_left = false;
        good = good && memory_left && output_close(&o[f]);
        memory_left = memory_left && path;
        free(path);
    }
    if (!memory_left) (void)message_fail(0, "out of memory");
    for (int f = 0; good && f < FILES; f++) good = output_commit(&o[f]);
    for (int f = 0; f < FILES; f++) output_discard(&o[f]);
    return good;
}

static bool write_direct(run *r) {
    stall_log_all(r->direct.stream, &r->sweep, r->request->init);
    bool good = output_close(&r->direct);
    output_discard(&r->direct);
    return good;
}

static void say_results(const run *r, const report *rep) {
    const request *q = r->request;
    FILE *to = q->direct ? stderr : stdout;
    if (q->quiet) return;
    report_table(to, rep);
    report_findings(to, rep);
    if (q->direct) return;
    char *stem = output_beside(q->output, "");
    (void)fprintf(to, "\nWritten: %s, and beside it %s_runs.csv, _summary.csv, _bands.csv, .meta\n",
                  q->output, stem ? stem : "");
    free(stem);
}

static int finish(run *r) {
    report rep;
    if (!report_new(&rep, &r->sweep)) return message_fail(EXIT_FAILED, "out of memory");
    bool good = r->request->direct ? write_direct(r) : write_files(r, &rep);
    if (good) {
        unfinished_remove(&r->partial);
        say_results(r, &rep);
    }
    report_free(&rep);
    if (good && fflush(stdout) != 0)
        return message_fail(EXIT_FAILED, "cannot write standard output: %s", strerror(errno));
    return good ? EXIT_OK : EXIT_FAILED;
}

static int interrupted(const run *r) {
    if (!r->partial.path)
        (void)message_fail(0, "interrupted; %td of %td cells were done, nothing is written",
                           r->finished, r->sweep.count);
    else
        (void)message_fail(0,
                           "interrupted; %td of %td cells are complete and kept in %s; the same "
                           "command with --resume goes on from there",
                           r->finished, r->sweep.count, r->partial.path);
    return EXIT_SIGNAL + stop_signal;
}

static int train_and_finish(run *r) {
    char error[256];
    double work = 0;
    const sweep_config *c = &r->sweep.config;
    for (tt_size i = 0; i < r->sweep.count; i++)
        if (!r->sweep.cells[i].finished)
            work += (double)c->steps * sweep_job_work(c, r->sweep.cells[i].d_k) / c->scale_count;
    progress_start(&r->progress, r->sweep.count, work, r->request->quiet);
    r->progress.cells_done = r->finished;
    sweep_observer observer = {r, on_finished, on_advanced};
    sweep_result result = sweep_run(&r->sweep, &observer, &stop_signal, error, sizeof error);
    progress_end(&r->progress);
    if (result == SWEEP_STOPPED && r->finished < r->sweep.count) return interrupted(r);
    if (result != SWEEP_FAILED) return finish(r);
    if (error[0]) (void)message_fail(0, "%s", error);
    return EXIT_FAILED;
}

int stall_main(int argc, char **argv) {
    static request q;
    run r;
    memset(&r, 0, sizeof r);
    switch (options_parse(&STALL_COMMAND, argc, argv, &q.text)) {
    case OPTIONS_HELP:
        return EXIT_OK;
    case OPTIONS_WRONG:
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    if (!read_request(&q)) return EXIT_USAGE;
    r.request = &q;
    r.settings = settings_describe(&STALL_COMMAND, &q.text);
    int code = EXIT_FAILED;
    catch_signals();
    if (!r.settings || !sweep_new(&r.sweep, &q.config))
        (void)message_fail(0, "out of memory");
    else if (!rates_make_sense(&q, &r.sweep))
        code = EXIT_USAGE;
    else if (open_files(&r))
        code = train_and_finish(&r);
    else if (stop_signal)
        code = EXIT_SIGNAL + stop_signal;
    unfinished_close(&r.partial);
    free(r.settings);
    sweep_free(&r.sweep);
    return code;
}

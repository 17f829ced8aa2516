/* saturation.c: `sqrtdk saturation`: how fast does the softmax of random q.k saturate as d_k grows,
 * which rows still pass a gradient, and do the measured means fall on the exact ones? Options and
 * files live here; the rows are drawn in saturation_draw.c, the exact values come from
 * saturation_theory.c, the words from saturation_report.c.
 */
#include "saturation/saturation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/machine.h"
#include "common/message.h"
#include "common/output.h"
#include "common/progress.h"
#include "common/scale_option.h"
#include "common/settings.h"
#include "saturation/draw.h"
#include "saturation/exact.h"
#include "saturation/report.h"

static const option_spec OPTIONS[] = {
    {"d-k", "LIST", "1,2,4,8,16,32,64,128,256,512,1024", "key widths, 1 to 65536; a..b is a range"},
    {"sigma", "LIST", "", "instead: i.i.d. normal logits of these standard deviations"},
    {"keys", "LIST", "16", "keys a row, n, 2 to 4096; a matrix has as many queries"},
    {"scale", "LIST", "none,sqrt", "scaling rules of the logits, or numbers; see below"},
    {"rows", "N", "100000", "rows for each d_k and n, rounded up to whole matrices"},
    {"seed", "N", "0", "seed of all random numbers"},
    {"threads", "N", "", "threads (default: all processors); no result depends on it"},
    {"output", "FILE", "results/saturation.csv", "the results; - for standard output"},
    {"quiet", NULL, "", "no progress, no table, no sentences"},
};

const command_spec SATURATION_COMMAND = {
    "saturation",
    "Measures softmax saturation on random rows, with standard errors, beside the exact means.",
    OPTIONS,
    sizeof OPTIONS / sizeof *OPTIONS,
    "Q, K ~ N(0,1), and the gradient that reaches the weights dP ~ N(0,1). Metrics, of each row: "
    "logit_std,\nentropy (nats), entropy_over_ln_n, max_weight, one_minus_max_weight, "
    "participation "
    "(sum w^2),\njacobian_norm and row_grad (|dZ|) and their squares, dq_norm (not with --sigma). "
    "Statistics: mean\n(standard error over matrices; theory and z where the mean is known "
    "exactly), "
    "p10, median, p90.\n"
    "Beside FILE = stem.csv: stem_theory.csv (exact means on a dense grid, for plots) and "
    "stem.meta\n(the settings). With --output - the results go to standard output, the table to "
    "standard error, and\nnothing else is written; so too where FILE is a pipe or a device.",
    scale_option_help,
};

/* ---- Options --------------------------------------------------------------------------------- */

typedef struct request {
    options text;
    int64_t d_k[LIST_MOST], keys[LIST_MOST];
    double sigma[LIST_MOST];
    scale_list scale;
    saturation_config config;
    const char *output;
    bool direct, quiet;
} request;

static const char *text_of(const request *q, const char *name) {
    return options_text(&SATURATION_COMMAND, &q->text, name);
}

/* Options keep the table's own texts where nothing was given. */
static bool was_given(const request *q, const char *name) {
    for (int i = 0; i < SATURATION_COMMAND.count; i++)
        if (strcmp(OPTIONS[i].name, name) == 0) return q->text.text[i] != OPTIONS[i].standard;
    return false;
}

static bool read_sigma(request *q) {
    if (!was_given(q, "sigma")) return true;
    if (was_given(q, "d-k") || was_given(q, "scale")) {
        (void)message_fail(0, "--sigma %s with --%s: i.i.d. logits have no d_k and no scaling rule",
                           text_of(q, "sigma"), was_given(q, "d-k") ? "d-k" : "scale");
        return false;
    }
    return options_positive_list("sigma", text_of(q, "sigma"), q->sigma, &q->config.sigma_count);
}

/* Refuses what this machine cannot hold before anything is allocated, and uses no more threads than
 * fit. */
static bool fits_memory(request *q) {
    const double gib = 1024.0 * 1024 * 1024, memory = machine_memory();
    saturation_config *c = &q->config;
    if (memory <= 0) return true; /* the system does not say */
    while (c->threads > 1 && saturation_bytes(c, c->threads) > memory) c->threads--;
    if (saturation_bytes(c, c->threads) <= memory) return true;
    (void)message_fail(
        0,
        "--d-k %s, --keys %s, --rows %s: the rows of the largest cell need %.3g GiB; "
        "allowed are %.3g GiB, this machine's memory",
        text_of(q, "d-k"), text_of(q, "keys"), text_of(q, "rows"), saturation_bytes(c, 1) / gib,
        memory / gib);
    return false;
}

static bool read_request(request *q) {
    saturation_config *c = &q->config;
    *c = (saturation_config){.d_k = q->d_k, .sigma = q->sigma, .keys = q->keys};
    bool good = options_int_list("d-k", text_of(q, "d-k"), 1, 65536, q->d_k, &c->d_k_count) &&
                read_sigma(q) &&
                options_int_list("keys", text_of(q, "keys"), 2, 4096, q->keys, &c->keys_count) &&
                scale_option_list(text_of(q, "scale"), &q->scale) &&
                options_int("rows", text_of(q, "rows"), 1, 1000000000, &c->rows) &&
                options_int("seed", text_of(q, "seed"), 0, 4294967295, &c->seed) &&
                settings_threads(text_of(q, "threads"), &c->threads);
    if (!good) return false;
    c->scale = q->scale.rule;
    c->scale_count = q->scale.count;
    q->output = text_of(q, "output");
    q->direct = output_is_direct(q->output);
    q->quiet = options_flag(&SATURATION_COMMAND, &q->text, "quiet");
    if (q->output[0] == '\0') {
        (void)message_fail(0, "--output '': expected a file name, or - for standard output");
        return false;
    }
    return fits_memory(q);
}

/* With --sigma the .meta file must not claim a d_k or a scale. */
static void forget_unused(request *q) {
    for (int i = 0; q->config.sigma_count > 0 && i < SATURATION_COMMAND.count; i++)
        if (strcmp(OPTIONS[i].name, "d-k") == 0 || strcmp(OPTIONS[i].name, "scale") == 0)
            q->text.text[i] = "";
}

/* ---- Files ----------------------------------------------------------------------------------- */

enum { RESULTS, THEORY, META, FILES };
static const char *const ENDINGS[FILES] = {NULL, "_theory.csv", ".meta"};

/* Whether the results could be written: asked before minutes are spent on them. */
static bool may_write(const request *q) {
    output o;
    if (q->direct) return true;
    bool good = output_open(&o, q->output);
    output_discard(&o);
    return good;
}

static bool write_file(const saturation *s, const char *settings, int which, FILE *to) {
    if (which == THEORY && !saturation_theory_csv(to, s)) {
        (void)message_fail(0, "out of memory");
        return false;
    }
    if (which == RESULTS) saturation_csv(to, s);
    if (which == META) (void)fputs(settings, to);
    return true;
}

/* All files are complete under temporary names before the first takes its place. */
static bool write_files(const request *q, const saturation *s, const char *settings) {
    output o[FILES] = {{NULL, NULL, NULL}};
    const int files = q->direct ? 1 : FILES;
    bool good = true;
    for (int f = 0; good && f < files; f++) {
        char *path = f == RESULTS ? NULL : output_beside(q->output, ENDINGS[f]);
        const char *target = f == RESULTS ? q->output : path;
        good = target && output_open(&o[f], target) && write_file(s, settings, f, o[f].stream) &&
               output_close(&o[f]);
        free(path);
    }
    for (int f = 0; good && f < files; f++) good = output_commit(&o[f]);
    for (int f = 0; f < files; f++) output_discard(&o[f]);
    return good;
}

static void say_results(const request *q, const saturation *s) {
    FILE *to = q->direct ? stderr : stdout;
    if (q->quiet) return;
    saturation_table(to, s);
    saturation_findings(to, s);
    if (q->direct) return;
    char *stem = output_beside(q->output, "");
    (void)fprintf(to, "\nWritten: %s, and beside it %s_theory.csv, .meta\n", q->output,
                  stem ? stem : "");
    free(stem);
}

/* ---- Running --------------------------------------------------------------------------------- */

static int run(const request *q, saturation *s, const char *settings) {
    progress p;
    if (!may_write(q)) return EXIT_FAILED;
    progress_start(&p, s->count, saturation_work(s), q->quiet);
    p.unit = "rows";
    const char *error = saturation_run(s, &p);
    progress_end(&p);
    if (error) return message_fail(EXIT_FAILED, "saturation: %s", error);
    saturation_exact(s);
    if (!write_files(q, s, settings)) return EXIT_FAILED;
    say_results(q, s);
    if (fflush(stdout) != 0)
        return message_fail(EXIT_FAILED, "cannot write standard output: %s", strerror(errno));
    return EXIT_OK;
}

int saturation_main(int argc, char **argv) {
    static request q;
    saturation s;
    switch (options_parse(&SATURATION_COMMAND, argc, argv, &q.text)) {
    case OPTIONS_HELP:
        return EXIT_OK;
    case OPTIONS_WRONG:
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    if (!read_request(&q)) return EXIT_USAGE;
    forget_unused(&q);
    char *settings = settings_describe(&SATURATION_COMMAND, &q.text);
    int code = EXIT_FAILED;
    if (!settings || !saturation_new(&s, &q.config))
        (void)message_fail(0, "out of memory");
    else {
        code = run(&q, &s, settings);
        saturation_free(&s);
    }
    free(settings);
    return code;
}

/* precision.c: `sqrtdk precision`: what does low precision lose in the gradient through the
 * softmax, and does one subtraction repair it? Options and files live here; measure.c measures,
 * report.c writes and says what came out. All of it runs in one thread: it takes seconds.
 */
#include "precision/precision.h"

#include <stdio.h>
#include <string.h>

#include "common/machine.h"
#include "common/message.h"
#include "common/progress.h"
#include "common/results.h"
#include "common/scale_option.h"
#include "precision/measure.h"
#include "precision/report.h"

static const option_spec OPTIONS[] = {
    {"d-k", "LIST", "8,16,32,64,128,256,512", "key widths, 1 to 65536; a..b is a range"},
    {"scale", "LIST", "none,sqrt", "scaling rules of the logits, or numbers; see below"},
    {"format", "LIST", "float32,bfloat16,float16", "what is rounded to: "},
    {"seed", "LIST", "0..2", "seeds, as for torch.manual_seed"},
    RESULTS_OPTIONS("results/precision.csv", "the results"),
    {"quiet", NULL, "", "no progress, no table, no sentences"},
};

/* ---- Options --------------------------------------------------------------------------------- */

enum { FORMATS_MOST = 8 };

typedef struct request {
    const options *text;
    int64_t d_k[LIST_MOST], seed[LIST_MOST];
    scale_list scale;
    const number_format *format[FORMATS_MOST];
    rounding_config config;
    const char *output;
    bool quiet;
} request;

/* The formats no wider than float32, in which all else is computed. A word_list. */
static const char *format_word(int i) {
    const number_format *f = format_at(i);
    return f && f->bits <= 24 ? f->name : NULL;
}

/* The format that an item names, or NULL. */
static const number_format *format_of(const char *item) {
    for (int i = 0; format_word(i); i++)
        if (strcmp(format_word(i), item) == 0) return format_at(i);
    return NULL;
}

static bool refuse_formats(const char *text) {
    char list[128] = "";
    for (int i = 0; format_word(i); i++) {
        const size_t used = strlen(list);
        (void)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", format_word(i));
    }
    return complain("--format '%s': expected one of %s or several, separated by commas", text,
                    list);
}

static bool read_formats(request *q) {
    const char *whole = options_text(q->text, "format"), *text = whole;
    int *count = &q->config.format_count;
    do {
        char item[ITEM_BYTES];
        const number_format *f = options_item(&text, item) ? format_of(item) : NULL;
        if (!f) return refuse_formats(whole);
        for (int i = 0; i < *count; i++)
            if (q->format[i] == f)
                return complain("--format: %s stands there twice; each format once", f->name);
        q->format[(*count)++] = f;
    } while (options_another(&text));
    return true;
}

static bool read_request(request *q) {
    rounding_config *c = &q->config;
    const options *o = q->text;
    *c = (rounding_config){.d_k = q->d_k, .seed = q->seed, .format = q->format};
    if (!options_int_list(o, "d-k", 1, 65536, q->d_k, &c->d_k_count) ||
        !scale_option_list(o, &q->scale) || !read_formats(q) ||
        !options_int_list(o, "seed", 0, 4294967295, q->seed, &c->seed_count) ||
        !results_option(o, &q->output))
        return false;
    c->scale = q->scale.rule;
    c->scale_count = q->scale.count;
    q->quiet = options_flag(o, "quiet");
    return machine_fits(rounding_bytes(c), "--d-k %s needs", options_text(o, "d-k"));
}

/* ---- Running --------------------------------------------------------------------------------- */

static const char *const ENDINGS[] = {""};

static bool measure_all(const request *q, rounding *r) {
    progress p;
    progress_start(&p, r->count, (double)r->count, q->quiet);
    p.item = "cells";
    const char *error = rounding_measure(r, &p);
    progress_end(&p);
    return !error || complain("precision: %s", error);
}

static void say_results(const rounding *r, const results *files) {
    FILE *to = results_people(files);
    report_table(to, r);
    report_findings(to, r);
    results_say(files, to);
}

static int run(const request *q, rounding *r) {
    results to;
    if (!results_may_open(q->text, ENDINGS, 1)) return EXIT_FAILED;
    if (!measure_all(q, r) || !results_open(&to, q->text, ENDINGS, 1)) return EXIT_FAILED;
    report_csv(to.file[0].stream, r);
    const bool good = results_commit(&to);
    if (good && !q->quiet) say_results(r, &to);
    results_discard(&to);
    return good ? EXIT_OK : EXIT_FAILED;
}

static int run_precision(const options *o) {
    static request q;
    rounding r;
    q.text = o;
    if (!read_request(&q)) return EXIT_USAGE;
    if (!rounding_new(&r, &q.config)) return message_fail(EXIT_FAILED, "out of memory");
    const int code = run(&q, &r);
    rounding_free(&r);
    return code;
}

static const option_words WORDS[] = {{"format", format_word}, {NULL, NULL}};

static const char *const EXAMPLES[] = {
    "precision --d-k 64,512 --format bfloat16 --output results/bfloat16.csv",
    "precision --d-k 512 --scale none,linear --output results/linear.csv", NULL};

const command_spec PRECISION_COMMAND = {
    .name = "precision",
    .summary = "Measures what low precision loses in the gradient through the softmax, computed "
               "four ways.",
    .options = OPTIONS,
    .count = sizeof OPTIONS / sizeof *OPTIONS,
    .words = WORDS,
    .explained = SCALE_LIST_WORDS,
    .notes =
        "Step 0 of the stall experiment: 32 sequences of 16 tokens, d_model = d_v = 32. dZ from "
        "P and dP = dO V^T, sums in float32, the result in the format: eager, P (dP - sum P dP) "
        "with P and dP in the format, as an autograd; flash, P (dP - D) with P and dP in float32 "
        "and D = dO.O, O in the format, as fused kernels; and with both the shift, x = dP - dP "
        "at the largest weight, P (x - sum P x). Against float64, of the same V and dO: share of "
        "rows that are exactly 0, relative error of the median row, of the 90% row, of all.\n"
        "Beside FILE = stem.csv: stem.meta (the settings). With --output - the results go to "
        "standard output, the table to standard error, and nothing else is written; so too where "
        "FILE is a pipe or a device.",
    .examples = EXAMPLES,
    .more = scale_option_help,
    .run = run_precision,
};

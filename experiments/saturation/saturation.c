/* saturation.c: `sqrtdk saturation`: how fast does the softmax of random q.k saturate as d_k grows,
 * which rows still pass a gradient, and do the measured means fall on the exact ones? Options and
 * files live here; the rows are drawn in draw.c, the exact values come from exact.c, the words
 * from report.c.
 */
#include "saturation/saturation.h"

#include <string.h>

#include "common/machine.h"
#include "common/message.h"
#include "common/progress.h"
#include "common/resumable.h"
#include "common/scale_option.h"
#include "common/settings.h"
#include "common/stop.h"
#include "saturation/draw.h"
#include "saturation/exact.h"
#include "saturation/report.h"
#include "saturation/sets.h"

static const option_spec OPTIONS[] = {
    {"d-k", "LIST", "1,2,4,8,16,32,64,128,256,512,1024", "key widths, 1 to 65536; a..b is a range"},
    {"sigma", "LIST", "", "instead: i.i.d. normal logits of these standard deviations"},
    {"keys", "LIST", "16", "keys a row, n, 2 to 4096; a matrix has as many queries"},
    {"scale", "LIST", "none,sqrt", "scaling rules of the logits, or numbers; see below"},
    {"rows", "N", "100000", "rows for each d_k and n, rounded up to whole matrices"},
    {"seed", "N", "0", "seed of all random numbers"},
    {"threads", "N", "", "threads (default: all processors); no result depends on it"},
    RESULTS_OPTIONS("results/saturation.csv", "the results"),
    RESUMABLE_OPTIONS,
    {"quiet", NULL, "", "no progress, no table, no sentences"},
};

/* ---- Options --------------------------------------------------------------------------------- */

typedef struct request {
    const options *text;
    int64_t d_k[LIST_MOST], keys[LIST_MOST];
    double sigma[LIST_MOST];
    scale_list scale;
    saturation_config config;
    options used; /* with --sigma the results must not claim a d_k or a scale */
} request;

static bool read_sigma(request *q) {
    const options *o = q->text;
    if (!options_given(o, "sigma")) return true;
    if (options_given(o, "d-k") || options_given(o, "scale"))
        return complain("--sigma %s with --%s: i.i.d. logits have no d_k and no scaling rule",
                        options_text(o, "sigma"), options_given(o, "d-k") ? "d-k" : "scale");
    if (!options_positive_list(o, "sigma", q->sigma, &q->config.sigma_count)) return false;
    for (int i = 0; i < q->config.sigma_count; i++) /* fourth powers are taken of logits */
        if (q->sigma[i] < 1e-70 || q->sigma[i] > 1e70)
            return complain("--sigma '%s': expected numbers from 1e-70 to 1e70",
                            options_text(o, "sigma"));
    return true;
}

/* Refuses what this machine cannot hold before anything is allocated, and uses no more threads than
 * fit. */
static bool fits_memory(request *q) {
    saturation_config *c = &q->config;
    const double memory = machine_memory();
    while (memory > 0 && c->threads > 1 && saturation_bytes(c, c->threads) > memory) c->threads--;
    return machine_fits(saturation_bytes(c, c->threads),
                        "--d-k %s, --keys %s, --rows %s: the rows of the largest combination need",
                        options_text(q->text, "d-k"), options_text(q->text, "keys"),
                        options_text(q->text, "rows"));
}

static bool read_request(request *q, resumable *kept) {
    saturation_config *c = &q->config;
    const options *o = q->text;
    *c = (saturation_config){.d_k = q->d_k, .sigma = q->sigma, .keys = q->keys};
    if (!options_int_list(o, "d-k", 1, 65536, q->d_k, &c->d_k_count) || !read_sigma(q) ||
        !options_int_list(o, "keys", 2, 4096, q->keys, &c->keys_count) ||
        !scale_option_list(o, &q->scale) || !options_int(o, "rows", 1, 1000000000, &c->rows) ||
        !options_int(o, "seed", 0, 4294967295, &c->seed) || !settings_threads(o, &c->threads) ||
        !resumable_option(kept, o))
        return false;
    c->scale = q->scale.rule;
    c->scale_count = q->scale.count;
    c->shard = kept->shard;
    q->used = *o;
    for (int i = 0; c->sigma_count > 0 && i < o->command->count; i++)
        if (strcmp(OPTIONS[i].name, "d-k") == 0 || strcmp(OPTIONS[i].name, "scale") == 0)
            q->used.text[i] = "";
    return fits_memory(q);
}

/* ---- Running --------------------------------------------------------------------------------- */

enum { RESULTS, THEORY, FILES };
static const char *const ENDINGS[FILES] = {"", "_theory.csv"};

typedef struct running {
    const request *request;
    saturation all;
    resumable kept;
    progress progress;
} running;

static partial_runs sets_of(running *r) {
    return saturation_sets(&r->all, r->request->text->command->name);
}

static bool write_files(const saturation *s, results *to) {
    saturation_csv(to->file[RESULTS].stream, s);
    if (to->file[THEORY].stream && !saturation_theory_csv(to->file[THEORY].stream, s))
        return complain_of_memory();
    return results_commit(to);
}

static int finish(running *r, tt_size missing) {
    results *to = &r->kept.results;
    saturation_exact(&r->all);
    if (!r->kept.direct && !results_open(to, &r->request->used, ENDINGS, FILES)) return EXIT_FAILED;
    to->missing = missing;
    if (!write_files(&r->all, to) || !partial_remove(&r->kept.partial)) return EXIT_FAILED;
    if (r->kept.quiet) return EXIT_OK;
    if (missing == 0) {
        saturation_table(results_people(to), &r->all);
        saturation_findings(results_people(to), &r->all);
    }
    results_say(to, results_people(to));
    return EXIT_OK;
}

static bool on_finished(void *context, tt_size set) {
    running *r = context;
    bool good = resumable_add(&r->kept, set);
    if (!good) progress_end(&r->progress);
    return good;
}

static int draw_and_finish(running *r) {
    progress *p = &r->progress;
    const saturation_watch watch = {r, on_finished, &stop_signal};
    stop_spare_writes();
    progress_start(p, r->kept.own * r->all.rules, saturation_work(&r->all), r->kept.quiet);
    p->unit = "rows";
    p->item = "combinations";
    p->items_done = r->kept.own * r->all.rules - saturation_open(&r->all);
    const char *error = saturation_run(&r->all, p, &watch);
    progress_end(p);
    if (error && error[0]) return message_fail(EXIT_FAILED, "saturation: %s", error);
    if (stop_signal && r->kept.finished < r->kept.own) return resumable_interrupted(&r->kept);
    if (error) return EXIT_FAILED;
    return r->kept.shard.count > 0 ? resumable_share_done(&r->kept) : finish(r, 0);
}

static int run_saturation(const options *o) {
    static request q;
    running r = {.request = &q};
    q.text = o;
    if (!read_request(&q, &r.kept)) return EXIT_USAGE;
    if (!saturation_new(&r.all, &q.config)) return message_fail(EXIT_FAILED, "out of memory");
    stop_catch_signals();
    int code = EXIT_FAILED;
    if (resumable_open(&r.kept, &q.used, "sets", sets_of(&r), ENDINGS, FILES))
        code = draw_and_finish(&r);
    else if (stop_signal)
        code = EXIT_SIGNAL + stop_signal;
    resumable_close(&r.kept);
    saturation_free(&r.all);
    return code;
}

static int merge_saturation(const options *o, const share_files *files) {
    static request q;
    running r = {.request = &q};
    q.text = o;
    if (!read_request(&q, &r.kept)) return EXIT_USAGE;
    if (!saturation_new(&r.all, &q.config)) return message_fail(EXIT_FAILED, "out of memory");
    const tt_size missing = resumable_merge(&r.kept, &q.used, sets_of(&r), files);
    const int code = missing < 0 ? EXIT_FAILED : finish(&r, missing);
    resumable_close(&r.kept);
    saturation_free(&r.all);
    return code;
}

static const char *const EXAMPLES[] = {
    "saturation --d-k 96 --keys 50 --rows 10000 --output results/96.csv",
    "saturation --sigma 1,2,4 --rows 10000 --output results/iid.csv", NULL};

const command_spec SATURATION_COMMAND = {
    .name = "saturation",
    .summary =
        "Measures softmax saturation on random rows, with standard errors, beside the exact means.",
    .options = OPTIONS,
    .count = sizeof OPTIONS / sizeof *OPTIONS,
    .explained = SCALE_LIST_WORDS,
    .notes =
        "Q, K ~ N(0,1), and the gradient that reaches the weights dP ~ N(0,1). Metrics, of each "
        "row: logit_std (population standard deviation of its n logits), entropy (nats), "
        "entropy_over_ln_n, max_weight, one_minus_max_weight, participation (sum w^2), "
        "jacobian_norm (|J|, the Frobenius norm of J = diag(w) - w w^T) and row_grad (|dZ|, dZ = "
        "J dP) and their squares, dq_norm (|dQ|, the gradient of the row's query; not with "
        "--sigma). Statistics: "
        "mean (standard error over matrices, whose rows share keys; theory and z where the mean is "
        "known exactly), p10, median, p90; of logit_std also pooled, one standard deviation over "
        "all logits of all rows (standard error likewise). The freezing line d_k* = 2 ln n is a "
        "guide from the limit of many keys, no edge of training.\n"
        "Beside FILE = stem.csv: stem_theory.csv (exact means on a dense grid, for plots) and "
        "stem.meta (the settings). With --output - the results go to standard output, the table to "
        "standard error, and nothing else is written; so too where FILE is a pipe or a device.",
    .examples = EXAMPLES,
    .more = scale_option_help,
    .run = run_saturation,
    .merge = merge_saturation,
};

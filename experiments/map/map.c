/* map.c: `sqrtdk map`: where does training start, how far does a step go, and which of these
 * trains? Options, files and signals live here; the cells are laid out in grid.c and trained in
 * cells.c, the words are in report.c.
 */
#include "map/map.h"

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
#include "map/cells.h"
#include "map/report.h"
#include "training/recipe_option.h"

enum { AXES_PLANE, AXES_LR, AXES };

static const char *axes_word(int i) {
    static const char *const WORDS[AXES + 1] = {"plane", "lr"};
    return WORDS[i];
}

static const option_words WORDS[] = {{"axes", axes_word},
                                     {"optimizer", optimizer_name},
                                     {"target", teacher_target_word},
                                     {NULL, NULL}};

static const option_spec OPTIONS[] = {
    {"axes", "NAME", "plane", "cells are (sigma0, kappa), or with lr (rule, d_k, lr): "},
    {"sigma0", "LIST", "0.25..32",
     "deviation of the first logits; a..b: a, 2a, 4a, ... while <= b"},
    {"kappa", "LIST", "0.25..1024", "nominal step in logits"},
    {"scale", "LIST", "none,sqrt,linear", "with --axes lr: scaling rules or numbers; see below"},
    {"lr", "LIST", "", "with --axes lr, which needs it: learning rates"},
    {"optimizer", "LIST", "sgd", "optimizers, with stall's constants: "},
    SCHEDULE_OPTIONS,
    {"d-k", "LIST", "64,512", "key widths, 1 to 1048576; a..b is a range"},
    {"seed", "LIST", "0", "seeds, as for torch.manual_seed"},
    {"steps", "N", "500", "training steps a cell"},
    {"batch", "B", "32", "sequences a step"},
    {"tokens", "T", "16", "tokens a sequence, at least 2"},
    {"d-model", "N", "32", "width of the tokens"},
    {"d-v", "N", "32", "width of the values"},
    {"target", "NAME", "soft", "what is learned, hard being 1 at the teacher's largest logit: "},
    {"target-gain", "G", "1", "factor on the teacher's logits"},
    {"chaos", NULL, "", "train a twin beside each cell of sgd: how fast does rounding grow?"},
    {"curves", "N", "", "stem_curves.csv beside FILE: every n-th step of each cell, and the last"},
    {"threads", "N", "", "threads (default: all processors); no result depends on it"},
    RESULTS_OPTIONS("results/map.csv", "the map"),
    RESUMABLE_OPTIONS,
    {"quiet", NULL, "", "no progress, no tables"},
};

enum { CELLS, CURVES, FILES };

/* ---- Options --------------------------------------------------------------------------------- */

typedef struct request {
    const options *text;
    options used; /* without what belongs to the other axes */
    int64_t d_k[LIST_MOST], seed[LIST_MOST];
    double sigma0[LIST_MOST], kappa[LIST_MOST], lr[LIST_MOST];
    const optimizer *optimizer[LIST_MOST];
    scale_list scale;
    map_config config;
    const char *endings[FILES]; /* of the files */
} request;

/* Options of the other axes were given in vain, and the results must not claim their defaults. */
static bool leave_out(request *q, int axes) {
    static const char *const ONLY[AXES][3] = {{"sigma0", "kappa", NULL}, {"scale", "lr", NULL}};
    const int other = axes == AXES_PLANE ? AXES_LR : AXES_PLANE;
    q->used = *q->text;
    for (int k = 0; ONLY[other][k]; k++) {
        if (options_given(q->text, ONLY[other][k]))
            return complain("--%s %s: it belongs to --axes %s", ONLY[other][k],
                            options_text(q->text, ONLY[other][k]), axes_word(other));
        for (int i = 0; i < q->used.command->count; i++)
            if (strcmp(OPTIONS[i].name, ONLY[other][k]) == 0) q->used.text[i] = "";
    }
    return true;
}

static bool read_axes(request *q) {
    map_config *c = &q->config;
    int axes;
    if (!options_choice(q->text, "axes", &axes) || !leave_out(q, axes)) return false;
    if (axes == AXES_PLANE) {
        q->scale.rule[0] = scaling_find("sqrt");
        c->scale_count = 1;
        return options_positive_list(q->text, "sigma0", q->sigma0, &c->sigma0_count) &&
               options_positive_list(q->text, "kappa", q->kappa, &c->kappa_count);
    }
    if (!options_given(q->text, "lr"))
        return complain("--axes lr: expected learning rates, as --lr 0.001..128");
    if (!scale_option_list(q->text, &q->scale)) return false;
    c->scale_count = q->scale.count;
    return options_positive_list(q->text, "lr", q->lr, &c->lr_count);
}

static bool refuse_optimizers(const char *text) {
    char list[WORDS_BYTES];
    options_words(optimizer_name, ", ", list);
    return complain("--optimizer '%s': expected, separated by commas, each once, names of %s", text,
                    list);
}

static bool read_optimizers(request *q) {
    const char *text = options_text(q->text, "optimizer"), *at = text;
    map_config *c = &q->config;
    char item[ITEM_BYTES];
    do {
        const optimizer *o = options_item(&at, item) ? optimizer_find(item) : NULL;
        for (int i = 0; i < c->optimizer_count; i++)
            if (o == q->optimizer[i]) o = NULL;
        if (!o) return refuse_optimizers(text);
        q->optimizer[c->optimizer_count++] = o;
    } while (options_another(&at));
    return true;
}

static bool read_training(request *q) {
    map_config *c = &q->config;
    training_config *m = &c->training;
    const options *o = q->text;
    int target;
    if (!options_size(o, "steps", 1, 1000000000, &c->steps) ||
        !options_size(o, "batch", 1, 65536, &m->batch) ||
        !options_size(o, "tokens", 2, 65536, &m->tokens) ||
        !options_size(o, "d-model", 1, 65536, &m->d_model) ||
        !options_size(o, "d-v", 1, 65536, &m->d_v) || !options_choice(o, "target", &target) ||
        !options_positive(o, "target-gain", &m->target_gain))
        return false;
    m->hard_target = target == TARGET_HARD;
    return true;
}

/* A twin is brought back in its weights, and a temperature of its own would go where it likes. */
static bool read_chaos(request *q) {
    q->config.chaos = options_flag(q->text, "chaos");
    return !(q->config.chaos && q->config.recipe.temperature_lr > 0) ||
           complain("--chaos with --learn-temperature %s: expected one of them",
                    options_text(q->text, "learn-temperature"));
}

static bool read_curves(request *q, const resumable *kept) {
    q->endings[CELLS] = "";
    if (!options_given(q->text, "curves")) return true;
    q->endings[CURVES] = "_curves.csv";
    return options_size(q->text, "curves", 1, 1000000000, &q->config.every) &&
           (!kept->direct ||
            complain("--curves %s with --output '%s': curves are written beside a regular file",
                     options_text(q->text, "curves"), options_text(q->text, "output")));
}

static bool read_request(request *q, resumable *kept) {
    map_config *c = &q->config;
    const options *o = q->text;
    *c = (map_config){.optimizer = q->optimizer,
                      .scale = q->scale.rule,
                      .d_k = q->d_k,
                      .sigma0 = q->sigma0,
                      .kappa = q->kappa,
                      .lr = q->lr,
                      .seed = q->seed,
                      .recipe = RECIPE_PLAIN};
    return read_axes(q) && read_optimizers(q) && schedule_option(o, &c->recipe) &&
           options_int_list(o, "d-k", 1, 1048576, q->d_k, &c->d_k_count) &&
           options_int_list(o, "seed", 0, 4294967295, q->seed, &c->seed_count) &&
           read_training(q) && settings_threads(o, &c->threads) && read_chaos(q) &&
           resumable_option(kept, o) && read_curves(q, kept);
}

/* Refuses what this machine cannot hold, and runs no more threads than fit. */
static bool fits_memory(const request *q, map *m) {
    const options *o = q->text;
    const double curve = (double)map_curve_points(&m->config) * (double)sizeof(curve_point);
    const double one = map_thread_bytes(m), cells = (double)m->count * (sizeof *m->cells + curve);
    if (!machine_fits(one + cells,
                      "--d-k %s, --batch %s, --tokens %s, --d-model %s, --d-v %s: the cells that "
                      "are trained together need",
                      options_text(o, "d-k"), options_text(o, "batch"), options_text(o, "tokens"),
                      options_text(o, "d-model"), options_text(o, "d-v")))
        return false;
    const double at_once = (machine_memory() - cells) / one;
    if (machine_memory() > 0 && at_once < m->config.threads)
        m->config.threads = at_once < 1 ? 1 : (int)at_once;
    return true;
}

/* Extreme requests can overflow or vanish on the way to the rate that is used. */
static bool rates_make_sense(const map *m) {
    for (tt_size i = 0; i < m->count; i++) {
        const cell *c = &m->cells[i];
        if (isfinite(c->lr) && c->lr > 0 && isfinite(c->gain) && c->gain > 0) continue;
        return complain("--sigma0, --kappa: at sigma0 %g, kappa %g, d_k %" PRId64
                        " the rate is %g; expected a finite one above 0",
                        c->sigma0, c->found[KAPPA], c->d_k, c->lr);
    }
    return true;
}

/* ---- Running --------------------------------------------------------------------------------- */

typedef struct running {
    const request *request;
    map map;
    resumable kept;
    progress progress;
} running;

static bool on_finished(void *context, tt_size i) {
    running *r = context;
    const cell *c = &r->map.cells[i];
    if (r->map.config.lr_count == 0)
        progress_item(&r->progress, "d_k %td sigma0 %.3g kappa %.3g %s seed %td: ratio %.2g",
                      (tt_size)c->d_k, c->sigma0, c->found[KAPPA], c->optimizer->name,
                      (tt_size)c->seed, c->found[RATIO]);
    else
        progress_item(&r->progress, "d_k %td %s %s lr %.3g seed %td: ratio %.2g", (tt_size)c->d_k,
                      c->scale->name, c->optimizer->name, c->lr, (tt_size)c->seed, c->found[RATIO]);
    bool good = resumable_add(&r->kept, i);
    if (!good) progress_end(&r->progress);
    return good;
}

static void on_advanced(void *context, tt_size steps, double work) {
    running *r = context;
    progress_advance(&r->progress, steps, work);
}

static bool open_files(running *r) {
    const request *q = r->request;
    return resumable_open(&r->kept, &q->used, "cells", map_runs(&r->map, q->used.command->name),
                          q->endings, FILES);
}

static int finish(running *r, tt_size missing) {
    const request *q = r->request;
    results *to = &r->kept.results;
    if (!r->kept.direct && !results_open(to, &q->used, q->endings, FILES)) return EXIT_FAILED;
    to->missing = missing;
    map_csv(to->file[CELLS].stream, &r->map);
    if (to->file[CURVES].stream) map_curves_csv(to->file[CURVES].stream, &r->map);
    if (!results_commit(to) || !partial_remove(&r->kept.partial)) return EXIT_FAILED;
    if (r->kept.quiet) return EXIT_OK;
    if (missing == 0) map_tables(results_people(to), &r->map);
    results_say(to, results_people(to));
    return EXIT_OK;
}

static int train_and_finish(running *r) {
    char error[256];
    stop_spare_writes();
    progress_start(&r->progress, r->kept.own, map_work(&r->map), r->kept.quiet);
    r->progress.item = "cells";
    r->progress.items_done = r->kept.finished;
    map_observer observer = {r, on_finished, on_advanced};
    map_result result = map_train(&r->map, &observer, &stop_signal, error, sizeof error);
    progress_end(&r->progress);
    if (result == MAP_STOPPED && r->kept.finished < r->kept.own)
        return resumable_interrupted(&r->kept);
    if (result != MAP_FAILED)
        return r->kept.shard.count > 0 ? resumable_share_done(&r->kept) : finish(r, 0);
    return error[0] ? message_fail(EXIT_FAILED, "%s", error) : EXIT_FAILED;
}

/* What was given beside what has columns of its own, or is a matter of files; the caller frees. */
static char *given_beside(const options *o) {
    static const char *const BUT[] = {"axes", "sigma0", "kappa", "scale",  "lr",     "optimizer",
                                      "d-k",  "seed",   "steps", "batch",  "tokens", "d-model",
                                      "d-v",  "target", "chaos", "curves", NULL};
    return settings_given(o, BUT);
}

/* Lays out the cells of the request. EXIT_OK, or the exit code after one line. */
static int lay_out(running *r, request *q) {
    q->config.shard = r->kept.shard;
    if (!q->config.options) return message_fail(EXIT_FAILED, "out of memory");
    if (!map_new(&r->map, &q->config))
        return message_fail(EXIT_FAILED, "--d-k, --seed and the lists of both axes: memory cannot "
                                         "hold a cell for each");
    if (r->kept.shard.count > 0 && !map_deal(&r->map))
        return message_fail(EXIT_FAILED, "out of memory");
    return rates_make_sense(&r->map) && fits_memory(q, &r->map) ? EXIT_OK : EXIT_USAGE;
}

static int run_map(const options *o) {
    static request q;
    running r = {.request = &q};
    q.text = o;
    if (!read_request(&q, &r.kept)) return EXIT_USAGE;
    char *given = given_beside(&q.used);
    q.config.options = given;
    stop_catch_signals();
    int code = lay_out(&r, &q);
    if (code == EXIT_OK && open_files(&r))
        code = train_and_finish(&r);
    else if (code == EXIT_OK)
        code = stop_signal ? EXIT_SIGNAL + stop_signal : EXIT_FAILED;
    resumable_close(&r.kept);
    free(given);
    map_free(&r.map);
    return code;
}

static int merge_map(const options *o, const share_files *files) {
    static request q;
    running r = {.request = &q};
    q.text = o;
    if (!read_request(&q, &r.kept)) return EXIT_USAGE;
    char *given = given_beside(&q.used);
    q.config.options = given;
    int code = lay_out(&r, &q);
    if (code == EXIT_OK) {
        const tt_size missing =
            resumable_merge(&r.kept, &q.used, map_runs(&r.map, o->command->name), files);
        code = missing < 0 ? EXIT_FAILED : finish(&r, missing);
    }
    resumable_close(&r.kept);
    free(given);
    map_free(&r.map);
    return code;
}

static void print_more(FILE *to) {
    map_columns_help(to);
    (void)fputc('\n', to);
    scale_option_help(to);
}

static const char *const EXAMPLES[] = {
    "map --d-k 64 --kappa 1..64 --steps 60 --output results/map64.csv",
    "map --axes lr --d-k 8,64 --lr 0.1,1 --steps 60 --output results/lr.csv", NULL};

const command_spec MAP_COMMAND = {
    .name = "map",
    .summary = "Trains over the plane of two numbers that the scale changes: how sharp the start, "
               "how far a step.",
    .options = OPTIONS,
    .count = sizeof OPTIONS / sizeof *OPTIONS,
    .words = WORDS,
    .explained = RECIPE_WORDS,
    .notes =
        "Under gradient descent a constant factor s changes two numbers only: sigma0 = s sqrt(d_k) "
        "g_q g_k, the deviation of the first logits (sqrt: 1; none: sqrt(d_k)), and kappa = lr s^2 "
        "d_k (g_q^2 + g_k^2) / 2, the nominal step in logits (sqrt: lr; none: lr d_k), g_q, g_k "
        "being what the first weights are multiplied by. A cell of the plane has the factor "
        "d_k^-1/2, first weights times g = sqrt(sigma0) and lr = kappa / sigma0 (adam, adamw: lr = "
        "kappa / (sqrt(d_k) g), eps / g, decoupled decay / g). At a given d_k, d_model, batch and "
        "T every such rule and rate is one of its points, if g_q = g_k, as all rules but t5 have "
        "it.\n"
        "Plain gradient descent with d_k >= 1.5 d_model trains the products Wq Wk^T, Wq Wq^T, Wk "
        "Wk^T, exactly and at a cost without d_k; all else trains Wq and Wk.\n"
        "A cell whose ratio is below 1e-12 ends there. With --chaos each cell trained by products "
        "has a twin whose first Wq, Wk differ by 1e-8 of their norm.\n"
        "Beside FILE = stem.csv: stem.meta (the settings) and, with --curves, stem_curves.csv: "
        "loss / loss_uniform, deviation of the logits, learned temperature and kappa as it is at "
        "that step. With --output - the map goes to standard output, the tables to standard error, "
        "and nothing else is written; so too where FILE is a pipe or a device.",
    .examples = EXAMPLES,
    .more = print_more,
    .run = run_map,
    .merge = merge_map,
};

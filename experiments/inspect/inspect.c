/* inspect.c: `sqrtdk inspect`, is the attention of a real model saturated? Reads queries and keys
 * as any framework dumped them. Options and files live here; the measuring is in layer.c, which
 * factor and mask made the model's own weights in factor_layer.c, gradients in backward.c, the
 * words and the CSVs in the reports of these, the arrays that are handed back in save.c.
 */
#include "inspect/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/results.h"
#include "common/scale_option.h"
#include "common/settings.h"
#include "heads/head_files.h"
#include "inspect/backward_report.h"
#include "inspect/factor_report.h"
#include "inspect/layer.h"
#include "inspect/names.h"
#include "inspect/report.h"
#include "inspect/save.h"
#include "tt/attention.h"

static const option_words WORDS[] = {
    {"mask", mask_word}, {"mask-per", mask_axis_word}, {NULL, NULL}};

static const option_spec OPTIONS[] = {
    {"q", "FILES", "", "queries: .npy or CSV, [T,d], [H,T,d] or [B,H,T,d]; one file a layer"},
    {"k", "FILES", "", "keys, as many heads as the queries or fewer"},
    {"layers", "LIST", "", "the layers' numbers, one a file (default: the names of Q's files)"},
    {"v", "FILES", "", "values, for --out, --precision, --do and --save-gradients"},
    {"weights", "FILES", "", "the model's own weights: which factor and mask made them?"},
    {"out", "FILES", "", "its own outputs, with --v, for the same question"},
    {"d-model", "N", "", "the model's width, a factor to think of (default: heads d_k)"},
    {"do", "FILES", "", "gradients of the output: how large are those of Q, K and the logits?"},
    {"precision", NULL, "", "how far off are gradients in float32, bfloat16 and float16?"},
    MASK_OPTIONS,
    HEAD_FILE_OPTIONS,
    {"scale", "RULE", "sqrt", "the model's scaling rule, or a number; see below"},
    RESULTS_OPTIONS("results/inspect.csv", "the statistics"),
    {"heads", "LIST", "", "write the weights of these heads too, for a figure"},
    {"save-weights", "P.npy", "", "write all weights, [..,Tq,Tk]"},
    {"save-gradients", "DIR", "", "write dQ.npy, dK.npy, dV.npy, and dO.npy where it is random"},
    {"seed", "N", "0", "seed of dO where it is random, as for torch.manual_seed"},
    {"threads", "N", "", "threads (default: all processors); no result depends on it"},
    {"quiet", NULL, "", "no tables, no sentences"},
};

/* ---- Options --------------------------------------------------------------------------------- */

/* File names separated by commas, in a copy that `text` owns. */
typedef struct path_list {
    char *text;
    const char *path[LIST_MOST];
    int count;
} path_list;

typedef struct request {
    const options *text;
    scale_list scale;
    inspect_rules rules;
    mask_request mask;
    path_list q, k, v, d_out, weights, out;
    tt_size d_model; /* 0: not given */
    layer_names layers;
    head_choice heads;
    int64_t seed;
    int threads;
    const char *output, *save_weights, *save_gradients;
    bool precision, quiet;
} request;

static bool read_paths(const request *q, const char *name, path_list *out) {
    const char *whole = options_text(q->text, name);
    out->text = strdup(whole);
    if (!out->text) return complain_of_memory();
    char *at = out->text;
    while (*at) {
        char *comma = at + strcspn(at, ",");
        bool last = *comma == '\0';
        *comma = '\0';
        if (out->count == LIST_MOST || comma == at || (!last && comma[1] == '\0'))
            return complain("--%s '%s': expected up to %d file names separated by commas", name,
                            whole, (int)LIST_MOST);
        out->path[out->count++] = at;
        at = last ? comma : comma + 1;
    }
    return true;
}

static bool read_files(request *q) {
    if (!read_paths(q, "q", &q->q) || !read_paths(q, "k", &q->k) || !read_paths(q, "v", &q->v))
        return false;
    if (q->q.count == 0 || q->k.count == 0) return complain("expected --q FILES and --k FILES");
    if (q->k.count != q->q.count || (q->v.count > 0 && q->v.count != q->q.count))
        return complain("--q, --k, --v: %d, %d and %d files; expected as many of each", q->q.count,
                        q->k.count, q->v.count);
    return layer_names_read(q->text, q->q.path, q->q.count, &q->layers);
}

/* What the model itself computed. */
static bool read_given(request *q) {
    if (!read_paths(q, "weights", &q->weights) || !read_paths(q, "out", &q->out)) return false;
    if (q->weights.count > 0 && q->out.count > 0)
        return complain("--weights and --out: expected one of them");
    const int given = q->weights.count + q->out.count;
    if (given > 0 && given != q->q.count)
        return complain("--weights, --out: %d files for %d of --q; expected one for each", given,
                        q->q.count);
    if (q->out.count > 0 && q->v.count == 0) return complain("--out: expected --v");
    return !options_given(q->text, "d-model") ||
           options_size(q->text, "d-model", 1, 100000000, &q->d_model);
}

static bool read_saving(request *q) {
    q->save_weights = options_text(q->text, "save-weights");
    q->save_gradients = options_text(q->text, "save-gradients");
    if ((q->save_weights[0] || q->save_gradients[0]) && q->q.count > 1)
        return complain("--save-weights and --save-gradients: expected one layer at a time");
    if (q->save_gradients[0] && q->v.count == 0) return complain("--save-gradients: expected --v");
    return true;
}

static bool read_backward(request *q) {
    q->precision = options_flag(q->text, "precision");
    if (!read_paths(q, "do", &q->d_out)) return false;
    if (q->d_out.count > 0 && q->d_out.count != q->q.count)
        return complain("--do: %d files for %d of --q; expected one for each", q->d_out.count,
                        q->q.count);
    if ((q->precision || q->d_out.count > 0) && q->v.count == 0)
        return complain("%s: expected --v", q->precision ? "--precision" : "--do");
    return true;
}

static bool read_output(request *q) {
    if (!results_option(q->text, &q->output)) return false;
    return q->heads.count == 0 || !output_is_direct(q->output) ||
           complain("--heads with --output to no regular file: expected a name to write beside");
}

static bool read_request(request *q) {
    const options *o = q->text;
    if (!mask_request_read(o, &q->mask) || !scale_option_one(o, &q->scale) ||
        !options_int(o, "seed", 0, 4294967295, &q->seed) || !settings_threads(o, &q->threads) ||
        !read_files(q) || !read_given(q) || !head_choice_read(o, &q->heads) || !read_saving(q) ||
        !read_backward(q) || !read_output(q))
        return false;
    q->quiet = options_flag(o, "quiet");
    inspect_rules_set(&q->rules, q->scale.rule[0]);
    return true;
}

/* ---- Running --------------------------------------------------------------------------------- */

enum { STATISTICS, WEIGHTS, FACTORS, SIGNAL, ERRORS, FILES };

typedef struct run {
    const request *request;
    inspect_layer layers[LIST_MOST];
    factor_layer factors[LIST_MOST]; /* of those for which there is something */
    int factor_count;
    layer_backward backward[LIST_MOST];
    int backward_count;
    int layer; /* the one at work; at the end, their count */
    results files;
} run;

static bool keep_weights(const request *q, const head_files *f, kept_weights *out) {
    const tt_size heads = f->batch * f->heads;
    bool *wanted = calloc((size_t)heads, sizeof *wanted);
    if (!wanted) {
        (void)complain_of_memory();
        return false; /* which the analyzer of lint cannot see in another file */
    }
    for (tt_size e = 0; e < heads; e++)
        wanted[e] = q->save_weights[0] || head_choice_has(&q->heads, e);
    /* of a long head attention keeps no matrix */
    const bool many = q->save_gradients[0] && f->queries * f->keys <= TT_ATTENTION_KEPT;
    const bool good = kept_weights_new(out, f, wanted, many ? HEAD_MATRICES : 0);
    free(wanted);
    return good;
}

/* The weights of --heads, in the order of heads. */
static void write_figure(const run *r, const head_files *f, const kept_weights *w) {
    for (tt_size e = 0; e < f->heads; e++) {
        if (!head_choice_has(&r->request->heads, e)) continue;
        const attention_head head = head_files_at(f, e);
        inspect_weights_rows(r->files.file[WEIGHTS].stream, r->request->layers.name[r->layer], 0, e,
                             &head, tt_tensor_view(w->of[e], 1, f->queries, f->keys));
    }
}

static bool save(run *r, const head_files *f, const kept_weights *w) {
    const request *q = r->request;
    return (!q->save_weights[0] || kept_weights_write(w, f, q->save_weights, &r->files)) &&
           (!q->save_gradients[0] ||
            save_gradients(f, &q->rules.rule[q->rules.used]->rule, (uint64_t)q->seed,
                           q->save_gradients, &r->files));
}

static int measure_layer(run *r, const head_files *f) {
    const request *q = r->request;
    kept_weights w = {NULL, NULL};
    if (!head_choice_fits(&q->heads, f)) return EXIT_USAGE;
    if (!keep_weights(q, f, &w)) return EXIT_FAILED;
    int code = inspect_layer_measure(q->layers.name[r->layer], f, &q->rules, q->threads, w.of,
                                     &r->layers[r->layer]);
    if (code == EXIT_OK) {
        write_figure(r, f, &w);
        r->layer++;
        if (!save(r, f, &w)) code = EXIT_FAILED;
    }
    kept_weights_free(&w);
    return code;
}

static bool asks_factor(const request *q) {
    return q->weights.count + q->out.count > 0;
}

static int fit_layer(run *r, int n, const head_files *f) {
    const request *q = r->request;
    const bool outputs = q->out.count > 0;
    const factor_source source = {.path = outputs ? q->out.path[n] : q->weights.path[n],
                                  .outputs = outputs,
                                  .d_model = q->d_model,
                                  .threads = q->threads};
    const int code = factor_layer_fit(q->layers.name[n], &source, f, &r->factors[r->factor_count]);
    if (code == EXIT_OK) r->factor_count++;
    return code;
}

static bool asks_backward(const request *q) {
    return q->precision || q->d_out.count > 0;
}

static int measure_backward(run *r, int n, const head_files *f) {
    const request *q = r->request;
    const int code =
        layer_backward_measure(q->layers.name[n], f, &q->rules.rule[q->rules.used]->rule,
                               (uint64_t)q->seed, q->precision, &r->backward[r->backward_count]);
    if (code == EXIT_OK) r->backward_count++;
    return code;
}

static int run_layer(run *r) {
    const request *q = r->request;
    const int n = r->layer;
    head_files f;
    head_paths paths = {q->q.path[n], q->k.path[n], q->v.count > 0 ? q->v.path[n] : "",
                        q->d_out.count > 0 ? q->d_out.path[n] : "", options_flag(q->text, "bf16")};
    int code = head_files_read(&paths, &q->mask, &f);
    if (code != EXIT_OK) return code;
    code = measure_layer(r, &f);
    if (code == EXIT_OK && asks_factor(q)) code = fit_layer(r, n, &f);
    if (code == EXIT_OK && asks_backward(q)) code = measure_backward(r, n, &f);
    head_files_free(&f);
    return code;
}

static const char *mask_words(const request *q, char *text, size_t size) {
    (void)snprintf(text, size, "%s%s%s%s", mask_word((int)q->mask.causal),
                   q->mask.key_lengths[0] ? " and key lengths" : "", q->mask.file[0] ? " and " : "",
                   q->mask.file[0] ? mask_file_word(&q->mask) : "");
    return text;
}

static void say_results(const run *r) {
    const request *q = r->request;
    char mask[64];
    FILE *to = results_people(&r->files);
    for (int n = 0; n < r->layer; n++) {
        inspect_report_layer(to, &r->layers[n], &q->rules, mask_words(q, mask, sizeof mask));
        if (n < r->factor_count)
            factor_report_layer(to, &r->factors[n], q->rules.rule[q->rules.used]);
        if (n < r->backward_count) backward_report_layer(to, &r->backward[n]);
        if (n < r->layer - 1) (void)fputc('\n', to);
    }
    results_say(&r->files, to);
}

static void write_csvs(const run *r) {
    const output *file = r->files.file;
    inspect_report_csv(file[STATISTICS].stream, r->layers, r->layer, &r->request->rules);
    if (file[FACTORS].stream) factor_report_csv(file[FACTORS].stream, r->factors, r->factor_count);
    if (file[SIGNAL].stream)
        backward_report_signal(file[SIGNAL].stream, r->backward, r->backward_count);
    if (file[ERRORS].stream)
        backward_report_errors(file[ERRORS].stream, r->backward, r->backward_count);
}

/* All files are opened before anything is measured: what cannot be written is known at once. */
static int run_all(run *r) {
    const request *q = r->request;
    const char *const endings[FILES] = {
        "", q->heads.count > 0 ? "_weights.csv" : NULL, asks_factor(q) ? "_factor.csv" : NULL,
        q->d_out.count > 0 ? "_signal.csv" : NULL, q->precision ? "_precision.csv" : NULL};
    if (!results_open(&r->files, q->text, endings, FILES)) return EXIT_FAILED;
    if (r->files.file[WEIGHTS].stream) inspect_weights_header(r->files.file[WEIGHTS].stream);
    int code = EXIT_OK;
    while (code == EXIT_OK && r->layer < q->q.count) code = run_layer(r);
    if (code == EXIT_OK) write_csvs(r);
    if (code == EXIT_OK && !results_commit(&r->files)) code = EXIT_FAILED;
    if (code == EXIT_OK && !q->quiet) say_results(r);
    results_discard(&r->files);
    for (int n = 0; n < r->layer; n++) inspect_layer_free(&r->layers[n]);
    for (int n = 0; n < r->factor_count; n++) factor_layer_free(&r->factors[n]);
    return code;
}

static void print_more(FILE *to) {
    mask_shapes_help(to);
    (void)fputc('\n', to);
    scale_option_help(to);
}

static int run_inspect(const options *o) {
    static request q;
    static run r;
    q.text = o;
    r.request = &q;
    int code = read_request(&q) ? run_all(&r) : EXIT_USAGE;
    free(q.q.text);
    free(q.k.text);
    free(q.v.text);
    free(q.weights.text);
    free(q.out.text);
    free(q.d_out.text);
    layer_names_free(&q.layers);
    return code;
}

static const char *const EXAMPLES[] = {
    "inspect --causal --q q.npy --k k.npy",
    "inspect --q q.npy --k k.npy --v v.npy --save-gradients grads", NULL};

const command_spec INSPECT_COMMAND = {
    .name = "inspect",
    .summary =
        "Measures how sharp each head of a model is, and what each scaling rule would make of it.",
    .options = OPTIONS,
    .count = sizeof OPTIONS / sizeof *OPTIONS,
    .words = WORDS,
    .explained = SCALE_ONE_WORDS,
    .notes =
        "FILES: names separated by commas, a file a layer, all under one mask. Tables and figures "
        "call a layer by its number in --layers, or by Q's file: layer4_q of layer4_q.npy. The "
        "mask files and --save-weights and --save-gradients go with one layer's shapes and with "
        "one layer.\n"
        "Beside FILE = stem.csv: stem_weights.csv (the weights of --heads, of batch entry 0), "
        "stem_factor.csv (--weights, --out), stem_signal.csv (--do), stem_precision.csv and "
        "stem.meta (the settings). With --output - the tables go to standard error.\n"
        "Logit spread: standard deviation of a row's visible logits, mean over rows; d_k of such "
        "a spread: its square, the width at which unscaled random q.k would spread as far. "
        "Entropy, the largest weight and the sum of squared weights w are means over rows too; "
        "/ln n: over the most it can be with n visible keys. A row's softmax Jacobian, diag(w) - "
        "w w^T, takes the gradient of its weights to that of its logits: its norm (Frobenius) at "
        "the 10th, 50th and 90th of 100 rows, and the share of rows below 1e-6. A row that sees "
        "one key only has entropy and Jacobian 0 and counts, but not in the mean of entropy / ln "
        "n.",
    .examples = EXAMPLES,
    .more = print_more,
    .run = run_inspect,
};

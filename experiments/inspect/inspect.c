/* inspect.c: `sqrtdk inspect`, is the attention of a real model saturated? Reads queries and keys
 * as any framework dumped them. Options and files live here; the measuring is in inspect_layer.c,
 * the words and the CSV in inspect_report.c, the arrays that are handed back in inspect_save.c.
 */
#include "inspect/inspect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/machine.h"
#include "common/message.h"
#include "common/output.h"
#include "common/scale_option.h"
#include "common/version.h"
#include "heads/head_files.h"
#include "inspect/layer.h"
#include "inspect/report.h"
#include "inspect/save.h"

static const option_spec OPTIONS[] = {
    {"q", "FILES", "", "queries: .npy or CSV, [T,d], [H,T,d] or [B,H,T,d]; one file a layer"},
    {"k", "FILES", "", "keys, as many heads as the queries or fewer"},
    {"v", "FILES", "", "values; only --save-gradients needs them"},
    {"do", "FILE", "", "gradient of the output for --save-gradients (default: random)"},
    MASK_OPTIONS,
    {"scale", "RULE", "sqrt", "the model's scaling rule, or a number; see below"},
    {"output", "FILE", "results/inspect.csv", "the statistics; - for standard output"},
    {"heads", "LIST", "", "write the weights of these heads too, for a figure"},
    {"save-weights", "P.npy", "", "write all weights, [..,Tq,Tk]"},
    {"save-gradients", "DIR", "", "write dQ.npy, dK.npy, dV.npy, and dO.npy where it is random"},
    {"seed", "N", "0", "seed of the random dO, as for torch.manual_seed"},
    {"quiet", NULL, "", "no tables, no sentences"},
};

const command_spec INSPECT_COMMAND = {
    "inspect",
    "Measures how sharp each head of a model is, and what each scaling rule would make of it.",
    OPTIONS,
    sizeof OPTIONS / sizeof *OPTIONS,
    "FILES: names separated by commas, a model's layers in order, all under one mask. The mask\n"
    "files and --save-weights and --save-gradients go with one layer's shapes and with one layer.\n"
    "Beside FILE = stem.csv: stem_weights.csv (the weights of --heads, of batch entry 0) and\n"
    "stem.meta (the settings). With --output - the tables go to standard error.\n"
    "Logit spread: standard deviation of a row's visible logits, mean over rows; d_k equiv.: its\n"
    "square, the width at which unscaled random q.k would spread as far. A row that sees one key\n"
    "only has entropy and Jacobian 0 and counts, but not in the mean of entropy / ln n.",
    scale_option_help,
};

/* ---- Options --------------------------------------------------------------------------------- */

/* File names separated by commas, in a copy that `text` owns. */
typedef struct path_list {
    char *text;
    const char *path[LIST_MOST];
    int count;
} path_list;

typedef struct request {
    options text;
    scale_list scale;
    inspect_rules rules;
    mask_request mask;
    path_list q, k, v;
    int64_t heads[LIST_MOST], seed;
    int head_count;
    const char *output, *d_out, *save_weights, *save_gradients;
    bool direct, quiet;
} request;

static const char *text_of(const request *q, const char *name) {
    return options_text(&INSPECT_COMMAND, &q->text, name);
}

static bool usage(const char *message) {
    (void)message_fail(0, "%s", message);
    return false;
}

static bool read_paths(const request *q, const char *name, path_list *out) {
    out->text = strdup(text_of(q, name));
    if (!out->text) return usage("out of memory");
    char *at = out->text;
    while (*at) {
        char *comma = at + strcspn(at, ",");
        bool last = *comma == '\0';
        *comma = '\0';
        if (out->count == LIST_MOST || comma == at || (!last && comma[1] == '\0')) {
            (void)message_fail(0, "--%s '%s': expected up to %d file names separated by commas",
                               name, text_of(q, name), (int)LIST_MOST);
            return false;
        }
        out->path[out->count++] = at;
        at = last ? comma : comma + 1;
    }
    return true;
}

static bool read_files(request *q) {
    if (!read_paths(q, "q", &q->q) || !read_paths(q, "k", &q->k) || !read_paths(q, "v", &q->v))
        return false;
    if (q->q.count == 0 || q->k.count == 0) return usage("expected --q FILES and --k FILES");
    if (q->k.count != q->q.count || (q->v.count > 0 && q->v.count != q->q.count)) {
        (void)message_fail(0, "--q, --k, --v: %d, %d and %d files; expected as many of each",
                           q->q.count, q->k.count, q->v.count);
        return false;
    }
    return true;
}

static bool read_saving(request *q) {
    q->save_weights = text_of(q, "save-weights");
    q->save_gradients = text_of(q, "save-gradients");
    q->d_out = text_of(q, "do");
    if ((q->save_weights[0] || q->save_gradients[0]) && q->q.count > 1)
        return usage("--save-weights and --save-gradients: expected one layer at a time");
    if (q->save_gradients[0] && q->v.count == 0) return usage("--save-gradients: expected --v");
    if (q->d_out[0] && !q->save_gradients[0]) return usage("--do: expected with --save-gradients");
    return true;
}

static bool read_output(request *q) {
    q->output = text_of(q, "output");
    if (q->output[0] == '\0')
        return usage("--output '': expected a file name, or - for standard output");
    q->direct = output_is_direct(q->output);
    if (q->direct && q->head_count > 0)
        return usage("--heads with --output to no regular file: expected a name to write beside");
    return true;
}

static bool read_request(request *q) {
    const char *heads = text_of(q, "heads");
    if (!mask_request_read(&INSPECT_COMMAND, &q->text, &q->mask) ||
        !scale_option_one(text_of(q, "scale"), &q->scale) ||
        !options_int("seed", text_of(q, "seed"), 0, 4294967295, &q->seed) || !read_files(q) ||
        (heads[0] && !options_int_list("heads", heads, 0, 1000000, q->heads, &q->head_count)) ||
        !read_saving(q) || !read_output(q))
        return false;
    q->quiet = options_flag(&INSPECT_COMMAND, &q->text, "quiet");
    inspect_rules_set(&q->rules, q->scale.rule[0]);
    return true;
}

static void print_settings(FILE *to, const request *q) {
    (void)fprintf(to, "program = sqrtdk inspect\nversion = %s\n", SQRTDK_VERSION);
    for (int i = 0; i < INSPECT_COMMAND.count; i++) {
        const option_spec *o = &OPTIONS[i];
        if (strcmp(o->name, "output") == 0 || strcmp(o->name, "quiet") == 0) continue;
        (void)fprintf(to, "%s = %s\n", o->name,
                      !o->value && !q->text.text[i][0] ? "no" : q->text.text[i]);
    }
    machine_describe(to);
}

/* ---- Running --------------------------------------------------------------------------------- */

enum { STATISTICS, WEIGHTS, META, FILES };
static const char *const ENDINGS[FILES] = {NULL, "_weights.csv", ".meta"};

typedef struct run {
    const request *request;
    inspect_layer layers[LIST_MOST];
    int layer; /* the one at work; at the end, their count */
    saved_weights saved;
    output file[FILES];
} run;

/* The weights of a head, on their way to where they were asked for. */
static bool on_weights(void *context, const attention_files *f, tt_size entry,
                       const attention_head *head, tt_tensor weights) {
    run *r = context;
    const request *q = r->request;
    for (int i = 0; i < q->head_count; i++)
        if (q->heads[i] == entry)
            inspect_weights_rows(r->file[WEIGHTS].stream, r->layer, 0, entry, head, weights);
    return !q->save_weights[0] || saved_weights_take(&r->saved, f, entry, weights);
}

static bool heads_exist(const request *q, const attention_files *f) {
    for (int i = 0; i < q->head_count; i++)
        if (q->heads[i] >= f->heads) {
            (void)message_fail(0, "--heads: %lld, but %s has heads 0 to %td",
                               (long long)q->heads[i], f->paths.q, f->heads - 1);
            return false;
        }
    return true;
}

static bool save(const run *r, const attention_files *f) {
    const request *q = r->request;
    return (!q->save_weights[0] || saved_weights_write(&r->saved, f, q->save_weights)) &&
           (!q->save_gradients[0] ||
            save_gradients(f, q->rules.rule[q->rules.used], (uint64_t)q->seed, q->save_gradients));
}

static int run_layer(run *r) {
    const request *q = r->request;
    const int n = r->layer;
    attention_files f;
    attention_paths paths = {q->q.path[n], q->k.path[n], q->v.count > 0 ? q->v.path[n] : "",
                             q->d_out};
    int code = attention_files_read(&paths, &q->mask, &f);
    if (code != EXIT_OK) return code;
    if (!heads_exist(q, &f))
        code = EXIT_USAGE;
    else
        code = inspect_layer_measure(&f, &q->rules, on_weights, r, &r->layers[n]);
    if (code == EXIT_OK) {
        r->layer++;
        if (!save(r, &f)) code = EXIT_FAILED;
    }
    attention_files_free(&f);
    return code;
}

/* All files are opened before anything is measured: what cannot be written is known at once. */
static bool open_files(run *r) {
    const request *q = r->request;
    if (!output_open(&r->file[STATISTICS], q->output)) return false;
    for (int f = WEIGHTS; f < FILES && !q->direct; f++) {
        if (f == WEIGHTS && q->head_count == 0) continue;
        char *path = output_beside(q->output, ENDINGS[f]);
        bool good = path && output_open(&r->file[f], path);
        free(path);
        if (!good) return false;
    }
    if (r->file[WEIGHTS].stream) inspect_weights_header(r->file[WEIGHTS].stream);
    return true;
}

/* All are complete under temporary names before the first takes its place. */
static bool write_files(run *r) {
    const request *q = r->request;
    inspect_report_csv(r->file[STATISTICS].stream, r->layers, r->layer, &q->rules);
    if (r->file[META].stream) print_settings(r->file[META].stream, q);
    bool there[FILES], good = true;
    for (int f = 0; f < FILES; f++) there[f] = r->file[f].stream != NULL;
    for (int f = 0; good && f < FILES; f++) good = !there[f] || output_close(&r->file[f]);
    for (int f = 0; good && f < FILES; f++) good = !there[f] || output_commit(&r->file[f]);
    return good;
}

static const char *mask_words(const request *q, char *text, size_t size) {
    (void)snprintf(text, size, "%s%s%s", mask_name(q->mask.causal),
                   q->mask.key_lengths[0] ? " and key lengths" : "",
                   q->mask.allowed[0] ? " and allowed" : "");
    return text;
}

static void say_results(const run *r) {
    const request *q = r->request;
    char mask[64];
    FILE *to = q->direct ? stderr : stdout;
    if (q->quiet) return;
    for (int n = 0; n < r->layer; n++) {
        inspect_report_layer(to, &r->layers[n], n, &q->rules, mask_words(q, mask, sizeof mask));
        if (n < r->layer - 1) (void)fputc('\n', to);
    }
    if (!q->direct) (void)fprintf(to, "\nWritten: %s\n", q->output);
}

static int run_all(run *r) {
    int code = open_files(r) ? EXIT_OK : EXIT_FAILED;
    while (code == EXIT_OK && r->layer < r->request->q.count) code = run_layer(r);
    if (code == EXIT_OK && !write_files(r)) code = EXIT_FAILED;
    if (code == EXIT_OK) say_results(r);
    if (code == EXIT_OK && (fflush(stdout) != 0 || ferror(stdout)))
        code = message_fail(EXIT_FAILED, "cannot write standard output: %s", strerror(errno));
    for (int f = 0; f < FILES; f++) output_discard(&r->file[f]);
    for (int n = 0; n < r->layer; n++) inspect_layer_free(&r->layers[n]);
    saved_weights_free(&r->saved);
    return code;
}

int inspect_main(int argc, char **argv) {
    static request q;
    static run r;
    int code = EXIT_USAGE;
    switch (options_parse(&INSPECT_COMMAND, argc, argv, &q.text)) {
    case OPTIONS_HELP:
        return EXIT_OK;
    case OPTIONS_WRONG:
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    r.request = &q;
    if (read_request(&q)) code = run_all(&r);
    free(q.q.text);
    free(q.k.text);
    free(q.v.text);
    return code;
}

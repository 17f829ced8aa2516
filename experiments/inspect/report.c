#include "inspect/report.h"

#include <math.h>
#include <string.h>

#include "common/csv.h"
#include "common/format.h"
#include "common/quote.h"
#include "common/text.h"

/* ---- CSV ------------------------------------------------------------------------------------- */

static void print_row(FILE *to, const inspect_layer *l, tt_size entry, const inspect_rules *rules,
                      int r) {
    const head_stats *s = inspect_stats(l, entry, r);
    (void)fputs(l->name, to);
    csv_text(to, l->path);
    (void)fprintf(to, ",%td,%td,%s,%d,%td,%td,%td,%td", entry / l->heads, entry % l->heads,
                  rules->rule[r]->name, r == rules->used, l->queries, l->keys, l->d_k, s->rows);
    for (int i = 0; i < HEAD_STATS; i++) csv_number(to, s->value[i]);
    (void)fputc('\n', to);
}

void inspect_report_csv(FILE *to, const inspect_layer *layers, int count,
                        const inspect_rules *rules) {
    (void)fputs("layer,file,batch,head,scale,used,queries,keys,d_k,rows", to);
    for (int i = 0; i < HEAD_STATS; i++) (void)fprintf(to, ",%s", head_stat_name(i));
    (void)fputc('\n', to);
    for (int n = 0; n < count; n++)
        for (tt_size e = 0; e < layers[n].batch * layers[n].heads; e++)
            for (int r = 0; r < rules->count; r++) print_row(to, &layers[n], e, rules, r);
}

void inspect_weights_header(FILE *to) {
    (void)fputs("layer,batch,head,query,key,visible,weight\n", to);
}

void inspect_weights_rows(FILE *to, const char *layer, tt_size batch, tt_size head_number,
                          const attention_head *head, tt_tensor weights) {
    char text[NUMBER_BYTES];
    for (tt_size i = 0; i < weights.rows; i++)
        for (tt_size j = 0; j < weights.cols; j++)
            (void)fprintf(to, "%s,%td,%td,%td,%td,%d,%s\n", layer, batch, head_number, i, j,
                          tt_mask_allows(&head->mask, 0, i, j, weights.rows, weights.cols),
                          csv_format(text, weights.data[i * weights.cols + j]));
}

/* ---- Text ------------------------------------------------------------------------------------ */

enum { NAME_BYTES = 48 };

/* "3", or "1/3" (batch entry and head) where there are several batch entries. */
static const char *head_name(char name[NAME_BYTES], const inspect_layer *l, tt_size entry) {
    if (l->batch > 1)
        (void)snprintf(name, NAME_BYTES, "%td/%td", entry / l->heads, entry % l->heads);
    else
        (void)snprintf(name, NAME_BYTES, "%td", entry);
    return name;
}

/* "-" where there is nothing to measure: no row sees a key, or for entropy / ln n none sees two.
 * What is too wide keeps its magnitude. */
static void print_cell(FILE *to, int width, const char *format, double x) {
    char text[32];
    if (isnan(x))
        (void)snprintf(text, sizeof text, "-");
    else if (snprintf(text, sizeof text, format, x) > width)
        (void)snprintf(text, sizeof text, "%.0e", x);
    (void)fprintf(to, " %*s", width, text);
}

static const char HEADS_HEADER[] =
    "        logit                                 softmax Jacobian of a row   d_k of\n"
    "       spread --- entropy -- largest sum of ------ its norm -------  rows such a\n";

static void print_heads(FILE *to, const inspect_layer *l, const inspect_rules *rules) {
    static const struct {
        const char *format;
        int width;
        head_stat stat;
    } CELLS[] = {{"%.4g", 6, HEAD_LOGIT_SPREAD},       {"%.3f", 7, HEAD_ENTROPY},
                 {"%.3f", 6, HEAD_ENTROPY_NORMALISED}, {"%.4f", 7, HEAD_MAX_WEIGHT},
                 {"%.4f", 6, HEAD_PARTICIPATION},      {"%.2g", 7, HEAD_JACOBIAN_P10},
                 {"%.2g", 7, HEAD_JACOBIAN_MEDIAN},    {"%.2g", 7, HEAD_JACOBIAN_P90}};
    char name[NAME_BYTES];
    (void)fprintf(
        to, "%s%6s  (std)    nats  /ln n  weight    w^2     p10  median     p90 <1e-6 spread\n",
        HEADS_HEADER, l->batch > 1 ? "b/head" : "head");
    for (tt_size e = 0; e < l->batch * l->heads; e++) {
        const double *x = inspect_stats(l, e, rules->used)->value;
        (void)fprintf(to, "%6s", head_name(name, l, e));
        for (size_t c = 0; c < sizeof CELLS / sizeof *CELLS; c++)
            print_cell(to, CELLS[c].width, CELLS[c].format, x[CELLS[c].stat]);
        print_cell(to, 5, x[HEAD_JACOBIAN_TINY] < 0.9995 ? "%.1f%%" : "%.0f%%",
                   100 * x[HEAD_JACOBIAN_TINY]);
        print_cell(to, 6, "%.4g", x[HEAD_D_K_EQUIVALENT]);
        (void)fputc('\n', to);
    }
}

static void print_rules(FILE *to, const inspect_layer *l, const inspect_rules *rules) {
    char name[NAME_BYTES];
    (void)fprintf(
        to,
        "\nMean entropy (nats) that each scaling rule would make of the same Q and K; * is "
        "in use:\n%6s",
        l->batch > 1 ? "b/head" : "head");
    for (int r = 0; r < rules->count; r++)
        (void)fprintf(to, " %*.6s%s", r == rules->used ? 6 : 7, rules->rule[r]->name,
                      r == rules->used ? "*" : "");
    for (tt_size e = 0; e < l->batch * l->heads; e++) {
        (void)fprintf(to, "\n%6s", head_name(name, l, e));
        for (int r = 0; r < rules->count; r++)
            print_cell(to, 7, "%.3f", inspect_stats(l, e, r)->value[HEAD_ENTROPY]);
    }
    (void)fputs("\n\n", to);
}

/* ---- The sentence ---------------------------------------------------------------------------- */

static double median_jacobian(const inspect_layer *l, tt_size entry, int rule) {
    return inspect_stats(l, entry, rule)->value[HEAD_JACOBIAN_MEDIAN];
}

/* Whether some row sees two keys: where none does the Jacobian is 0 whatever the logits are. */
static bool has_choice(const inspect_layer *l, tt_size entry, int rule) {
    return !isnan(inspect_stats(l, entry, rule)->value[HEAD_ENTROPY_NORMALISED]);
}

static void print_no_choice(FILE *to, const inspect_layer *l, int used) {
    bool seen = false;
    for (tt_size e = 0; e < l->batch * l->heads; e++)
        seen = seen || inspect_stats(l, e, used)->rows;
    (void)fputs(seen ? "no query sees more than one key: there is nothing to choose.\n"
                     : "no query sees a key.\n",
                to);
}

static void print_tiny(FILE *to, const inspect_layer *l, int used, tt_size count) {
    char name[NAME_BYTES];
    const char *separator = " ";
    (void)fprintf(to, "in %s", count == 1 ? "head" : "heads");
    for (tt_size e = 0; e < l->batch * l->heads; e++)
        if (has_choice(l, e, used) && median_jacobian(l, e, used) < JACOBIAN_TINY) {
            (void)fprintf(to, "%s%s", separator, head_name(name, l, e));
            separator = ", ";
        }
    (void)fprintf(to,
                  " the median norm of a row's softmax Jacobian is below %g: at least half of the "
                  "rows pass on less than that part, in norm, of the gradient of their weights.\n",
                  JACOBIAN_TINY);
}

static void print_sentence(FILE *to, const inspect_layer *l, int used) {
    char name[NAME_BYTES];
    tt_size tiny = 0, choices = 0, least = -1, total = l->batch * l->heads;
    for (tt_size e = 0; e < total; e++) {
        if (!has_choice(l, e, used)) continue;
        const double x = median_jacobian(l, e, used);
        choices++;
        tiny += x < JACOBIAN_TINY;
        if (least < 0 || x < median_jacobian(l, least, used)) least = e;
    }
    (void)fprintf(to, "Layer %s: ", l->name);
    if (choices == 0)
        print_no_choice(to, l, used);
    else if (tiny > 0)
        print_tiny(to, l, used, tiny);
    else
        (void)fprintf(to,
                      "of %s the median norm of a row's softmax Jacobian is %.2g or more "
                      "(least in head %s).\n",
                      choices == total ? "every head" : "every head that sees two keys",
                      median_jacobian(l, least, used), head_name(name, l, least));
}

/* ---- The range of float16 -------------------------------------------------------------------- */

/* The rule's logits, of all heads. */
static double largest_logit(const inspect_layer *l, int rule, tt_size *head) {
    double most = 0;
    for (tt_size e = 0; e < l->batch * l->heads; e++) {
        const double x = inspect_stats(l, e, rule)->value[HEAD_LOGIT_LARGEST];
        if (!(x > most)) continue;
        most = x;
        *head = e;
    }
    return most;
}

/* Only where q.k, or the logits, come near its end. */
static void print_range(FILE *to, const inspect_layer *l, const inspect_rules *rules) {
    const double end = format_find("float16")->most;
    char name[NAME_BYTES];
    int none = 0;
    tt_size head = 0, other = 0;
    while (strcmp(rules->rule[none]->name, "none") != 0) none++;
    const double before = largest_logit(l, none, &head);
    const double after = largest_logit(l, rules->used, &other);
    if (fmax(before, after) <= end / 2) return;
    (void)fprintf(to,
                  "Layer %s: q.k is up to %.3g in size (head %s), with the scale %.3g: %s "
                  "float16, which ends at %.0f.\n",
                  l->name, before, head_name(name, l, head), after,
                  fmax(before, after) > end ? "beyond" : "above half of", end);
}

/* ---- A layer --------------------------------------------------------------------------------- */

typedef struct layer_text {
    const inspect_layer *layer;
    const inspect_rules *rules;
    const char *mask;
} layer_text;

static void print_layer(FILE *to, const void *context) {
    const layer_text *t = context;
    const inspect_layer *l = t->layer;
    (void)fprintf(to, "Layer %s: ", l->name);
    quote_print(to, l->path, strlen(l->path));
    (void)fputc('\n', to);
    if (l->batch > 1) (void)fprintf(to, "%td batch entries, ", l->batch);
    (void)fprintf(to, "%td head%s, %td queries, %td keys, d_k %td, mask %s, scale %s\n", l->heads,
                  l->heads == 1 ? "" : "s", l->queries, l->keys, l->d_k, t->mask,
                  t->rules->rule[t->rules->used]->name);
    if (l->key_heads < l->heads)
        (void)fprintf(to, "grouped queries: K has %td heads, each repeated for %td heads of Q\n",
                      l->key_heads, l->heads / l->key_heads);
    (void)fputc('\n', to);
    print_heads(to, l, t->rules);
    print_rules(to, l, t->rules);
    print_sentence(to, l, t->rules->used);
    print_range(to, l, t->rules);
}

void inspect_report_layer(FILE *to, const inspect_layer *l, const inspect_rules *rules,
                          const char *mask) {
    const layer_text text = {l, rules, mask};
    text_flow_from(to, print_layer, &text, 4);
}

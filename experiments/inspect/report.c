#include "inspect/report.h"

#include <math.h>

#include "common/csv.h"
#include "common/text.h"

/* ---- CSV ------------------------------------------------------------------------------------- */

static void print_row(FILE *to, const inspect_layer *l, int number, tt_size entry,
                      const inspect_rules *rules, int r) {
    const head_stats *s = inspect_stats(l, entry, r);
    (void)fprintf(to, "%d", number);
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
            for (int r = 0; r < rules->count; r++) print_row(to, &layers[n], n, e, rules, r);
}

void inspect_weights_header(FILE *to) {
    (void)fputs("layer,batch,head,query,key,visible,weight\n", to);
}

void inspect_weights_rows(FILE *to, int layer, tt_size batch, tt_size head_number,
                          const attention_head *head, tt_tensor weights) {
    char text[NUMBER_BYTES];
    for (tt_size i = 0; i < weights.rows; i++)
        for (tt_size j = 0; j < weights.cols; j++)
            (void)fprintf(to, "%d,%td,%td,%td,%td,%d,%s\n", layer, batch, head_number, i, j,
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

static void print_heads(FILE *to, const inspect_layer *l, const inspect_rules *rules) {
    char name[NAME_BYTES];
    (void)fprintf(to,
                  "        logit entropy  /ln n largest sum of   Jacobian norm of a row below   "
                  "d_k\n"
                  "%6s spread  (nats)         weight    w^2     p10  median     p90  1e-6 "
                  "equiv.\n",
                  l->batch > 1 ? "b/head" : "head");
    for (tt_size e = 0; e < l->batch * l->heads; e++) {
        const double *x = inspect_stats(l, e, rules->used)->value;
        (void)fprintf(to, "%6s %6.4g %7.3f %6.3f %7.4f %6.4f %7.2g %7.2g %7.2g %4.1f%% %6.4g\n",
                      head_name(name, l, e), x[HEAD_LOGIT_SPREAD], x[HEAD_ENTROPY],
                      x[HEAD_ENTROPY_NORMALISED], x[HEAD_MAX_WEIGHT], x[HEAD_PARTICIPATION],
                      x[HEAD_JACOBIAN_P10], x[HEAD_JACOBIAN_MEDIAN], x[HEAD_JACOBIAN_P90],
                      100 * x[HEAD_JACOBIAN_TINY], x[HEAD_D_K_EQUIVALENT]);
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
            (void)fprintf(to, " %7.3f", inspect_stats(l, e, r)->value[HEAD_ENTROPY]);
    }
    (void)fputs("\n\n", to);
}

static double median_jacobian(const inspect_layer *l, tt_size entry, int rule) {
    return inspect_stats(l, entry, rule)->value[HEAD_JACOBIAN_MEDIAN]; /* nan: no row sees a key */
}

static void print_sentence(FILE *to, const inspect_layer *l, int used) {
    char name[NAME_BYTES];
    tt_size dead = 0, total = l->batch * l->heads, least = -1;
    for (tt_size e = 0; e < total; e++) {
        const double x = median_jacobian(l, e, used);
        dead += x < JACOBIAN_TINY;
        if (least < 0 ? !isnan(x) : x < median_jacobian(l, least, used)) least = e;
    }
    (void)fprintf(to, "%s: ", l->path);
    if (least < 0) {
        (void)fputs("no query sees a key.\n", to);
    } else if (dead == 0) {
        (void)fprintf(to,
                      "every head's typical row gets a gradient: the least median Jacobian norm is "
                      "%.2g (head %s).\n",
                      median_jacobian(l, least, used), head_name(name, l, least));
    } else {
        (void)fputs(dead == 1 ? "the typical row of head" : "the typical rows of heads", to);
        const char *separator = " ";
        for (tt_size e = 0; e < total; e++)
            if (median_jacobian(l, e, used) < JACOBIAN_TINY) {
                (void)fprintf(to, "%s%s", separator, head_name(name, l, e));
                separator = ", ";
            }
        (void)fprintf(to, " get%s no gradient: the median Jacobian norm is below %g.\n",
                      dead == 1 ? "s" : "", JACOBIAN_TINY);
    }
}

typedef struct layer_text {
    const inspect_layer *layer;
    int number;
    const inspect_rules *rules;
    const char *mask;
} layer_text;

static void print_layer(FILE *to, const void *context) {
    const layer_text *t = context;
    const inspect_layer *l = t->layer;
    (void)fprintf(to, "Layer %d: %s\n", t->number, l->path);
    if (l->batch > 1) (void)fprintf(to, "%td batch entries, ", l->batch);
    (void)fprintf(to, "%td heads, %td queries, %td keys, d_k %td, mask %s, scale %s\n", l->heads,
                  l->queries, l->keys, l->d_k, t->mask, t->rules->rule[t->rules->used]->name);
    if (l->key_heads < l->heads)
        (void)fprintf(to, "grouped queries: K has %td heads, each repeated for %td heads of Q\n",
                      l->key_heads, l->heads / l->key_heads);
    (void)fputc('\n', to);
    print_heads(to, l, t->rules);
    print_rules(to, l, t->rules);
    print_sentence(to, l, t->rules->used);
}

void inspect_report_layer(FILE *to, const inspect_layer *l, int number, const inspect_rules *rules,
                          const char *mask) {
    const layer_text text = {l, number, rules, mask};
    text_flow_from(to, print_layer, &text, 4);
}

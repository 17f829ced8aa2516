/* report.c: see inspect_report.h. */
#include "inspect/report.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "common/output.h"

/* ---- CSV ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t offset;
} COLUMNS[] = {
    {"logit_spread", offsetof(head_stats, logit_spread)},
    {"entropy", offsetof(head_stats, entropy)},
    {"entropy_normalised", offsetof(head_stats, entropy_normalised)},
    {"max_weight", offsetof(head_stats, max_weight)},
    {"participation", offsetof(head_stats, participation)},
    {"jacobian_mean", offsetof(head_stats, jacobian_mean)},
    {"jacobian_p10", offsetof(head_stats, jacobian_p10)},
    {"jacobian_median", offsetof(head_stats, jacobian_median)},
    {"jacobian_p90", offsetof(head_stats, jacobian_p90)},
    {"jacobian_tiny", offsetof(head_stats, jacobian_tiny)},
    {"d_k_equivalent", offsetof(head_stats, d_k_equivalent)},
};

enum { COLUMN_COUNT = sizeof COLUMNS / sizeof *COLUMNS };

static double column(const head_stats *s, int c) {
    double value;
    memcpy(&value, (const char *)s + COLUMNS[c].offset, sizeof value);
    return value;
}

/* A text as a CSV field: quoted where it must be (RFC 4180). */
static void print_text(FILE *to, const char *text) {
    bool quote = strpbrk(text, ",\"\r\n") != NULL;
    if (quote) (void)fputc('"', to);
    for (; *text; text++) {
        if (*text == '"') (void)fputc('"', to);
        (void)fputc(*text, to);
    }
    if (quote) (void)fputc('"', to);
}

static void print_row(FILE *to, const inspect_layer *l, int number, tt_size entry,
                      const inspect_rules *rules, int r) {
    const head_stats *s = inspect_stats(l, entry, r);
    char text[NUMBER_BYTES];
    (void)fprintf(to, "%d,", number);
    print_text(to, l->path);
    (void)fprintf(to, ",%td,%td,%s,%d,%td,%td,%td,%td", entry / l->heads, entry % l->heads,
                  rules->rule[r]->name, r == rules->used, l->queries, l->keys, l->d_k, s->rows);
    for (int c = 0; c < COLUMN_COUNT; c++)
        (void)fprintf(to, ",%s", output_number(text, column(s, c)));
    (void)fputc('\n', to);
}

void inspect_report_csv(FILE *to, const inspect_layer *layers, int count,
                        const inspect_rules *rules) {
    (void)fputs("layer,file,batch,head,scale,used,queries,keys,d_k,rows", to);
    for (int c = 0; c < COLUMN_COUNT; c++) (void)fprintf(to, ",%s", COLUMNS[c].name);
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
                          output_number(text, weights.data[i * weights.cols + j]));
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
    (void)fprintf(
        to,
        "        logit  entropy  /ln n  largest  sum of  Jacobian norm of a row             "
        "   below     d_k\n"
        "%6s  spread   (nats)          weight     w^2     mean     p10  median     p90  "
        " 1e-6   equiv.\n",
        l->batch > 1 ? "b/head" : "head");
    for (tt_size e = 0; e < l->batch * l->heads; e++) {
        const head_stats *s = inspect_stats(l, e, rules->used);
        (void)fprintf(
            to, "%6s %7.4g %8.3f %6.3f %8.4f %7.4f %8.2g %7.2g %7.2g %7.2g %5.1f%% %8.4g\n",
            head_name(name, l, e), s->logit_spread, s->entropy, s->entropy_normalised,
            s->max_weight, s->participation, s->jacobian_mean, s->jacobian_p10, s->jacobian_median,
            s->jacobian_p90, 100 * s->jacobian_tiny, s->d_k_equivalent);
    }
}

static void print_rules(FILE *to, const inspect_layer *l, const inspect_rules *rules) {
    char name[NAME_BYTES];
    (void)fprintf(to,
                  "\nMean entropy (nats) that each scaling rule would make of the same Q and K; "
                  "* is in use:\n%6s",
                  l->batch > 1 ? "b/head" : "head");
    for (int r = 0; r < rules->count; r++)
        (void)fprintf(to, " %*.8s%s", r == rules->used ? 8 : 9, rules->rule[r]->name,
                      r == rules->used ? "*" : "");
    for (tt_size e = 0; e < l->batch * l->heads; e++) {
        (void)fprintf(to, "\n%6s", head_name(name, l, e));
        for (int r = 0; r < rules->count; r++)
            (void)fprintf(to, " %9.3f", inspect_stats(l, e, r)->entropy);
    }
    (void)fputs("\n\n", to);
}

static bool is_dead(const head_stats *s) {
    return s->rows > 0 && s->jacobian_median < JACOBIAN_TINY;
}

static void print_sentence(FILE *to, const inspect_layer *l, int used) {
    char name[NAME_BYTES];
    tt_size dead = 0, total = l->batch * l->heads, least = -1;
    for (tt_size e = 0; e < total; e++) {
        const head_stats *s = inspect_stats(l, e, used);
        dead += is_dead(s);
        if (s->rows > 0 &&
            (least < 0 || s->jacobian_median < inspect_stats(l, least, used)->jacobian_median))
            least = e;
    }
    (void)fprintf(to, "%s: ", l->path);
    if (least < 0) {
        (void)fputs("no query sees a key.\n", to);
    } else if (dead == 0) {
        (void)fprintf(to,
                      "every head's typical row gets a gradient: the least median Jacobian norm is "
                      "%.2g (head %s).\n",
                      inspect_stats(l, least, used)->jacobian_median, head_name(name, l, least));
    } else {
        (void)fputs(dead == 1 ? "the typical row of head" : "the typical rows of heads", to);
        const char *separator = " ";
        for (tt_size e = 0; e < total; e++)
            if (is_dead(inspect_stats(l, e, used))) {
                (void)fprintf(to, "%s%s", separator, head_name(name, l, e));
                separator = ", ";
            }
        (void)fprintf(to, " get%s no gradient: the median Jacobian norm is below %g.\n",
                      dead == 1 ? "s" : "", JACOBIAN_TINY);
    }
}

void inspect_report_layer(FILE *to, const inspect_layer *l, int number, const inspect_rules *rules,
                          const char *mask) {
    (void)fprintf(to, "Layer %d: %s\n", number, l->path);
    if (l->batch > 1) (void)fprintf(to, "%td batch entries, ", l->batch);
    (void)fprintf(to, "%td heads, %td queries, %td keys, d_k %td, mask %s, scale %s\n", l->heads,
                  l->queries, l->keys, l->d_k, mask, rules->rule[rules->used]->name);
    if (l->key_heads < l->heads)
        (void)fprintf(to, "grouped queries: K has %td heads, each repeated for %td heads of Q\n",
                      l->key_heads, l->heads / l->key_heads);
    (void)fputc('\n', to);
    print_heads(to, l, rules);
    print_rules(to, l, rules);
    print_sentence(to, l, rules->used);
}

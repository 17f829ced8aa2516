#include "inspect/factor_logits.h"

#include <stdlib.h>

#include "tt/norm.h"

tt_size factor_logits_query(const factor_logits *l, tt_size row) {
    return (row + 1) * l->queries / l->rows - 1;
}

bool factor_logits_new(factor_logits *l, const attention_head *head, tt_size most) {
    const tt_size queries = head->q.rows, keys = head->k.rows;
    *l = (factor_logits){.rows = queries < most ? queries : most,
                         .keys = keys,
                         .d_k = head->q.cols,
                         .queries = queries};
    l->x = calloc((size_t)l->rows, (size_t)keys * sizeof *l->x);
    l->squares = calloc((size_t)l->rows, (size_t)keys * sizeof *l->squares);
    l->key_norm = malloc((size_t)keys * sizeof *l->key_norm);
    l->may = malloc((size_t)keys);
    if (!l->x || !l->squares || !l->key_norm || !l->may) return false;
    for (tt_size j = 0; j < keys; j++) l->key_norm[j] = tt_norm(head->k.data + j * l->d_k, l->d_k);
    return true;
}

void factor_logits_free(factor_logits *l) {
    free(l->x);
    free(l->squares);
    free(l->key_norm);
    free(l->may);
    *l = (factor_logits){0};
}

void factor_logits_plain(factor_logits *l, const attention_head *head) {
    for (tt_size r = 0; r < l->rows; r++) {
        const double *q = head->q.data + factor_logits_query(l, r) * l->d_k;
        for (tt_size j = 0; j < l->keys; j++) {
            const double *k = head->k.data + j * l->d_k;
            double x = 0, squares = 0;
            for (tt_size c = 0; c < l->d_k; c++) {
                const double product = q[c] * k[c];
                x += product;
                squares += product * product;
            }
            l->x[r * l->keys + j] = x;
            l->squares[r * l->keys + j] = squares;
        }
    }
}

static double inverse_or_zero(double x) {
    return x == 0 ? 0 : 1 / x;
}

/* f_i a_i of tt/scale.h. */
static double row_factor(factor_logits *l, const attention_head *head, const tt_scale_rule *rule,
                         const tt_mask *mask, tt_size query) {
    const tt_size visible = tt_mask_row(mask, 0, query, l->queries, l->keys, l->may);
    const double factor = tt_scale_factor(rule, (tt_scale_row){l->d_k, visible, l->keys});
    double divisor = 0;
    if (rule->norms == TT_NORMS_NONE) return factor;
    if (rule->norms == TT_NORMS_COSINE) divisor = tt_norm(head->q.data + query * l->d_k, l->d_k);
    if (rule->norms == TT_NORMS_KEY_SUM)
        for (tt_size j = 0; j < l->keys; j++)
            if (l->may[j]) divisor += l->key_norm[j];
    return factor * inverse_or_zero(divisor);
}

void factor_logits_of_rule(factor_logits *l, const factor_logits *plain, const attention_head *head,
                           const tt_scale_rule *rule, const tt_mask *mask) {
    const bool cosine = rule->norms == TT_NORMS_COSINE;
    for (tt_size r = 0; r < l->rows; r++) {
        const double factor = row_factor(l, head, rule, mask, factor_logits_query(l, r));
        for (tt_size j = 0; j < l->keys; j++) {
            const double f = cosine ? factor * inverse_or_zero(l->key_norm[j]) : factor;
            const tt_size at = r * l->keys + j;
            l->x[at] = f * plain->x[at];
            l->squares[at] = f * f * plain->squares[at];
        }
    }
}

double factor_logit_noise(const number_format *format, tt_size d_k) {
    const double sum = format->bits < 53 ? 0x1p-24 : 0x1p-53;
    return format->unit * format->unit + sum * sum * (double)d_k / 3;
}

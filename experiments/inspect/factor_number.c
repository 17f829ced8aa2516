#include "inspect/factor_number.h"

#include <math.h>
#include <stdio.h>

#include "common/scaling.h"

/* A size and its power. */
static void add(factor_numbers *n, const char *name, tt_size size, double power, const char *format,
                const char *meaning) {
    factor_number *x = &n->of[n->count++];
    const double root = sqrt((double)size);
    *x = (factor_number){.name = name, .meaning = meaning};
    x->value = power == -0.25  ? 1 / sqrt(root)
               : power == -0.5 ? 1 / root
               : power == -1   ? 1 / (double)size
               : power == 0    ? 1
                               : root;
    (void)snprintf(x->formula, sizeof x->formula, format, size);
}

/* The rule log, where every row sees all keys. */
static void add_log(factor_numbers *n, tt_size d_k, tt_size keys) {
    factor_number *x = &n->of[n->count++];
    *x =
        (factor_number){.name = "log", .meaning = ", the rule log where every query sees all keys"};
    x->value = scaling_factor(scaling_find("log"), d_k, keys);
    (void)snprintf(x->formula, sizeof x->formula, "0.43 ln(%td)/sqrt(%td)", keys, d_k);
}

void factor_numbers_set(factor_numbers *n, const head_files *f, tt_size d_model) {
    const tt_size d_k = f->d_k, width = f->heads * d_k;
    *n = (factor_numbers){.d_k = d_k};
    add(n, "none", d_k, 0, "no 1/sqrt(%td)", " is applied");
    add(n, "sqrt", d_k, -0.5, "1/sqrt(%td)", ", of the head's width d_k");
    n->of[0].intended = n->of[1].intended = true;
    add(n, "twice", d_k, -1, "1/%td", ": 1/sqrt(d_k) applied twice, or the rule linear");
    if (f->heads > 1)
        add(n, "width", width, -0.5, "1/sqrt(%td)", ", of all heads' width, not the head's");
    if (d_model > 0 && d_model != width)
        add(n, "d-model", d_model, -0.5, "1/sqrt(%td)", ", of the model's width, not the head's");
    add(n, "once", d_k, -0.25, "%td^(-1/4)",
        ": what q and k would each get, applied to one of them");
    add(n, "multiplied", d_k, 0.5, "sqrt(%td)", ": multiplied by it, not divided");
    if (f->heads > 1)
        add(n, "heads", f->heads, -0.5, "1/sqrt(%td)", ", of the number of heads, not d_k");
    add(n, "keys", f->keys, -0.5, "1/sqrt(%td)", ", of the number of keys, not d_k");
    if (f->keys > 1) add_log(n, d_k, f->keys);
}

int factor_numbers_match(const factor_numbers *n, double factor, double error, double rounding,
                         const factor_number *found[FACTOR_NUMBERS_MOST]) {
    int count = 0;
    for (int i = 0; i < n->count; i++) {
        const factor_number *x = &n->of[i];
        const bool near = fabs(factor - x->value) <= fmax(error, rounding * x->value);
        const bool said = count > 0 && found[0]->intended &&
                          fabs(x->value - found[0]->value) <= 0x1p-50 * x->value;
        if (near && !said) found[count++] = x;
    }
    return count;
}

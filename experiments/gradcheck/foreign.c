/* foreign.c: see gradcheck_files.h. */
#include "gradcheck/foreign.h"

#include <math.h>
#include <stdlib.h>

#include "common/message.h"
#include "common/output.h"
#include "heads/array_file.h"
#include "tt/attention.h"

enum { DQ, DK, DV, TENSORS };

static const char *const NAMES[TENSORS] = {"dQ", "dK", "dV"};

/* Ours, in the layout of the files: dQ as Q, dK as K, dV as V. */
typedef struct gradients {
    tt_tensor of[TENSORS];
} gradients;

static bool gradients_new(gradients *g, const attention_files *f) {
    g->of[DQ] = tt_tensor_new(f->batch * f->heads, f->queries, f->d_k);
    g->of[DK] = tt_tensor_new(f->batch * f->key_heads, f->keys, f->d_k);
    g->of[DV] = tt_tensor_new(f->batch * f->key_heads, f->keys, f->d_v);
    return g->of[DQ].data && g->of[DK].data && g->of[DV].data;
}

static void gradients_free(gradients *g) {
    for (int t = 0; t < TENSORS; t++) tt_tensor_free(&g->of[t]);
}

/* The tape adds each head's gradients to its matrices, so shared keys collect those of all heads.
 */
static bool backward(const attention_files *f, const tt_scale_rule *rule, gradients *g) {
    tt_tape *tape = tt_tape_new();
    const char *error = tape ? NULL : "out of memory";
    for (tt_size e = 0; !error && e < f->batch * f->heads; e++) {
        const attention_head h = attention_files_head(f, e);
        const tt_size key = attention_files_key_entry(f, e);
        tt_tape_reset(tape);
        tt_var q = tt_param(tape, h.q, tt_tensor_matrix(g->of[DQ], e));
        tt_var k = tt_param(tape, h.k, tt_tensor_matrix(g->of[DK], key));
        tt_var v = tt_param(tape, h.v, tt_tensor_matrix(g->of[DV], key));
        tt_attention_options how = {.rule = rule, .mask = h.mask};
        tt_backward_from(tape, tt_attention(tape, q, k, v, how), h.d_out);
        error = tt_tape_error(tape);
    }
    if (error) (void)message_fail(0, "%s", error);
    tt_tape_free(tape);
    return !error;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static double default_rtol(int item_bytes) {
    if (item_bytes == 2) return 1e-2;
    return item_bytes == 4 ? 1e-5 : 1e-12;
}

typedef struct comparison {
    tt_size count, differ, worst;
    double rtol, largest, excess; /* the worst error over what is allowed there */
} comparison;

static comparison compare(tt_tensor ours, const struct array_file *theirs, double rtol) {
    comparison c = {.count = tt_tensor_count(ours)};
    c.rtol = rtol > 0 ? rtol : default_rtol(theirs->item_bytes);
    for (tt_size i = 0; i < c.count; i++) c.largest = fmax(c.largest, fabs(ours.data[i]));
    for (tt_size i = 0; i < c.count; i++) {
        double allowed = c.rtol * (fabs(ours.data[i]) + c.largest);
        double error = fabs(ours.data[i] - theirs->data[i]);
        double excess = error == 0 ? 0 : error / allowed;
        if (excess > c.excess) {
            c.excess = excess;
            c.worst = i;
        }
        c.differ += excess > 1;
    }
    return c;
}

static bool same_shape(const struct array_file *a, const struct array_file *b) {
    bool same = a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++) same = a->dim[d] == b->dim[d];
    return same;
}

/* "[1,2,3]" of element i in an array of that shape. */
static void print_place(FILE *to, const struct array_file *a, tt_size i) {
    tt_size below = 1;
    for (int d = 0; d < a->ndim; d++) below *= a->dim[d];
    for (int d = 0; d < a->ndim; d++) {
        below /= a->dim[d];
        (void)fprintf(to, "%s%td", d ? "," : "[", i / below % a->dim[d]);
    }
    (void)fputc(']', to);
}

static void report(FILE *csv, FILE *table, int t, const comparison *c, tt_tensor ours,
                   const struct array_file *theirs) {
    char number[NUMBER_BYTES];
    const double mine = ours.data[c->worst], its = theirs->data[c->worst];
    (void)fprintf(csv, "%s,%td,%td,%td", NAMES[t], c->count, c->differ, c->worst);
    (void)fprintf(csv, ",%s", output_number(number, mine));
    (void)fprintf(csv, ",%s", output_number(number, its));
    (void)fprintf(csv, ",%s\n", output_number(number, c->rtol * (fabs(mine) + c->largest)));
    (void)fprintf(table, "%s %s: %td of %td elements differ; worst at ",
                  c->differ ? "FAIL" : "PASS", NAMES[t], c->differ, c->count);
    print_place(table, theirs, c->worst);
    (void)fprintf(table, ": given %.10g, ours %.10g, off by %.2g, allowed %.2g (rtol %.0e)\n", its,
                  mine, fabs(mine - its), c->rtol * (fabs(mine) + c->largest), c->rtol);
}

/* Reads one gradient file and compares it; *bad if an element differs. False on a bad file. */
static bool compare_file(const char *path, int t, const struct array_file *shape, tt_tensor ours,
                         double rtol, FILE *csv, FILE *table, bool *bad) {
    struct array_file theirs;
    char error[ARRAY_ERROR_SIZE], a[SHAPE_BYTES], b[SHAPE_BYTES];
    if (!tensor_file_read(path, ARRAY_FINITE_FLOATS, &theirs, error, sizeof error)) {
        (void)message_fail(0, "%s", error);
        return false;
    }
    bool fits = same_shape(&theirs, shape);
    if (fits) {
        comparison c = compare(ours, &theirs, rtol);
        report(csv, table, t, &c, ours, &theirs);
        *bad = *bad || c.differ > 0;
    } else {
        (void)message_fail(0, "%s: shape %s; expected %s, as %s is the gradient of it", path,
                           attention_shape(a, &theirs), attention_shape(b, shape), NAMES[t]);
    }
    array_file_free(&theirs);
    return fits;
}

int gradcheck_files(const attention_paths *paths, const mask_request *mask,
                    const gradient_paths *given, const tt_scale_rule *rule, double rtol, FILE *csv,
                    FILE *table) {
    const char *const path[TENSORS] = {given->dq, given->dk, given->dv};
    attention_files f;
    gradients g = {{{0, 0, 0, NULL}}};
    bool bad = false;
    int code = attention_files_read(paths, mask, &f);
    if (code != EXIT_OK) return code;
    const struct array_file *const shape[TENSORS] = {&f.q, &f.k, &f.v};
    bool good = gradients_new(&g, &f);
    if (!good) (void)message_fail(0, "out of memory");
    good = good && backward(&f, rule, &g);
    (void)fputs("tensor,elements,differ,worst_index,ours,given,allowed_error\n", csv);
    for (int t = 0; t < TENSORS && good; t++)
        if (path[t][0]) good = compare_file(path[t], t, shape[t], g.of[t], rtol, csv, table, &bad);
    gradients_free(&g);
    attention_files_free(&f);
    return good && !bad ? EXIT_OK : EXIT_FAILED;
}

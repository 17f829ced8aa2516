/* tapes.c: random programs of all operations of the tape, on small shapes. Each value is held
 * against the operation's formula, written out plainly, of the same inputs; each gradient against
 * central differences of the whole program so written; a program whose last operation has a wrong
 * shape must end in an error of the tape. A case is the number of its random stream.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradcheck/cases.h"
#include "harness.h"
#include "tt/attention.h"
#include "tt/ops.h"
#include "tt/tape.h"

enum { SIZE_MOST = 4, BATCH_MOST = 3, ELEMENTS_MOST = 64, NODES_MOST = 24 };

typedef enum op { LEAF, MATMUL, MATMUL_NT, ADD, MUL_SCALAR, SOFTMAX, MSE, DOT, ATTENTION, OPS } op;

/* Those that gradcheck's list has too, by its names: one that is new there is missed here. */
static const char *const NAMES[OPS] = {NULL,      "matmul", "matmul_nt", "add", "mul_scalar",
                                       "softmax", "mse",    "dot",       NULL};

typedef struct node {
    op op;
    int in[4]; /* of the inputs; -1: none. Attention: Q, K, V, tau */
    int batch, rows, cols;
    double value[ELEMENTS_MOST];
    bool param;                     /* a leaf with a gradient */
    double constant[ELEMENTS_MOST]; /* dot's W */
    double number;                  /* mul_scalar's s, attention's scale */
    int rule;                       /* attention's; -1: the number alone */
    tt_mask mask;
    tt_size lengths[BATCH_MOST];
    unsigned char allowed[ELEMENTS_MOST];
    tt_size rows_kept;
} node;

typedef struct program {
    node node[NODES_MOST];
    int count;
} program;

/* ---- Scale rules ----------------------------------------------------------------------------- */

static double by_visible(tt_scale_row row) {
    return (double)(1 + row.visible) / sqrt((double)row.d_k + 1);
}

static const tt_scale_rule RULES[] = {{TT_NORMS_NONE, by_visible, 0.5},
                                      {TT_NORMS_COSINE, NULL, 2.5},
                                      {TT_NORMS_KEY_SUM, by_visible, 1.5}};
enum { RULE_COUNT = sizeof RULES / sizeof *RULES };

/* ---- Formulas, written out ------------------------------------------------------------------- */

static int count_of(const node *n) {
    return n->batch * n->rows * n->cols;
}

/* Entry (b, i, j); of one matrix for the whole batch, that one's. */
static double at(const node *n, const double *value, int b, int i, int j) {
    return value[((n->batch == 1 ? 0 : b) * n->rows + i) * n->cols + j];
}

static double norm_of(const node *n, const double *value, int b, int i) {
    double sum = 0;
    for (int c = 0; c < n->cols; c++) sum += at(n, value, b, i, c) * at(n, value, b, i, c);
    return sqrt(sum);
}

/* The largest logit that a softmax was given since this was set to 0: its rounding moves the
 * weights. */
static double largest_logit;

static void softmax_row(double *row, const unsigned char *allowed, int count) {
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < count; j++)
        if (allowed[j]) {
            most = fmax(most, row[j]);
            largest_logit = fmax(largest_logit, fabs(row[j]));
        }
    for (int j = 0; j < count; j++) {
        row[j] = allowed[j] ? exp(row[j] - most) : 0;
        sum += row[j];
    }
    for (int j = 0; j < count; j++)
        if (sum > 0) row[j] /= sum;
}

static bool sees(const node *n, int b, int i, int j, int tq, int tk) {
    if (n->mask.causal == TT_CAUSAL_TOP_LEFT && j > i) return false;
    if (n->mask.causal == TT_CAUSAL_BOTTOM_RIGHT && j > i + tk - tq) return false;
    if (n->mask.key_lengths && j >= n->lengths[b]) return false;
    return !n->mask.allowed || n->allowed[(b * tq + i) * tk + j];
}

/* One query's logits over its visible keys, then weights, then the mixture of values. */
static void attention_row(const node *n, const node *in[4], const double *const x[4], int b, int i,
                          double *out) {
    const node *q = in[0], *k = in[1], *v = in[2];
    double z[SIZE_MOST] = {0}, key_sum = 0, factor = n->number;
    unsigned char allowed[SIZE_MOST] = {0};
    int visible = 0;
    for (int j = 0; j < k->rows; j++) {
        allowed[j] = sees(n, b, i, j, q->rows, k->rows);
        visible += allowed[j];
        if (allowed[j]) key_sum += norm_of(k, x[1], b, j);
    }
    if (n->rule >= 0) {
        const tt_scale_rule *rule = &RULES[n->rule];
        factor = rule->number;
        if (rule->factor) factor *= by_visible((tt_scale_row){q->cols, visible, k->rows});
        if (rule->norms == TT_NORMS_KEY_SUM) factor = key_sum > 0 ? factor / key_sum : 0;
    }
    for (int j = 0; j < k->rows; j++) {
        for (int c = 0; c < q->cols; c++) z[j] += at(q, x[0], b, i, c) * at(k, x[1], b, j, c);
        z[j] *= factor * (in[3] ? exp(x[3][0]) : 1);
        if (n->rule >= 0 && RULES[n->rule].norms == TT_NORMS_COSINE) {
            const double norms = norm_of(q, x[0], b, i) * norm_of(k, x[1], b, j);
            z[j] = norms > 0 ? z[j] / norms : 0;
        }
    }
    softmax_row(z, allowed, k->rows);
    for (int c = 0; c < v->cols; c++) {
        out[c] = 0;
        for (int j = 0; j < k->rows; j++)
            if (allowed[j]) out[c] += z[j] * at(v, x[2], b, j, c);
    }
}

static double product(const node *a, const double *x, const node *b, const double *y, bool turned,
                      int e, int i, int j) {
    double sum = 0;
    for (int c = 0; c < a->cols; c++)
        sum += at(a, x, e, i, c) * (turned ? at(b, y, e, j, c) : at(b, y, e, c, j));
    return sum;
}

/* The value of a node whose inputs have the values x. */
static void formula(const node *n, const node *in[4], const double *const x[4], double *out) {
    static const unsigned char ALL[SIZE_MOST] = {1, 1, 1, 1};
    const int count = count_of(n), of_first = in[0] ? count_of(in[0]) : 0;
    if (n->op == MSE || n->op == DOT) out[0] = 0;
    for (int i = 0; n->op == MSE && i < of_first; i++)
        out[0] += (x[0][i] - x[1][i]) * (x[0][i] - x[1][i]) / of_first;
    for (int i = 0; n->op == DOT && i < of_first; i++) out[0] += n->constant[i] * x[0][i];
    for (int i = 0; n->op == ADD && i < count; i++) out[i] = x[0][i] + x[1][i];
    for (int i = 0; n->op == MUL_SCALAR && i < count; i++) out[i] = n->number * x[0][i];
    for (int b = 0; b < n->batch; b++)
        for (int i = 0; i < n->rows; i++) {
            double *row = out + (b * n->rows + i) * n->cols;
            for (int j = 0; (n->op == MATMUL || n->op == MATMUL_NT) && j < n->cols; j++)
                row[j] = product(in[0], x[0], in[1], x[1], n->op == MATMUL_NT, b, i, j);
            for (int j = 0; n->op == SOFTMAX && j < n->cols; j++) row[j] = at(n, x[0], b, i, j);
            if (n->op == SOFTMAX) softmax_row(row, ALL, n->cols);
            if (n->op == ATTENTION) attention_row(n, in, x, b, i, row);
        }
}

static void inputs_of(program *p, const node *n, const node *in[4], const double *x[4]) {
    for (int i = 0; i < 4; i++) {
        in[i] = n->in[i] >= 0 ? &p->node[n->in[i]] : NULL;
        x[i] = in[i] ? in[i]->value : NULL;
    }
}

static void evaluate(program *p, node *n) {
    const node *in[4];
    const double *x[4];
    if (n->op == LEAF) return;
    inputs_of(p, n, in, x);
    formula(n, in, x, n->value);
}

/* ---- Random programs ------------------------------------------------------------------------- */

static double normal(torture *t) {
    double sum = -6; /* of twelve uniforms: as good as normal here */
    for (int i = 0; i < 12; i++) sum += (double)torture_below(t, 1 << 30) / (1 << 30);
    return sum;
}

static int size(torture *t, int most) {
    return torture_below(t, 60) == 0 ? 0 : 1 + (int)torture_below(t, (uint64_t)most);
}

static int leaf(torture *t, program *p, int batch, int rows, int cols) {
    node *n = &p->node[p->count];
    *n = (node){.op = LEAF, .in = {-1, -1, -1, -1}, .batch = batch, .rows = rows, .cols = cols};
    n->param = torture_below(t, 4) > 0;
    for (int i = 0; i < count_of(n); i++) n->value[i] = normal(t);
    return p->count++;
}

/* A node of that shape, an old one rather than a new leaf; -1 asks for any size. */
static int any(torture *t, program *p, int batch, int rows, int cols) {
    for (int tries = 0; tries < 6 && p->count > 0; tries++) {
        const int i = (int)torture_below(t, (uint64_t)p->count);
        const node *n = &p->node[i];
        if ((batch < 0 || n->batch == batch) && (rows < 0 || n->rows == rows) &&
            (cols < 0 || n->cols == cols))
            return i;
    }
    return leaf(t, p, batch < 0 ? size(t, BATCH_MOST) : batch, rows < 0 ? size(t, SIZE_MOST) : rows,
                cols < 0 ? size(t, SIZE_MOST) : cols);
}

static void draw_mask(torture *t, node *n, int tq, int tk) {
    n->mask.causal = (tt_causal)torture_below(t, 3);
    for (int b = 0; b < n->batch; b++) n->lengths[b] = (tt_size)torture_below(t, (uint64_t)tk + 1);
    for (int i = 0; i < n->batch * tq * tk; i++) n->allowed[i] = torture_below(t, 3) > 0;
    /* the pointers are set where the node stands */
    n->mask.key_lengths = torture_below(t, 3) == 0 ? n->lengths : NULL;
    n->mask.allowed = torture_below(t, 3) == 0 ? n->allowed : NULL;
}

static void draw_attention(torture *t, program *p, node *n) {
    n->in[0] = any(t, p, -1, -1, -1);
    const node *q = &p->node[n->in[0]];
    n->in[1] = any(t, p, q->batch, -1, q->cols);
    const node *k = &p->node[n->in[1]];
    n->in[2] = any(t, p, q->batch, k->rows, -1);
    if (torture_below(t, 3) == 0) n->in[3] = any(t, p, 1, 1, 1);
    n->batch = q->batch;
    n->rows = q->rows;
    n->cols = p->node[n->in[2]].cols;
    n->rule = (int)torture_below(t, RULE_COUNT + 1) - 1;
    n->number = 0.3 + (double)torture_below(t, 8) / 4;
    n->rows_kept = torture_below(t, 2) ? 0 : 1 + (tt_size)torture_below(t, SIZE_MOST);
    draw_mask(t, n, q->rows, k->rows);
}

static void draw_op(torture *t, program *p, node *n) {
    if (n->op == ATTENTION) {
        draw_attention(t, p, n);
        return;
    }
    n->in[0] = any(t, p, -1, -1, -1);
    const node a = p->node[n->in[0]];
    const int batch = torture_below(t, 2) ? a.batch : 1;
    n->batch = a.batch;
    n->rows = a.rows;
    n->cols = a.cols;
    n->number = normal(t);
    for (int i = 0; i < count_of(&a); i++) n->constant[i] = normal(t);
    if (n->op == ADD || n->op == MSE) n->in[1] = any(t, p, a.batch, a.rows, a.cols);
    if (n->op == MATMUL) n->in[1] = any(t, p, batch, a.cols, -1);
    if (n->op == MATMUL_NT) n->in[1] = any(t, p, batch, -1, a.cols);
    if (n->op == MATMUL) n->cols = p->node[n->in[1]].cols;
    if (n->op == MATMUL_NT) n->cols = p->node[n->in[1]].rows;
    if (n->op == MSE || n->op == DOT) n->batch = n->rows = n->cols = 1;
}

static bool is_tame(const node *n) {
    for (int i = 0; i < count_of(n); i++)
        if (!(fabs(n->value[i]) < 30)) return false;
    return true;
}

static void draw(torture *t, program *p) {
    const int length = 1 + (int)torture_below(t, 12);
    p->count = 0;
    for (int made = 0; made < length && p->count < NODES_MOST - 6; made++) {
        node n = {.op = (op)(1 + torture_below(t, OPS - 1)), .in = {-1, -1, -1, -1}};
        draw_op(t, p, &n);
        node *to = &p->node[p->count];
        *to = n;
        if (n.mask.key_lengths) to->mask.key_lengths = to->lengths;
        if (n.mask.allowed) to->mask.allowed = to->allowed;
        evaluate(p, to);
        p->count += is_tame(to); /* what has grown large is dropped */
    }
}

/* ---- On the tape ----------------------------------------------------------------------------- */

typedef struct recorded {
    tt_var var[NODES_MOST];
    double gradient[NODES_MOST][ELEMENTS_MOST]; /* of the parameters, as backward adds to them */
} recorded;

static tt_tensor tensor_of(const node *n, const double *data) {
    return tt_tensor_view((double *)(uintptr_t)data, n->batch, n->rows, n->cols);
}

static tt_var record_attention(tt_tape *tape, const node *n, const tt_var *var) {
    tt_attention_options with = {.scale = n->number, .mask = n->mask, .rows = n->rows_kept};
    if (n->rule >= 0) with.rule = &RULES[n->rule];
    if (n->in[3] >= 0) with.logit_scale = &var[n->in[3]];
    return tt_attention(tape, var[n->in[0]], var[n->in[1]], var[n->in[2]], with);
}

static tt_var record(tt_tape *tape, const program *p, const node *n, const tt_var *var,
                     double *gradient) {
    const tt_var none = {-1, 0}, a = n->in[0] >= 0 ? var[n->in[0]] : none,
                 b = n->in[1] >= 0 ? var[n->in[1]] : none;
    switch (n->op) {
    case LEAF:
        return n->param ? tt_param(tape, tensor_of(n, n->value), tensor_of(n, gradient))
                        : tt_const(tape, tensor_of(n, n->value));
    case MATMUL:
        return tt_matmul(tape, a, b);
    case MATMUL_NT:
        return tt_matmul_nt(tape, a, b);
    case ADD:
        return tt_add(tape, a, b);
    case MUL_SCALAR:
        return tt_mul_scalar(tape, a, n->number);
    case SOFTMAX:
        return tt_softmax(tape, a);
    case MSE:
        return tt_mse(tape, a, b);
    case DOT:
        return tt_dot(tape, a, tensor_of(&p->node[n->in[0]], n->constant));
    case ATTENTION:
        return record_attention(tape, n, var);
    case OPS:
        break;
    }
    return none;
}

static char wrong[TEXT_BYTES];

static const char *say_wrong(const char *what, int i, const node *n, int element, double found,
                             double right) {
    (void)snprintf(wrong, sizeof wrong,
                   "%s of node %d (%s, [%d,%d,%d]), element %d: %.17g, not %.17g", what, i,
                   n->op == LEAF        ? "leaf"
                   : n->op == ATTENTION ? "attention"
                                        : NAMES[n->op],
                   n->batch, n->rows, n->cols, element, found, right);
    return wrong;
}

/* Each node against its formula of the values that its inputs have on the tape: no rounding adds
 * up. Sums here have at most 64 terms, each up to 30 squared; 1e-13 of the largest is some hundred
 * roundings, and a weight is off by as much as its logit is. */
static const char *check_values(program *p, const recorded *r, const tt_tape *tape) {
    for (int i = 0; i < p->count; i++) {
        const node *n = &p->node[i], *in[4];
        const double *x[4];
        double expected[ELEMENTS_MOST] = {0}, most = 1;
        const tt_tensor found = tt_value(tape, r->var[i]);
        if (found.batch != n->batch || found.rows != n->rows || found.cols != n->cols)
            return say_wrong("the shape", i, n, 0, (double)tt_tensor_count(found), count_of(n));
        if (n->op == LEAF) continue;
        inputs_of(p, n, in, x);
        for (int j = 0; j < 4; j++)
            if (in[j]) x[j] = tt_value(tape, r->var[n->in[j]]).data;
        largest_logit = 0;
        formula(n, in, x, expected);
        for (int j = 0; j < count_of(n); j++) most = fmax(most, fabs(expected[j]));
        if (n->op == MATMUL || n->op == MATMUL_NT || n->op == DOT || n->op == MSE) most = 3600;
        for (int j = 0; j < count_of(n); j++)
            if (!(fabs(found.data[j] - expected[j]) <= 1e-13 * most * (1 + largest_logit)))
                return say_wrong("the value", i, n, j, found.data[j], expected[j]);
    }
    return NULL;
}

/* <W, last node> of the program when one number of a leaf is another. */
static double loss_with(program *p, const double *w, double *number, double value) {
    const node *last = &p->node[p->count - 1];
    const double before = *number;
    double loss = 0;
    *number = value;
    for (int i = 0; i < p->count; i++) evaluate(p, &p->node[i]);
    for (int i = 0; i < count_of(last); i++) loss += w[i] * last->value[i];
    *number = before;
    return loss;
}

static double difference(program *p, const double *w, double *number, double h) {
    const double x = *number;
    return (loss_with(p, w, number, x + h) - loss_with(p, w, number, x - h)) / (2 * h);
}

/* How far differences of three steps are apart bounds what the narrowest is off by (h^2, so the
 * first two differ by three quarters of the first's error); rounding is 1e-16 of values up to 30
 * times some hundred, over 1e-5, which 1e-8 is far above, and a large logit is off by as much as it
 * is large. */
static const char *check_gradient(torture *t, program *p, const recorded *r, const double *w) {
    const int i = (int)torture_below(t, (uint64_t)p->count);
    node *n = &p->node[i];
    if (n->op != LEAF || !n->param || count_of(n) == 0) return NULL;
    const int j = (int)torture_below(t, (uint64_t)count_of(n));
    double *number = &n->value[j];
    largest_logit = 0;
    const double found = r->gradient[i][j], middle = loss_with(p, w, number, *number);
    const double rounding = 1e-8 + 1e-14 * largest_logit;
    const double wide = difference(p, w, number, 1e-4), narrow = difference(p, w, number, 5e-5),
                 least = difference(p, w, number, 2e-5);
    const double apart = fmax(fabs(wide - least), fabs(narrow - least));
    const double allowed = 2 * apart + rounding * (1 + fabs(found) + fabs(middle));
    if (fabs(found - least) <= allowed) return NULL;
    if (t->only)
        printf("differences: %.17g %.17g %.17g, loss %g, logits %g\n", wide, narrow, least, middle,
               largest_logit);
    return say_wrong("the gradient", i, n, j, found, least);
}

/* A second backward doubles what the parameters have. */
static const char *check_twice(tt_tape *tape, const program *p, recorded *r, tt_tensor w) {
    static double once[NODES_MOST][ELEMENTS_MOST];
    const int last = p->count - 1;
    memcpy(once, r->gradient, sizeof once);
    tt_backward_from(tape, r->var[last], w);
    for (int i = 0; i < p->count; i++)
        for (int j = 0; p->node[i].op == LEAF && p->node[i].param && j < count_of(&p->node[i]); j++)
            if (r->gradient[i][j] != 2 * once[i][j])
                return say_wrong("the doubled gradient", i, &p->node[i], j, r->gradient[i][j],
                                 2 * once[i][j]);
    memcpy(r->gradient, once, sizeof once);
    return NULL;
}

/* The sum of two nodes of other shapes. */
static const char *check_misfit(torture *t, tt_tape *tape, const program *p, const recorded *r) {
    const int i = (int)torture_below(t, (uint64_t)p->count), j = p->count - 1;
    const node *a = &p->node[i], *b = &p->node[j];
    if (a->batch == b->batch && a->rows == b->rows && a->cols == b->cols) return NULL;
    const tt_var sum = tt_add(tape, r->var[i], r->var[j]);
    if (!tt_tape_error(tape) || sum.id >= 0 || tt_softmax(tape, r->var[j]).id >= 0)
        return "a sum of two shapes is no error";
    return NULL;
}

static const char *check(torture *t, program *p, tt_tape *tape) {
    static recorded r;
    double w[ELEMENTS_MOST];
    const int last = p->count - 1;
    memset(r.gradient, 0, sizeof r.gradient);
    for (int i = 0; i < p->count; i++)
        r.var[i] = record(tape, p, &p->node[i], r.var, r.gradient[i]);
    const char *bad = tt_tape_error(tape);
    if (!bad) bad = check_values(p, &r, tape);
    for (int i = 0; i < ELEMENTS_MOST; i++) w[i] = normal(t);
    if (!bad) tt_backward_from(tape, r.var[last], tensor_of(&p->node[last], w));
    if (!bad) bad = tt_tape_error(tape);
    if (!bad) bad = check_twice(tape, p, &r, tensor_of(&p->node[last], w));
    for (int i = 0; !bad && i < 6; i++) bad = check_gradient(t, p, &r, w);
    return bad ? bad : check_misfit(t, tape, p, &r);
}

static void know_all_operations(void) {
    for (int i = 0; case_op_name(i); i++) {
        bool known = false;
        for (int o = 0; o < OPS; o++)
            known = known || (NAMES[o] && strcmp(NAMES[o], case_op_name(i)) == 0);
        if (known) continue;
        (void)fprintf(stderr, "torture: the operation %s has no formula here\n", case_op_name(i));
        exit(2);
    }
}

int main(int argc, char **argv) {
    static program p;
    torture t;
    torture_start(&t, "tapes", "sqrtdk", argc, argv);
    know_all_operations();
    tt_tape *tape = tt_tape_new();
    if (!tape) return 2;
    for (uint64_t i = 0; torture_goes_on(&t); i++) {
        char name[32];
        if (t.only) i = strtoull(t.only, NULL, 10);
        (void)snprintf(name, sizeof name, "%llu", (unsigned long long)i);
        t.random = t.seed + (i << 32);
        draw(&t, &p);
        if (p.count == 0) continue;
        torture_count(&t, name, check(&t, &p, tape));
        tt_tape_reset(tape);
        if (t.only) break;
    }
    tt_tape_free(tape);
    return torture_end(&t, 0);
}

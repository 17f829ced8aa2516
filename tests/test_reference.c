/* test_reference.c: attention against reference cases in files, masks, saturated rows and denormals
 * included. The format is in golden/attention_cases/README.md; SQRTDK_CASES names another folder.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"
#include "support.h"
#include "tt/attention.h"
#include "tt/rowstats.h"

enum { WORD = 64, TENSORS_MOST = 24, DIMS_MOST = 3 };

typedef struct case_tensor {
    char name[WORD];
    int dims;
    tt_size dim[DIMS_MOST], count;
    double relative, absolute;
    double *data;
} case_tensor;

typedef struct attention_case {
    char name[WORD], mask[WORD];
    double scale;
    int tensors;
    case_tensor tensor[TENSORS_MOST];
} attention_case;

static const char *cases_folder(void) {
    const char *folder = getenv("SQRTDK_CASES");
    return folder && folder[0] ? folder : GOLDEN "attention_cases";
}

static void read_tensor(FILE *from, case_tensor *t) {
    ck_assert_int_eq(fscanf(from, "%63s %d", t->name, &t->dims), 2);
    ck_assert(t->dims >= 1 && t->dims <= DIMS_MOST);
    t->count = 1;
    for (int d = 0; d < t->dims; d++) {
        ck_assert_int_eq(fscanf(from, "%td", &t->dim[d]), 1);
        t->count *= t->dim[d];
    }
    ck_assert_int_eq(fscanf(from, "%lf %lf", &t->relative, &t->absolute), 2);
    t->data = malloc((size_t)(t->count > 0 ? t->count : 1) * sizeof(double));
    ck_assert(t->data != NULL);
    for (tt_size i = 0; i < t->count; i++) ck_assert_int_eq(fscanf(from, "%lf", &t->data[i]), 1);
}

static void read_case(const char *name, attention_case *c) {
    char path[1024], word[WORD], rest[1024];
    (void)snprintf(path, sizeof path, "%s/%s", cases_folder(), name);
    FILE *from = open_file(path);
    *c = (attention_case){.scale = NAN};
    ck_assert_int_eq(fscanf(from, "%63s", word), 1);
    ck_assert_msg(strcmp(word, "sdpa-reference") == 0, "%s is no reference case", path);
    while (fscanf(from, "%63s", word) == 1 && strcmp(word, "end") != 0) {
        if (strcmp(word, "tensor") == 0) {
            ck_assert(c->tensors < TENSORS_MOST);
            read_tensor(from, &c->tensor[c->tensors++]);
            continue;
        }
        ck_assert(fgets(rest, sizeof rest, from) != NULL);
        if (strcmp(word, "name") == 0) (void)sscanf(rest, "%63s", c->name);
        if (strcmp(word, "mask") == 0) (void)sscanf(rest, "%63s", c->mask);
        if (strcmp(word, "scale") == 0) c->scale = strtod(rest, NULL);
    }
    ck_assert_msg(strcmp(word, "end") == 0, "%s is cut short", path);
    (void)fclose(from);
}

static void free_case(attention_case *c) {
    for (int i = 0; i < c->tensors; i++) free(c->tensor[i].data);
}

static const case_tensor *find(const attention_case *c, const char *name) {
    for (int i = 0; i < c->tensors; i++)
        if (strcmp(c->tensor[i].name, name) == 0) return &c->tensor[i];
    return NULL;
}

static tt_tensor view(const attention_case *c, const char *name) {
    const case_tensor *t = find(c, name);
    ck_assert_msg(t && t->dims == 3, "%s has no %s", c->name, name);
    return tt_tensor_view(t->data, t->dim[0], t->dim[1], t->dim[2]);
}

/* The mask by its name, so that the rules themselves are tested; `storage` holds its numbers. */
static tt_mask mask_of(const attention_case *c, void **storage) {
    tt_mask mask = {TT_CAUSAL_NONE, NULL, NULL};
    *storage = NULL;
    if (strcmp(c->mask, "none") == 0) return mask;
    if (strcmp(c->mask, "causal_top_left") == 0) mask.causal = TT_CAUSAL_TOP_LEFT;
    if (strcmp(c->mask, "causal_bottom_right") == 0) mask.causal = TT_CAUSAL_BOTTOM_RIGHT;
    if (mask.causal != TT_CAUSAL_NONE) return mask;
    if (strcmp(c->mask, "key_lengths") == 0) {
        const case_tensor *t = find(c, "key_lengths");
        tt_size *lengths = malloc((size_t)t->count * sizeof *lengths);
        ck_assert(lengths != NULL);
        for (tt_size i = 0; i < t->count; i++) lengths[i] = (tt_size)t->data[i];
        mask.key_lengths = *storage = lengths;
        return mask;
    }
    ck_assert_msg(strcmp(c->mask, "boolean") == 0, "%s: mask %s", c->name, c->mask);
    const case_tensor *t = find(c, "allowed");
    unsigned char *allowed = malloc((size_t)t->count);
    ck_assert(allowed != NULL);
    for (tt_size i = 0; i < t->count; i++) allowed[i] = t->data[i] != 0;
    mask.allowed = *storage = allowed;
    return mask;
}

/* One tensor; `allowed`, if not NULL, says which elements count. */
static void compare(const attention_case *c, const char *name, const double *got,
                    const case_tensor *allowed) {
    const case_tensor *t = find(c, name);
    ck_assert_msg(t != NULL, "%s has no %s", c->name, name);
    for (tt_size i = 0; i < t->count; i++) {
        if (allowed && allowed->data[i] == 0) continue;
        double bound = t->absolute + t->relative * fabs(t->data[i]);
        tt_size last = t->dim[t->dims - 1], middle = t->dims > 1 ? t->dim[t->dims - 2] : 1;
        ck_assert_msg(fabs(got[i] - t->data[i]) <= bound,
                      "%s, %s[%td,%td,%td]: got %.17g, expected %.17g, allowed error %g", c->name,
                      name, i / last / middle, i / last % middle, i % last, got[i], t->data[i],
                      bound);
    }
}

static void compare_statistics(const attention_case *c, tt_tensor weights) {
    tt_size rows = weights.batch * weights.rows;
    double *column = malloc(4 * (size_t)rows * sizeof *column);
    ck_assert(column != NULL);
    for (tt_size r = 0; r < rows; r++) {
        tt_rowstats s = tt_rowstats_compute(weights.data + r * weights.cols, weights.cols);
        column[r] = s.entropy;
        column[rows + r] = s.max_weight;
        column[2 * rows + r] = s.participation;
        column[3 * rows + r] = s.jacobian;
    }
    compare(c, "entropy", column, NULL);
    compare(c, "max_weight", column + rows, NULL);
    compare(c, "sum_w2", column + 2 * rows, NULL);
    compare(c, "jac_fro", column + 3 * rows, NULL);
    free(column);
}

static void compare_raw_scores(const attention_case *c, tt_tape *tape, tt_var q, tt_var k,
                               tt_var v) {
    tt_var raw = tt_attention(tape, q, k, v, (tt_attention_options){.scale = 1});
    compare(c, "scores_raw", tt_attention_logits(tape, raw).data, find(c, "allowed"));
}

static void check_case(const attention_case *c) {
    void *storage;
    tt_mask mask = mask_of(c, &storage);
    tt_tape *tape = tt_tape_new();
    tt_var q = tt_param(tape, view(c, "Q"), NO_GRAD), k = tt_param(tape, view(c, "K"), NO_GRAD);
    tt_var v = tt_param(tape, view(c, "V"), NO_GRAD);
    const tt_scale_rule scale = {.number = c->scale}; /* 0 too */
    tt_attention_options options = {.rule = &scale, .mask = mask};
    tt_var out = tt_attention(tape, q, k, v, options);
    tt_backward_from(tape, out, view(c, "dO"));
    ck_assert_msg(!tt_tape_error(tape), "%s: %s", c->name, tt_tape_error(tape));
    compare_raw_scores(c, tape, q, k, v);
    compare(c, "scores", tt_attention_logits(tape, out).data, find(c, "allowed"));
    compare(c, "weights", tt_attention_weights(tape, out).data, NULL);
    compare(c, "output", tt_value(tape, out).data, NULL);
    compare(c, "dQ", tt_grad(tape, q).data, NULL);
    compare(c, "dK", tt_grad(tape, k).data, NULL);
    compare(c, "dV", tt_grad(tape, v).data, NULL);
    compare_statistics(c, tt_attention_weights(tape, out));
    tt_tape_free(tape);
    free(storage);
}

START_TEST(all_reference_cases_hold) {
    char path[1024], name[WORD];
    int count = 0;
    (void)snprintf(path, sizeof path, "%s/index.txt", cases_folder());
    FILE *index = open_file(path);
    for (; fscanf(index, "%63s", name) == 1; count++) {
        attention_case c;
        read_case(name, &c);
        check_case(&c);
        free_case(&c);
    }
    (void)fclose(index);
    if (getenv("SQRTDK_CASES"))
        ck_assert_int_gt(count, 0);
    else
        ck_assert_int_eq(count, 31);
}
END_TEST

Suite *reference_suite(void) {
    const TTest *tests[] = {all_reference_cases_hold};
    return suite_of("reference", tests, LENGTH(tests), 300);
}

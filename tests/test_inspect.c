/* test_inspect.c: the statistics of real attention, what is written back, and what is refused. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/scaling.h"
#include "heads/head_stats.h"
#include "suites.h"
#include "support.h"
#include "tt/attention.h"

#define REAL GOLDEN "real/layer"
#define LAYER_0 "inspect --q " REAL "0_q.npy --k " REAL "0_k.npy --causal "

enum { H = 8, T = 96, D = 8, COUNT = H * T * D };

/* ---- Helpers --------------------------------------------------------------------------------- */

/* The CSV that a command writes, whole and as a table; the caller frees. */
static char *inspect_csv(const char *command) {
    run_quietly("", command, "inspect");
    return read_whole(SCRATCH "inspect.csv");
}

static table inspect_table(const char *command) {
    return table_of(inspect_csv(command));
}

/* The number of this layer (NULL: the only one), batch entry, head and rule in a column. */
static double number_of_layer(const table *t, const char *layer, int batch, int head,
                              const char *rule, const char *column) {
    for (int row = 0; row < t->rows; row++)
        if ((!layer || strcmp(table_text(t, row, "layer"), layer) == 0) &&
            table_number(t, row, "batch") == batch && table_number(t, row, "head") == head &&
            strcmp(table_text(t, row, "scale"), rule) == 0)
            return table_number(t, row, column);
    ck_abort_msg("no row of layer %s, batch entry %d, head %d, %s", layer ? layer : "", batch, head,
                 rule);
    return NAN;
}

static double number_in(const table *t, int batch, int head, const char *rule, const char *column) {
    return number_of_layer(t, NULL, batch, head, rule, column);
}

static void assert_same_csv(const char *command, const char *expected) {
    char *got = inspect_csv(command);
    ck_assert_str_eq(got, expected);
    free(got);
}

/* ---- The real model -------------------------------------------------------------------------- */

START_TEST(entropies_of_the_real_heads_are_those_measured_independently) {
    static const double ENTROPY[2][H] = {{1.733, 2.564, 1.564, 1.869, 1.196, 0.947, 1.269, 1.780},
                                         {2.552, 2.025, 2.175, 2.596, 2.697, 2.238, 1.511, 1.647}};
    table t = inspect_table("inspect --q " REAL "0_q.npy," REAL "4_q.npy --k " REAL "0_k.npy," REAL
                            "4_k.npy --causal --layers 0,4");
    for (int layer = 0; layer < 2; layer++)
        for (int h = 0; h < H; h++) {
            double got = number_of_layer(&t, layer ? "4" : "0", 0, h, "sqrt", "entropy");
            /* the reference has three decimals; 0.002 is what it promises */
            ck_assert_msg(fabs(got - ENTROPY[layer][h]) <= 0.002, "layer %d, head %d: %g", layer, h,
                          got);
        }
    table_free(&t);
}
END_TEST

START_TEST(the_equivalent_width_is_the_square_of_the_spread) {
    table t = inspect_table(LAYER_0);
    double spread = number_in(&t, 0, 5, "sqrt", "logit_spread");
    double none = number_in(&t, 0, 5, "none", "logit_spread");
    /* a product, and a factor sqrt(8), each rounded once */
    ck_assert_double_eq_tol(number_in(&t, 0, 5, "sqrt", "d_k_equivalent"), spread * spread,
                            1e-12 * spread * spread);
    ck_assert_double_eq_tol(none, spread * sqrt(8), 1e-12 * none);
    ck_assert(number_in(&t, 0, 5, "sqrt", "used") == 1);
    ck_assert(number_in(&t, 0, 5, "none", "used") == 0);
    table_free(&t);
}
END_TEST

START_TEST(the_csv_has_a_row_for_each_head_and_rule) {
    static const char HEADER[] =
        "layer,file,batch,head,scale,used,queries,keys,d_k,rows,logit_spread,entropy,";
    int rules = 0, used = 0;
    char *csv = inspect_csv(LAYER_0 "--scale 0.5");
    assert_starts(csv, HEADER);
    for (const char *at = csv; (at = strstr(at, ",0.5,1,96,96,8,96,")); at++) used++;
    ck_assert_int_eq(used, H);
    table t = table_of(csv);
    while (scaling_at(rules)) rules++;
    ck_assert_int_eq(t.rows, H * (1 + rules)); /* the number and the named rules */
    table_free(&t);
}
END_TEST

START_TEST(equal_weights_would_have_the_mean_of_the_rows_ln_n) {
    double sum = 0;
    table t = inspect_table(LAYER_0);
    for (int i = 1; i <= T; i++) sum += log(i);
    for (int h = 0; h < H; h++) /* 96 roundings of a sum of 345, and as many of its terms */
        ck_assert_double_eq_tol(number_in(&t, 0, h, "sqrt", "entropy_uniform"), sum / (double)T,
                                1e-13);
    table_free(&t);
}
END_TEST

START_TEST(one_sentence_says_how_small_a_typical_rows_jacobian_is) {
    const captured *c = run_well(LAYER_0 "--layers 7 --output " SCRATCH "said.csv");
    assert_says(c->out, "Layer 7: of every head the median norm of a row's softmax Jacobian is "
                        "0.23 or more (least in head 1).\n");
}
END_TEST

/* Layer 0 with the queries of the heads from `first` on, `count` of them, a thousand times as
 * large. */
static void write_sharp_heads(int first, int count) {
    array q = read_array(REAL "0_q.npy");
    for (int i = first * T * D; i < (first + count) * T * D; i++) q.data[i] *= 1000;
    write_array(SCRATCH "sharp_q.npy", q.ndim, q.dim, q.data);
    array_free(&q);
}

START_TEST(saturated_heads_are_named) {
    static const char COMMAND[] = "inspect --q " SCRATCH "sharp_q.npy --k " REAL
                                  "0_k.npy --causal --output " SCRATCH "said.csv";
    write_sharp_heads(5, 1);
    assert_says(run_well("%s", COMMAND)->out,
                "Layer sharp_q: in head 5 the median norm of a row's softmax Jacobian is below "
                "1e-06: ");
    assert_says(run_well("%s", COMMAND)->out, " 100%  9e+07\n"); /* as wide as its column */
    write_sharp_heads(5, 2);
    assert_says(run_well("%s", COMMAND)->out, "Layer sharp_q: in heads 5, 6 the median norm ");
}
END_TEST

START_TEST(where_no_query_sees_two_keys_there_is_nothing_to_choose) {
    static const double one[] = {1, 2, 3, 4};
    write_array(SCRATCH "one_q.npy", 2, (ptrdiff_t[]){2, 2}, one);
    write_array(SCRATCH "one_k.npy", 2, (ptrdiff_t[]){1, 2}, one);
    const captured *c = run_well("inspect --q " SCRATCH "one_q.npy --k " SCRATCH
                                 "one_k.npy --output " SCRATCH "said.csv");
    assert_says(c->out, "Layer one_q: no query sees more than one key: there is nothing to "
                        "choose.\n");
    ck_assert(strstr(c->out, "nan") == NULL);
}
END_TEST

/* Keys 0 and 1 are for queries of head 1 alone; those of head 0 see one. */
START_TEST(a_head_without_a_choice_is_not_called_the_least) {
    static const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1}, allowed[] = {1, 0, 0, 1, 1, 1, 1, 1};
    write_array(SCRATCH "some_q.npy", 3, (ptrdiff_t[]){2, 2, 2}, ones);
    write_array(SCRATCH "some_allowed.npy", 3, (ptrdiff_t[]){2, 2, 2}, allowed);
    const captured *c =
        run_well("inspect --q " SCRATCH "some_q.npy --k " SCRATCH "some_q.npy --allowed " SCRATCH
                 "some_allowed.npy --output " SCRATCH "said.csv");
    assert_says(c->out, "Layer some_q: of every head that sees two keys the median norm of a row's "
                        "softmax Jacobian is 0.5 or more (least in head 1).\n");
}
END_TEST

/* ---- Names of layers ------------------------------------------------------------------------- */

/* Copies of layer 0's files under these names. */
static void copy_layer(const char *q, const char *k) {
    array a = read_array(REAL "0_q.npy");
    write_array(q, a.ndim, a.dim, a.data);
    array_free(&a);
    a = read_array(REAL "0_k.npy");
    write_array(k, a.ndim, a.dim, a.data);
    array_free(&a);
}

START_TEST(a_layer_is_called_by_its_number_or_by_its_file) {
    char *csv = inspect_csv(LAYER_0 "--heads 1");
    ck_assert(strstr(csv, "\nlayer0_q," REAL "0_q.npy,0,0,") != NULL);
    free(csv);
    free(inspect_csv(LAYER_0 "--heads 1 --layers 12"));
    char *weights = read_whole(SCRATCH "inspect_weights.csv"),
         *meta = read_whole(SCRATCH "inspect.meta");
    assert_starts(strchr(weights, '\n'), "\n12,0,1,0,0,1,1\n");
    assert_says(meta, "\nlayers = 12\n");
    free(weights);
    free(meta);
    assert_starts(run_well(LAYER_0 "--layers 12 --output " SCRATCH "said.csv")->out,
                  "Layer 12: " REAL "0_q.npy\n");
}
END_TEST

START_TEST(a_name_holds_nothing_that_a_csv_reads_otherwise) {
    copy_layer(SCRATCH "a \"b\".c_q.npy", SCRATCH "named_k.npy");
    char *csv = inspect_csv("inspect --q '" SCRATCH "a \"b\".c_q.npy' --k " SCRATCH "named_k.npy");
    ck_assert(strstr(csv, "\na__b_.c_q,\"" SCRATCH "a \"\"b\"\".c_q.npy\",") != NULL);
    free(csv);
}
END_TEST

START_TEST(the_locale_changes_nothing) {
    run_quietly("", LAYER_0, "inspect_point");
    run_quietly(COMMA_LOCALE, LAYER_0, "inspect_comma");
    assert_same_file(SCRATCH "inspect_point.csv", SCRATCH "inspect_comma.csv");
}
END_TEST

/* ---- The operation --------------------------------------------------------------------------- */

/* What tt_attention makes of Q and K [1,T,d], or with a batch. */
static tt_var attend(tt_tape *tape, tt_tensor q, tt_tensor k, int rule, tt_mask mask) {
    const tt_tensor v = tt_tensor_view(k.data, k.batch, k.rows, 0);
    tt_tape_reset(tape);
    const tt_var out =
        tt_attention(tape, tt_const(tape, q), tt_const(tape, k), tt_const(tape, v),
                     (tt_attention_options){.rule = &scaling_at(rule)->rule, .mask = mask});
    ck_assert(!tt_tape_error(tape));
    return out;
}

START_TEST(statistics_are_those_of_the_operation_under_every_rule) {
    static const tt_mask CAUSAL = {TT_CAUSAL_TOP_LEFT, NULL, NULL};
    array q = read_array(REAL "0_q.npy"), k = read_array(REAL "0_k.npy");
    table t = inspect_table(LAYER_0);
    tt_tape *tape = tt_tape_new();
    for (int h = 0; h < H; h++)
        for (int r = 0; scaling_at(r); r++) {
            head_stats s;
            tt_var out = attend(tape, tt_tensor_view(q.data + h * T * D, 1, T, D),
                                tt_tensor_view(k.data + h * T * D, 1, T, D), r, CAUSAL);
            ck_assert(head_stats_compute(&CAUSAL, tt_attention_logits(tape, out),
                                         tt_attention_weights(tape, out), &s));
            for (int i = 0; i < HEAD_STATS; i++)
                ck_assert(number_in(&t, 0, h, scaling_at(r)->name, head_stat_name(i)) ==
                          s.value[i]);
        }
    tt_tape_free(tape);
    table_free(&t);
    array_free(&q);
    array_free(&k);
}
END_TEST

/* Queries see a few keys here and there, the first ones none; more queries than keys or fewer. */
static void assert_weights_of_the_operation(tt_size queries, tt_size keys, const char *options,
                                            tt_mask mask) {
    tt_rng rng;
    tt_tensor in[3];
    tt_tape *tape = tt_tape_new();
    draw_inputs(&rng, 11, in, 1, queries, keys, 5, 1);
    write_array(SCRATCH "op_q.npy", 2, (ptrdiff_t[]){queries, 5}, in[0].data);
    write_array(SCRATCH "op_k.npy", 2, (ptrdiff_t[]){keys, 5}, in[1].data);
    for (int r = 0; scaling_at(r); r++) {
        char command[512];
        (void)snprintf(command, sizeof command,
                       "inspect --q " SCRATCH "op_q.npy --k " SCRATCH
                       "op_k.npy --save-weights " SCRATCH "op_w.npy --scale %s %s",
                       scaling_at(r)->name, options);
        free(inspect_csv(command));
        array w = read_array(SCRATCH "op_w.npy");
        assert_same_bits(tt_tensor_view(w.data, 1, queries, keys),
                         tt_attention_weights(tape, attend(tape, in[0], in[1], r, mask)));
        array_free(&w);
    }
    tt_tape_free(tape);
    free_inputs(in);
}

START_TEST(saved_weights_are_those_of_the_operation_under_every_rule_and_mask) {
    enum { QUERIES = 71, KEYS = 45 }; /* several strips of rows, the last one short */
    static double allowed[QUERIES * KEYS];
    static unsigned char bytes[QUERIES * KEYS];
    for (int i = 0; i < QUERIES * KEYS; i++)
        allowed[i] = bytes[i] = i / KEYS >= 3 && (i * 7 + i / KEYS) % 11 < 3;
    write_array(SCRATCH "op_allowed.npy", 2, (ptrdiff_t[]){QUERIES, KEYS}, allowed);
    assert_weights_of_the_operation(QUERIES, KEYS, "--allowed " SCRATCH "op_allowed.npy",
                                    (tt_mask){TT_CAUSAL_NONE, NULL, bytes});
    assert_weights_of_the_operation(QUERIES, KEYS, "--mask causal-bottom-right",
                                    (tt_mask){TT_CAUSAL_BOTTOM_RIGHT, NULL, NULL});
    assert_weights_of_the_operation(KEYS, QUERIES, "--mask causal-top-left",
                                    (tt_mask){TT_CAUSAL_TOP_LEFT, NULL, NULL});
}
END_TEST

/* ---- Threads --------------------------------------------------------------------------------- */

START_TEST(same_bytes_for_1_2_3_and_20_threads) {
    static const int THREADS[] = {1, 2, 3, 20}; /* for 8 heads in strips of rows */
    static const char *const FILES[] = {".csv", "_weights.csv", ".npy"};
    for (int i = 0; i < LENGTH(THREADS); i++) {
        char command[512], name[32];
        (void)snprintf(name, sizeof name, "inspect_%d", THREADS[i]);
        (void)snprintf(command, sizeof command,
                       LAYER_0 "--heads 1,5 --save-weights " SCRATCH "%s.npy --threads %d", name,
                       THREADS[i]);
        run_quietly("", command, name);
        assert_same_results("inspect_1", name, FILES, LENGTH(FILES));
    }
}
END_TEST

START_TEST(the_first_head_at_fault_is_refused_whoever_finds_it) {
    enum { HEADS = 4, LONG = 80 };
    static double q[HEADS * LONG], k[HEADS * LONG];
    for (int i = 0; i < HEADS * LONG; i++) q[i] = k[i] = 1;
    q[1 * LONG + 70] = k[1 * LONG + 3] = 1e200; /* the last strip of head 1 */
    q[2 * LONG + 5] = k[2 * LONG + 0] = 1e200;  /* the first ones of head 2 */
    q[3 * LONG + 0] = k[3 * LONG + 0] = 1e200;
    write_array(SCRATCH "far_q.npy", 3, (ptrdiff_t[]){HEADS, LONG, 1}, q);
    write_array(SCRATCH "far_k.npy", 3, (ptrdiff_t[]){HEADS, LONG, 1}, k);
    for (int threads = 1; threads <= 5; threads++)
        assert_refused(1, "the logit of query 70 and key 3 (scale none) is beyond the range",
                       "inspect --causal --q " SCRATCH "far_q.npy --k " SCRATCH
                       "far_k.npy --threads %d",
                       threads);
}
END_TEST

/* ---- Shapes and masks ------------------------------------------------------------------------ */

#define SHARED "inspect --causal --q " REAL "0_q.npy --k " SCRATCH "shared_k.npy "

START_TEST(fewer_heads_of_keys_are_repeated_and_said) {
    array k = read_array(REAL "0_k.npy");
    /* the model itself shares its keys by pairs of heads */
    for (int h = 0; h < H / 2; h++)
        memcpy(k.data + h * T * D, k.data + 2 * h * T * D, T * D * sizeof *k.data);
    k.dim[0] = H / 2;
    write_array(SCRATCH "shared_k.npy", k.ndim, k.dim, k.data);
    array_free(&k);
    char *repeated = inspect_csv(LAYER_0);
    assert_same_csv(SHARED, repeated);
    free(repeated);
    const captured *c = run_well(SHARED "--output " SCRATCH "said.csv");
    assert_says(c->out, "grouped queries: K has 4 heads, each repeated for 2 heads of Q");
}
END_TEST

/* Q and K of layer 0 under another shape, whose heads are the same. */
static void write_reshaped(int ndim, const ptrdiff_t *dim) {
    array q = read_array(REAL "0_q.npy"), k = read_array(REAL "0_k.npy");
    write_array(SCRATCH "shape_q.npy", ndim, dim, q.data);
    write_array(SCRATCH "shape_k.npy", ndim, dim, k.data);
    array_free(&q);
    array_free(&k);
}

#define RESHAPED "inspect --q " SCRATCH "shape_q.npy --k " SCRATCH "shape_k.npy "

START_TEST(one_head_and_a_batch_of_heads_are_the_same_heads) {
    table expected = inspect_table(LAYER_0);
    write_reshaped(4, (ptrdiff_t[]){2, 4, T, D});
    table batch = inspect_table(RESHAPED "--causal");
    write_reshaped(2, (ptrdiff_t[]){T, D}); /* takes the first head only */
    table single = inspect_table(RESHAPED "--causal");
    double x = number_in(&expected, 0, 6, "sqrt", "jacobian_p10");
    ck_assert(number_in(&batch, 1, 2, "sqrt", "jacobian_p10") == x);
    x = number_in(&expected, 0, 0, "sqrt", "jacobian_p10");
    ck_assert(number_in(&single, 0, 0, "sqrt", "jacobian_p10") == x);
    table_free(&expected);
    table_free(&batch);
    table_free(&single);
}
END_TEST

START_TEST(an_allowed_file_can_say_what_causal_says) {
    static const ptrdiff_t DIMS[][4] = {{T, T}, {1, T, T}, {H, T, T}, {1, H, T, T}};
    static double allowed[H * T * T];
    for (int i = 0; i < H * T * T; i++) allowed[i] = i % T <= i / T % T;
    char *causal = inspect_csv(LAYER_0);
    const char *command =
        "inspect --q " REAL "0_q.npy --k " REAL "0_k.npy --allowed " SCRATCH "allowed.npy";
    for (int i = 0; i < LENGTH(DIMS); i++) {
        const int ndim = 2 + (i > 0) + (i > 2);
        write_array(SCRATCH "allowed.npy", ndim, DIMS[i], allowed);
        assert_same_csv(command, causal);
    }
    free(causal);
}
END_TEST

START_TEST(keys_beyond_their_length_may_hold_anything) {
    array k = read_array(REAL "0_k.npy");
    write_text(SCRATCH "length.csv", "60\n");
    const char *command = "inspect --q " REAL "0_q.npy --k " SCRATCH
                          "padded_k.npy --key-lengths " SCRATCH "length.csv";
    write_array(SCRATCH "padded_k.npy", k.ndim, k.dim, k.data);
    char *clean = inspect_csv(command);
    for (int i = 0; i < COUNT; i++)
        if (i / D % T >= 60) k.data[i] = i % 2 ? NAN : INFINITY;
    write_array(SCRATCH "padded_k.npy", k.ndim, k.dim, k.data);
    assert_same_csv(command, clean);
    free(clean);
    k.data[COUNT / H * 3 + 59 * D + 4] = NAN; /* a key that is seen */
    write_array(SCRATCH "padded_k.npy", k.ndim, k.dim, k.data);
    array_free(&k);
    assert_refused(1, "padded_k.npy: nan at [3,59,4]; attention needs finite numbers", "%s",
                   command);
}
END_TEST

#define SHORT "inspect --q " SCRATCH "short_q.npy --k " REAL "0_k.npy "

START_TEST(an_unaligned_causal_mask_is_refused_with_both_names) {
    array q = read_array(REAL "0_q.npy");
    write_array(SCRATCH "short_q.npy", 3, (ptrdiff_t[]){H, T / 2, D}, q.data);
    array_free(&q);
    assert_refused(2, "causal-top-left", SHORT "--causal");
    assert_refused(2, "causal-bottom-right", SHORT "--causal");
    free(inspect_csv(SHORT "--mask causal-bottom-right"));
}
END_TEST

/* ---- What is written back -------------------------------------------------------------------- */

START_TEST(saved_weights_are_a_plain_npy_and_sum_to_1) {
    free(inspect_csv(LAYER_0 "--save-weights " SCRATCH "made/weights.npy"));
    char *bytes = read_whole(SCRATCH "made/weights.npy");
    ck_assert(memcmp(bytes,
                     "\x93NUMPY\1\0\x76\0{'descr': '<f8', 'fortran_order': False, "
                     "'shape': (8, 96, 96), }",
                     10 + 59) == 0);
    free(bytes);
    array w = read_array(SCRATCH "made/weights.npy");
    for (int row = 0; row < H * T; row++) {
        double sum = 0;
        for (int j = 0; j < T; j++) {
            sum += w.data[row * T + j];
            if (j > row % T) ck_assert(w.data[row * T + j] == 0);
        }
        ck_assert_double_eq_tol(sum, 1, 1e-14); /* 96 roundings of 1e-16 */
    }
    array_free(&w);
}
END_TEST

#define WORKED "inspect " WORKED_EXAMPLE

static void assert_array(const char *path, const double *expected, int count) {
    array a = read_array(path);
    ck_assert_int_eq(a.dim[0] * a.dim[1], count);
    for (int i = 0; i < count; i++) /* as tests/golden/attention_cases/worked_example.txt allows */
        ck_assert_double_eq_tol(a.data[i], expected[i], 1.1e-12);
    array_free(&a);
}

START_TEST(saved_gradients_are_those_of_the_worked_example) {
    const double g = 1.5639859654511037, p = 0.66976154932665688;
    write_worked_example();
    write_text(SCRATCH "wdo.csv", "1,1\n");
    (void)unlink(SCRATCH "grads/dO.npy");
    free(inspect_csv(WORKED "--do " SCRATCH "wdo.csv --save-gradients " SCRATCH "grads"));
    assert_array(SCRATCH "grads/dQ.npy", (double[]){-g, g}, 2);
    assert_array(SCRATCH "grads/dK.npy", (double[]){-g, 0, g, 0}, 4);
    assert_array(SCRATCH "grads/dV.npy", (double[]){p, p, 1 - p, 1 - p}, 4);
    ck_assert(access(SCRATCH "grads/dO.npy", F_OK) != 0); /* the user has it already */
}
END_TEST

START_TEST(a_random_gradient_of_the_output_is_torchs_and_kept) {
    tt_rng rng;
    double expected[2];
    write_worked_example();
    free(inspect_csv(WORKED "--seed 7 --save-gradients " SCRATCH "grads7"));
    tt_rng_seed(&rng, 7);
    tt_rng_normal(&rng, expected, 2);
    assert_array(SCRATCH "grads7/dO.npy", expected, 2);
}
END_TEST

/* Sum over the repeated heads, by hand: two heads of queries on one of keys. */
START_TEST(shared_keys_get_the_sum_of_their_heads_gradients) {
    double q[] = {1, 0, 1, 0}, d_out[] = {1, 1, 1, 1}, k[] = {1, 0, 0, 1}, v[] = {10, 0, 0, 20};
    const double g = 1.5639859654511037;
    write_array(SCRATCH "gq.npy", 3, (ptrdiff_t[]){2, 1, 2}, q);
    write_array(SCRATCH "gdo.npy", 3, (ptrdiff_t[]){2, 1, 2}, d_out);
    write_array(SCRATCH "gk.npy", 3, (ptrdiff_t[]){1, 2, 2}, k);
    write_array(SCRATCH "gv.npy", 3, (ptrdiff_t[]){1, 2, 2}, v);
    free(inspect_csv("inspect --q " SCRATCH "gq.npy --k " SCRATCH "gk.npy --v " SCRATCH
                     "gv.npy --do " SCRATCH "gdo.npy --save-gradients " SCRATCH "gg"));
    array d_k = read_array(SCRATCH "gg/dK.npy");
    ck_assert_int_eq(d_k.dim[0], 1);
    ck_assert_double_eq_tol(d_k.data[0], -2 * g, 2.2e-12); /* twice the example's 1.1e-12 */
    array_free(&d_k);
}
END_TEST

START_TEST(numpy_reads_the_weights_and_finds_the_same) {
    static const char PROGRAM[] =
        "${PYTHON:-python3} -c '\n"
        "import sys, numpy as np\n"
        "q, k, w = (np.load(p).astype(float) for p in sys.argv[1:])\n"
        "z = q @ k.transpose(0, 2, 1) / np.sqrt(8)\n"
        "z[:, np.triu(np.ones((96, 96), bool), 1)] = -np.inf\n"
        "p = np.exp(z - z.max(2, keepdims=True)); p /= p.sum(2, keepdims=True)\n"
        "assert w.shape == p.shape and abs(w - p).max() < 1e-13, abs(w - p).max()\n"
        "' " REAL "0_q.npy " REAL "0_k.npy " SCRATCH "numpy_weights.npy";
    if (!have_numpy()) return;
    free(inspect_csv(LAYER_0 "--save-weights " SCRATCH "numpy_weights.npy"));
    ck_assert_int_eq(shell(PROGRAM), 0);
}
END_TEST

START_TEST(chosen_heads_weights_are_written_for_a_figure) {
    write_worked_example();
    free(inspect_csv(WORKED "--mask causal-top-left --heads 0"));
    char *text = read_whole(SCRATCH "inspect_weights.csv");
    ck_assert_str_eq(text, "layer,batch,head,query,key,visible,weight\nwq,0,0,0,0,1,1\n"
                           "wq,0,0,0,1,0,0\n");
    free(text);
    text = read_whole(SCRATCH "inspect.meta");
    assert_says(text, "\nmask = causal-top-left\n");
    free(text);
}
END_TEST

START_TEST(dash_writes_the_csv_to_standard_output_and_nothing_else) {
    char *file = inspect_csv(LAYER_0);
    const captured *c = run_well(LAYER_0 "--output -");
    ck_assert_str_eq(c->out, file);
    assert_says(c->err, "spread");
    free(file);
}
END_TEST

/* ---- Gradients and low precision ------------------------------------------------------------- */

START_TEST(the_signal_is_that_of_the_saved_gradients) {
    static const char MADE[] = "inspect --causal --q " REAL "0_q.npy --k " REAL "0_k.npy --v " REAL
                               "0_v.npy --force --output " SCRATCH "signal.csv ";
    (void)run_well("%s --save-gradients " SCRATCH "signal", MADE);
    (void)run_well("%s --do " SCRATCH "signal/dO.npy", MADE);
    table t = table_read(SCRATCH "signal_signal.csv");
    array d_q = read_array(SCRATCH "signal/dQ.npy");
    double sum = 0;
    for (int i = 0; i < COUNT; i++) sum += d_q.data[i] * d_q.data[i];
    /* a sum of 6144 squares */
    ck_assert_double_eq_tol(table_number(&t, 0, "dq_norm"), sqrt(sum), 1e-12 * sqrt(sum));
    ck_assert_double_eq_tol(table_number(&t, 0, "dq_rms"), sqrt(sum / (double)COUNT),
                            1e-12 * sqrt(sum));
    ck_assert(table_number(&t, 0, "rows") == H * (T - 1)); /* the first sees one key */
    ck_assert(table_number(&t, 0, "carrier_rows") < 0.9);
    array_free(&d_q);
    table_free(&t);
}
END_TEST

/* One query: S = (12, 0), dP = (1, 3), so that P = (1 - p, p), p = 6.1e-6, and dZ = 2p (-1, 1) but
 * for p^2. In bfloat16 1 - p is 1: eager's sum is 1 + 3p, so that dZ_1 = -3p; flash's D is 1, and
 * dZ_1 = 0. */
START_TEST(errors_of_a_saturated_row_are_those_by_hand) {
    write_text(SCRATCH "low_q.csv", "12\n");
    write_text(SCRATCH "low_k.csv", "1\n0\n");
    write_text(SCRATCH "low_v.csv", "1\n3\n");
    write_text(SCRATCH "low_do.csv", "1\n");
    (void)run_well("inspect --scale none --precision --q " SCRATCH "low_q.csv --k " SCRATCH
                   "low_k.csv --v " SCRATCH "low_v.csv --do " SCRATCH
                   "low_do.csv --force --output " SCRATCH "low.csv");
    table t = table_read(SCRATCH "low_precision.csv"),
          signal = table_read(SCRATCH "low_signal.csv");
    const double error[] = {1 / (2 * sqrt(2)), 1 / sqrt(2), 0, 0};
    for (int i = 0; i < 4; i++) { /* three roundings of bfloat16, and the float32 sum's of 1 + 3p */
        ck_assert_double_eq_tol(table_number(&t, i, "median_row_error"), error[i], 0.012);
        ck_assert_double_eq_tol(table_number(&t, i, "whole_error"), error[i], 0.012);
    }
    ck_assert_double_eq_tol(table_number(&signal, 0, "dz_median"), 2 * sqrt(2) * exp(-12),
                            1e-4 * exp(-12));
    table_free(&t);
    table_free(&signal);
}
END_TEST

START_TEST(a_layer_of_one_key_has_no_signal_and_no_nan) {
    write_text(SCRATCH "one.csv", "1,2\n");
    const captured *c =
        run_well("inspect --precision --q " SCRATCH "one.csv --k " SCRATCH "one.csv --v " SCRATCH
                 "one.csv --do " SCRATCH "one.csv --force --output " SCRATCH "one_key.csv");
    assert_says(c->out, "there is nothing to choose.");
    assert_says(c->out, "Gradients of layer one: no query sees two keys.");
    ck_assert(strstr(c->out, "nan") == NULL);
    char *text = read_whole(SCRATCH "one_key_precision.csv");
    ck_assert(strstr(text, "nan") == NULL);
    free(text);
    text = read_whole(SCRATCH "one_key_signal.csv");
    ck_assert(strstr(text, "nan") == NULL);
    free(text);
}
END_TEST

START_TEST(logits_near_the_end_of_float16_are_said) {
    write_text(SCRATCH "far.csv", "200,0\n0,1\n");
    static const char COMMAND[] = "inspect --q " SCRATCH "far.csv --k " SCRATCH
                                  "far.csv --force --output " SCRATCH "range.csv";
    assert_says(run_well("%s", COMMAND)->out,
                "q.k is up to 4e+04 in size (head 0), with the scale 2.83e+04: above half of "
                "float16, which ends at 65504.");
    write_text(SCRATCH "far.csv", "100,0\n0,1\n");
    ck_assert(strstr(run_well("%s", COMMAND)->out, "float16") == NULL);
    table t = table_read(SCRATCH "range.csv");
    ck_assert(number_in(&t, 0, 0, "none", "logit_largest") == 1e4);
    ck_assert(number_in(&t, 0, 0, "none", "one_bfloat16") == 0.5);
    table_free(&t);
}
END_TEST

/* ---- Figures --------------------------------------------------------------------------------- */

static void assert_drawn_says(const char *figure, const char *csv, const char *const *parts) {
    char *svg = drawn(figure, csv);
    for (; *parts; parts++) ck_assert_msg(strstr(svg, *parts) != NULL, "no %s", *parts);
    free(svg);
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (; (text = strstr(text, part)); text++) count++;
    return count;
}

/* Zeros as Q and K, so that all weights of a row are alike. */
static void write_zeros(const char *path, int ndim, const ptrdiff_t *dim) {
    static const double zeros[1024];
    write_array(path, ndim, dim, zeros);
}

START_TEST(the_figures_of_equal_weights_say_what_a_hand_finds) {
    if (!have_gnuplot()) return;
    write_zeros(SCRATCH "even.npy", 2, (ptrdiff_t[]){4, 2});
    free(inspect_csv("inspect --causal --heads 0 --q " SCRATCH "even.npy --k " SCRATCH "even.npy"));
    /* (ln 1 + ln 2 + ln 3 + ln 4) / 4 = 0.79, and (1 + 1 + 2/3 + 1/2) / 4 = 79% */
    assert_drawn_says(
        "inspect_heads", "inspect.csv",
        (const char *[]){"One head has 0.79 nats of entropy; equal weights would have 0.79<",
                         "queries x keys 4x4, mask causal<", NULL});
    assert_drawn_says(
        "inspect_weights", "inspect_weights.csv",
        (const char *[]){"Query i gives keys i and i-1 79% of its weight in layer even, head 0<",
                         "layer even, head 0: 0.79 nats<", NULL});
}
END_TEST

START_TEST(the_figure_of_fewer_queries_names_the_key_with_the_most_weight) {
    static const double q[] = {1, 1, 1, 1, 1, 1}, k[] = {0, 0, 0, 9};
    if (!have_gnuplot()) return;
    write_array(SCRATCH "tall_q.npy", 3, (ptrdiff_t[]){2, 3, 1}, q);
    write_array(SCRATCH "tall_k.npy", 3, (ptrdiff_t[]){2, 2, 1}, k);
    free(inspect_csv("inspect --heads 0,1 --layers 3 --scale none --q " SCRATCH
                     "tall_q.npy --k " SCRATCH "tall_k.npy"));
    assert_drawn_says("inspect_weights", "inspect_weights.csv",
                      (const char *[]){"Key 1 has 100% of the weight in layer 3, head 1; in the "
                                       "other no key has more than 50%<",
                                       "scale none<", NULL});
}
END_TEST

START_TEST(the_figure_of_heads_has_a_column_for_each_batch_entry) {
    if (!have_gnuplot()) return;
    for (int l = 0; l < 3; l++)
        write_zeros((const char *[]){SCRATCH "block_0_out.npy", SCRATCH "block_1_out.npy",
                                     SCRATCH "block_12_out.npy"}[l],
                    4, (ptrdiff_t[]){2, 3, 4, 2});
    static const char FILES[] =
        SCRATCH "block_0_out.npy," SCRATCH "block_1_out.npy," SCRATCH "block_12_out.npy";
    char command[512];
    (void)snprintf(command, sizeof command, "inspect --q %s --k %s", FILES, FILES);
    free(inspect_csv(command));
    char *svg = drawn("inspect_heads", "inspect.csv");
    ck_assert(strstr(svg, "9 heads have 1.39 nats of entropy; equal weights would have 1.39<"));
    ck_assert(strstr(svg, ", 2 batch entries<") && strstr(svg, ">block_12_out<"));
    ck_assert_int_eq(count_of(svg, ">1.39<"), 3 * 2 * 3);
    free(svg);
}
END_TEST

START_TEST(names_that_do_not_fit_leave_out_what_all_share) {
    if (!have_gnuplot()) return;
    FILE *to = fopen(SCRATCH "long_names.csv", "w");
    ck_assert(to != NULL);
    (void)fputs("layer,file,batch,head,scale,used,queries,keys,d_k,entropy,entropy_normalised,"
                "jacobian_median,entropy_uniform\n",
                to);
    for (int l = 9; l <= 21; l++)
        (void)fprintf(to, "blocks.%d.attention,x,0,0,sqrt,1,4,4,2,1,0.7,%s,1.386\n", l,
                      l < 11 ? "1e-7" : "0.5");
    ck_assert(fclose(to) == 0);
    assert_drawn_says("inspect_heads", "long_names.csv",
                      (const char *[]){"In 2 of 13 heads the median norm of a row's softmax "
                                       "Jacobian is below 1e-6 (x)<",
                                       ">layer (blocks.*.attention)<", ">9<", ">10<", ">21<",
                                       NULL});
}
END_TEST

/* ---- Bad input ------------------------------------------------------------------------------- */

START_TEST(wrong_usage_is_one_line_and_exit_2) {
    static const refusal CASES[] = {
        {"", "expected --q FILES and --k FILES"},
        {"--q a.npy", "expected --q FILES and --k FILES"},
        {"--q a,b --k c", "--q, --k, --v: 2, 1 and 0 files; expected as many of each"},
        {"--q a, --k c", "--q 'a,': expected up to 1024 file names"},
        {"--q a,,b --k c", "--q 'a,,b': expected up to 1024 file names"},
        {"--q a,b --k c,d --save-weights P.npy", "expected one layer at a time"},
        {"--q a/q.npy,b/q.npy --k c,d",
         "--q: a/q.npy and b/q.npy would both be layer q; expected --layers with a number"},
        {"--q a,b --k c,d --layers 1", "--layers '1': 1 numbers for 2 files of --q; expected one"},
        {"--q a,b --k c,d --layers 1,1", "--layers '1,1': 1 stands there twice"},
        {"--q a,b --k c,d --layers 1,x", "--layers '1,x': expected whole numbers"},
        {"--q a/q.npy,b/q.npy --k c,d --layers 1,-2", "--layers '1,-2': expected whole numbers"},
        {"--q a --k b --save-gradients d", "--save-gradients: expected --v"},
        {"--q a --k b --do c", "--do: expected --v"},
        {"--q a --k b --precision", "--precision: expected --v"},
        {"--q a --k b --v c --do d,e", "--do: 2 files for 1 of --q"},
        {"--q a --k b --weights c,d", "--weights, --out: 2 files for 1 of --q"},
        {"--q a --k b --out c", "--out: expected --v"},
        {"--q a --k b --v c --out d --weights e", "--weights and --out: expected one"},
        {"--q a --k b --weights c --d-model 0", "--d-model '0': expected a whole number"},
        {"--q a --k b --threads 0", "--threads '0': expected a whole number from 1"},
        {"--q a --k b --seed -1", "--seed '-1': expected a whole number from 0"},
        {"--q a --k b --heads x", "--heads 'x': expected whole numbers"},
        {"--q a --k b --heads 0 --output -", "--heads with --output to no regular file"},
        {"--q a --k b --output ''", "--output '': expected a file name"},
        {"--q a --k b --scale none,sqrt", "expected one rule or number"},
        {"--q a --k b --mask diagonal", "--mask 'diagonal': expected none, causal-top-left"},
        {"--q a --k b --causl", "did you mean --causal?"},
    };
    assert_refusals(2, "inspect", CASES, LENGTH(CASES));
    assert_refused(2, "--heads: 8, but", LAYER_0 "--heads 8");
}
END_TEST

/* A .npy of version 1.0 with this header and `bytes` of zeros behind it. */
static void write_npy(const char *path, const char *header, size_t bytes) {
    static const char ZEROS[64];
    FILE *to = fopen(path, "wb");
    ck_assert(to != NULL);
    (void)fprintf(to, "\x93NUMPY%c%c%c%c%s", 1, 0, (int)strlen(header), 0, header);
    ck_assert(fwrite(ZEROS, 1, bytes, to) == bytes && fclose(to) == 0);
}

#define HEADER(descr, shape) "{'descr': " descr ", 'fortran_order': False, 'shape': " shape ", }"

/* What is wrong, by the content of a text file or by a .npy header and the bytes behind it. */
static const struct {
    const char *text, *header;
    size_t bytes;
    const char *message;
} BAD[] = {
    {"", NULL, 0, "empty; expected a .npy or CSV file"},
    {"\x93NUMPX", NULL, 0, "does not start with the bytes"},
    {"1,2\n3\n", NULL, 0, "row 2 (line 2) has 1 columns"},
    {"1,x\n", NULL, 0, "column 2: found 'x'"},
    {"1;2\n", NULL, 0, "';' between numbers"},
    {"1,5;2,5\n", NULL, 0, "';' between numbers and decimal commas"},
    {"1,nan\n", NULL, 0, "nan at [0,1]"},
    {NULL, HEADER("'<f8'", "(2, 2)"), 24, "truncated: shape (2, 2)"},
    {NULL, HEADER("'<f8'", "(2, 2)"), 40, "bytes after the array"},
    {NULL, HEADER("'<f8'", "(4294967296, 4294967296)"), 32, "overflows"},
    {NULL, HEADER("'<f8'", "(0, 2)"), 0, "is empty; expected dimensions of at least 1"},
    {NULL, HEADER("'<f8'", "(4,)"), 32, "expected"},
    {NULL, HEADER("'<i4'", "(2, 2)"), 16, "'<i4'"},
    {NULL, HEADER("'<c16'", "(2, 2)"), 64, "'<c16'"},
    {NULL, HEADER("'|O'", "(2, 2)"), 32, "'|O'"},
    {NULL, HEADER("[('a', '<f8')]", "(2, 2)"), 32, "structured dtype"},
};

START_TEST(a_bad_file_is_one_line_with_its_name_and_exit_1) {
    write_worked_example();
    const char *path = SCRATCH "bad.file";
    if (BAD[_i].header)
        write_npy(path, BAD[_i].header, BAD[_i].bytes);
    else
        write_text(path, BAD[_i].text);
    static const char COMMAND[] =
        "inspect --q " SCRATCH "wq.csv --k " SCRATCH "bad.file --output " SCRATCH "never.csv";
    assert_refused(1, BAD[_i].message, COMMAND);
    assert_refused(1, "bad.file", COMMAND);
    ck_assert(access(SCRATCH "never.csv", F_OK) != 0);
    ck_assert(access(SCRATCH "never.csv.tmp", F_OK) != 0);
}
END_TEST

START_TEST(files_that_do_not_fit_are_named_with_their_shapes) {
    double ones[36];
    static const struct {
        const char *which;
        int ndim;
        ptrdiff_t dim[4];
        const char *message;
    } CASES[] = {
        {"k", 3, {2, 3, 2}, "fk.npy [2,3,2] does not fit "},
        {"k", 2, {3, 4}, "expected the same number of dimensions"},
        {"k", 4, {2, 1, 3, 4}, "expected the same number of dimensions"},
        {"k", 3, {3, 3, 4}, "expected as many, or fewer that divide them (grouped queries)"},
        {"v", 3, {2, 4, 3}, "expected the same number of keys"},
        {"v", 3, {1, 3, 4}, "expected the same number of heads"},
        {"do", 3, {2, 2, 4}, "expected the same number of queries"},
        {"do", 3, {2, 3, 3}, "expected the same d_v (last dimension)"},
        {"key-lengths", 2, {2, 1}, "expected one key length for each of 1 batch entries"},
    };
    for (int i = 0; i < 36; i++) ones[i] = 1;
    for (int i = 0; i < LENGTH(CASES); i++) {
        static const char *const NAMES[] = {"q", "k", "v", "do", "key-lengths"};
        char path[256], command[1024] = "inspect --save-gradients " SCRATCH "never";
        for (int n = 0; n < LENGTH(NAMES); n++) {
            bool here = strcmp(NAMES[n], CASES[i].which) == 0;
            if (n > 3 && !here) continue;
            (void)snprintf(path, sizeof path, SCRATCH "f%s.npy", NAMES[n]);
            write_array(path, here ? CASES[i].ndim : 3,
                        here ? CASES[i].dim : (ptrdiff_t[]){2, 3, 4}, ones);
            size_t used = strlen(command);
            (void)snprintf(command + used, sizeof command - used, " --%s %s", NAMES[n], path);
        }
        assert_refused(1, CASES[i].message, "%s", command);
        ck_assert(access(SCRATCH "never", F_OK) != 0);
    }
}
END_TEST

START_TEST(masks_that_mean_nothing_are_refused) {
    static const char *const CASES[][3] = {
        {"key-lengths", "1.5\n", "1.5 at [0]; expected key lengths from 0 to 2"},
        {"key-lengths", "3\n", "3 at [0]; expected key lengths from 0 to 2"},
        {"key-lengths", "-1\n", "-1 at [0]; expected key lengths from 0 to 2"},
        {"key-lengths", "nan\n", "nan at [0]; expected key lengths from 0 to 2"},
        {"allowed", "0,-inf\n", "-inf at [0,1]; expected 1 (may attend) or 0"},
    };
    write_worked_example();
    for (int i = 0; i < LENGTH(CASES); i++) {
        write_text(SCRATCH "mask.csv", CASES[i][1]);
        assert_refused(1, CASES[i][2], WORKED "--%s " SCRATCH "mask.csv", CASES[i][0]);
    }
}
END_TEST

START_TEST(a_folder_and_a_missing_file_are_refused) {
    static const refusal CASES[] = {
        {"--q " TEST_SCRATCH_DIR " --k x", "a directory; expected a .npy or CSV file"},
        {"--q " SCRATCH "missing.npy --k x", "missing.npy: No such file or directory"},
    };
    assert_refusals(1, "inspect", CASES, LENGTH(CASES));
    /* a blank ends the name in the shell */
    assert_refused(2, "unexpected argument", "inspect --q " SCRATCH "not there.npy --k x");
}
END_TEST

START_TEST(a_product_beyond_the_range_of_a_double_is_refused) {
    write_text(SCRATCH "wq.csv", "1e200,0\n");
    write_text(SCRATCH "wk.csv", "1,0\n1e200,1\n");
    assert_refused(1, "the logit of query 0 and key 1 (scale none) is beyond the range",
                   "inspect --q " SCRATCH "wq.csv --k " SCRATCH "wk.csv");
}
END_TEST

START_TEST(a_gradient_beyond_the_range_of_a_double_is_refused) {
    write_text(SCRATCH "wq.csv", "1,0\n");
    write_text(SCRATCH "wk.csv", "1,0\n0,1\n");
    write_text(SCRATCH "wv.csv", "1e200,0\n0,1e200\n");
    write_text(SCRATCH "wdo.csv", "1e200,1e200\n");
    assert_refused(1, "layer wq: a gradient is beyond the range of a double",
                   "inspect --q " SCRATCH "wq.csv --k " SCRATCH "wk.csv --v " SCRATCH
                   "wv.csv --do " SCRATCH "wdo.csv");
}
END_TEST

START_TEST(what_no_memory_can_hold_is_refused_before_it_is_begun) {
    enum { LONG = 2000000 }; /* a matrix of its weights takes 32 terabytes */
    double *zeros = calloc(LONG, sizeof *zeros);
    write_array(SCRATCH "long.npy", 2, (ptrdiff_t[]){LONG, 1}, zeros);
    free(zeros);
    const char *files = "--q " SCRATCH "long.npy --k " SCRATCH "long.npy";
    assert_refused(1, ": 1 matrices [2000000,2000000] of weights or the like need",
                   "inspect %s --save-weights " SCRATCH "never.npy", files);
    assert_refused(1, ": 1 matrices [2000000,2000000]", "inspect %s --heads 0", files);
    assert_refused(1, ": 12 matrices [2000000,2000000]", "trace %s --v " SCRATCH "long.npy", files);
    (void)unlink(SCRATCH "long.npy");
}
END_TEST

START_TEST(arrays_take_their_places_with_the_results_or_not_at_all) {
    write_worked_example();
    (void)unlink(SCRATCH "neither.npy");
    assert_refused(1, "it is one of the files that were read",
                   WORKED "--save-weights " SCRATCH "neither.npy --output " SCRATCH "wk.csv");
    ck_assert(access(SCRATCH "neither.npy", F_OK) != 0);
}
END_TEST

START_TEST(no_query_sees_a_key_is_said) {
    write_worked_example();
    write_text(SCRATCH "zero.csv", "0\n");
    const captured *c =
        run_well(WORKED "--key-lengths " SCRATCH "zero.csv --output " SCRATCH "dead.csv");
    assert_says(c->out, "Layer wq: no query sees a key.\n");
}
END_TEST

START_TEST(what_cannot_be_written_is_exit_1_with_the_systems_reason) {
    static const refusal CASES[] = {
        {"--output " TEST_SCRATCH_DIR, "it is a folder"},
        {"--output " SCRATCH "plain_file/x.csv", "Not a directory"},
        {"--save-weights " SCRATCH "plain_file/w.npy", "Not a directory"},
        {"--save-weights " TEST_SCRATCH_DIR, "it is a folder"},
    };
    write_text(SCRATCH "plain_file", "");
    assert_refusals(1, LAYER_0 "--output " SCRATCH "unwritten.csv", CASES, LENGTH(CASES));
    ck_assert(access(SCRATCH "unwritten.csv", F_OK) != 0);
}
END_TEST

Suite *inspect_suite(void) {
    const TTest *tests[] = {entropies_of_the_real_heads_are_those_measured_independently,
                            the_equivalent_width_is_the_square_of_the_spread,
                            the_csv_has_a_row_for_each_head_and_rule,
                            equal_weights_would_have_the_mean_of_the_rows_ln_n,
                            one_sentence_says_how_small_a_typical_rows_jacobian_is,
                            saturated_heads_are_named,
                            where_no_query_sees_two_keys_there_is_nothing_to_choose,
                            a_head_without_a_choice_is_not_called_the_least,
                            a_layer_is_called_by_its_number_or_by_its_file,
                            a_name_holds_nothing_that_a_csv_reads_otherwise,
                            the_locale_changes_nothing,
                            statistics_are_those_of_the_operation_under_every_rule,
                            saved_weights_are_those_of_the_operation_under_every_rule_and_mask,
                            same_bytes_for_1_2_3_and_20_threads,
                            the_first_head_at_fault_is_refused_whoever_finds_it,
                            fewer_heads_of_keys_are_repeated_and_said,
                            one_head_and_a_batch_of_heads_are_the_same_heads,
                            an_allowed_file_can_say_what_causal_says,
                            keys_beyond_their_length_may_hold_anything,
                            an_unaligned_causal_mask_is_refused_with_both_names,
                            saved_weights_are_a_plain_npy_and_sum_to_1,
                            saved_gradients_are_those_of_the_worked_example,
                            a_random_gradient_of_the_output_is_torchs_and_kept,
                            shared_keys_get_the_sum_of_their_heads_gradients,
                            numpy_reads_the_weights_and_finds_the_same,
                            chosen_heads_weights_are_written_for_a_figure,
                            dash_writes_the_csv_to_standard_output_and_nothing_else,
                            the_figures_of_equal_weights_say_what_a_hand_finds,
                            the_figure_of_fewer_queries_names_the_key_with_the_most_weight,
                            the_figure_of_heads_has_a_column_for_each_batch_entry,
                            names_that_do_not_fit_leave_out_what_all_share,
                            the_signal_is_that_of_the_saved_gradients,
                            errors_of_a_saturated_row_are_those_by_hand,
                            a_layer_of_one_key_has_no_signal_and_no_nan,
                            logits_near_the_end_of_float16_are_said,
                            wrong_usage_is_one_line_and_exit_2,
                            files_that_do_not_fit_are_named_with_their_shapes,
                            masks_that_mean_nothing_are_refused,
                            a_folder_and_a_missing_file_are_refused,
                            a_product_beyond_the_range_of_a_double_is_refused,
                            a_gradient_beyond_the_range_of_a_double_is_refused,
                            what_no_memory_can_hold_is_refused_before_it_is_begun,
                            arrays_take_their_places_with_the_results_or_not_at_all,
                            no_query_sees_a_key_is_said,
                            what_cannot_be_written_is_exit_1_with_the_systems_reason};
    Suite *suite = suite_of("inspect", tests, LENGTH(tests), 60);
    add_loop(suite, a_bad_file_is_one_line_with_its_name_and_exit_1, LENGTH(BAD), 60);
    return suite;
}

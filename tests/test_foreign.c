/* test_foreign.c: a verdict on someone else's backward: what its format can hold never fails, what
 * is wrong never passes, and what went wrong is named.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/scaling.h"
#include "gradcheck/format.h"
#include "gradcheck/judge.h"
#include "suites.h"
#include "support.h"

#define GRADIENTS GOLDEN "gradients/"
#define OUTPUT " --force --output " SCRATCH "o.csv "
#define INPUTS(folder)                                                                             \
    "gradcheck --q " folder "q.npy --k " folder "k.npy --v " folder "v.npy --do " folder           \
    "do.npy" OUTPUT
#define FILES INPUTS(GRADIENTS) "--dq " GRADIENTS "dq.npy --dv " GRADIENTS "dv.npy "
#define ALL_FILES FILES "--causal --dk " GRADIENTS "dk.npy"

/* ---- PyTorch's own --------------------------------------------------------------------------- */

START_TEST(pytorchs_float32_with_grouped_heads_passes) {
    const captured *c = run_well(ALL_FILES);
    assert_says(c->out, "Judged as float32: all 240 given values are float32 numbers.");
    assert_says(c->out, "PASS dQ: 100 % of 120 elements confirmed");
    assert_says(c->out, "PASS dK: 100 % of 60 elements confirmed");
    assert_says(c->out, "PASS dV: 100 % of 60 elements confirmed");
}
END_TEST

START_TEST(pytorchs_bfloat16_is_known_by_its_values_and_passes) {
#define HALF GRADIENTS "bfloat16/"
    static const char ALL[] =
        INPUTS(HALF) "--causal --dq " HALF "dq.npy --dk " HALF "dk.npy --dv " HALF "dv.npy ";
    const captured *c = run_well("%s", ALL);
    assert_says(c->out, "Judged as bfloat16: all 1152 given values are bfloat16 numbers.");
    assert_says(c->out, "PASS dQ");
    c = run_program("", "%s --precision float32", ALL);
    ck_assert_int_eq(c->code, 1);
    assert_says(c->out, "dQ, dK, dV: within the bound of bfloat16: --precision bfloat16");
}
END_TEST

/* ---- Gradients made wrong -------------------------------------------------------------------- */

typedef double change(const array *a, ptrdiff_t i, double factor);

static double times(const array *a, ptrdiff_t i, double factor) {
    return (double)(float)(factor * a->data[i]); /* a float32 again */
}

/* Heads 0 and 1 of each batch entry change places. */
static double swapped_heads(const array *a, ptrdiff_t i, double factor) {
    const ptrdiff_t size = a->dim[2] * a->dim[3], head = i / size;
    (void)factor;
    return a->data[head % a->dim[1] < 2 ? (head ^ 1) * size + i % size : i];
}

static double transposed(const array *a, ptrdiff_t i, double factor) {
    const ptrdiff_t rows = a->dim[2], cols = a->dim[3], in = i % (rows * cols);
    (void)factor;
    return a->data[i - in + in % rows * cols + in / rows];
}

static double rows_first(const array *a, ptrdiff_t i, double factor) {
    const ptrdiff_t heads = a->dim[1], rows = a->dim[2], cols = a->dim[3];
    const ptrdiff_t in = i % (heads * rows * cols);
    (void)factor;
    return a->data[i - in + (in / cols % heads * rows + in / cols / heads) * cols + in % cols];
}

/* dQ after the change, judged; fails the test unless it fails and the slip is named. */
static void assert_diagnosed(change *how, double factor, const char *slip) {
    array a = read_array(GRADIENTS "dq.npy"), b = a;
    b.data = malloc((size_t)array_count(&a) * sizeof(double));
    for (ptrdiff_t i = 0; i < array_count(&a); i++) b.data[i] = how(&a, i, factor);
    write_array(SCRATCH "changed.npy", b.ndim, b.dim, b.data);
    const captured *c = run_program("", INPUTS(GRADIENTS) "--causal --dq " SCRATCH "changed.npy");
    ck_assert_int_eq(c->code, 1);
    assert_says(c->out, "FAIL dQ");
    assert_says(c->out, slip);
    array_free(&a);
    array_free(&b);
}

START_TEST(a_factor_is_named) {
    assert_diagnosed(times, -1, "dQ: within the bound as -1 times ours");
    assert_diagnosed(times, 2, "dQ: within the bound as 2 times ours");
    assert_diagnosed(times, sqrt(3), "dQ: within the bound as sqrt(d_k) times ours: the scale?");
    assert_diagnosed(times, 0.2, "dQ: within the bound as 1/T times ours: averaged, not summed?");
}
END_TEST

START_TEST(another_order_of_the_numbers_is_named) {
    assert_diagnosed(swapped_heads, 1, "as ours with the heads in another order");
    assert_diagnosed(transposed, 1, "as the transpose of each head's matrix");
    assert_diagnosed(rows_first, 1, "laid out [B,T,H,d]");
}
END_TEST

START_TEST(another_mask_or_scale_is_named) {
    const captured *c = run_program("", FILES "--dk " GRADIENTS "dk.npy");
    ck_assert_int_eq(c->code, 1);
    assert_says(c->out, "dQ, dK, dV: within the bound with --mask causal-top-left");
    c = run_program("", ALL_FILES " --scale none");
    ck_assert_int_eq(c->code, 1);
    assert_says(c->out, "dQ, dK, dV: within the bound with --scale sqrt");
}
END_TEST

/* d_k = d_v = 1, one query: P = softmax(q k), dQ without its sum is sum_j P_j dO v_j k_j. */
START_TEST(a_missing_sum_is_named) {
    const double q = 0.5, g = 1.25, k[] = {1, -0.5, 0.25}, v[] = {2, -1, 3};
    const ptrdiff_t one[] = {1, 1}, three[] = {3, 1};
    double sum = 0, dq = 0;
    for (int j = 0; j < 3; j++) sum += exp(q * k[j]);
    for (int j = 0; j < 3; j++) dq += exp(q * k[j]) / sum * g * v[j] * k[j];
    write_array(SCRATCH "q.npy", 2, one, &q);
    write_array(SCRATCH "k.npy", 2, three, k);
    write_array(SCRATCH "v.npy", 2, three, v);
    write_array(SCRATCH "do.npy", 2, one, &g);
    write_array(SCRATCH "dq.npy", 2, one, &dq);
    const captured *c = run_program("", INPUTS(SCRATCH) "--dq " SCRATCH "dq.npy");
    ck_assert_int_eq(c->code, 1);
    assert_says(c->out, "without the sum in the softmax's backward: dZ = P dP");
}
END_TEST

START_TEST(one_flipped_sign_in_a_file_is_found_and_named) {
    const captured *c = run_program("", FILES "--causal --dk " GRADIENTS "dk_wrong.npy");
    ck_assert_int_eq(c->code, 1);
    assert_says(c->out, "FAIL dK: 98.3 % of 60 elements confirmed");
    assert_says(c->out, "worst at [1,0,2,1]: given 0.0275176");
    assert_says(c->out, "PASS dQ");
    ck_assert_int_eq(shell("grep -q '^dK,2,FAIL,15,14,1,0,' " SCRATCH "o.csv"), 0);
}
END_TEST

/* ---- What one tolerance for a tensor cannot tell --------------------------------------------- */

/* Two heads, q = 1, k = (1, -1), v = (1, 0), whose dO differ by a million. */
static void write_two_heads(double second) {
    const ptrdiff_t row[] = {2, 1, 1}, pair[] = {2, 2, 1};
    const double q[] = {1, 1}, k[] = {1, -1, 1, -1}, v[] = {1, 0, 1, 0}, g[] = {1, 1e-6};
    const double dq[] = {0.20998717, second};
    write_array(SCRATCH "q.npy", 3, row, q);
    write_array(SCRATCH "k.npy", 3, pair, k);
    write_array(SCRATCH "v.npy", 3, pair, v);
    write_array(SCRATCH "do.npy", 3, row, g);
    write_array(SCRATCH "dq.npy", 3, row, dq);
}

static const captured *judge_scratch(const char *more) {
    return run_program(
        "", INPUTS(SCRATCH) "--scale none --precision float32 --dq " SCRATCH "dq.npy %s", more);
}

START_TEST(a_small_head_is_judged_by_its_own_size) {
    static const double WRONG[] = {-2.0998717e-7, 0, 4.2e-7};
    write_two_heads(2.0998717e-7);
    ck_assert_int_eq(judge_scratch("")->code, 0);
    for (int i = 0; i < LENGTH(WRONG); i++) {
        write_two_heads(WRONG[i]);
        const captured *c = judge_scratch("");
        ck_assert_int_eq(c->code, 1);
        assert_says(c->out, "worst at [1,0,0]");
    }
}
END_TEST

/* A float32 backward gives 7.6e-9 where the truth is 1.5e-8: it cancels. */
START_TEST(what_the_format_cannot_hold_is_inconclusive_and_strict_fails_it) {
    const ptrdiff_t one[] = {1, 1}, two[] = {2, 1};
    const double q = 9, g = 1, dq = 7.615e-9, k[] = {1, -1}, v[] = {0.7, 0.2};
    write_array(SCRATCH "q.npy", 2, one, &q);
    write_array(SCRATCH "k.npy", 2, two, k);
    write_array(SCRATCH "v.npy", 2, two, v);
    write_array(SCRATCH "do.npy", 2, one, &g);
    write_array(SCRATCH "dq.npy", 2, one, &dq);
    const captured *c = judge_scratch("");
    ck_assert_int_eq(c->code, 0);
    assert_says(c->out, "INCONCLUSIVE: float32 cannot hold what would tell");
    ck_assert_int_eq(judge_scratch("--strict")->code, 1);
    ck_assert_int_eq(judge_scratch("--precision float64")->code, 1);
}
END_TEST

START_TEST(a_demand_beside_the_formats_fails_what_misses_it) {
    write_two_heads(2.0998717e-7);
    ck_assert_int_eq(judge_scratch("--rtol 1e-4")->code, 0);
    ck_assert_int_eq(judge_scratch("--rtol 1e-12")->code, 1);
    assert_refused(2, "--rtol '1': expected a number below 1", ALL_FILES " --rtol 1");
    assert_refused(2, "of the mask's files, --bf16 and --precision",
                   "gradcheck --precision float16");
}
END_TEST

/* ---- What is not finite ---------------------------------------------------------------------- */

START_TEST(no_verdict_where_our_own_gradient_overflows) {
    const ptrdiff_t square[] = {2, 2}, column[] = {2, 1};
    const double q[] = {1e200, 0, 0, 1}, k[] = {1e200, 1, 1, 2}, v[] = {1, 2}, g[] = {1, 1};
    write_array(SCRATCH "q.npy", 2, square, q);
    write_array(SCRATCH "k.npy", 2, square, k);
    write_array(SCRATCH "v.npy", 2, column, v);
    write_array(SCRATCH "do.npy", 2, column, g);
    write_array(SCRATCH "dq.npy", 2, square, q);
    const captured *c = judge_scratch("");
    ck_assert_int_eq(c->code, 1);
    assert_one_line(c->err, "dQ: our own gradient at [0,0] is nan");
}
END_TEST

START_TEST(a_given_infinity_fails_and_the_overflow_is_named) {
    const ptrdiff_t row[] = {1, 2}, square[] = {2, 2}, column[] = {2, 1}, one[] = {1, 1};
    const double q[] = {1, 2}, k[] = {1, 1, -1, 2}, v[] = {70000, 0}, g = 1;
    write_array(SCRATCH "q.npy", 2, row, q);
    write_array(SCRATCH "k.npy", 2, square, k);
    write_array(SCRATCH "v.npy", 2, column, v);
    write_array(SCRATCH "do.npy", 2, one, &g);
    write_text(SCRATCH "dq.csv", "inf,0\n");
    const captured *c =
        run_program("", INPUTS(SCRATCH) "--precision float16 --dq " SCRATCH "dq.csv");
    ck_assert_int_eq(c->code, 1);
    assert_says(c->out, "given inf, ours 24748.7");
    assert_says(c->out, "the largest float16 is 65504");
}
END_TEST

/* What stands at a masked key is nobody's, but its gradient must be 0. */
START_TEST(a_gradient_at_a_masked_key_fails_whatever_stands_there) {
    static const char *const RULES[] = {"sqrt", "cosine", "keys"};
    const ptrdiff_t one[] = {1, 2}, three[] = {3, 2}, column[] = {3, 1}, single[] = {1, 1};
    const double q[] = {1, 2}, v[] = {1, 2, 3}, g = 1, dv[] = {0.25, 0.75, 0.5};
    write_array(SCRATCH "q.npy", 2, one, q);
    write_text(SCRATCH "k.csv", "1,0.5\n-1,2\nnan,inf\n");
    write_array(SCRATCH "v.npy", 2, column, v);
    write_array(SCRATCH "do.npy", 2, single, &g);
    write_text(SCRATCH "lengths.csv", "2\n");
    for (int i = 0; i < LENGTH(RULES); i++) {
        const double dk[] = {0, 0, 0, 0, 0, 1e-3};
        write_array(SCRATCH "dk.npy", 2, three, dk);
        write_array(SCRATCH "dv.npy", 2, column, dv);
        const captured *c =
            run_program("",
                        "gradcheck --q " SCRATCH "q.npy --k " SCRATCH "k.csv --v " SCRATCH
                        "v.npy --do " SCRATCH "do.npy --dk " SCRATCH "dk.npy --dv " SCRATCH
                        "dv.npy --key-lengths " SCRATCH "lengths.csv --scale %s" OUTPUT,
                        RULES[i]);
        ck_assert_int_eq(c->code, 1);
        ck_assert_int_eq(shell("grep -q '^dK,all,FAIL,6,[0-9]*,[1-9]' " SCRATCH "o.csv"), 0);
        assert_says(c->out, "worst at [2,1]: given 0.001, ours 0");
    }
}
END_TEST

/* ---- Formats and digits ---------------------------------------------------------------------- */

START_TEST(a_formats_numbers_are_told_from_others) {
    static const struct {
        double x;
        bool bfloat16, float16, float32;
    } CASES[] = {
        {0, true, true, true},           {1.5, true, true, true},
        {0x1.02p0, true, true, true},    {0x1.01p0, false, true, true},
        {0x1.002p0, false, false, true}, {0x1.00000002p0, false, false, false},
        {65504, false, true, true},      {65536, true, false, true},
        {0x1p-24, true, true, true},     {0x1p-25, true, false, true},
        {0x1.8p-24, true, false, true},  {0x1p-149, false, false, true},
        {0x1p-133, true, false, true},   {0x1p-150, false, false, false},
        {1e300, false, false, false},    {INFINITY, false, false, false},
    };
    for (int i = 0; i < LENGTH(CASES); i++) {
        ck_assert_int_eq(format_holds(format_find("bfloat16"), CASES[i].x), CASES[i].bfloat16);
        ck_assert_int_eq(format_holds(format_find("float16"), -CASES[i].x), CASES[i].float16);
        ck_assert_int_eq(format_holds(format_find("float32"), CASES[i].x), CASES[i].float32);
    }
}
END_TEST

START_TEST(a_format_is_found_only_where_it_is_told) {
    const double half[] = {1.5, 0.25, 3, 0x1.02p-3, 0}, single[] = {(double)0.1f, 1.5, 0.25, 3, 0};
    const double ours[] = {1.51, 0.26, 3.1, 0.126, 0}, whole[] = {1, 2, 3, 4, 0};
    const number_list h = {half, 5}, s = {single, 5}, o = {ours, 5}, w = {whole, 5};
    const double over[] = {1.5, 0.25, INFINITY, 3, 0x1.02p-3};
    const number_list few = {half, 3}, i = {over, 5};
    ck_assert(format_detect(&i, &o, 1) == format_find("bfloat16")); /* an overflow is passed over */
    ck_assert(format_detect(&h, &o, 1) == format_find("bfloat16"));
    ck_assert(format_detect(&s, &o, 1) == format_find("float32"));
    ck_assert(format_detect(&o, &o, 1) == NULL);
    ck_assert(format_detect(&w, &w, 1) == NULL);   /* ours are too */
    ck_assert(format_detect(&few, &o, 1) == NULL); /* too few to tell */
    const number_list both[] = {h, s}, mine[] = {o, o};
    ck_assert(format_detect(both, mine, 2) == format_find("float32"));
}
END_TEST

START_TEST(tensors_of_two_formats_are_judged_by_the_wider_and_that_is_said) {
    array a = read_array(GRADIENTS "dq.npy");
    for (ptrdiff_t i = 0; i < array_count(&a); i++) {
        int exponent;
        const double x = a.data[i];
        (void)frexp(x, &exponent);
        a.data[i] = x == 0 ? 0 : ldexp(rint(ldexp(x, 8 - exponent)), exponent - 8);
    }
    write_array(SCRATCH "changed.npy", a.ndim, a.dim, a.data);
    const captured *c = run_program("", INPUTS(GRADIENTS) "--causal --dq " SCRATCH
                                                          "changed.npy --dv " GRADIENTS "dv.npy");
    assert_says(c->out, "All values of dQ are bfloat16 numbers, those of all files together are "
                        "not; --precision bfloat16 judges by it.");
    array_free(&a);
}
END_TEST

/* The fixtures' first head as text, printed with these digits. */
static void write_csv(const char *name, const char *format) {
    char path[256], cell[64], *text = calloc(1, 4096);
    (void)snprintf(path, sizeof path, GRADIENTS "%s.npy", name);
    array a = read_array(path);
    for (ptrdiff_t i = 0; i < a.dim[2]; i++)
        for (ptrdiff_t c = 0; c < a.dim[3]; c++) {
            (void)snprintf(cell, sizeof cell, format, a.data[i * a.dim[3] + c]);
            strcat(strcat(text, cell), c + 1 < a.dim[3] ? "," : "\n");
        }
    (void)snprintf(path, sizeof path, SCRATCH "%s.csv", name);
    write_text(path, text);
    array_free(&a);
    free(text);
}

START_TEST(text_of_few_digits_is_judged_by_them) {
    static const char *const NAMES[] = {"q", "k", "v", "do", "dq"};
    static const struct {
        const char *format, *said;
    } CASES[] = {{"%.18e", "all 15 given values are float32 numbers"},
                 {"%.6g", "a CSV has 6 significant digits"},
                 {"%.4f", "significant digits"}};
    for (int i = 0; i < LENGTH(CASES); i++) {
        for (int n = 0; n < LENGTH(NAMES); n++) write_csv(NAMES[n], CASES[i].format);
        const captured *c =
            run_well("gradcheck --causal --q " SCRATCH "q.csv --k " SCRATCH "k.csv --v " SCRATCH
                     "v.csv --do " SCRATCH "do.csv --dq " SCRATCH "dq.csv" OUTPUT);
        assert_says(c->out, CASES[i].said);
        assert_says(c->out, "PASS dQ");
    }
}
END_TEST

/* The gradient alone is text of three digits: what these leave open is more than float32 does. */
START_TEST(a_gradient_of_few_digits_is_judged_by_them) {
    static const char *const NAMES[] = {"q", "k", "v", "do"};
    static const char COMMAND[] =
        "gradcheck --causal --q " SCRATCH "q.csv --k " SCRATCH "k.csv --v " SCRATCH
        "v.csv --do " SCRATCH "do.csv --dq " SCRATCH "dq.csv" OUTPUT;
    for (int n = 0; n < LENGTH(NAMES); n++) write_csv(NAMES[n], "%.18e");
    write_csv("dq", "%.3g");
    assert_says(run_well("%s", COMMAND)->out, "PASS dQ");
    ck_assert_int_eq(run_program("", "%s --rtol 1e-6", COMMAND)->code, 1);
}
END_TEST

START_TEST(half_a_digit_is_what_the_text_leaves_open) {
    array a = {.digits = 3, .decimals = -1};
    ck_assert(array_half_digit(&a, 1.23) == 0.005 && array_half_digit(&a, -456) == 0.5);
    ck_assert(array_half_digit(&a, 9.87e-20) == 5e-23 && array_half_digit(&a, 0) == 0);
    a.decimals = 4;
    ck_assert(array_half_digit(&a, 456) == 5e-5 && array_half_digit(&a, 0) == 5e-5);
    a.digits = 0;
    ck_assert(array_half_digit(&a, 1.23) == 0);
}
END_TEST

/* ---- The rule -------------------------------------------------------------------------------- */

START_TEST(an_element_is_judged_by_its_bound) {
    static const struct {
        double ours, given, bound;
        bool idle;
        double rtol;
        tt_gradcheck_verdict expected;
    } CASES[] = {
        {1, 1.1, 0.2, false, 0, TT_GRADCHECK_PASS},
        {1, 1.3, 0.2, false, 0, TT_GRADCHECK_FAIL},
        {1, NAN, 0.2, false, 0, TT_GRADCHECK_FAIL},
        {1, 1.1, 0.6, false, 0, TT_GRADCHECK_INCONCLUSIVE},
        {1, -1, 0.49, false, 0, TT_GRADCHECK_FAIL},
        {1, 0, 0.49, false, 0, TT_GRADCHECK_FAIL},
        {1, 1.1, 0.2, false, 0.05, TT_GRADCHECK_FAIL},
        {0, 0, 0.2, true, 0, TT_GRADCHECK_PASS},
        {0, 0, 0.2, false, 0, TT_GRADCHECK_INCONCLUSIVE},
        {0, 0.1, 0.2, true, 0, TT_GRADCHECK_INCONCLUSIVE},
    };
    for (int i = 0; i < LENGTH(CASES); i++)
        ck_assert_msg(judge_element(CASES[i].ours, CASES[i].given, CASES[i].bound, CASES[i].idle,
                                    CASES[i].rtol) == CASES[i].expected,
                      "case %d", i);
}
END_TEST

/* ---- The bound ------------------------------------------------------------------------------- */

static tt_tensor read_matrix(FILE *from, tt_size rows, tt_size cols) {
    tt_tensor t = tt_tensor_new(1, rows, cols);
    char number[64];
    for (tt_size i = 0; i < rows * cols; i++) {
        ck_assert_int_eq(fscanf(from, "%63s", number), 1);
        t.data[i] = strtod(number, NULL);
    }
    return t;
}

/* 1e-9: the same sums in another order, of which dP - sum P dP cancels a few digits. */
static void assert_bound(int number, const char *which, tt_tensor got, tt_tensor expected) {
    for (tt_size i = 0; i < tt_tensor_count(expected); i++)
        ck_assert_msg(fabs(got.data[i] - expected.data[i]) <= 1e-9 * expected.data[i],
                      "case %d, %s [%td]: %.12g, by the formulas %.12g", number, which, i,
                      got.data[i], expected.data[i]);
}

START_TEST(bounds_are_those_of_the_formulas) {
    static const char *const NAMES[] = {"dQ", "dK", "dV"};
    FILE *from = open_file(GOLDEN "bounds.txt");
    char format[16], unit[32], rule[16];
    int causal, cases = 0;
    tt_size tq, tk, d, dv;
    while (fscanf(from, " case %15s %31s %15s %d %td %td %td %td", format, unit, rule, &causal, &tq,
                  &tk, &d, &dv) == 8) {
        const tt_mask mask = {.causal = causal ? TT_CAUSAL_TOP_LEFT : TT_CAUSAL_NONE};
        const precision p = {format_find(format), strtod(unit, NULL)};
        tt_tensor in[] = {read_matrix(from, tq, d), read_matrix(from, tk, d),
                          read_matrix(from, tk, dv), read_matrix(from, tq, dv)};
        const tt_tensor bound[] = {tt_tensor_new(1, tq, d), tt_tensor_new(1, tk, d),
                                   tt_tensor_new(1, tk, dv)};
        tt_tape *tape = tt_tape_new();
        const tt_scale_rule *scale = &scaling_find(rule)->rule;
        tt_var out = tt_attention(tape, tt_param(tape, in[0], NO_GRAD),
                                  tt_param(tape, in[1], NO_GRAD), tt_param(tape, in[2], NO_GRAD),
                                  (tt_attention_options){.rule = scale, .mask = mask});
        tt_backward_from(tape, out, in[3]);
        const bound_head h = {in[0],
                              in[1],
                              in[2],
                              in[3],
                              tt_attention_logits(tape, out),
                              tt_attention_weights(tape, out),
                              tt_attention_logits_grad(tape, out),
                              tt_value(tape, out),
                              &mask,
                              scale};
        ck_assert(!tt_tape_error(tape) && bounds_add(&h, &p, bound[0], bound[1], bound[2]));
        for (int w = 0; w < 3; w++) {
            tt_tensor expected = read_matrix(from, bound[w].rows, bound[w].cols), t = bound[w];
            assert_bound(cases, NAMES[w], bound[w], expected);
            tt_tensor_free(&expected);
            tt_tensor_free(&t);
        }
        for (int i = 0; i < 4; i++) tt_tensor_free(&in[i]);
        tt_tape_free(tape);
        cases++;
    }
    (void)fclose(from);
    ck_assert_int_eq(cases, 40);
}
END_TEST

START_TEST(a_short_calibration_finds_no_false_verdict) {
    ck_assert_int_eq(shell(TEST_BUILD "/calibrate-formats 1 >" SCRATCH "calibration.txt"), 0);
}
END_TEST

START_TEST(gradient_files_that_do_not_fit_are_named) {
    const captured *c = run_program("", FILES "--causal --dk " GRADIENTS "dq.npy");
    ck_assert_int_eq(c->code, 1);
    assert_one_line(c->err, "dq.npy: shape [2,4,5,3]; expected [2,2,5,3]");
    assert_refused(2, "expected --q, --k, --v, --do and one or more of",
                   "gradcheck --q " GRADIENTS "q.npy");
}
END_TEST

Suite *foreign_suite(void) {
    const TTest *tests[] = {pytorchs_float32_with_grouped_heads_passes,
                            pytorchs_bfloat16_is_known_by_its_values_and_passes,
                            a_factor_is_named,
                            another_order_of_the_numbers_is_named,
                            another_mask_or_scale_is_named,
                            a_missing_sum_is_named,
                            one_flipped_sign_in_a_file_is_found_and_named,
                            a_small_head_is_judged_by_its_own_size,
                            what_the_format_cannot_hold_is_inconclusive_and_strict_fails_it,
                            a_demand_beside_the_formats_fails_what_misses_it,
                            no_verdict_where_our_own_gradient_overflows,
                            a_given_infinity_fails_and_the_overflow_is_named,
                            a_gradient_at_a_masked_key_fails_whatever_stands_there,
                            a_formats_numbers_are_told_from_others,
                            a_format_is_found_only_where_it_is_told,
                            tensors_of_two_formats_are_judged_by_the_wider_and_that_is_said,
                            text_of_few_digits_is_judged_by_them,
                            a_gradient_of_few_digits_is_judged_by_them,
                            half_a_digit_is_what_the_text_leaves_open,
                            an_element_is_judged_by_its_bound,
                            bounds_are_those_of_the_formulas,
                            a_short_calibration_finds_no_false_verdict,
                            gradient_files_that_do_not_fit_are_named};
    return suite_of("foreign", tests, LENGTH(tests), 300);
}

/* test_masks.c: masks from files, of every meaning, type and shape, against the causal mask that
 * they spell out; and what could mean two things is refused.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heads/mask_files.h"
#include "suites.h"
#include "support.h"

/* Batch entries, heads, queries, keys, d_k: all different, but where a test wants them alike. */
enum { B = 2, H = 3, TQ = 5, TK = 4, D = 2, MOST = B * H * TQ * TQ };

#define INPUT "inspect --q " SCRATCH "mq.npy --k " SCRATCH "mk.npy "
#define MASK SCRATCH "mask.npy"

static void write_input(ptrdiff_t b, ptrdiff_t h, ptrdiff_t tq, ptrdiff_t tk) {
    double numbers[4 * 4 * 6 * D];
    tt_rng rng;
    tt_rng_seed(&rng, 3);
    tt_rng_normal(&rng, numbers, LENGTH(numbers));
    write_array(SCRATCH "mq.npy", 4, (ptrdiff_t[]){b, h, tq, D}, numbers);
    write_array(SCRATCH "mk.npy", 4, (ptrdiff_t[]){b, h, tk, D}, numbers + 5);
}

static char *csv_of(const char *arguments) {
    (void)run_well(INPUT "%s --quiet --force --output " SCRATCH "masked.csv", arguments);
    return read_whole(SCRATCH "masked.csv");
}

static void assert_same(const char *arguments, const char *expected) {
    char *csv = csv_of(arguments);
    ck_assert_msg(strcmp(csv, expected) == 0, "%s: other statistics", arguments);
    free(csv);
}

/* ---- Meanings and types ---------------------------------------------------------------------- */

/* The causal mask of TQ queries and as many keys: 1 may attend. */
static void causal(double *mask, double may, double may_not) {
    for (int i = 0; i < TQ; i++)
        for (int j = 0; j < TQ; j++) mask[i * TQ + j] = j <= i ? may : may_not;
}

START_TEST(allowed_hidden_and_additive_masks_are_one_mask) {
    static const struct {
        const char *option;
        double may, may_not;
    } MEANINGS[] = {{"--allowed " MASK, 1, 0},
                    {"--hidden " MASK, 0, 1},
                    {"--mask-additive " MASK, 0, -INFINITY},
                    {"--mask-additive " MASK, -0.0, -9984}};
    double mask[TQ * TQ];
    write_input(B, H, TQ, TQ);
    char *expected = csv_of("--causal");
    for (int i = 0; i < LENGTH(MEANINGS); i++) {
        causal(mask, MEANINGS[i].may, MEANINGS[i].may_not);
        write_array(MASK, 2, (ptrdiff_t[]){TQ, TQ}, mask);
        assert_same(MEANINGS[i].option, expected);
    }
    free(expected);
}
END_TEST

/* A mask of TQ x TQ bytes, which are booleans or small integers. */
static void write_bytes(const char *descr, const unsigned char *bytes) {
    FILE *to = fopen(MASK, "wb");
    char header[128];
    ck_assert(to != NULL);
    const int size = snprintf(header, sizeof header,
                              "{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", descr,
                              (int)TQ, (int)TQ);
    (void)fprintf(to, "\x93NUMPY%c%c%c%c%s", 1, 0, size, 0, header);
    ck_assert(fwrite(bytes, 1, TQ * TQ, to) == TQ * TQ && fclose(to) == 0);
}

START_TEST(masks_are_of_booleans_integers_or_text) {
    unsigned char bytes[TQ * TQ];
    write_input(B, H, TQ, TQ);
    char *expected = csv_of("--causal");
    for (int i = 0; i < TQ * TQ; i++) bytes[i] = i % TQ <= i / TQ;
    write_bytes("|b1", bytes);
    assert_same("--allowed " MASK, expected);
    write_bytes("|i1", bytes);
    assert_same("--allowed " MASK, expected);
    write_text(MASK, "1,0,0,0,0\n1,1,0,0,0\n1,1,1,0,0\n1,1,1,1,0\n1,1,1,1,1\n");
    assert_same("--allowed " MASK, expected);
    write_text(MASK, "0,-inf,-inf,-inf,-inf\n0,0,-1e9,-1e9,-1e9\n0,0,0,-1e5,-1e5\n0,0,0,0,-1e4\n"
                     "0,0,0,0,0\n");
    assert_same("--mask-additive " MASK, expected);
    free(expected);
}
END_TEST

START_TEST(a_mask_that_hides_all_is_one_of_another_meaning) {
    static const double zeros[TQ * TQ];
    const unsigned char none[TQ * TQ] = {0};
    write_input(1, 1, TQ, TQ);
    write_array(MASK, 2, (ptrdiff_t[]){TQ, TQ}, zeros);
    assert_refused(1, "mask.npy: all 0: an additive mask? (--mask-additive)",
                   INPUT "--allowed " MASK);
    char *expected = csv_of("");
    assert_same("--mask-additive " MASK, expected);
    assert_same("--hidden " MASK, expected);
    write_bytes("|b1", none);
    assert_refused(1, "all 0: a mask of what is hidden? (--hidden)", INPUT "--allowed " MASK);
    assert_same("--hidden " MASK, expected);
    write_text(MASK, "1,1,1,1,1\n");
    assert_refused(1, "all 1: a mask of what is allowed? (--allowed)", INPUT "--hidden " MASK);
    assert_same("--allowed " MASK, expected);
    write_text(MASK, "-inf,-1e4,-1e4,-1e4,-1e4\n");
    assert_refused(1, "hides every key from every query", INPUT "--mask-additive " MASK);
    free(expected);
}
END_TEST

START_TEST(numbers_without_a_meaning_are_refused_with_their_place) {
    static const char *const CASES[][3] = {
        {"--allowed", "1,-inf,1,1,1\n",
         "-inf at [0,1]; expected 1 (may attend) or 0 (may not); a "},
        {"--allowed", "1,1,1,0.5,1\n", "0.5 at [0,3]; expected 1 (may attend) or 0 (may not); a"},
        {"--hidden", "1,1,-1,1,1\n", "-1 at [0,2]; expected 1 (may not attend) or 0 (may); a mask"},
        {"--mask-additive", "0,-9983,0,0,0\n", "-9983 at [0,1]; expected 0 (may attend), or -1e4"},
        {"--mask-additive", "0,0,0,0,1\n", "1 at [0,4]; expected 0 (may attend), or -1e4 or less"},
        {"--mask-additive", "inf,0,0,0,0\n", "inf at [0,0]; expected 0 (may attend), or -1e4 or"},
        {"--mask-additive", "nan,0,0,0,0\n", "nan at [0,0]; expected 0 (may attend), or -1e4 or"},
    };
    write_input(1, 1, TQ, TQ);
    for (int i = 0; i < LENGTH(CASES); i++) {
        write_text(MASK, CASES[i][1]);
        assert_refused(1, CASES[i][2], INPUT "%s " MASK, CASES[i][0]);
    }
}
END_TEST

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* Whether query i of head h of batch entry b may see key j; each size matters. */
static double may(int b, int h, int i, int j) {
    return (1 + b * 5 + h * 3 + i * 7 + j * 11 + b * h + h * i + i * j) % 3 > 0 || j == 0;
}

/* The mask [b,h,i,:] with what the shape leaves out, or has once, at 0. */
static int fill(double *mask, ptrdiff_t b, ptrdiff_t h, ptrdiff_t tq) {
    int count = 0;
    for (int e = 0; e < b; e++)
        for (int n = 0; n < h; n++)
            for (int i = 0; i < tq; i++)
                for (int j = 0; j < TK; j++) mask[count++] = may(e, n, i, j);
    return count;
}

/* Sizes of the mask as it is kept, [b,h,tq,Tk], and as the file has it. */
static const struct {
    ptrdiff_t b, h, tq;
    int ndim;
    ptrdiff_t dim[4];
    const char *per;
} SHAPES[] = {
    {1, 1, 1, 1, {TK}, ""},
    {1, 1, 1, 2, {1, TK}, ""},
    {1, 1, TQ, 2, {TQ, TK}, ""},
    {B, 1, 1, 2, {B, TK}, ""},
    {1, 1, TQ, 3, {1, TQ, TK}, ""},
    {B, 1, TQ, 3, {B, TQ, TK}, ""},
    {B, 1, 1, 3, {B, 1, TK}, ""},
    {1, H, TQ, 3, {H, TQ, TK}, ""},
    {B, H, TQ, 3, {B * H, TQ, TK}, ""},
    {1, 1, TQ, 4, {1, 1, TQ, TK}, ""},
    {B, 1, 1, 4, {B, 1, 1, TK}, ""},
    {B, 1, TQ, 4, {B, 1, TQ, TK}, ""},
    {1, H, TQ, 4, {1, H, TQ, TK}, ""},
    {B, H, TQ, 4, {B, H, TQ, TK}, ""},
    {1, 1, TQ, 2, {TQ, TK}, "--mask-per query"},
    {B, 1, 1, 2, {B, TK}, "--mask-per batch"},
    {B, 1, TQ, 3, {B, TQ, TK}, "--mask-per batch"},
    {1, H, TQ, 3, {H, TQ, TK}, "--mask-per head"},
};

/* Against the whole mask [B,H,Tq,Tk] spelt out. */
START_TEST(a_shape_stands_for_the_whole_mask) {
    double mask[MOST], whole[MOST];
    write_input(B, H, TQ, TK);
    (void)fill(mask, SHAPES[_i].b, SHAPES[_i].h, SHAPES[_i].tq);
    int count = 0;
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < TQ; i++)
                for (int j = 0; j < TK; j++)
                    whole[count++] = may(SHAPES[_i].b > 1 ? b : 0, SHAPES[_i].h > 1 ? h : 0,
                                         SHAPES[_i].tq > 1 ? i : 0, j);
    write_array(MASK, 4, (ptrdiff_t[]){B, H, TQ, TK}, whole);
    char *expected = csv_of("--allowed " MASK);
    char option[256];
    (void)snprintf(option, sizeof option, "--allowed " MASK " %s", SHAPES[_i].per);
    write_array(MASK, SHAPES[_i].ndim, SHAPES[_i].dim, mask);
    assert_same(option, expected);
    free(expected);
}
END_TEST

/* Two or more of B, H and Tq alike: each of the readings is right once it is named. */
static const struct {
    ptrdiff_t b, h, tq;
    int ndim;
    ptrdiff_t dim[3];
    const char *message, *first, *second;
} OPEN[] = {
    {2,
     2,
     3,
     3,
     {2, 3, TK},
     "mask.npy [2,3,4] can be [B,Tq,Tk] or [H,Tq,Tk] with B 2, H 2, Tq 3, Tk 4: expected "
     "--mask-per batch or --mask-per head",
     "batch",
     "head"},
    {3,
     2,
     3,
     2,
     {3, TK},
     "mask.npy [3,4] can be [Tq,Tk] or [B,Tk] with B 3, H 2, Tq 3, Tk 4: expected --mask-per query "
     "or --mask-per batch",
     "query",
     "batch"},
};

START_TEST(a_shape_that_can_mean_two_things_is_refused_with_both) {
    double mask[MOST];
    write_input(OPEN[_i].b, OPEN[_i].h, OPEN[_i].tq, TK);
    for (int i = 0; i < MOST; i++) mask[i] = i % TK == 0 || i / TK > 0;
    write_array(MASK, OPEN[_i].ndim, OPEN[_i].dim, mask);
    assert_refused(2, OPEN[_i].message, INPUT "--allowed " MASK);
    assert_refused(2, OPEN[_i].message, INPUT "--hidden " MASK);
    char option[256];
    (void)snprintf(option, sizeof option, "--allowed " MASK " --mask-per %s", OPEN[_i].first);
    char *first = csv_of(option);
    (void)snprintf(option, sizeof option, "--allowed " MASK " --mask-per %s", OPEN[_i].second);
    char *second = csv_of(option);
    ck_assert(strcmp(first, second) != 0);
    free(first);
    free(second);
}
END_TEST

START_TEST(one_entry_or_one_head_leaves_nothing_open) {
    double mask[MOST];
    for (int i = 0; i < MOST; i++) mask[i] = i % TK == 0 || i / TK > 0;
    write_input(1, 1, 1, TK); /* B, H, B*H and Tq are all 1 */
    write_array(MASK, 3, (ptrdiff_t[]){1, 1, TK}, mask);
    free(csv_of("--allowed " MASK));
    write_array(MASK, 2, (ptrdiff_t[]){1, TK}, mask);
    free(csv_of("--allowed " MASK));
    write_input(1, 3, 3, TK); /* [B*H,..] is [H,..] */
    write_array(MASK, 3, (ptrdiff_t[]){3, 3, TK}, mask);
    free(csv_of("--allowed " MASK));
    write_input(3, 1, 2, TK); /* and [B,..] */
    write_array(MASK, 3, (ptrdiff_t[]){3, 2, TK}, mask);
    free(csv_of("--allowed " MASK));
}
END_TEST

#define EXPECTED "expected [Tk], [Tq,Tk], [B,Tk], [B,Tq,Tk], [H,Tq,Tk], [B*H,Tq,Tk], [B,H,Tq,Tk] "

START_TEST(another_shape_is_refused_with_those_that_there_are) {
    static const struct {
        int ndim;
        ptrdiff_t dim[4];
        const char *per, *message;
    } CASES[] = {
        {1, {TQ}, "", "mask.npy [5]: " EXPECTED},
        {2,
         {TK, TQ},
         "",
         "mask.npy [4,5]: " EXPECTED "(or 1 for B, H or Tq) with B 2, H 3, Tq 5, Tk 4"},
        {2, {TQ, 1}, "", EXPECTED},
        {3, {4, TQ, TK}, "", EXPECTED},
        {4, {H, B, TQ, TK}, "", EXPECTED},
        {3, {H, TQ, TK}, "--mask-per batch", "Tk 4 and --mask-per batch"},
        {3, {B, TQ, TK}, "--mask-per head", "Tk 4 and --mask-per head"},
        {2, {TQ, TK}, "--mask-per head", "Tk 4 and --mask-per head"},
    };
    static double ones[MOST];
    for (int i = 0; i < MOST; i++) ones[i] = 1;
    write_input(B, H, TQ, TK);
    for (int i = 0; i < LENGTH(CASES); i++) {
        write_array(MASK, CASES[i].ndim, CASES[i].dim, ones);
        assert_refused(1, CASES[i].message, INPUT "--allowed " MASK " %s", CASES[i].per);
    }
}
END_TEST

START_TEST(one_mask_file_at_a_time) {
    static const refusal CASES[] = {
        {"--allowed a --hidden b", "--allowed and --hidden: expected one of them"},
        {"--mask-additive a --allowed b", "--allowed and --mask-additive: expected one of them"},
        {"--hidden a --mask-additive b", "--hidden and --mask-additive: expected one of them"},
        {"--mask-per head", "--mask-per: expected with --allowed, --hidden or --mask-additive"},
        {"--allowed a --mask-per key", "--mask-per 'key': expected batch, head or query"},
    };
    write_input(1, 1, TQ, TK);
    assert_refusals(2, INPUT, CASES, LENGTH(CASES));
}
END_TEST

/* ---- Words ----------------------------------------------------------------------------------- */

START_TEST(every_shape_is_in_the_help_and_in_the_method) {
    static const char *const COMMANDS[] = {"inspect", "trace", "gradcheck"};
    char *method = read_whole("experiments/METHOD.md");
    for (int i = 0; mask_shape(i); i++) {
        char row[64];
        (void)snprintf(row, sizeof row, "\n| `%s` |", mask_shape(i));
        ck_assert_msg(strstr(method, row) != NULL, "METHOD lacks %s", mask_shape(i));
        for (int c = 0; c < LENGTH(COMMANDS); c++) {
            (void)snprintf(row, sizeof row, "\n  %s ", mask_shape(i));
            ck_assert(strstr(run_well("help %s", COMMANDS[c])->out, row) != NULL);
        }
    }
    free(method);
}
END_TEST

START_TEST(reports_name_the_meaning) {
    static double zeros[TQ];
    write_input(1, 1, TQ, TQ);
    write_array(MASK, 1, (ptrdiff_t[]){TQ}, zeros);
    assert_says(run_well(INPUT "--hidden " MASK " --output " SCRATCH "masked.csv")->out,
                "mask none and hidden, scale");
    assert_says(run_well("trace --q " SCRATCH "mq.npy --k " SCRATCH "mk.npy --v " SCRATCH
                         "mk.npy --mask-additive " MASK)
                    ->out,
                "mask none, additive mask, scale sqrt");
}
END_TEST

Suite *masks_suite(void) {
    const TTest *tests[] = {allowed_hidden_and_additive_masks_are_one_mask,
                            masks_are_of_booleans_integers_or_text,
                            a_mask_that_hides_all_is_one_of_another_meaning,
                            numbers_without_a_meaning_are_refused_with_their_place,
                            one_entry_or_one_head_leaves_nothing_open,
                            another_shape_is_refused_with_those_that_there_are,
                            one_mask_file_at_a_time,
                            every_shape_is_in_the_help_and_in_the_method,
                            reports_name_the_meaning};
    Suite *suite = suite_of("masks", tests, LENGTH(tests), 60);
    add_loop(suite, a_shape_stands_for_the_whole_mask, LENGTH(SHAPES), 60);
    add_loop(suite, a_shape_that_can_mean_two_things_is_refused_with_both, LENGTH(OPEN), 60);
    return suite;
}

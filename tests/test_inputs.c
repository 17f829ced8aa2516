/* test_inputs.c: Q, K, V as pandas and frameworks leave them, through the program: what numbers
 * rows and columns is no part of them, and bfloat16 is what --bf16 says.
 */
#include <stdlib.h>
#include <string.h>

#include "heads/numbering.h"
#include "suites.h"
#include "support.h"

enum { TEXT_BYTES = 1024 };

/* A CSV of numbers that differ, as pandas writes it: with its header, its index or without. */
static void write_frame(const char *name, int rows, int columns, bool header, bool index) {
    char text[TEXT_BYTES] = "", path[256];
    size_t used = 0;
    for (int i = header ? -1 : 0; i < rows; i++) {
        if (index) used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%d,", i);
        for (int j = 0; j < columns; j++)
            used += (size_t)(i < 0 ? snprintf(text + used, TEXT_BYTES - used, "%d,", j)
                                   : snprintf(text + used, TEXT_BYTES - used, "%d.5,", i * j + 1));
        text[used - 1] = '\n';
    }
    (void)snprintf(path, sizeof path, SCRATCH "frame_%s.csv", name);
    write_text(path, text);
}

#define FRAMES "--q " SCRATCH "frame_q.csv --k " SCRATCH "frame_k.csv "
#define INSPECT "inspect " FRAMES "--quiet --force --output " SCRATCH "framed.csv "
#define PANDAS "to_csv(..., index=False, header=False)"

/* Runs well, and says what on standard error; "" for nothing. */
static void assert_warned(const char *command, const char *warning) {
    const captured *c = run_program("", "%s", command);
    ck_assert_msg(c->code == 0, "%s", c->err);
    if (warning[0])
        assert_one_line(c->err, warning);
    else
        ck_assert_str_eq(c->err, "");
}

START_TEST(one_header_row_too_many_is_refused) {
    write_frame("q", 4, 3, true, false);
    write_frame("k", 4, 3, false, false);
    assert_refused(1, "frame_q.csv [5,3]: its first row is 0, 1, 2, ..., and ", INSPECT);
    assert_refused(1, "frame_k.csv has one row less; if pandas wrote it, expected " PANDAS,
                   INSPECT);
    write_frame("q", 4, 3, false, false);
    write_frame("k", 4, 3, true, false);
    assert_refused(1, "frame_k.csv [5,3]: its first row is 0, 1, 2, ..., and ", INSPECT);
    write_frame("k", 4, 3, false, false);
    write_frame("v", 4, 3, true, false);
    assert_refused(
        1, "the same number of keys (the first row of the larger counts 0, 1, ...: pandas? " PANDAS,
        INSPECT "--v " SCRATCH "frame_v.csv");
}
END_TEST

START_TEST(one_index_column_too_many_is_refused) {
    write_frame("q", 4, 3, false, true);
    write_frame("k", 4, 3, false, false);
    assert_refused(
        1,
        "the same d_k (last dimension) (the first column of the larger counts 0, 1, ...: "
        "pandas? " PANDAS,
        INSPECT);
    write_frame("q", 4, 3, false, false);
    write_frame("k", 4, 3, false, true);
    assert_refused(1, "the first column of the larger counts 0, 1, ...", INSPECT);
    write_frame("k", 4, 4, false, true); /* two too many are something else */
    assert_refused(1, "expected the same d_k (last dimension)", INSPECT);
    ck_assert(strstr(run_program("", INSPECT)->err, "pandas") == NULL);
}
END_TEST

START_TEST(a_header_above_an_index_is_refused) {
    write_frame("q", 4, 3, false, false);
    write_text(SCRATCH "frame_k.csv", ",0,1,2\n0,1.5,1.5,1.5\n");
    assert_refused(1, "found ''; expected a decimal number (a header of pandas? " PANDAS, INSPECT);
}
END_TEST

START_TEST(numbered_files_whose_shapes_agree_are_read_with_a_warning) {
    write_frame("q", 4, 3, true, false);
    write_frame("k", 6, 3, true, false);
    assert_warned(INSPECT,
                  "warning: 0, 1, 2, ... in " SCRATCH "frame_q.csv (first row), " SCRATCH
                  "frame_k.csv (first row): read as numbers; if pandas wrote them as names, "
                  "use " PANDAS);
    write_frame("q", 4, 2, false, true);
    write_frame("k", 4, 3, false, false);
    assert_warned(INSPECT, "0, 1, 2, ... in " SCRATCH "frame_q.csv (first column): read");
}
END_TEST

START_TEST(two_numbers_are_a_sign_only_where_queries_and_keys_have_them) {
    write_frame("q", 4, 2, true, false);
    write_frame("k", 4, 2, true, false);
    assert_warned(INSPECT, "frame_q.csv (first row), " SCRATCH "frame_k.csv (first row)");
    write_frame("q", 2, 3, false, true);
    write_frame("k", 2, 3, false, true);
    assert_warned(INSPECT, "frame_q.csv (first column), " SCRATCH "frame_k.csv (first column)");
    write_frame("k", 2, 4, false, false);
    assert_warned(INSPECT, "");
    write_text(SCRATCH "frame_q.csv", "1,0\n");
    write_text(SCRATCH "frame_k.csv", "0,1\n1,0\n"); /* unit vectors in another order */
    assert_warned(INSPECT, "");
    write_frame("q", 4, 3, false, false);
    write_frame("k", 4, 3, false, false);
    assert_warned(INSPECT, "");
}
END_TEST

START_TEST(only_a_csv_is_numbered) {
    const double numbers[] = {0, 1, 2, 1, 1, 1};
    write_array(SCRATCH "frame_q.csv", 2, (ptrdiff_t[]){2, 3}, numbers);
    write_array(SCRATCH "frame_k.csv", 2, (ptrdiff_t[]){1, 3}, numbers);
    assert_warned(INSPECT, "");
}
END_TEST

START_TEST(a_numbered_mask_or_gradient_is_named) {
    write_frame("q", 4, 3, false, false);
    write_frame("k", 4, 3, false, false);
    write_text(SCRATCH "frame_m.csv", "0,1,2,3\n1,1,1,1\n1,1,1,1\n1,1,1,1\n1,1,1,1\n");
    assert_refused(1, "Tk 4 (the first row of the larger counts 0, 1, ...: pandas? " PANDAS,
                   INSPECT "--allowed " SCRATCH "frame_m.csv");
    write_frame("d", 4, 3, false, true);
    assert_refused(1,
                   "as dQ is the gradient of it (the first column of the larger counts 0, 1, ...",
                   "gradcheck " FRAMES "--v " SCRATCH "frame_k.csv --do " SCRATCH
                   "frame_q.csv --dq " SCRATCH "frame_d.csv --output " SCRATCH "framed.csv");
}
END_TEST

/* ---- bfloat16 -------------------------------------------------------------------------------- */

/* The numbers, which bfloat16 must hold, [rows,columns] by their upper halves. */
static void write_bfloats(const char *path, const char *descr, int rows, int columns,
                          const float *numbers) {
    char header[128];
    FILE *to = fopen(path, "wb");
    ck_assert(to != NULL);
    const int size = snprintf(header, sizeof header,
                              "{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", descr,
                              rows, columns);
    (void)fprintf(to, "\x93NUMPY%c%c%c%c%s", 1, 0, size, 0, header);
    for (int i = 0; i < rows * columns; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        ck_assert((bits & 0xffff) == 0);
        (void)fputc((int)(bits >> 16 & 255), to);
        (void)fputc((int)(bits >> 24), to);
    }
    ck_assert(fclose(to) == 0);
}

static const float BFLOATS[] = {1.5F, -0.25F, 3, 0.0078125F, -2, 1};

#define BF_FILES "--q " SCRATCH "bf_q.npy --k " SCRATCH "bf_k.npy --v " SCRATCH "bf_k.npy "

static void write_bfloat_input(void) {
    write_bfloats(SCRATCH "bf_q.npy", "<V2", 3, 2, BFLOATS);
    write_bfloats(SCRATCH "bf_k.npy", "<u2", 3, 2, BFLOATS);
}

START_TEST(bfloat16_is_measured_as_the_same_numbers_in_float64) {
    double wide[6];
    write_bfloat_input();
    run_quietly("", "inspect --bf16 " BF_FILES, "bf");
    for (int i = 0; i < 6; i++) wide[i] = (double)BFLOATS[i];
    write_array(SCRATCH "bf_q.npy", 2, (ptrdiff_t[]){3, 2}, wide);
    write_array(SCRATCH "bf_k.npy", 2, (ptrdiff_t[]){3, 2}, wide);
    run_quietly("", "inspect " BF_FILES, "bf64");
    assert_same_file(SCRATCH "bf.csv", SCRATCH "bf64.csv");
}
END_TEST

START_TEST(every_command_takes_bfloat16_and_hints_at_it) {
    static const float WEIGHTS[] = {0.5F, 0.25F, 0.25F, 0.25F, 0.5F, 0.25F, 0.25F, 0.25F, 0.5F};
    write_bfloat_input();
    (void)run_well("trace --bf16 " BF_FILES);
    assert_refused(1, "bf_q.npy: dtype '<V2' (raw bytes); if it is bfloat16, say --bf16",
                   "trace " BF_FILES);
    assert_refused(1, "say --bf16", "inspect " BF_FILES);
    write_bfloats(SCRATCH "bf_w.npy", "<V2", 3, 3,
                  WEIGHTS); /* two numbers do not tell the format */
    assert_says(run_well("inspect --bf16 --force --weights " SCRATCH "bf_w.npy --output " SCRATCH
                         "bf.csv " BF_FILES)
                    ->out,
                "from its weights (bfloat16)");
    assert_refused(2, "expected with --q, --k and --v", "trace --bf16");
    assert_refused(2, "--bf16", "gradcheck --bf16");
}
END_TEST

/* One key: its weight is 1, so dV is dO. Two numbers that float16 holds as well say nothing of the
 * format: it is the files'. */
START_TEST(gradients_in_bfloat16_are_judged_as_such) {
    write_bfloats(SCRATCH "bf_q.npy", "<V2", 1, 2, BFLOATS);
    const captured *c = run_well("gradcheck --bf16 --force --q " SCRATCH "bf_q.npy --k " SCRATCH
                                 "bf_q.npy --v " SCRATCH "bf_q.npy --do " SCRATCH
                                 "bf_q.npy --dv " SCRATCH "bf_q.npy --output " SCRATCH "bf.csv");
    assert_says(c->out, "Judged as bfloat16, the files' type.");
}
END_TEST

START_TEST(a_bfloat16_mask_is_read_too) {
    static const float MASK[] = {0, 0, 0, 0, -65536, 0, 0, 0, 0};
    write_bfloat_input();
    write_bfloats(SCRATCH "bf_m.npy", "|V2", 3, 3, MASK);
    (void)run_well("trace --bf16 --mask-additive " SCRATCH "bf_m.npy " BF_FILES);
    assert_refused(1, "bf_m.npy: -65536 at [1,1]; expected 1 (may attend) or 0 (may not)",
                   "trace --bf16 --allowed " SCRATCH "bf_m.npy " BF_FILES);
}
END_TEST

Suite *inputs_suite(void) {
    const TTest *tests[] = {one_header_row_too_many_is_refused,
                            one_index_column_too_many_is_refused,
                            a_header_above_an_index_is_refused,
                            numbered_files_whose_shapes_agree_are_read_with_a_warning,
                            two_numbers_are_a_sign_only_where_queries_and_keys_have_them,
                            only_a_csv_is_numbered,
                            a_numbered_mask_or_gradient_is_named,
                            bfloat16_is_measured_as_the_same_numbers_in_float64,
                            every_command_takes_bfloat16_and_hints_at_it,
                            gradients_in_bfloat16_are_judged_as_such,
                            a_bfloat16_mask_is_read_too};
    return suite_of("inputs", tests, LENGTH(tests), 60);
}

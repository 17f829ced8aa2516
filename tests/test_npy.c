/* test_npy.c: tests of the .npy and CSV readers and of the .npy writer. Good files are NumPy's own
 * (scripts/golden/make_npy_fixtures.py); bad files are built here, so that a test shows what is
 * bad.
 */
#include "heads/array_csv.h"
#include "heads/array_file.h"
#include "heads/npy.h"

#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suites.h"
#include "support.h"

enum { EVERYTHING = ARRAY_ALLOW_INTEGERS | ARRAY_ALLOW_NONFINITE };

static char error[ARRAY_ERROR_SIZE];
static const char PATH[] = SCRATCH "written.npy";

/* A file under construction. */
typedef struct file {
    unsigned char *bytes;
    size_t length;
} file;

static void append(file *f, const void *bytes, size_t length) {
    f->bytes = realloc(f->bytes, f->length + length + 1);
    ck_assert_ptr_nonnull(f->bytes);
    if (length > 0) memcpy(f->bytes + f->length, bytes, length);
    f->length += length;
}

/* Magic, version 1.0 and the header as given, without padding: readers must not need it. */
static file npy(const char *header) {
    file f = {NULL, 0};
    unsigned char size[2] = {(unsigned char)(strlen(header) & 255),
                             (unsigned char)(strlen(header) >> 8)};
    append(&f, "\x93NUMPY\1", 8);
    append(&f, size, 2);
    append(&f, header, strlen(header));
    return f;
}

/* A C-order file of the dtype and shape, with data bytes that are all zero. */
static file zeros(const char *descr, const char *shape, size_t data_bytes) {
    char header[256];
    unsigned char none[256] = {0};
    snprintf(header, sizeof header, "{'descr': %s, 'fortran_order': False, 'shape': %s, }", descr,
             shape);
    file f = npy(header);
    append(&f, none, data_bytes);
    return f;
}

/* Parses a copy of exactly the file's size, for the sanitizers to guard its end, and frees both. */
static bool parse(file f, unsigned accept, array *out) {
    unsigned char *copy = malloc(f.length ? f.length : 1);
    ck_assert_ptr_nonnull(copy);
    if (f.length > 0) memcpy(copy, f.bytes, f.length);
    error[0] = '\0';
    bool read = array_file_parse(copy, f.length, accept, out, error, sizeof error);
    free(copy);
    free(f.bytes);
    return read;
}

static void expect_refusal(file f, unsigned accept, const char *message) {
    array a;
    ck_assert_msg(!parse(f, accept, &a), "read, instead of: %s", message);
    ck_assert_str_eq(error, message);
    ck_assert_ptr_null(a.data);
}

static void expect_values(file f, unsigned accept, ptrdiff_t rows, ptrdiff_t columns,
                          const double *values) {
    array a;
    ck_assert_msg(parse(f, accept, &a), "%s", error);
    ck_assert_int_eq(a.ndim, 2);
    ck_assert_int_eq(a.dim[0], rows);
    ck_assert_int_eq(a.dim[1], columns);
    for (ptrdiff_t i = 0; i < rows * columns; i++) ck_assert_double_eq(a.data[i], values[i]);
    array_free(&a);
}

static file csv(const char *text) {
    file f = {NULL, 0};
    append(&f, text, strlen(text));
    return f;
}

static array fixture(const char *name, unsigned accept) {
    array a;
    char where[256];
    snprintf(where, sizeof where, GOLDEN "npy/%s.npy", name);
    ck_assert_msg(array_file_read(where, accept, &a, error, sizeof error), "%s", error);
    return a;
}

/* Value i of every fixture, in C order, is (i - offset) / divisor. */
static void expect_ramp(const char *name, unsigned accept, int item_bytes, int ndim,
                        const ptrdiff_t *dim, double offset, double divisor) {
    array a = fixture(name, accept);
    ptrdiff_t count = 1;
    ck_assert_msg(a.ndim == ndim && a.item_bytes == item_bytes, "%s", name);
    for (int i = 0; i < ndim; i++) {
        ck_assert_msg(a.dim[i] == dim[i], "%s: dimension %d", name, i);
        count *= dim[i];
    }
    for (ptrdiff_t i = 0; i < count; i++)
        ck_assert_msg(a.data[i] == ((double)i - offset) / divisor, "%s: value %td", name, i);
    array_free(&a);
}

START_TEST(every_size_order_layout_and_rank_of_floats_is_read) {
    static const ptrdiff_t dim[3][4] = {{3, 4}, {2, 3, 4}, {2, 1, 3, 2}};
    for (int size = 2; size <= 8; size *= 2)
        for (int variant = 0; variant < 4; variant++)
            for (int ndim = 2; ndim <= 4; ndim++) {
                char name[32];
                snprintf(name, sizeof name, "f%d_%s_%s_%dd", size, variant & 1 ? "be" : "le",
                         variant & 2 ? "f" : "c", ndim);
                expect_ramp(name, ARRAY_FINITE_FLOATS, size, ndim, dim[ndim - 2], 7, 4);
            }
}
END_TEST

START_TEST(format_versions_2_and_3_are_read) {
    expect_ramp("version2", ARRAY_FINITE_FLOATS, 4, 2, (ptrdiff_t[]){3, 4}, 7, 4);
    expect_ramp("version3", ARRAY_FINITE_FLOATS, 4, 2, (ptrdiff_t[]){3, 4}, 7, 4);
}
END_TEST

START_TEST(halves_of_every_exponent_are_widened_as_numpy_widens_them) {
    array half = fixture("half", ARRAY_ALLOW_NONFINITE);
    array wide = fixture("half_as_f8", ARRAY_ALLOW_NONFINITE);
    size_t size = (size_t)(half.dim[0] * half.dim[1]) * sizeof(double);
    ck_assert_mem_eq(half.dim, wide.dim, sizeof half.dim);
    ck_assert_mem_eq(half.data, wide.data, size); /* bits: tells -0 from 0, and nan from nan */
    array_free(&half);
    array_free(&wide);
}
END_TEST

START_TEST(each_of_the_65536_halves_has_the_value_of_its_formula) {
    array a;
    static unsigned char stored[2 * 65536];
    file f = npy("{'descr':'<f2','fortran_order':False,'shape':(256,256)}");
    for (int bits = 0; bits < 65536; bits++) {
        stored[2 * bits] = (unsigned char)(bits & 255);
        stored[2 * bits + 1] = (unsigned char)(bits >> 8);
    }
    append(&f, stored, sizeof stored);
    ck_assert_msg(parse(f, ARRAY_ALLOW_NONFINITE, &a), "%s", error);
    for (int bits = 0; bits < 65536; bits++) {
        int exponent = bits >> 10 & 31, fraction = bits & 1023;
        double expected =
            ldexp(exponent ? 1024 + fraction : fraction, (exponent ? exponent : 1) - 25);
        if (exponent == 31) expected = fraction ? (double)NAN : (double)INFINITY;
        double found = bits >> 15 ? -a.data[bits] : a.data[bits];
        ck_assert_msg(found == expected || (isnan(found) && isnan(expected)), "half %04x", bits);
    }
    array_free(&a);
}
END_TEST

START_TEST(integers_of_every_size_are_read_as_masks) {
    const ptrdiff_t dim[] = {3, 4};
    for (int size = 1; size <= 8; size *= 2) {
        char name[32];
        snprintf(name, sizeof name, "mask_u%d", size);
        expect_ramp(name, ARRAY_ALLOW_INTEGERS, size, 2, dim, 0, 1);
        snprintf(name, sizeof name, "mask_i%d", size);
        expect_ramp(name, ARRAY_ALLOW_INTEGERS, size, 2, dim, 7, 1);
    }
    expect_ramp("mask_be_i4", ARRAY_ALLOW_INTEGERS, 4, 2, dim, 7, 1);
}
END_TEST

START_TEST(booleans_are_read_as_0_and_1) {
    array a = fixture("mask_b1", ARRAY_ALLOW_INTEGERS);
    for (int i = 0; i < 12; i++) ck_assert_double_eq(a.data[i], i % 3 == 0);
    array_free(&a);
}
END_TEST

START_TEST(key_lengths_may_have_one_dimension) {
    array a = fixture("lengths_i8", ARRAY_ALLOW_INTEGERS);
    ck_assert_int_eq(a.ndim, 1);
    ck_assert_int_eq(a.dim[0], 3);
    ck_assert(a.data[0] == 5 && a.data[1] == 3 && a.data[2] == 8);
    array_free(&a);
}
END_TEST

START_TEST(header_keys_spaces_quotes_and_commas_are_free_as_in_python) {
    static const char *const header[] = {
        "{\"shape\":(1,2),\"fortran_order\":False,\"descr\":\"<f4\"}",
        " { 'fortran_order' : True,\n 'shape' : ( 1 , 2 , ) , 'descr' : '<f4' , } \n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1L, 2L), }",
    };
    for (int i = 0; i < LENGTH(header); i++) {
        file f = npy(header[i]);
        append(&f, "\0\0\x80\x3f\0\0\0\xc0", 8);
        expect_values(f, ARRAY_FINITE_FLOATS, 1, 2, (double[]){1, -2});
    }
}
END_TEST

static const struct {
    const char *header;
    const char *message;
} bad_header[] = {
    {"", "bad .npy header at byte 10: expected '{'"},
    {"[1]", "bad .npy header at byte 10: expected '{'"},
    {"{,}", "bad .npy header at byte 11: expected a quoted key"},
    {"{'descr", "bad .npy header at byte 17: expected a quoted key"},
    {"{'d\\x65scr': '<f4'}", "bad .npy header at byte 13: expected a quoted key"},
    {"{'descr' '<f4'}", "bad .npy header at byte 19: expected ':' after a key"},
    {"{'descr': '<f4' 'shape': (1, 2)}", "bad .npy header at byte 26: expected ',' or '}'"},
    {"{'descr': '<f4', 'descr': '<f4'}",
     "bad .npy header at byte 34: a key is given twice; expected it once"},
    {"{'order': 'C'}", "bad .npy header at byte 18: unknown key; expected 'descr', "
                       "'fortran_order' and 'shape'"},
    {"{'descr': '<f4'}",
     "bad .npy header at byte 26: expected 'descr', 'fortran_order' and 'shape'"},
    {"{'descr': '<f4', 'fortran_order': False}",
     "bad .npy header at byte 50: expected 'descr', 'fortran_order' and 'shape'"},
    {"{'descr': 5}", "bad .npy header at byte 20: expected a quoted dtype as 'descr'"},
    {"{'fortran_order': 0}",
     "bad .npy header at byte 28: expected True or False as 'fortran_order'"},
    {"{'shape': [1, 2]}", "bad .npy header at byte 20: expected a tuple as 'shape'"},
    {"{'shape': (3)}", "bad .npy header at byte 23: expected a tuple as 'shape', not a number"},
    {"{'shape': (1 2)}", "bad .npy header at byte 23: expected ',' or ')' in 'shape'"},
    {"{'shape': (-1, 2)}",
     "bad .npy header at byte 21: expected a dimension from 0 to the largest size"},
    {"{'shape': (1, 99999999999999999999)}",
     "bad .npy header at byte 42: expected a dimension from 0 to the largest size"},
    {"{'shape': (1, 2), 'fortran_order': False, 'descr': '<f4'} x",
     "bad .npy header at byte 68: expected only padding after '}'"},
};

START_TEST(malformed_header_is_refused_where_it_goes_wrong) {
    expect_refusal(npy(bad_header[_i].header), ARRAY_FINITE_FLOATS, bad_header[_i].message);
}
END_TEST

static const struct {
    const char *descr;
    const char *found;
} bad_dtype[] = {
    {"<i4", "integer"},
    {"|b1", "boolean"},
    {"<c16", "complex"},
    {"<c8", "complex"},
    {"|O", "Python object"},
    {"<U5", "text"},
    {"|V4", "raw bytes"},
    {"<M8[ns]", "no number"},
    {"", "no number"},
    {"<f16", "float of another size or byte order"},
    {"|f8", "float of another size or byte order"},
    {"<f1", "float of another size or byte order"},
};

START_TEST(dtype_that_is_no_float_is_refused_by_name) {
    char quoted[16], message[128];
    snprintf(quoted, sizeof quoted, "'%s'", bad_dtype[_i].descr);
    snprintf(message, sizeof message, "dtype '%s' (%s); expected '<f2', '<f4', '<f8' or big-endian",
             bad_dtype[_i].descr, bad_dtype[_i].found);
    expect_refusal(zeros(quoted, "(1, 2)", 8), ARRAY_FINITE_FLOATS, message);
}
END_TEST

START_TEST(this_machines_byte_order_is_read) {
    array a;
    const double numbers[2] = {1.5, -2};
    file f = npy("{'descr': '=f8', 'fortran_order': False, 'shape': (1, 2)}");
    append(&f, numbers, sizeof numbers);
    ck_assert_msg(parse(f, ARRAY_FINITE_FLOATS, &a), "%s", error);
    ck_assert_mem_eq(a.data, numbers, sizeof numbers);
    array_free(&a);
}
END_TEST

/* 1.5, -0.25, the largest of bfloat16 and its smallest above 0. */
static file bfloats(const char *descr) {
    char header[128];
    (void)snprintf(header, sizeof header,
                   "{'descr': '%s', 'fortran_order': False, 'shape': (2, 2)}", descr);
    file f = npy(header);
    append(&f, descr[0] == '>' ? "\x3f\xc0\xbe\x80\x7f\x7f\0\1" : "\xc0\x3f\x80\xbe\x7f\x7f\1\0",
           8);
    return f;
}

START_TEST(bfloat16_is_read_where_it_is_said) {
    static const char *const DESCR[] = {"<V2", "|V2", "=V2", "<u2", ">u2"};
    const double values[] = {1.5, -0.25, 0x1.fep127, 0x1p-133};
    for (int i = 0; i < LENGTH(DESCR); i++) {
        array a;
        ck_assert_msg(parse(bfloats(DESCR[i]), ARRAY_BFLOAT16, &a), "%s: %s", DESCR[i], error);
        ck_assert(a.kind == ARRAY_BFLOATS && a.item_bytes == 2);
        for (int n = 0; n < 4; n++) ck_assert_double_eq(a.data[n], values[n]);
        array_free(&a);
    }
}
END_TEST

START_TEST(bfloat16_is_not_guessed) {
    expect_refusal(bfloats("<V2"), ARRAY_FINITE_FLOATS,
                   "dtype '<V2' (raw bytes); if it is bfloat16, say --bf16");
    expect_refusal(bfloats("|V2"), EVERYTHING,
                   "dtype '|V2' (raw bytes); if it is bfloat16, say --bf16");
    expect_refusal(bfloats("<u2"), ARRAY_FINITE_FLOATS,
                   "dtype '<u2' (integer); if it is bfloat16, say --bf16");
    array a; /* integers are what they are where integers are accepted */
    ck_assert(parse(bfloats("<u2"), EVERYTHING | ARRAY_BFLOAT16, &a));
    ck_assert(a.kind == ARRAY_INTEGERS && a.data[0] == 0x3fc0);
    array_free(&a);
}
END_TEST

START_TEST(bfloat16_that_is_not_finite_is_refused) {
    file f = npy("{'descr': '<V2', 'fortran_order': False, 'shape': (1, 2)}");
    append(&f, "\0\0\x80\xff", 4);
    expect_refusal(f, ARRAY_BFLOAT16, "-inf at [0,1]; attention needs finite numbers");
}
END_TEST

START_TEST(structured_dtype_is_refused) {
    expect_refusal(zeros("[('a', '<f4')]", "(1, 2)", 8), EVERYTHING,
                   "bad .npy header at byte 21: structured dtype; expected plain floats");
}
END_TEST

START_TEST(complex_is_refused_as_a_mask_too) {
    expect_refusal(
        zeros("'<c8'", "(1, 2)", 16), EVERYTHING,
        "dtype '<c8' (complex); expected '<f2', '<f4', '<f8' or big-endian, boolean or integer");
}
END_TEST

static const struct {
    const char *shape;
    size_t data_bytes;
    const char *message;
} bad_shape[] = {
    {"()", 4, "0 dimensions; expected 2 to 4: [T,d], [H,T,d] or [B,H,T,d]"},
    {"(2,)", 8, "1 dimensions; expected 2 to 4: [T,d], [H,T,d] or [B,H,T,d]"},
    {"(1, 1, 1, 1, 2)", 8, "5 dimensions; expected 2 to 4: [T,d], [H,T,d] or [B,H,T,d]"},
    {"(0, 2)", 0, "shape (0, 2) is empty; expected dimensions of at least 1"},
    {"(2, 0)", 0, "shape (2, 0) is empty; expected dimensions of at least 1"},
    {"(4294967296, 4294967296)", 8,
     "shape (4294967296, 4294967296) overflows; expected what fits in a file of 95 bytes"},
    {"(1000000, 1000000)", 8,
     "truncated: shape (1000000, 1000000) of '<f4' needs 4000000000081 bytes, the file has 89"},
    {"(1, 2)", 7, "truncated: shape (1, 2) of '<f4' needs 77 bytes, the file has 76"},
    {"(1, 2)", 9, "bytes after the array: shape (1, 2) of '<f4' needs 77 bytes, the file has 78"},
};

START_TEST(shape_that_the_file_cannot_hold_is_refused) {
    expect_refusal(zeros("'<f4'", bad_shape[_i].shape, bad_shape[_i].data_bytes),
                   ARRAY_FINITE_FLOATS, bad_shape[_i].message);
}
END_TEST

START_TEST(every_proper_prefix_of_a_good_file_is_refused) {
    file whole = zeros("'<f8'", "(2, 2)", 32);
    for (size_t length = 0; length < whole.length; length++) {
        array a;
        file prefix = {NULL, 0};
        append(&prefix, whole.bytes, length);
        ck_assert(!parse(prefix, EVERYTHING, &a));
        ck_assert_msg(length == 0 || strstr(error, "truncated"), "%zu bytes: %s", length, error);
    }
    free(whole.bytes);
}
END_TEST

START_TEST(unknown_format_version_is_refused) {
    file f = zeros("'<f4'", "(1, 2)", 8);
    f.bytes[6] = 4;
    expect_refusal(f, EVERYTHING, ".npy format version 4.0; expected 1.0, 2.0 or 3.0");
    f = zeros("'<f4'", "(1, 2)", 8);
    f.bytes[7] = 1;
    expect_refusal(f, EVERYTHING, ".npy format version 1.1; expected 1.0, 2.0 or 3.0");
}
END_TEST

START_TEST(header_longer_than_the_file_is_refused) {
    file f = csv("\x93NUMPY\2");
    append(&f, "\0\xff\xff\xff\xff{}", 7);
    expect_refusal(f, EVERYTHING, "truncated: the header needs 4294967307 bytes, the file has 14");
}
END_TEST

START_TEST(wrong_magic_is_refused) {
    file f = zeros("'<f4'", "(1, 2)", 8);
    f.bytes[3] = 'N';
    expect_refusal(f, EVERYTHING, "does not start with the bytes \\x93NUMPY; expected a .npy file");
}
END_TEST

START_TEST(binary_that_is_no_npy_is_refused) {
    file f = {NULL, 0};
    append(&f,
           "\x7f"
           "ELF\2\1",
           7);
    expect_refusal(
        f, EVERYTHING,
        "neither .npy (no \\x93NUMPY at its start) nor CSV (byte 4 is no text); expected "
        "one of them");
}
END_TEST

/* First bytes of files that their makers wrote; 512 for a block of the user's before HDF5. */
#define ZIP(name_size) "PK\3\4\0\0\10\10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" name_size "\0\0\0"
#define BYTES(text) text, sizeof text - 1
static const struct {
    const char *bytes;
    size_t size, at;
    const char *message;
} other[] = {
    {BYTES("PK\3\4"), 0, "a zip archive; expected one array from numpy.save"},
    {BYTES("PK\5\6\0\0"), 0, "a zip archive; expected"},
    {BYTES(ZIP("\13") "content.xml"), 0, "a zip archive; expected"},
    {BYTES(ZIP("\13") "content.np"), 0, "a zip archive; expected"},
    {BYTES(ZIP("\5") "q.npy"), 0, "a .npz archive of numpy.savez; to save as .npy: import"},
    {BYTES(ZIP("\14") "new/data.pkl"), 0, "a file of torch.save; to save as .npy: import"},
    {BYTES("\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\2"), 0,
     "a file of torch.save as before PyTorch 1.6; to save as .npy: import"},
    {BYTES("\x80\2}q"), 0, "a Python pickle; to save as .npy: import"},
    {BYTES("\x80\4\x95\xa0"), 0, "a Python pickle; to save as .npy: import"},
    {BYTES("\x80\5\x95\xa0"), 0, "a Python pickle; to save as .npy: import"},
    {BYTES("cnumpy.core.multiarray\n"), 0, "a Python pickle; to save as .npy: import"},
    {BYTES("\x40\0\0\0\0\0\0\0{\"q\":"), 0, "a safetensors file; to save as .npy: import"},
    {BYTES("\x40\0\0\0\0\0\0\0{\0"), 0, "neither .npy"},
    {BYTES("GGUF\3\0\0\0"), 0, "a GGUF file; to save as .npy: import"},
    {BYTES("\x89HDF\r\n\x1a\n"), 0, "an HDF5 file; to save as .npy: import"},
    {BYTES("\x89HDF\r\n\x1a\n"), 512, "an HDF5 file; to save as .npy: import"},
    {BYTES("MATLAB 5.0 MAT-file, Platform: GLNXA64"), 0,
     "a MATLAB file (.mat, version 5); to save as .npy: import"},
    {BYTES("MATLAB 7.3 MAT-file, Platform: GLNXA64"), 0,
     "a MATLAB file (.mat, version 7.3); to save as .npy: import"},
};

START_TEST(a_file_of_another_format_is_named_with_what_saves_npy) {
    array a;
    char zeros[512] = "";
    file f = {NULL, 0};
    append(&f, zeros, other[_i].at);
    append(&f, other[_i].bytes, other[_i].size);
    ck_assert(!parse(f, EVERYTHING, &a));
    ck_assert_msg(strncmp(error, other[_i].message, strlen(other[_i].message)) == 0, "%s", error);
    ck_assert(strlen(error) < ARRAY_ERROR_SIZE / 2); /* leaves room for the name */
}
END_TEST

START_TEST(text_that_begins_like_a_format_is_text) {
    static const char *const TEXTS[] = {"GGU,1\n", "PK,1\n", "MATLAB,5\n"};
    for (int i = 0; i < LENGTH(TEXTS); i++) {
        array a;
        ck_assert(!parse(csv(TEXTS[i]), EVERYTHING, &a));
        ck_assert_msg(strstr(error, "row 1 (line 1), column 1: found '") != NULL, "%s", error);
    }
}
END_TEST

START_TEST(empty_file_is_refused) {
    expect_refusal(csv(""), EVERYTHING, "empty; expected a .npy or CSV file");
}
END_TEST

/* Shape (2, 3, 2) in Fortran order, where stored item 7 is [1,0,1]. */
static file fortran_with(const unsigned char item[8]) {
    file f = npy("{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3, 2)}");
    unsigned char data[96] = {0};
    memcpy(data + 56, item, 8);
    append(&f, data, sizeof data);
    return f;
}

START_TEST(nan_is_refused_at_its_position_in_the_array) {
    expect_refusal(fortran_with((unsigned char[]){0x7f, 0xf8, 0, 0, 0, 0, 0, 0}),
                   ARRAY_FINITE_FLOATS, "nan at [1,0,1]; attention needs finite numbers");
}
END_TEST

START_TEST(infinity_is_refused_with_its_sign) {
    expect_refusal(fortran_with((unsigned char[]){0xff, 0xf0, 0, 0, 0, 0, 0, 0}),
                   ARRAY_FINITE_FLOATS, "-inf at [1,0,1]; attention needs finite numbers");
}
END_TEST

START_TEST(infinity_passes_when_allowed) {
    array a;
    file f = fortran_with((unsigned char[]){0xff, 0xf0, 0, 0, 0, 0, 0, 0});
    ck_assert_msg(parse(f, ARRAY_ALLOW_NONFINITE, &a), "%s", error);
    ck_assert(isinf(a.data[7]) && a.data[7] < 0);
    array_free(&a);
}
END_TEST

START_TEST(integer_that_a_double_rounds_is_refused) {
    file f = npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}");
    append(&f, "\xff\xff\xff\xff\xff\xff\x1f\0", 8); /* 2^53 - 1 */
    append(&f, "\0\0\0\0\0\0\0\x80", 8);
    expect_refusal(f, ARRAY_ALLOW_INTEGERS,
                   "-9223372036854775808 at [1]; expected integers below 2^53");
    f = npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}");
    append(&f, "\0\0\0\0\0\0\x20\0", 8); /* 2^53, which 2^53 + 1 is rounded to */
    expect_refusal(f, ARRAY_ALLOW_INTEGERS,
                   "9007199254740992 at [0]; expected integers below 2^53");
}
END_TEST

START_TEST(csv_is_read_as_one_matrix) {
    expect_values(csv("1,2.5,-3e-2\n+4,.5,6.\n"), ARRAY_FINITE_FLOATS, 2, 3,
                  (double[]){1, 2.5, -0.03, 4, 0.5, 6});
}
END_TEST

START_TEST(csv_comments_crlf_spaces_and_blank_end_are_skipped) {
    expect_values(csv("\xef\xbb\xbf# q; of head 0\r\n 1,\t2 \r\n  # more\r\n3,4\r\n\r\n \n"),
                  ARRAY_FINITE_FLOATS, 2, 2, (double[]){1, 2, 3, 4});
}
END_TEST

START_TEST(csv_needs_no_newline_at_its_end) {
    expect_values(csv("1\n2"), ARRAY_FINITE_FLOATS, 2, 1, (double[]){1, 2});
}
END_TEST

START_TEST(csv_nonfinite_words_pass_when_allowed) {
    expect_values(csv("-inf,Infinity\n"), ARRAY_ALLOW_NONFINITE, 1, 2,
                  (double[]){-(double)INFINITY, (double)INFINITY});
}
END_TEST

static const struct {
    const char *text;
    const char *message;
} bad_csv[] = {
    {"# nothing\n\n", "no rows; expected numbers"},
    {"1,2\n3,4,5\n", "row 2 (line 2) has 3 columns, row 1 has 2; expected rows of one length (a "
                     "decimal comma adds a column)"},
    {"#\n1,2\n3\n", "row 2 (line 3) has 1 columns, row 1 has 2; expected rows of one length (a "
                    "decimal comma adds a column)"},
    {"1,2\n\n3,4\n", "line 2 is blank; expected rows without a gap"},
    {"1,2\n3,four\n", "row 2 (line 2), column 2: found 'four'; expected a decimal number"},
    {"a\tb\n", "row 1 (line 1), column 1: found 'a?b'; expected ',' between numbers and '.' for "
               "decimals"},
    {"1,2,\n", "row 1 (line 1), column 3: found ''; expected a decimal number"},
    {"1;2\n", "row 1 (line 1): ';' between numbers; expected ',' between numbers and '.' for "
              "decimals"},
    {"1,5;2,5\n", "row 1 (line 1): ';' between numbers and decimal commas; expected ',' between "
                  "numbers and '.' for decimals"},
    {"1,5 2,5\n", "row 1 (line 1), column 2: found '5 2'; expected ',' between numbers and '.' for "
                  "decimals"},
    {"\"1,5\",\"2,5\"\n", "row 1 (line 1), column 1: found '\"1'; expected ',' between numbers and "
                          "'.' for decimals"},
    {"1,nan\n", "row 1 (line 1), column 2: found 'nan'; attention needs finite numbers"},
    {"1,-INF\n", "row 1 (line 1), column 2: found '-INF'; attention needs finite numbers"},
    {"0x10\n", "row 1 (line 1), column 1: found '0x10'; expected a decimal number"},
    {"1e\n", "row 1 (line 1), column 1: found '1e'; expected a decimal number"},
    {"1e999\n", "row 1 (line 1), column 1: found '1e999'; expected a number within the range of a "
                "double"},
    {"12345678901234567890123456789012345678x\n",
     "row 1 (line 1), column 1: found '1234567890123456789012345678...' (39 characters); "
     "expected a decimal number"},
};

START_TEST(bad_csv_is_refused_with_its_place) {
    expect_refusal(csv(bad_csv[_i].text), ARRAY_FINITE_FLOATS, bad_csv[_i].message);
}
END_TEST

START_TEST(csv_hex_and_overflow_are_refused_even_where_inf_passes) {
    expect_refusal(csv("0x10\n"), ARRAY_ALLOW_NONFINITE,
                   "row 1 (line 1), column 1: found '0x10'; expected a decimal number");
    expect_refusal(csv("-1e999\n"), ARRAY_ALLOW_NONFINITE,
                   "row 1 (line 1), column 1: found '-1e999'; expected a number within the range "
                   "of a double");
}
END_TEST

static file long_number(const char *start, int digits, char digit, const char *end) {
    char text[2100];
    const int used = snprintf(text, sizeof text, "%s", start);
    memset(text + used, digit, (size_t)digits);
    (void)snprintf(text + used + digits, sizeof text - (size_t)(used + digits), "%s", end);
    return csv(text);
}

/* 2^53 + 1 lies halfway between two doubles: the even one is nearest, unless a digit follows. */
START_TEST(csv_numbers_of_a_thousand_digits_are_read_exactly) {
    expect_values(long_number("9007199254740993.", 1000, '0', "\n"), ARRAY_FINITE_FLOATS, 1, 1,
                  (double[]){9007199254740992});
    expect_values(long_number("9007199254740993.", 1000, '0', "1\n"), ARRAY_FINITE_FLOATS, 1, 1,
                  (double[]){9007199254740994});
    expect_values(long_number("-0.", 1074, '0', "\n"), ARRAY_FINITE_FLOATS, 1, 1, (double[]){-0.0});
}
END_TEST

START_TEST(csv_numbers_that_are_too_long_are_refused_with_their_length) {
    expect_refusal(long_number("", 600, '1', "\n"), ARRAY_FINITE_FLOATS,
                   "row 1 (line 1), column 1: found '1111111111111111111111111111...' (600 "
                   "characters); expected a number within the range of a double");
    expect_refusal(long_number("-0.", 1075, '1', ",2\n"), ARRAY_FINITE_FLOATS,
                   "row 1 (line 1), column 1: found '-0.1111111111111111111111111...' (1078 "
                   "characters); expected a number of at most 1077 characters");
}
END_TEST

START_TEST(half_a_digit_of_a_long_number_is_below_its_rounding) {
    array a;
    ck_assert(parse(long_number("1.", 500, '1', "e0,2\n"), ARRAY_FINITE_FLOATS, &a));
    ck_assert_int_eq(a.digits, 501);
    ck_assert(array_half_digit(&a, 1.25) < 1e-300);
    array_free(&a);
}
END_TEST

START_TEST(csv_header_of_pandas_is_named) {
    static const char MESSAGE[] =
        "row 1 (line 1), column 1: found '%s'; expected a decimal number (a header of pandas? "
        "to_csv(..., index=False, header=False))";
    char message[256];
    (void)snprintf(message, sizeof message, MESSAGE, "");
    expect_refusal(csv(",0,1,2\n0,0.5,0.5,0.5\n"), ARRAY_FINITE_FLOATS, message);
    (void)snprintf(message, sizeof message, MESSAGE, "i");
    expect_refusal(csv("i,0,1\r\n0,0.5,0.5\r\n"), ARRAY_FINITE_FLOATS, message);
    expect_refusal(csv(",0,2\n0,0.5,0.5\n"), ARRAY_FINITE_FLOATS,
                   "row 1 (line 1), column 1: found ''; expected a decimal number");
    expect_refusal(csv("x\n"), ARRAY_FINITE_FLOATS,
                   "row 1 (line 1), column 1: found 'x'; expected a decimal number");
}
END_TEST

START_TEST(how_csv_numbers_are_written_is_known_where_all_are_alike) {
    static const struct {
        const char *text;
        int digits, decimals;
    } CASES[] = {{"1.25,-0.50\n", 3, 2}, {"0.1250,2.3456\n", 5, 4}, {"7,10\n", 2, 0},
                 {"1.5,2.25\n", 3, -1},  {"2.25,1.5\n", 3, -1},     {"1.5e3,2.5\n", 2, -1}};
    for (int i = 0; i < LENGTH(CASES); i++) {
        array a;
        ck_assert(parse(csv(CASES[i].text), ARRAY_FINITE_FLOATS, &a));
        ck_assert_int_eq(a.digits, CASES[i].digits);
        ck_assert_int_eq(a.decimals, CASES[i].decimals);
        array_free(&a);
    }
}
END_TEST

START_TEST(a_byte_0_ends_no_number) {
    static const unsigned char TEXT[] = "1\0,2\n";
    array a;
    ck_assert(!array_csv_parse(TEXT, 5, ARRAY_FINITE_FLOATS, &a, error, sizeof error));
    ck_assert_str_eq(error, "row 1 (line 1), column 1: found '1?'; expected a decimal number");
}
END_TEST

/* A file that starts with the bytes and then has a hole up to the size; false where there is no
 * room for such a file. */
static bool write_sparse(const void *bytes, size_t length, off_t size) {
    FILE *to = fopen(PATH, "wb");
    ck_assert_ptr_nonnull(to);
    ck_assert_uint_eq(fwrite(bytes, 1, length, to), length);
    ck_assert(fclose(to) == 0);
    return truncate(PATH, size) == 0;
}

enum { TERA_SHIFT = 42 }; /* 4 TiB, more than any machine of today has */

static void expect_refusal_of_path(const char *message) {
    array a;
    ck_assert(!array_file_read(PATH, ARRAY_FINITE_FLOATS, &a, error, sizeof error));
    ck_assert_msg(strncmp(error, PATH, strlen(PATH)) == 0, "%s", error);
    ck_assert_msg(strstr(error, message) != NULL, "%s", error);
    (void)unlink(PATH);
}

START_TEST(a_huge_file_is_judged_by_its_start) {
    const off_t size = (off_t)1 << TERA_SHIFT;
    if (sizeof(off_t) < 8 || sizeof(size_t) < 8) return;
    if (write_sparse("", 0, size))
        expect_refusal_of_path("neither .npy (no \\x93NUMPY at its start) nor CSV (byte 0 is no");
    if (write_sparse("GGUF", 4, size)) expect_refusal_of_path("a GGUF file; to save as .npy");
    file f = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1)}");
    if (write_sparse(f.bytes, f.length, size))
        expect_refusal_of_path("truncated: shape (1099511627776, 1) of '<f4' needs 4398046511183 "
                               "bytes, the file has 4398046511104");
    if (write_sparse(f.bytes, f.length, size + 79))
        expect_refusal_of_path("needs 1.23e+04 GiB of memory, the file and its numbers as float64; "
                               "available now are ");
    free(f.bytes);
    if (write_sparse("\x93NUMPY\2\0\0\0\1\0{", 13, size))
        expect_refusal_of_path("a header of 65548 bytes; expected one within the first 65536");
}
END_TEST

START_TEST(a_huge_csv_is_judged_by_its_start) {
    enum { ROWS = 20000 };
    const off_t size = (off_t)1 << TERA_SHIFT;
    char *text = malloc(ROWS * 4 + 1);
    ck_assert_ptr_nonnull(text);
    for (int i = 0; i < ROWS; i++) memcpy(text + 4 * (ptrdiff_t)i, "1,2\n", 5);
    if (sizeof(off_t) >= 8 && sizeof(size_t) >= 8) {
        if (write_sparse(text, 4 * ROWS, size))
            expect_refusal_of_path("GiB of memory, the file and its numbers as float64; available");
        memcpy(text + 4000, "1;2", 3);
        if (write_sparse(text, 4 * ROWS, size))
            expect_refusal_of_path("row 1001 (line 1001): ';' between numbers");
    }
    free(text);
}
END_TEST

START_TEST(a_csv_longer_than_its_start_is_read_whole) {
    enum { ROWS = 40000 };
    array a;
    FILE *to = fopen(PATH, "w");
    ck_assert_ptr_nonnull(to);
    for (int i = 0; i < ROWS; i++) (void)fprintf(to, "%d,-%d\n", i, i);
    ck_assert(fclose(to) == 0);
    ck_assert_msg(array_file_read(PATH, ARRAY_FINITE_FLOATS, &a, error, sizeof error), "%s", error);
    ck_assert(a.dim[0] == ROWS && a.dim[1] == 2 && a.data[2 * (ptrdiff_t)ROWS - 1] == 1 - ROWS);
    array_free(&a);
}
END_TEST

START_TEST(directory_is_refused_with_its_name) {
    array a;
    ck_assert(!array_file_read("/", EVERYTHING, &a, error, sizeof error));
    ck_assert_str_eq(error, "/: a directory; expected a .npy or CSV file");
}
END_TEST

START_TEST(device_is_refused) {
    array a;
    ck_assert(!array_file_read("/dev/null", EVERYTHING, &a, error, sizeof error));
    ck_assert_str_eq(error, "/dev/null: not a regular file; expected a .npy or CSV file");
}
END_TEST

START_TEST(missing_file_is_refused_with_its_name) {
    array a;
    ck_assert(!array_file_read("/no/such.npy", EVERYTHING, &a, error, sizeof error));
    ck_assert_str_eq(error, "/no/such.npy: No such file or directory");
}
END_TEST

START_TEST(written_file_has_the_bytes_of_the_format) {
    static const unsigned char data[16] = {0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0};
    static const char text[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }";
    unsigned char expected[144], found[200];
    memset(expected, ' ', sizeof expected);
    memcpy(expected, "\x93NUMPY\1\0\x76\0", 10);
    memcpy(expected + 10, text, sizeof text - 1);
    expected[127] = '\n';
    memcpy(expected + 128, data, 16);
    write_array(PATH, 2, (ptrdiff_t[]){1, 2}, (double[]){1.5, -2});
    FILE *from = fopen(PATH, "rb");
    ck_assert_ptr_nonnull(from);
    ck_assert_uint_eq(fread(found, 1, sizeof found, from), sizeof expected);
    fclose(from);
    ck_assert_mem_eq(found, expected, sizeof expected);
}
END_TEST

START_TEST(written_array_is_read_back_bit_by_bit) {
    array a;
    const double data[] = {0.1, -0.0, 5e-324, 1.7976931348623157e308, (double)INFINITY, -3};
    write_array(PATH, 3, (ptrdiff_t[]){1, 3, 2}, data);
    ck_assert(array_file_read(PATH, ARRAY_ALLOW_NONFINITE, &a, error, sizeof error));
    ck_assert_mem_eq(a.data, data, sizeof data);
    array_free(&a);
}
END_TEST

START_TEST(an_empty_or_overflowing_shape_is_not_written) {
    const ptrdiff_t empty[] = {2, 0}, huge[] = {PTRDIFF_MAX, PTRDIFF_MAX};
    FILE *to = fopen(PATH, "wb");
    ck_assert_ptr_nonnull(to);
    ck_assert(!npy_write(to, 2, empty, NULL));
    ck_assert(!npy_write(to, 2, huge, NULL));
    ck_assert(!npy_write(to, 0, empty, NULL));
    ck_assert(!npy_write(to, 5, empty, NULL));
    ck_assert_int_eq(ftell(to), 0);
    fclose(to);
}
END_TEST

START_TEST(numpy_reads_what_is_written_and_would_write_the_same_bytes) {
    static const ptrdiff_t shape[4][4] = {{24}, {24, 1}, {1, 4, 6}, {2, 3, 1, 4}};
    static const char program[] = "import io, sys, numpy as np\n"
                                  "raw = open(sys.argv[1], 'rb').read()\n"
                                  "array = np.load(io.BytesIO(raw))\n"
                                  "again = io.BytesIO()\n"
                                  "np.save(again, array)\n"
                                  "assert again.getvalue() == raw\n"
                                  "assert array.shape == tuple(int(n) for n in sys.argv[2:])\n"
                                  "assert (array.ravel() == np.arange(24) / 3).all()\n";
    double data[24];
    for (int i = 0; i < 24; i++) data[i] = i / 3.0;
    if (!have_numpy()) return;
    for (int ndim = 1; ndim <= 4; ndim++) {
        char command[1024];
        int used =
            snprintf(command, sizeof command, "${PYTHON:-python3} -c \"%s\" %s", program, PATH);
        for (int i = 0; i < ndim; i++)
            used +=
                snprintf(command + used, sizeof command - (size_t)used, " %td", shape[ndim - 1][i]);
        write_array(PATH, ndim, shape[ndim - 1], data);
        ck_assert_int_eq(shell(command), 0);
    }
}
END_TEST

static TCase *reader_case(void) {
    TCase *tests = tcase_create("npy reader");
    tcase_add_test(tests, every_size_order_layout_and_rank_of_floats_is_read);
    tcase_add_test(tests, format_versions_2_and_3_are_read);
    tcase_add_test(tests, halves_of_every_exponent_are_widened_as_numpy_widens_them);
    tcase_add_test(tests, each_of_the_65536_halves_has_the_value_of_its_formula);
    tcase_add_test(tests, this_machines_byte_order_is_read);
    tcase_add_test(tests, bfloat16_is_read_where_it_is_said);
    tcase_add_test(tests, integers_of_every_size_are_read_as_masks);
    tcase_add_test(tests, booleans_are_read_as_0_and_1);
    tcase_add_test(tests, key_lengths_may_have_one_dimension);
    tcase_add_test(tests, header_keys_spaces_quotes_and_commas_are_free_as_in_python);
    return tests;
}

static TCase *bad_file_case(void) {
    TCase *tests = tcase_create("bad npy");
    tcase_add_loop_test(tests, malformed_header_is_refused_where_it_goes_wrong, 0,
                        LENGTH(bad_header));
    tcase_add_loop_test(tests, dtype_that_is_no_float_is_refused_by_name, 0, LENGTH(bad_dtype));
    tcase_add_test(tests, structured_dtype_is_refused);
    tcase_add_test(tests, complex_is_refused_as_a_mask_too);
    tcase_add_loop_test(tests, shape_that_the_file_cannot_hold_is_refused, 0, LENGTH(bad_shape));
    tcase_add_test(tests, every_proper_prefix_of_a_good_file_is_refused);
    tcase_add_test(tests, unknown_format_version_is_refused);
    tcase_add_test(tests, header_longer_than_the_file_is_refused);
    tcase_add_test(tests, wrong_magic_is_refused);
    tcase_add_test(tests, binary_that_is_no_npy_is_refused);
    tcase_add_loop_test(tests, a_file_of_another_format_is_named_with_what_saves_npy, 0,
                        LENGTH(other));
    tcase_add_test(tests, text_that_begins_like_a_format_is_text);
    tcase_add_test(tests, bfloat16_is_not_guessed);
    tcase_add_test(tests, bfloat16_that_is_not_finite_is_refused);
    tcase_add_test(tests, empty_file_is_refused);
    tcase_add_test(tests, nan_is_refused_at_its_position_in_the_array);
    tcase_add_test(tests, infinity_is_refused_with_its_sign);
    tcase_add_test(tests, infinity_passes_when_allowed);
    tcase_add_test(tests, integer_that_a_double_rounds_is_refused);
    tcase_add_test(tests, directory_is_refused_with_its_name);
    tcase_add_test(tests, device_is_refused);
    tcase_add_test(tests, missing_file_is_refused_with_its_name);
    tcase_add_test(tests, a_huge_file_is_judged_by_its_start);
    tcase_add_test(tests, a_huge_csv_is_judged_by_its_start);
    tcase_add_test(tests, a_csv_longer_than_its_start_is_read_whole);
    return tests;
}

static TCase *csv_case(void) {
    TCase *tests = tcase_create("csv");
    tcase_add_test(tests, csv_is_read_as_one_matrix);
    tcase_add_test(tests, csv_comments_crlf_spaces_and_blank_end_are_skipped);
    tcase_add_test(tests, csv_needs_no_newline_at_its_end);
    tcase_add_test(tests, csv_nonfinite_words_pass_when_allowed);
    tcase_add_loop_test(tests, bad_csv_is_refused_with_its_place, 0, LENGTH(bad_csv));
    tcase_add_test(tests, csv_hex_and_overflow_are_refused_even_where_inf_passes);
    tcase_add_test(tests, csv_numbers_of_a_thousand_digits_are_read_exactly);
    tcase_add_test(tests, how_csv_numbers_are_written_is_known_where_all_are_alike);
    tcase_add_test(tests, a_byte_0_ends_no_number);
    tcase_add_test(tests, csv_numbers_that_are_too_long_are_refused_with_their_length);
    tcase_add_test(tests, half_a_digit_of_a_long_number_is_below_its_rounding);
    tcase_add_test(tests, csv_header_of_pandas_is_named);
    return tests;
}

static TCase *writer_case(void) {
    TCase *tests = tcase_create("npy writer");
    tcase_set_timeout(tests, 60); /* starting NumPy is slow on a busy machine */
    tcase_add_test(tests, written_file_has_the_bytes_of_the_format);
    tcase_add_test(tests, written_array_is_read_back_bit_by_bit);
    tcase_add_test(tests, an_empty_or_overflowing_shape_is_not_written);
    tcase_add_test(tests, numpy_reads_what_is_written_and_would_write_the_same_bytes);
    return tests;
}

Suite *npy_suite(void) {
    Suite *suite = suite_create("npy");
    suite_add_tcase(suite, reader_case());
    suite_add_tcase(suite, bad_file_case());
    suite_add_tcase(suite, csv_case());
    suite_add_tcase(suite, writer_case());
    return suite;
}

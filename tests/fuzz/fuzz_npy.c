/*
 * fuzz_npy.c: libFuzzer harness for the .npy and CSV readers. Beyond "no crash" it demands what the
 * callers rely on: an array that is whole and finite, or a one-line message and nothing to free.
 *
 * Built and run by `make fuzz`.
 */
#include "heads/array_file.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef bool parser(const unsigned char *, size_t, unsigned, struct array_file *, char *, size_t);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void demand(bool condition) {
    if (!condition) abort();
}

static void check(parser *parse, const uint8_t *bytes, size_t length, unsigned accept) {
    struct array_file array;
    char error[ARRAY_ERROR_SIZE] = "";
    if (parse(bytes, length, accept, &array, error, sizeof error)) {
        ptrdiff_t count = 1;
        demand(array.ndim >= 1 && array.ndim <= ARRAY_MAX_DIMS);
        for (int i = 0; i < array.ndim; i++) count *= array.dim[i];
        demand(count >= 1 && (size_t)count <= length);
        for (ptrdiff_t i = 0; i < count; i++)
            demand(isfinite(array.data[i]) || (accept & ARRAY_ALLOW_NONFINITE));
    } else {
        demand(array.data == NULL && error[0] != '\0' && strlen(error) < sizeof error - 1);
        for (const char *c = error; *c; c++) demand(*c >= ' ' && *c <= '~');
    }
    array_file_free(&array);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    const unsigned everything = ARRAY_ALLOW_NONFINITE | ARRAY_ALLOW_INTEGERS;
    check(tensor_file_parse, bytes, length, ARRAY_FINITE_FLOATS);
    check(tensor_file_parse, bytes, length, everything);
    check(npy_parse, bytes, length, ARRAY_FINITE_FLOATS);
    check(csv_parse, bytes, length, everything);
    return 0;
}

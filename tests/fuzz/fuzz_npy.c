/* fuzz_npy.c: libFuzzer harness for the .npy and CSV readers. Beyond "no crash" it demands what the
 * callers rely on: an array that is whole and finite, or a one-line message and nothing to free.
 *
 * Built and run by `make fuzz`.
 */
#include "heads/array_csv.h"
#include "heads/array_file.h"
#include "heads/npy.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef bool parser(const unsigned char *, size_t, unsigned, array *, char *, size_t);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void demand(bool condition) {
    if (!condition) abort();
}

/* What can begin a CSV, and a .npy whose header is whole, are judged as they are read. */
static void judge(const uint8_t *bytes, size_t length) {
    char error[ARRAY_ERROR_SIZE] = "";
    array a;
    const bool begins = array_csv_begins(bytes, length, 0, error, sizeof error);
    const size_t count = npy_judge(bytes, length, length, 0, error, sizeof error);
    if (array_csv_parse(bytes, length, 0, &a, error, sizeof error)) demand(begins);
    array_free(&a);
    if (npy_parse(bytes, length, 0, &a, error, sizeof error))
        demand(count == (size_t)array_count(&a));
    array_free(&a);
}

static void check(parser *parse, const uint8_t *bytes, size_t length, unsigned accept) {
    array a;
    char error[ARRAY_ERROR_SIZE] = "";
    if (parse(bytes, length, accept, &a, error, sizeof error)) {
        ptrdiff_t count = 1;
        demand(a.ndim >= 1 && a.ndim <= ARRAY_MAX_DIMS);
        for (int i = 0; i < a.ndim; i++) count *= a.dim[i];
        demand(count >= 1 && (size_t)count <= length);
        for (ptrdiff_t i = 0; i < count; i++)
            demand(isfinite(a.data[i]) || (accept & ARRAY_ALLOW_NONFINITE));
    } else {
        demand(a.data == NULL && error[0] != '\0' && strlen(error) < sizeof error - 1);
        for (const char *c = error; *c; c++) demand(*c >= ' ' && *c <= '~');
    }
    array_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    const unsigned everything = ARRAY_ALLOW_NONFINITE | ARRAY_ALLOW_INTEGERS;
    check(array_file_parse, bytes, length, ARRAY_FINITE_FLOATS);
    check(array_file_parse, bytes, length, everything);
    check(array_file_parse, bytes, length, ARRAY_BFLOAT16);
    check(npy_parse, bytes, length, ARRAY_FINITE_FLOATS);
    check(array_csv_parse, bytes, length, everything);
    judge(bytes, length);
    return 0;
}

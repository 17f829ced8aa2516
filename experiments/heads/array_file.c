/* array_file.c: a file is judged by its first bytes before the rest of it is read: what it is, and
 * whether there is memory for it.
 */
#include "heads/array_file.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/memory.h"
#include "heads/array_csv.h"
#include "heads/npy.h"
#include "heads/other_format.h"

enum { FIRST_BYTES = 1 << 16 };

/* ---- What it is ------------------------------------------------------------------------------ */

static bool is_npy(const unsigned char *bytes, size_t length) {
    return length > 0 && bytes[0] == 0x93;
}

/* Whether the bytes can be text; if not, says what they are. */
static bool is_text(const unsigned char *bytes, size_t length, char *error, size_t error_size) {
    const char *other = other_format(bytes, length);
    if (length == 0) return array_fail(error, error_size, "empty; expected a .npy or CSV file");
    if (other) return array_fail(error, error_size, "%s", other);
    for (size_t i = 0; i < length; i++)
        if (bytes[i] < ' ' && !memchr("\t\n\r", bytes[i], 3))
            return array_fail(error, error_size,
                              "neither .npy (no \\x93NUMPY at its start) nor CSV (byte %zu is no "
                              "text); expected one of them",
                              i);
    return true;
}

bool array_file_parse(const unsigned char *bytes, size_t length, unsigned accept, array *out,
                      char *error, size_t error_size) {
    *out = (array){0};
    if (is_npy(bytes, length)) return npy_parse(bytes, length, accept, out, error, error_size);
    return is_text(bytes, length, error, error_size) &&
           array_csv_parse(bytes, length, accept, out, error, error_size);
}

/* ---- What it costs --------------------------------------------------------------------------- */

/* Whether a file of `length` bytes that starts with bytes[0..first) can be one that is read, and
 * how many numbers it has; of a CSV, as many a byte as there. */
static bool judge(const unsigned char *bytes, size_t first, size_t length, unsigned accept,
                  double *numbers, char *error, size_t error_size) {
    if (is_npy(bytes, first)) {
        const size_t count = npy_judge(bytes, first, length, accept, error, error_size);
        *numbers = (double)count;
        return count > 0;
    }
    *numbers = (double)array_csv_most(bytes, first) * ((double)length / (double)(first + 1));
    return is_text(bytes, first, error, error_size) &&
           (first == length || array_csv_begins(bytes, first, accept, error, error_size));
}

static bool fits(size_t length, double numbers, char *error, size_t error_size) {
    const double gib = 1024.0 * 1024 * 1024, available = memory_available(),
                 needed = (double)length + numbers * sizeof(double);
    return available <= 0 || needed <= available || /* 0: the system does not say */
           array_fail(error, error_size,
                      "needs %.3g GiB of memory, the file and its numbers as float64; available "
                      "now are %.3g GiB",
                      needed / gib, available / gib);
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Opens a regular file; NULL, with reason set, for anything else. */
static FILE *open_regular(const char *path, size_t *length, const char **reason) {
    struct stat status;
    *reason = NULL;
    if (stat(path, &status) != 0)
        *reason = strerror(errno);
    else if (S_ISDIR(status.st_mode))
        *reason = "a directory; expected a .npy or CSV file";
    else if (!S_ISREG(status.st_mode)) /* a pipe has no size to check a header against */
        *reason = "not a regular file; expected a .npy or CSV file";
    else if ((uintmax_t)status.st_size >= PTRDIFF_MAX)
        *reason = "too large to be held in memory";
    if (*reason) return NULL;
    *length = (size_t)status.st_size;
    FILE *file = fopen(path, "rb");
    if (!file) *reason = strerror(errno);
    return file;
}

/* Reads all of the file, which is judged by its start; the caller frees. NULL on failure. */
static unsigned char *load(FILE *file, size_t length, unsigned accept, char *error,
                           size_t error_size) {
    static const char SHORT[] = "could not be read to its end",
                      LARGE[] = "too large to be held in memory";
    const size_t first = length < FIRST_BYTES ? length : FIRST_BYTES;
    double numbers;
    unsigned char *bytes = malloc(first + 1); /* at least one byte, as NULL means failure */
    bool good = bytes || array_fail(error, error_size, LARGE);
    if (good && fread(bytes, 1, first, file) != first) good = array_fail(error, error_size, SHORT);
    good = good && judge(bytes, first, length, accept, &numbers, error, error_size) &&
           fits(length, numbers, error, error_size);
    if (good && length > first) {
        unsigned char *all = realloc(bytes, length);
        if (all) bytes = all;
        if (!all)
            good = array_fail(error, error_size, LARGE);
        else if (fread(bytes + first, 1, length - first, file) != length - first)
            good = array_fail(error, error_size, SHORT);
    }
    if (good) return bytes;
    free(bytes);
    return NULL;
}

bool array_file_read(const char *path, unsigned accept, array *out, char *error,
                     size_t error_size) {
    size_t length;
    const char *reason;
    char found[ARRAY_ERROR_SIZE];
    *out = (array){0};
    FILE *file = open_regular(path, &length, &reason);
    if (!file) return array_fail(error, error_size, "%s: %s", path, reason);
    unsigned char *bytes = load(file, length, accept, found, sizeof found);
    (void)fclose(file);
    const bool read = bytes && array_file_parse(bytes, length, accept, out, found, sizeof found);
    free(bytes);
    return read || array_fail(error, error_size, "%s: %s", path, found);
}

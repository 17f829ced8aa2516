/*
 * npy.h: arrays in NumPy's .npy format, the file in which every framework can hand over its
 * queries, keys and values, and in which this program hands back weights and gradients.
 *
 * Source: NumPy NEP 1, "A Simple File Format for NumPy Arrays", with versions 2.0 and 3.0 as
 * described in the documentation of numpy.lib.format.
 */
#ifndef HEADS_NPY_H
#define HEADS_NPY_H

#include <stdbool.h>
#include <stddef.h>

enum { ARRAY_MAX_DIMS = 4, ARRAY_ERROR_SIZE = 512 };

/* What a reader accepts; or-ed together. */
enum array_accept {
    ARRAY_FINITE_FLOATS = 0,   /* floats of 2 to 4 dimensions; nan and inf are refused */
    ARRAY_ALLOW_NONFINITE = 1, /* nan and inf pass, as in entries that a mask will hide */
    ARRAY_ALLOW_INTEGERS = 2   /* also booleans, integers and 1 dimension: masks, key lengths */
};

/* An array as it was read, widened to double. */
struct array_file {
    int ndim;                      /* 1 to 4 */
    ptrdiff_t dim[ARRAY_MAX_DIMS]; /* every dimension >= 1; unused ones are 0 */
    double *data;                  /* product of dim values in C order; owned by this struct */
    int item_bytes;                /* size of one stored number: 1, 2, 4, 8; CSV counts as 8 */
};

/* Releases data and empties the struct; harmless on one that a failed read left behind. */
void array_file_free(struct array_file *array);

/*
 * Reads the .npy file held in bytes[0..length): version 1.0 to 3.0, <f2 <f4 <f8 or their
 * big-endian forms, C or Fortran order. accept holds enum array_accept flags; integers must lie
 * within +-2^53, where a double is exact.
 *
 * On success *out owns its data. On failure *out is empty and error holds one line without the
 * name of the file: what was found and what is expected. Nothing is allocated until the sizes that
 * the header claims have been checked against length.
 */
bool npy_parse(const unsigned char *bytes, size_t length, unsigned accept, struct array_file *out,
               char *error, size_t error_size);

/*
 * Writes data (C order, shape dim[0..ndim), 1 to 4 dimensions, each >= 1) as version 1.0, '<f8':
 * the bytes that numpy.save (NumPy 1.23 and later) writes. The file appears under its name only
 * once it is complete; until then, and after a failure, an older file of that name stays as it was.
 * On failure error holds one line that starts with path.
 */
bool npy_write(const char *path, int ndim, const ptrdiff_t *dim, const double *data, char *error,
               size_t error_size);

/* Shared by the readers: formats a message into error and returns false. */
bool array_fail(char *error, size_t error_size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Shared by the readers: copies text[0..length) for a message, cut to fit, in printable ASCII. */
void array_quote(char *out, size_t out_size, const char *text, size_t length);

#endif

/* array.h: an array of numbers from outside, as its file had it, and what its readers share. */
#ifndef HEADS_ARRAY_H
#define HEADS_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/message.h"

enum { ARRAY_MAX_DIMS = 4, ARRAY_ERROR_SIZE = 512, SHAPE_BYTES = 96 };

/* What a reader accepts; or-ed together. */
enum array_accept {
    ARRAY_FINITE_FLOATS = 0,   /* floats of 2 to 4 dimensions; nan and inf are refused */
    ARRAY_ALLOW_NONFINITE = 1, /* nan and inf pass, as in entries that a mask will hide */
    ARRAY_ALLOW_INTEGERS = 2,  /* also booleans, integers and 1 dimension: masks, key lengths */
    ARRAY_BFLOAT16 = 4         /* raw pairs of bytes are bfloat16; so are 16-bit unsigned integers,
                                  where no integers are accepted */
};

/* How its file writes numbers. */
typedef enum array_kind { ARRAY_FLOATS, ARRAY_BFLOATS, ARRAY_INTEGERS, ARRAY_TEXT } array_kind;

/* Widened to double. */
typedef struct array {
    int ndim;                      /* 1 to 4 */
    ptrdiff_t dim[ARRAY_MAX_DIMS]; /* every dimension >= 1; unused ones are 0 */
    double *data;                  /* product of dim values in C order; owned by this struct */
    array_kind kind;
    int item_bytes; /* size of one stored number: 1, 2, 4, 8; CSV counts as 8 */
    int digits;     /* of a CSV: the most significant digits that one of its numbers has; else 0 */
    int decimals;   /* behind the point, if all its numbers have as many and no exponent; else -1 */
} array;

/* What makes pandas write numbers only. */
#define ARRAY_PANDAS "to_csv(..., index=False, header=False)"

/* Releases data and empties the struct; harmless on one that a failed read left behind. */
void array_free(array *a);

/* The product of its dimensions. */
ptrdiff_t array_count(const array *a);

/* "[8,96,8]"; returns buffer. */
const char *array_shape(char buffer[SHAPE_BYTES], const array *a);

/* "[1,2,3]": where element i stands; returns buffer. */
const char *array_place(char buffer[SHAPE_BYTES], const array *a, ptrdiff_t i);

/* Half a unit of the last digit that a CSV writes numbers of x's size with; 0 for other files. */
double array_half_digit(const array *a, double x);

/* "nan", "inf" or "-inf", for a number that is not finite. */
const char *array_nonfinite(double x);

/* Formats a message into error and returns false. */
bool array_fail(char *error, size_t error_size, const char *format, ...) PRINTF_LIKE(3, 4);

/* Copies text[0..length) for a message, cut to fit, in printable ASCII. */
void array_quote(char *out, size_t out_size, const char *text, size_t length);

#endif

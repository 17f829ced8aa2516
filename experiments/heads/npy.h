/* npy.h: arrays in NumPy's .npy format, the file in which every framework can hand over its
 * queries, keys and values, and in which this program hands back weights and gradients.
 *
 * Source: NumPy NEP 1, "A Simple File Format for NumPy Arrays", with versions 2.0 and 3.0 as
 * described in the documentation of numpy.lib.format.
 */
#ifndef HEADS_NPY_H
#define HEADS_NPY_H

#include <stdio.h>

#include "heads/array.h"

/* Reads the .npy file held in bytes[0..length): version 1.0 to 3.0, <f2 <f4 <f8, their big-endian
 * forms or =f2 =f4 =f8 in this machine's order, C or Fortran order. accept holds array_accept
 * flags; integers must lie within +-2^53, where a double is exact.
 *
 * On success *out owns its data. On failure *out is empty and error holds one line without the name
 * of the file: what was found and what is expected. Nothing is allocated until the sizes that the
 * header claims have been checked against length. */
bool npy_parse(const unsigned char *bytes, size_t length, unsigned accept, array *out, char *error,
               size_t error_size);

/* How many numbers a file of `length` bytes has whose first bytes are these, all of its header
 * among them; 0, with the error as above, for one that npy_parse would refuse by header and size.
 */
size_t npy_judge(const unsigned char *bytes, size_t first, size_t length, unsigned accept,
                 char *error, size_t error_size);

/* Writes data (C order, shape dim[0..ndim), 1 to 4 dimensions, each >= 1) as version 1.0, '<f8':
 * the bytes that numpy.save (NumPy 1.23 and later) writes. False, and nothing written, for another
 * shape; what fails on the way stays in the stream's error. */
bool npy_write(FILE *to, int ndim, const ptrdiff_t *dim, const double *data);

#endif

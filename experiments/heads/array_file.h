/* array_file.h: the one way in for numbers from outside: a .npy or CSV file, told apart by its
 * content and not by its name, becomes a stack of matrices of double. */
#ifndef HEADS_ARRAY_FILE_H
#define HEADS_ARRAY_FILE_H

#include "heads/array.h"

/* Reads the file at path: [T,d], [H,T,d] or [B,H,T,d] from .npy (see npy_parse), [T,d] from CSV
 * (see array_csv_parse). accept holds enum array_accept flags. On success *out owns its data
 * (array_free). On failure *out is empty and error holds one line that starts with path: what
 * was found and what is expected. Only regular files that are not empty are read, and of these no
 * more than the first 64 KiB where they are no such file, or where more memory is needed than is
 * available now. */
bool array_file_read(const char *path, unsigned accept, array *out, char *error, size_t error_size);

/* The same for a file held in bytes[0..length); error does not start with a name. */
bool array_file_parse(const unsigned char *bytes, size_t length, unsigned accept, array *out,
                      char *error, size_t error_size);

#endif

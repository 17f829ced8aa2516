/* input.h: a file of numbers that an option names. */
#ifndef HEADS_INPUT_H
#define HEADS_INPUT_H

#include "heads/array.h"

/* Reads the file as array_file_read does, and keeps it from being written over. On failure prints
 * the line. "" is no file: nothing happens, and that is good. */
bool input_read(const char *path, unsigned accept, array *out);

#endif

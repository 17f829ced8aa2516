/* other_format.h: files of arrays that are not read, but known. */
#ifndef HEADS_OTHER_FORMAT_H
#define HEADS_OTHER_FORMAT_H

#include <stddef.h>

/* What a file is whose first bytes are these, and the line of Python that makes .npy of it, with
 * FILE for its name; NULL for what is not known. A file is what its bytes say, not its name. */
const char *other_format(const unsigned char *bytes, size_t length);

#endif

#include "heads/input.h"

#include "common/message.h"
#include "common/output.h"
#include "heads/array_file.h"

bool input_read(const char *path, unsigned accept, array *out) {
    char error[ARRAY_ERROR_SIZE];
    output_protect(path);
    if (!path[0] || array_file_read(path, accept, out, error, sizeof error)) return true;
    return complain("%s", error);
}

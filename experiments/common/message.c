/* message.c: see message.h. */
#include "common/message.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_BYTES = 4096 };

int message_fail(int code, const char *format, ...) {
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    /* what a user typed may hold line ends and other control characters */
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    (void)fprintf(stderr, "sqrtdk: %s\n", line);
    return code;
}

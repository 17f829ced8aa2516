/* message.c: see message.h. */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>

int message_fail(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)fputs("sqrtdk: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    return code;
}

/* message.c: what a user typed may stand in a line, and may hold line ends and other controls. */
#include "common/message.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_BYTES = 4096 };

static void print_line(const char *format, va_list args) {
    char line[LINE_BYTES];
    (void)vsnprintf(line, sizeof line, format, args);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    (void)fprintf(stderr, "sqrtdk: %s\n", line);
}

int message_fail(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    print_line(format, args);
    va_end(args);
    return code;
}

bool complain(const char *format, ...) {
    va_list args;
    va_start(args, format);
    print_line(format, args);
    va_end(args);
    return false;
}

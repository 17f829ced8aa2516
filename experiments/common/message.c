#include "common/message.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/quote.h"

enum { LINE_BYTES = 4096 };

static void print_line(const char *format, va_list args) {
    char line[LINE_BYTES], quoted[2 * LINE_BYTES];
    (void)vsnprintf(line, sizeof line, format, args);
    quote_text(quoted, sizeof quoted, line);
    (void)fprintf(stderr, "sqrtdk: %s\n", quoted);
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

static bool memory_is_short;

bool complain_of_memory(void) {
    memory_is_short = true;
    return complain("out of memory");
}

int message_code(int code) {
    return code == EXIT_USAGE && memory_is_short ? EXIT_FAILED : code;
}

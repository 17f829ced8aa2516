/* message.h: how the program speaks of what went wrong: one line on standard error that says what
 * and where. The exit code says whose fault it was.
 */
#ifndef COMMON_MESSAGE_H
#define COMMON_MESSAGE_H

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_SIGNAL = 128 };

/* Prints "sqrtdk: " and the formatted line; returns `code`, for `return message_fail(...)`. */
int message_fail(int code, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

#endif

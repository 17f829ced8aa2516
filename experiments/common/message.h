/* message.h: how the program speaks of what went wrong: one line on standard error that says what
 * and where. The exit code says whose fault it was.
 */
#ifndef COMMON_MESSAGE_H
#define COMMON_MESSAGE_H

#include <stdbool.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_SIGNAL = 128 };

#if defined(__GNUC__)
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#define PRINTF_LIKE(text, first)
#endif

/* Prints "sqrtdk: " and the formatted line, in which what was typed is quoted as quote.h has it;
 * returns `code`, for `return message_fail(...)`. */
int message_fail(int code, const char *format, ...) PRINTF_LIKE(2, 3);

/* The same where a function says no: returns false, for `return complain(...)`. */
bool complain(const char *format, ...) PRINTF_LIKE(1, 2);

/* That memory is exhausted, which is no wrong usage, wherever it is found out. */
bool complain_of_memory(void);

/* The code to exit with: EXIT_FAILED for an EXIT_USAGE that was for want of memory. */
int message_code(int code);

#endif

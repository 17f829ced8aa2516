/* text.h: text for people, never wider than their terminal or 80 columns. */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H

#include <stdio.h>

#include "common/message.h"

/* COLUMNS of the environment where it is from 20 to 80, else 80. */
int text_width(void);

/* Prints lines, breaking those that are too wide at spaces; what comes after a break is indented by
 * `hang`. Spacing within a line stays. */
void text_flow(FILE *to, const char *text, int hang);

/* Formats one paragraph or row and lets it flow, with a line end. */
void text_line(FILE *to, int hang, const char *format, ...) PRINTF_LIKE(3, 4);

/* Prints to a stream; here it may be asked to do so more than once. */
typedef void text_printer(FILE *to, const void *context);

/* What it prints, flowed; without memory unbroken. */
void text_flow_from(FILE *to, text_printer *print, const void *context, int hang);

/* Whether something of this program was: what goes into a file must not depend on memory. */
bool text_was_unbroken(void);

/* What it prints as a string, which may hold zeros and is followed by one; the caller frees. NULL
 * without memory. */
char *text_print(text_printer *print, const void *context, size_t *size);

/* Adds to a text in an array of so many bytes; what does not fit is cut off. */
void text_add(char *text, size_t bytes, const char *format, ...) PRINTF_LIKE(3, 4);

#endif

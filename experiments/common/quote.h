/* quote.h: text from outside, such as a file's name, which may hold line ends and what a terminal
 * takes for orders: here it is one line of what can be seen, and nothing is lost.
 */
#ifndef COMMON_QUOTE_H
#define COMMON_QUOTE_H

#include <stdio.h>

/* Prints so many bytes of it with \n, \t, \r or \xHH for each control character and \\ for a
 * backslash. What is UTF-8 stays, but for its control characters. */
void quote_print(FILE *to, const char *text, size_t length);

/* All of it into an array, cut where it is full. */
void quote_text(char *to, size_t bytes, const char *text);

/* Undoes it in place. */
void quote_undo(char *text);

#endif

/* change.h: how a number changed, in the words that every finding uses. */
#ifndef COMMON_CHANGE_H
#define COMMON_CHANGE_H

#include <stdio.h>

/* "fell 194-fold (0.16 to 0.00084)", "grew 3-fold (...)", or "hardly changed (...)" within a factor
 * of 1.25; without a quotient where one of them is 0. Both are >= 0. */
void change_print(FILE *to, double from, double until);

#endif

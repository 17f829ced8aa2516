/* machine.h: what this machine is, asked in one place because no two systems answer alike. */
#ifndef COMMON_MACHINE_H
#define COMMON_MACHINE_H

#include <stdio.h>

#include "common/message.h"
#include "tt/tensor.h"

/* Processors in use, at least 1. */
tt_size machine_processors(void);

/* Bytes of physical memory, at most what one process can address; 0 if the system does not say. */
double machine_memory(void);

/* Whether so many bytes fit; if not, prints one line: the formatted text, which names what asks for
 * them and ends in "need" or "needs", then how much that is and what is allowed. */
bool machine_fits(double bytes, const char *format, ...) PRINTF_LIKE(2, 3);

/* "key = value" lines for a .meta file: where a result was made, which changes no bit of it. */
void machine_describe(FILE *to);

#endif

/* stop.h: a long command that is interrupted ends in order: its pieces ask whether they should. */
#ifndef COMMON_STOP_H
#define COMMON_STOP_H

#include <stdatomic.h>

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler writes what every thread reads");

/* The signal that asked for the end; 0: none. */
extern atomic_int stop_signal;

/* From now on the first SIGINT or SIGTERM sets it, and a second one ends the program at once; what
 * is ignored stays so. What waits, as for a pipe's reader, is cut short. */
void stop_catch_signals(void);

/* From now on the first one cuts no write short any more: what is complete is written whole. */
void stop_spare_writes(void);

#endif

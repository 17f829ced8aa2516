/* stop.h: a long command that is interrupted ends in order: its pieces ask whether they should. */
#ifndef COMMON_STOP_H
#define COMMON_STOP_H

#include <signal.h>

/* The signal that asked for the end; 0: none. */
extern volatile sig_atomic_t stop_signal;

/* From now on the first SIGINT or SIGTERM sets it, and a second one ends the program at once; what
 * is ignored stays so. */
void stop_catch_signals(void);

#endif

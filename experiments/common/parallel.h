/* parallel.h: independent pieces of work on several threads. Which thread does which piece, and
 * when, is left open: a piece must write to places of its own, so that no result depends on it.
 */
#ifndef COMMON_PARALLEL_H
#define COMMON_PARALLEL_H

#include "tt/tensor.h"

typedef void parallel_piece(void *context, tt_size i);

/* Calls piece(context, i) for i = 0..count-1 on up to `threads` threads, this one included; returns
 * when all are done. Where the system gives no further thread, fewer do the work. */
void parallel_for(int threads, tt_size count, parallel_piece *piece, void *context);

#endif

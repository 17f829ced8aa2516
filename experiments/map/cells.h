/* cells.h: trains the cells of a map on all processors. Cells of one d_k and seed see the same
 * numbers and are trained side by side, so that these are drawn and the teacher computes once for
 * many; which are side by side, and on which thread, changes no bit of any result.
 */
#ifndef MAP_CELLS_H
#define MAP_CELLS_H

#include <stdatomic.h>

#include "map/grid.h"

/* Called by one thread at a time. */
typedef struct map_observer {
    void *context;
    bool (*finished)(void *context, tt_size i); /* of a cell; false stops the map */
    void (*advanced)(void *context, tt_size steps, double work);
} map_observer;

typedef enum map_result { MAP_DONE, MAP_STOPPED, MAP_FAILED } map_result;

/* Deals the cells to the config's shards. False without memory. */
bool map_deal(map *m);

/* Trains every cell of this shard that is not finished, until done or until *stop is not 0. A cell
 * ends before its steps once its ratio is below 1e-12, where squares of rounding errors begin, or
 * if it diverges. On MAP_FAILED (no memory, the observer's refusal) `error` holds a line, empty if
 * the observer spoke. */
map_result map_train(map *m, const map_observer *observer, const atomic_int *stop, char *error,
                     size_t error_bytes);

/* Bytes that training takes on each thread at most, and the work of all unfinished cells of this
 * shard. */
double map_thread_bytes(const map *m);
double map_work(const map *m);

#endif

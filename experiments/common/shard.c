#include "common/shard.h"

#include <stdlib.h>

typedef struct dealt {
    double cost;
    tt_size piece;
} dealt;

/* The costliest first; equals in their order, which qsort alone does not keep. */
static int compare(const void *left, const void *right) {
    const dealt *a = left, *b = right;
    if (a->cost != b->cost) return a->cost > b->cost ? -1 : 1;
    return a->piece < b->piece ? -1 : 1;
}

bool shard_deal(const double *cost, tt_size pieces, int count, int *owner) {
    dealt *sorted = calloc((size_t)pieces, sizeof *sorted);
    double *load = calloc((size_t)count, sizeof *load);
    const bool good = sorted && load;
    for (tt_size i = 0; good && i < pieces; i++) sorted[i] = (dealt){cost[i], i};
    if (good) qsort(sorted, (size_t)pieces, sizeof *sorted, compare);
    for (tt_size i = 0; good && i < pieces; i++) {
        int least = 0;
        for (int s = 1; s < count; s++)
            if (load[s] < load[least]) least = s;
        load[least] += sorted[i].cost;
        owner[sorted[i].piece] = least + 1;
    }
    free(sorted);
    free(load);
    return good;
}

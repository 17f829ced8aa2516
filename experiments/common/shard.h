/* shard.h: an experiment dealt to several machines, each of which computes a share of its runs. */
#ifndef COMMON_SHARD_H
#define COMMON_SHARD_H

#include <stdbool.h>

#include "tt/tensor.h"

/* Share `index`, from 1, of `count`; 0 of 0 is all. */
typedef struct shard {
    int index, count;
} shard;

/* Deals pieces of these costs to `count` shares, the costliest first, each to the share that has
 * least so far (the first of equals): owner[i], from 1, is a function of the costs alone. False
 * without memory. */
bool shard_deal(const double *cost, tt_size pieces, int count, int *owner);

#endif

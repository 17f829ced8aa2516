/* chaos.h: how fast training amplifies rounding, by a twin that starts a hair apart: its Wq and Wk
 * each differ by 1e-8 of their norm in a random direction. It sees the same batches; after each
 * step its distance, in the norm of (M, A, B), is brought back to what it was at the start.
 */
#ifndef MAP_CHAOS_H
#define MAP_CHAOS_H

#include "training/product.h"

typedef struct twin {
    product product;
    double distance; /* of its start */
    double sum, largest;
    double counted_sum;
    tt_size steps, counted;
    bool lost; /* the distance is no number above 0 any more */
} twin;

/* Wq, Wk [1,d_model,d_k] become those of a twin, in a direction of this seed. False without
 * memory. */
bool twin_weights(tt_tensor wq, tt_tensor wk, uint64_t seed);

/* The twin of a product that has not learned yet, from weights of twin_weights; it is trained as
 * that one is, and shares its tape. False without memory. Free with twin_free. */
bool twin_new(twin *t, const product *of, tt_tensor wq, tt_tensor wk);
void twin_free(twin *t);

/* The step that the other has just made. NULL, or the tape's error. */
const char *twin_step(twin *t, const product *of, const teacher *from);

/* The mean growth of the distance's logarithm over steps 20 to 199, as far as they were taken; nan
 * without any. */
double twin_growth(const twin *t);

/* The decimal digits that have been lost at worst: the largest sum of these logarithms from the
 * start on, over ln 10, at least 0. A double has 15.9: with more, no machine that rounds otherwise
 * repeats the curve. */
double twin_digits_lost(const twin *t);

#endif

#include "map/chaos.h"

#include <math.h>
#include <stdlib.h>

#include "tt/elementary.h"
#include "tt/norm.h"
#include "tt/rng.h"

static const double APART = 1e-8;

/* The growth is counted where the start is over and a run that trains has not ended yet. */
enum { FIRST = 20, END = 200 };

static void move(tt_tensor w, const double *direction) {
    const tt_size count = tt_tensor_count(w);
    const double length = APART * tt_norm(w.data, count) / tt_norm(direction, count);
    for (tt_size i = 0; i < count; i++) w.data[i] += length * direction[i];
}

bool twin_weights(tt_tensor wq, tt_tensor wk, uint64_t seed) {
    const uint64_t other = 0x9e3779b9; /* not the stream that all else is drawn from */
    const tt_size count = tt_tensor_count(wq);
    double *direction = malloc((size_t)count * sizeof *direction);
    tt_rng rng;
    if (!direction) return false;
    tt_rng_seed(&rng, seed ^ other);
    tt_rng_normal(&rng, direction, count);
    move(wq, direction);
    tt_rng_normal(&rng, direction, count);
    move(wk, direction);
    free(direction);
    return true;
}

/* Of (M, A, B). */
static double distance(const product *a, const product *b) {
    const tt_tensor of_a[] = {a->m, a->a, a->b}, of_b[] = {b->m, b->a, b->b};
    const tt_size count = tt_tensor_count(a->m);
    double sum = 0;
    for (int k = 0; k < 3; k++)
        for (tt_size i = 0; i < count; i++) {
            const double difference = of_a[k].data[i] - of_b[k].data[i];
            sum += difference * difference;
        }
    return sqrt(sum);
}

bool twin_new(twin *t, const product *of, tt_tensor wq, tt_tensor wk) {
    *t = (twin){.lost = false};
    if (!product_new(&t->product, wq, wk, &of->config, of->tape)) return false;
    t->distance = distance(&t->product, of);
    return true;
}

void twin_free(twin *t) {
    product_free(&t->product);
}

/* x <- y + factor (x - y) */
static void bring_back(tt_tensor x, tt_tensor y, double factor) {
    const tt_size count = tt_tensor_count(x);
    for (tt_size i = 0; i < count; i++) x.data[i] = y.data[i] + factor * (x.data[i] - y.data[i]);
}

const char *twin_step(twin *t, const product *of, const teacher *from) {
    if (t->lost) return NULL;
    const char *error = product_learn(&t->product, from);
    if (!error) error = product_update(&t->product);
    if (error) return error;
    const double now = distance(&t->product, of), growth = tt_log(now / t->distance);
    t->lost = !isfinite(growth);
    if (t->lost) return NULL;
    t->sum += growth;
    if (t->sum > t->largest) t->largest = t->sum;
    if (t->steps >= FIRST && t->steps < END) {
        t->counted_sum += growth;
        t->counted++;
    }
    t->steps++;
    bring_back(t->product.m, of->m, t->distance / now);
    bring_back(t->product.a, of->a, t->distance / now);
    bring_back(t->product.b, of->b, t->distance / now);
    return NULL;
}

double twin_growth(const twin *t) {
    return t->counted > 0 ? t->counted_sum / (double)t->counted : NAN;
}

double twin_digits_lost(const twin *t) {
    return t->largest / tt_log(10);
}

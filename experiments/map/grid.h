/* grid.h: the cells of a map, each one training, and what was found of it.
 *
 * On the plane a cell is a pair (sigma0, kappa): how sharp it starts and how far one step moves its
 * logits. Its factor is d_k^-1/2, its first weights are multiplied by g = sqrt(sigma0), and its
 * rate is
 *   lr = kappa / sigma0               sgd, momentum
 *   lr = kappa / (s d_k g)            adam, adamw, with eps / g and, decoupled, decay / g
 * by which every rule with a constant factor stands at one of its points. On the axes (d_k, lr) it
 * is a run of a scaling rule at a rate, and sigma0 and kappa follow.
 */
#ifndef MAP_GRID_H
#define MAP_GRID_H

#include <stdint.h>

#include "common/shard.h"
#include "training/verdict.h"

typedef struct map_config {
    const optimizer *const *optimizer;
    int optimizer_count;
    const scaling *const *scale; /* on the plane sqrt alone */
    int scale_count;
    const int64_t *d_k;
    int d_k_count;
    const double *sigma0, *kappa; /* the plane */
    int sigma0_count, kappa_count;
    const double *lr; /* or these */
    int lr_count;     /* 0: the plane */
    const int64_t *seed;
    int seed_count;
    training_config training; /* its d_k is set per cell */
    recipe recipe;            /* of all cells; see cell_recipe */
    tt_size steps;
    tt_size every;       /* of the curves' steps one is kept; 0: no curves */
    const char *options; /* what was given beside all this, for the CSV */
    bool chaos;          /* measure growth */
    int threads;
    shard shard; /* of the cells; 0 of 0: all */
} map_config;

/* What is found of a cell; nan where there is nothing. */
typedef enum finding {
    STEPS_TAKEN,
    RATIO,    /* loss / loss_uniform, median of the last 20 steps; infinite if it diverged */
    MIDDLE,   /* the same around the middle of the steps asked for */
    STEPS_TO, /* index of the first step, from 19 on, whose last 20 ratios have a median <= 0.1 */
    KAPPA,    /* at the start */
    /* measured at the last step taken, before its update */
    LAST_RATIO,
    ENTROPY,
    ENTROPY_TEACHER,
    LOGIT_STD,
    COS_M,
    RATIO_RESCALED,
    KAPPA_END,
    GROWTH, /* chaos.h */
    DIGITS_LOST,
    FOUND
} finding;

/* A step of a cell's curve, before its update. */
typedef struct curve_point {
    tt_size step;
    double ratio, logit_std, temperature, kappa;
} curve_point;

typedef struct cell {
    const optimizer *optimizer;
    const scaling *scale;
    int64_t d_k, seed;
    double sigma0, lr, gain;
    double found[FOUND];
    curve_point *curve; /* [map_curve_points()], NULL until cell_make_curve */
    tt_size points;
    bool elsewhere; /* dealt to another shard */
    bool finished;
} cell;

typedef struct map {
    map_config config;
    cell *cells; /* nested as optimizer, scale, d_k, sigma0 and kappa or lr, seed */
    tt_size count;
} map;

/* Lays out the cells; kappa of rules without a constant factor is measured with their training.
 * False without memory. Free with map_free. */
bool map_new(map *m, const map_config *config);
void map_free(map *m);

/* How many columns there are across: kappa or lr. */
int map_across(const map_config *c);

/* The cells of all seeds, in their order; the indices are into the config's lists, `sigma0` is 0
 * where there are rates. */
cell *map_cells_at(const map *m, int method, int scale, int d_k, int sigma0, int across);

/* The shape that a cell trains in. */
training_config cell_training(const map_config *c, const cell *of);

/* The map's recipe with its optimizer's constants, fitted to its gain. */
recipe cell_recipe(const map_config *c, const cell *of);

/* Whether the products of its weights are enough (training/product.h). */
bool cell_is_exact(const map_config *c, const cell *of);

/* The most points that a curve can have: every so many steps one, and the last. */
tt_size map_curve_points(const map_config *c);

/* An empty curve, where there are any; false without memory. */
bool cell_make_curve(const map_config *c, cell *of);

/* Of finished cells, as stall's runs have them (training/verdict.h). */
verdict cell_verdict(const map_config *m, const cell *c);
state cell_state(const map_config *m, const cell *c);

#endif

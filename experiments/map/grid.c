#include "map/grid.h"

#include <math.h>
#include <stdlib.h>

#include "training/kappa.h"
#include "training/product.h"

static bool is_plane(const map_config *c) {
    return c->lr_count == 0;
}

int map_across(const map_config *c) {
    return is_plane(c) ? c->kappa_count : c->lr_count;
}

static int down(const map_config *c) {
    return is_plane(c) ? c->sigma0_count : 1;
}

cell *map_cells_at(const map *m, int method, int scale, int d_k, int sigma0, int across) {
    const map_config *c = &m->config;
    tt_size at = ((tt_size)method * c->scale_count + scale) * c->d_k_count + d_k;
    at = (at * down(c) + sigma0) * map_across(c) + across;
    return &m->cells[at * c->seed_count];
}

training_config cell_training(const map_config *c, const cell *of) {
    training_config training = c->training;
    training.d_k = (tt_size)of->d_k;
    return training;
}

recipe cell_recipe(const map_config *c, const cell *of) {
    recipe r = c->recipe;
    r.eps /= of->gain;
    if (of->optimizer->kind == TT_ADAMW) r.weight_decay = of->optimizer->weight_decay / of->gain;
    return r;
}

bool cell_is_exact(const map_config *c, const cell *of) {
    const training_config training = cell_training(c, of);
    const recipe r = cell_recipe(c, of);
    return product_applies(of->scale, of->optimizer, &r, &training);
}

/* ---- Layout ---------------------------------------------------------------------------------- */

static void place_on_plane(const map_config *c, cell *of, double sigma0, double kappa) {
    const training_config training = cell_training(c, of);
    of->sigma0 = sigma0;
    of->gain = sqrt(sigma0);
    of->found[KAPPA] = kappa;
    of->lr = of->optimizer->normalised
                 ? kappa / kappa_per_lr(of->scale, of->optimizer, &training, of->gain)
                 : kappa / sigma0;
}

static void place_at_rate(const map_config *c, cell *of, double lr) {
    const training_config training = cell_training(c, of);
    of->gain = 1;
    of->lr = lr;
    of->sigma0 = sqrt(scaling_logit_step(of->scale, training.d_k, training.tokens)) *
                 scaling_query_gain(of->scale, training.d_k);
    of->found[KAPPA] = lr * kappa_per_lr(of->scale, of->optimizer, &training, 1);
}

static void lay_out(map *m, int method, int scale, int d_k, int sigma0, int across) {
    const map_config *c = &m->config;
    cell *all = map_cells_at(m, method, scale, d_k, sigma0, across);
    for (int e = 0; e < c->seed_count; e++) {
        cell *of = &all[e];
        of->optimizer = c->optimizer[method];
        of->scale = c->scale[scale];
        of->d_k = c->d_k[d_k];
        of->seed = c->seed[e];
        for (int i = 0; i < FOUND; i++) of->found[i] = NAN;
        if (is_plane(c))
            place_on_plane(c, of, c->sigma0[sigma0], c->kappa[across]);
        else
            place_at_rate(c, of, c->lr[across]);
    }
}

bool map_new(map *m, const map_config *config) {
    const map_config *c = config;
    m->config = *c;
    m->count = (tt_size)c->optimizer_count * c->scale_count * c->d_k_count * down(c) *
               map_across(c) * c->seed_count;
    m->cells = calloc((size_t)m->count, sizeof *m->cells);
    if (!m->cells) return false;
    for (int o = 0; o < c->optimizer_count; o++)
        for (int s = 0; s < c->scale_count; s++)
            for (int d = 0; d < c->d_k_count; d++)
                for (int i = 0; i < down(c); i++)
                    for (int k = 0; k < map_across(c); k++) lay_out(m, o, s, d, i, k);
    return true;
}

void map_free(map *m) {
    for (tt_size i = 0; m->cells && i < m->count; i++) free(m->cells[i].curve);
    free(m->cells);
    m->cells = NULL;
}

tt_size map_curve_points(const map_config *c) {
    return c->every > 0 ? (c->steps - 1) / c->every + 2 : 0;
}

bool cell_make_curve(const map_config *c, cell *of) {
    of->points = 0;
    if (c->every > 0 && !of->curve)
        of->curve = calloc((size_t)map_curve_points(c), sizeof *of->curve);
    return c->every == 0 || of->curve;
}

/* ---- What is said of a cell ------------------------------------------------------------------ */

verdict cell_verdict(const map_config *m, const cell *c) {
    const double way =
        travelled(&m->recipe, c->optimizer, c->found[KAPPA], (tt_size)c->found[STEPS_TAKEN]);
    return verdict_of(c->found[RATIO], c->found[MIDDLE], way < c->optimizer->enough);
}

state cell_state(const map_config *m, const cell *c) {
    const ending e = {.tokens = m->training.tokens,
                      .ratio = c->found[LAST_RATIO],
                      .ratio_rescaled = c->found[RATIO_RESCALED],
                      .entropy = c->found[ENTROPY],
                      .entropy_teacher = c->found[ENTROPY_TEACHER]};
    return state_of(cell_verdict(m, c), &e);
}

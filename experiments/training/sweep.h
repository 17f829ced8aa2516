/* sweep.h: all runs of an experiment, on all processors. A run is one training: one d_k, one
 * scale, one optimizer with its learning rate, one seed. Runs that differ only in the scale are
 * trained together on the same numbers; which thread trains what, and when, changes no bit of any
 * result.
 */
#ifndef TRAINING_SWEEP_H
#define TRAINING_SWEEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/shard.h"
#include "training/columns.h"

typedef enum gain_kind { GAIN_NUMBER, GAIN_DK_DOWN, GAIN_DK_UP } gain_kind;

/* An optimizer and its learning rate. */
typedef struct optimizer_rate {
    const optimizer *optimizer;
    double lr;
} optimizer_rate;

typedef struct sweep_config {
    const int64_t *d_k;
    int d_k_count;
    const scaling *const *scale;
    int scale_count;
    const optimizer_rate *rate;
    int rate_count;
    const int64_t *seed;
    int seed_count;
    training_config training; /* its d_k is set per run */
    recipe recipe;
    tt_size steps;
    tt_size every;
    gain_kind gain_kind; /* d_k^(-1/4) and d_k^(1/4), or a number */
    double gain;
    bool lr_in_logits; /* each rate's lr is kappa, the nominal step in logits */
    int threads;
    shard shard; /* of the runs, by whole jobs; 0 of 0: all */
} sweep_config;

typedef struct log_row {
    int64_t step;
    double *value; /* [columns_count()], in the run's own block */
} log_row;

typedef struct run {
    int64_t d_k, seed;
    const scaling *scale;
    const optimizer *optimizer;
    double lr;    /* as used */
    double gain;  /* on the first Wq, Wk */
    double kappa; /* training/kappa.h; nan until measured, for rules that divide by norms */
    log_row *rows;
    double *values; /* of all rows */
    tt_size row_count;
    tt_size steps;  /* taken; fewer than asked for if it diverged */
    double ratio;   /* loss / loss_uniform, median of the last 20 steps; infinite if it diverged */
    double middle;  /* the same of the 20 steps around the middle of the steps asked for */
    bool elsewhere; /* dealt to another shard */
    bool finished;  /* false until trained to its end */
} run;

typedef struct sweep {
    sweep_config config;
    run *runs; /* nested as d_k, scale, rate, seed, each in the order given */
    tt_size count;
} sweep;

/* Lays out and deals the runs, but for what sweep_measure adds. False without memory. Free with
 * sweep_free. */
bool sweep_new(sweep *s, const sweep_config *config);
void sweep_free(sweep *s);

/* Measures kappa, or with lr_in_logits lr, of runs whose rule has no constant factor, until done or
 * until *stop is not 0. False without memory. */
bool sweep_measure(sweep *s, const atomic_int *stop);

/* The run of these indices into the config's lists. */
run *sweep_run_at(const sweep *s, int d_k, int scale, int rate, int seed);

/* How many rows a run logs at most: step 0, every n-th, and the last. */
tt_size sweep_rows(const sweep *s);

/* Gives a run room for its rows, unless it has it; false without memory. */
bool sweep_make_rows(const sweep *s, run *c);

/* Called by one thread at a time. */
typedef struct sweep_observer {
    void *context;
    bool (*finished)(void *context, const run *c); /* false stops the sweep */
    void (*advanced)(void *context, tt_size run_steps, double work);
} sweep_observer;

typedef enum sweep_result { SWEEP_DONE, SWEEP_STOPPED, SWEEP_FAILED } sweep_result;

/* Trains every run of this shard that is not finished, until done or until *stop is not 0. On
 * SWEEP_FAILED (no memory, the observer's refusal) `error` holds a line, empty if the observer
 * spoke. */
sweep_result sweep_train(sweep *s, const sweep_observer *observer, const atomic_int *stop,
                         char *error, size_t error_bytes);

/* Bytes for one job (the runs of the largest d_k that are trained together), and for all logged
 * rows. Computed before anything is allocated. */
double sweep_job_bytes(const sweep_config *config);
double sweep_log_bytes(const sweep_config *config);

/* Multiply-adds of one step of all runs of a job, for the estimate of time left. */
double sweep_job_work(const sweep_config *config, int64_t d_k);

#endif

/* report.h: what a stall run showed, over seeds: groups of runs, and the CSVs beside the log. */
#ifndef STALL_REPORT_H
#define STALL_REPORT_H

#include <stdio.h>

#include "training/verdict.h"

/* All seeds of one (d_k, scale, optimizer, lr). */
typedef struct seed_group {
    const run *run; /* the one of the lower median ratio: verdict and state are its */
    verdict verdict;
    state state;
    const run **runs; /* [seeds]: those that are finished */
    int seeds;
    double ratio_median, ratio_q1, ratio_q3;
    int counts[VERDICTS];
    double *first; /* [columns_count()]: medians over seeds at step 0 */
} seed_group;

typedef struct report {
    const sweep *sweep;
    const char *options; /* what was given beside widths, scales, rates, seeds and steps */
    seed_group *groups;  /* nested as d_k, scale, rate */
    tt_size count;
    double *medians;  /* of all groups */
    const run **runs; /* likewise */
    tt_size missing;  /* runs that are not finished */
} report;

/* Computed from finished runs; a group without any has no row anywhere; sweep and text are
 * borrowed. False without memory. */
bool report_new(report *r, const sweep *s, const char *given);
void report_free(report *r);

/* A column of the log at step 0, median over seeds. */
double group_first(const seed_group *g, const char *column);

/* One row a run: how it ended (steps: asked for; steps_taken: fewer if it diverged; travelled: see
 * training/verdict.h). */
void report_runs_csv(FILE *to, const report *r);

/* One row a group; lr and kappa are those of the run whose verdict it has. */
void report_summary_csv(FILE *to, const report *r);

/* One row a group and logged step: seeds still running, median and quartiles over them of the
 * ratio, of each gradient column and of what a figure shows beside them; the steps asked for. False
 * without memory. */
bool report_bands_csv(FILE *to, const report *r);

#endif

/* report.h: what a stall run showed: the summary and the bands over seeds as CSV, a table for
 * people, and sentences computed from the numbers.
 */
#ifndef STALL_REPORT_H
#define STALL_REPORT_H

#include <stdio.h>

#include "training/sweep.h"

/* All seeds of one (d_k, scale, lr). */
typedef struct seed_group {
    int64_t d_k;
    const scaling *scale;
    double lr;
    int seeds;
    double ratio_median, ratio_q1, ratio_q3;
    int counts[VERDICTS];
    verdict verdict; /* of the median ratio */
    double *first;   /* [columns_count()]: medians over seeds at step 0 */
    double *last;    /* at each run's last logged step */
} seed_group;

typedef struct report {
    const sweep *sweep;
    seed_group *groups; /* nested as d_k, scale, lr */
    tt_size count;
    double *medians; /* of all groups */
} report;

/* Computed from finished runs; the sweep is borrowed. False without memory. */
bool report_new(report *r, const sweep *s);
void report_free(report *r);

/* One row a run: how it ended (steps: asked for; steps_taken: fewer if it diverged). */
void report_runs_csv(FILE *to, const report *r);

/* One row a group. */
void report_summary_csv(FILE *to, const report *r);

/* One row a group and logged step: seeds still running, median and quartiles over them of the
 * ratio, of each gradient column, of ratio_rescaled and of cos_m; the steps asked for. False
 * without memory. */
bool report_bands_csv(FILE *to, const report *r);

void report_table(FILE *to, const report *r);

/* Two or three plain sentences: stall or no stall, within how many steps and at which lr; which
 * gradient shrank and which grew; whether the stalled student is too sharp or too flat. */
void report_findings(FILE *to, const report *r);

#endif

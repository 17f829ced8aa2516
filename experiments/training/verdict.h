/* verdict.h: what is said of a run, and what it was measured in. Nothing here knows a cause: that
 * is said only of runs that were compared.
 */
#ifndef TRAINING_VERDICT_H
#define TRAINING_VERDICT_H

#include "training/sweep.h"

typedef enum verdict { TRAINED, EARLY, SLOW, STALLED, DIVERGED, VERDICTS } verdict;

/* By verdict, or NULL from their count up. */
const char *verdict_name(int i);

/* What it says of a run, in a few words; likewise. */
const char *verdict_meaning(int i);

/* By a run's ratio, loss / loss_uniform over its last 20 steps, and the same around its middle; all
 * of them within the steps that were taken:
 *   trained   ratio <= 0.1: attention removes nine tenths of what not attending leaves
 *   early     else, and the run travelled less than its optimizer's `enough`
 *   stalled   else, ratio >= 1 (no better than not attending at all), and less than 10 % better
 *             than in the middle
 *   slow      else
 *   diverged  a loss or a weight ceased to be finite */
verdict verdict_of(double ratio, double middle, bool early);

/* How far so many steps were to move the logits: kappa times the sum of their rates' factors, with
 * momentum divided by 1 - momentum. nan where kappa is. */
double travelled(const recipe *r, const optimizer *o, double kappa, tt_size steps);
double verdict_travelled(const sweep_config *c, const run *r);

/* How many steps it takes for that to be enough. */
double verdict_steps_needed(const sweep_config *c, const run *r);

verdict verdict_of_run(const sweep_config *c, const run *r);

/* How a student that did not train compares with its teacher: sharper or flatter, if the mean
 * entropies of their rows differ by more than a tenth of ln T and the one best scalar on its logits
 * at least halves the ratio; else alike. */
typedef enum state { NO_STATE, SHARPER, FLATTER, ALIKE, STATES } state;

/* What it is judged by, measured at one step. */
typedef struct ending {
    tt_size tokens;
    double ratio, ratio_rescaled;    /* loss / loss_uniform, as it is and after the best scalar */
    double entropy, entropy_teacher; /* means over rows */
} ending;

/* NO_STATE for a trained run and for a diverged one. */
state state_of(verdict v, const ending *e);

/* "" for NO_STATE. */
const char *state_name(state s);

/* At the run's last logged step. NO_STATE for a trained run, for a diverged one, whose last logged
 * step may be long before its end, and without any row. */
state state_of_run(const sweep_config *c, const run *r);

#endif

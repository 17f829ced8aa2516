/* difference.h: one numeric derivative, with a bar that holds the truth and what else is known of
 * it. The rules are those of tt/gradcheck.h; the steps in between are named in difference.c.
 */
#ifndef DIFFERENCE_H
#define DIFFERENCE_H

#include "probe.h"

typedef struct tt_derivative {
    double value;
    double bar;          /* 0 where no step moved one bit; infinite where no step can be trusted */
    double unseen;       /* what elements that never moved may hide */
    double step, widest; /* the plateau: value was made from steps between these; 0 without */
    bool moved;          /* whether any step moved the output */
    bool kink;           /* value is half the way between two one-sided slopes, */
    double low, high;    /* which are these; bar is theirs then */
    bool edge;           /* something is close by that these steps are too large for */
} tt_derivative;

/* The derivative along the line, by steps that fit the probe's size and hint; tt_probe_aim was
 * called for its input. The probe's error says whether it counts. */
tt_derivative tt_differentiate(tt_probe *p, tt_line line);

/* The same by one step and twice that step. */
tt_derivative tt_differentiate_at(tt_probe *p, tt_line line, double step);

#endif

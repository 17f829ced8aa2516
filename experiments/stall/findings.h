/* findings.h: what a stall run showed, in words for people. */
#ifndef STALL_FINDINGS_H
#define STALL_FINDINGS_H

#include "stall/report.h"

/* A row a group: ratio, gradient through the softmax and step in logits at step 0, verdicts and
 * state. */
void findings_table(FILE *to, const report *r);

/* Sentences: stall or no stall, within how many steps and at which rate; which gradient shrank and
 * which grew, in which norm; what state a student that did not train is in; and in what it differs
 * from one of this sweep that did. */
void findings_say(FILE *to, const report *r);

#endif

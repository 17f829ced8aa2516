/* rules.h: the scaling rules under which `sqrtdk inspect` measures every head. */
#ifndef INSPECT_RULES_H
#define INSPECT_RULES_H

#include "common/scaling.h"

enum { INSPECT_RULES_MOST = 16 };

/* The rules in the order of their table; a number that is in use comes first. */
typedef struct inspect_rules {
    const scaling *rule[INSPECT_RULES_MOST];
    int count, used; /* rule[used] is the one in use */
} inspect_rules;

void inspect_rules_set(inspect_rules *r, const scaling *used);

/* The first rule that gives the same logits as rule[i]; i where none before it does. */
int inspect_rules_first_alike(const inspect_rules *r, int i);

#endif

#include "inspect/rules.h"

void inspect_rules_set(inspect_rules *r, const scaling *used) {
    *r = (inspect_rules){.count = 0};
    if (scaling_find(used->name) != used) r->rule[r->count++] = used;
    for (int i = 0; scaling_at(i) && r->count < INSPECT_RULES_MOST; i++) {
        if (scaling_at(i) == used) r->used = r->count;
        r->rule[r->count++] = scaling_at(i);
    }
}

static bool alike(const tt_scale_rule *a, const tt_scale_rule *b) {
    return a->norms == b->norms && a->factor == b->factor && a->number == b->number;
}

int inspect_rules_first_alike(const inspect_rules *r, int i) {
    int first = 0;
    while (!alike(&r->rule[first]->rule, &r->rule[i]->rule)) first++;
    return first;
}

#include "tt/scale.h"

double tt_scale_factor(const tt_scale_rule *rule, tt_scale_row row) {
    return rule->factor ? rule->number * rule->factor(row) : rule->number;
}

/* scale_option.c: numbers, and rules times numbers, are one rule if they are equal, however they
 * are written. */
#include "common/scale_option.h"

#include <stdio.h>
#include <string.h>

/* Names what an item may be, or the one whose name is nearest to it. */
static bool refuse(const char *text, const char *item, bool one) {
    char names[WORDS_BYTES];
    const char *name[LIST_MOST];
    int count = 0;
    for (; scaling_at(count); count++) name[count] = scaling_name(count);
    const bool long_enough = strlen(item) > 2; /* "1e" is no t5 */
    const char *nearest = long_enough ? options_nearest(item, name, count) : NULL;
    if (nearest)
        return complain("--scale '%s': expected %s; did you mean %s?", text,
                        one ? "a rule or a finite number" : "rules or finite numbers", nearest);
    options_words(scaling_name, ", ", names);
    return complain("--scale '%s': expected %s%s, RULE*NUMBER or %s", text, one ? "" : "all, ",
                    names, one ? "a finite number" : "finite numbers, separated by commas");
}

static bool same(const scaling *a, const scaling *b) {
    const bool made = scaling_find(a->name) != a && scaling_find(b->name) != b;
    return a == b || (made && a->rule.norms == b->rule.norms && a->rule.factor == b->rule.factor &&
                      a->rule.number == b->rule.number && a->query_gain == b->query_gain);
}

static bool add(scale_list *out, const scaling *rule) {
    if (out->count == LIST_MOST) return complain("--scale: more than %d rules", (int)LIST_MOST);
    for (int i = 0; i < out->count; i++)
        if (same(out->rule[i], rule))
            return complain("--scale: %s stands there twice; each rule once", rule->name);
    out->rule[out->count++] = rule;
    return true;
}

static bool add_all(scale_list *out) {
    for (int i = 0; scaling_at(i); i++)
        if (!add(out, scaling_at(i))) return false;
    return true;
}

/* "RULE*NUMBER": the rule, and where the number starts; NULL if it is no such thing. */
static const scaling *product_of(const char *item, const char **number) {
    char rule[ITEM_BYTES];
    const char *times = strchr(item, '*');
    if (!times) return NULL;
    (void)snprintf(rule, sizeof rule, "%.*s", (int)(times - item), item);
    const scaling *found = scaling_find(rule);
    if (found) *number = times + 1;
    return found;
}

/* The rule that an item names; one made from a number is put into the list. */
static const scaling *rule_of(scale_list *out, const char *item) {
    const scaling *named = scaling_find(item);
    const char *text = item;
    double number;
    if (named) return named;
    const scaling *rule = product_of(item, &text);
    if (!options_number(text, &number)) return NULL;
    const int at = out->count;
    (void)snprintf(out->name[at], ITEM_BYTES, "%s", item);
    if (rule)
        (void)snprintf(out->formula[at], FORMULA_BYTES, "%s times %s", text, rule->formula);
    else
        (void)snprintf(out->formula[at], FORMULA_BYTES, "%s q.k", text);
    out->made[at] = rule ? scaling_times(out->name[at], out->formula[at], rule, number)
                         : scaling_number(out->name[at], out->formula[at], number);
    return &out->made[at];
}

static bool read_list(const char *text, bool one, scale_list *out) {
    const char *whole = text;
    char item[ITEM_BYTES];
    out->count = 0;
    do {
        const scaling *rule;
        if (out->count == LIST_MOST || !options_item(&text, item)) return refuse(whole, "", one);
        const bool all = strcmp(item, "all") == 0;
        if (!all && !(rule = rule_of(out, item))) return refuse(whole, item, one);
        if (!(all ? add_all(out) : add(out, rule))) return false;
    } while (options_another(&text));
    return true;
}

bool scale_list_read(const char *text, scale_list *out) {
    return read_list(text, false, out);
}

bool scale_option_list(const options *o, scale_list *out) {
    return scale_list_read(options_text(o, "scale"), out);
}

bool scale_option_one(const options *o, scale_list *out) {
    if (!read_list(options_text(o, "scale"), true, out)) return false;
    return out->count == 1 ||
           complain("--scale '%s': expected one rule or number", options_text(o, "scale"));
}

const char *scale_list_word(int i) {
    if (scaling_name(i)) return scaling_name(i);
    return i > 0 && scaling_name(i - 1) ? "all" : NULL;
}

const option_words SCALE_LIST_WORDS[] = {{"scale", scale_list_word}, {NULL, NULL}};
const option_words SCALE_ONE_WORDS[] = {{"scale", scaling_name}, {NULL, NULL}};

void scale_option_help(FILE *to) {
    (void)fputs("Scaling rules (--scale), all of them, or a number that multiplies q.k, or\n"
                "RULE*NUMBER, that rule's logits times a number (for a shell in quotes):\n",
                to);
    for (int i = 0; scaling_at(i); i++)
        (void)fprintf(to, "  %-7s %s: %s\n", scaling_at(i)->name, scaling_at(i)->formula,
                      scaling_at(i)->source);
}

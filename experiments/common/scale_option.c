/* scale_option.c: see scale_option.h. */
#include "common/scale_option.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"

static bool refuse(const char *text) {
    char names[256] = "";
    int count;
    const tt_scale_rule *rules = tt_scale_rules(&count);
    for (int i = 0; i < count; i++) {
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s, ", rules[i].name);
    }
    (void)message_fail(0, "--scale '%s': expected, separated by commas, %sor finite numbers", text,
                       names);
    return false;
}

/* The rule that an item names; one made from a number is put into the list. */
static const tt_scale_rule *rule_of(scale_list *out, const char *item) {
    const tt_scale_rule *named = tt_scale_find(item);
    double number;
    if (named) return named;
    if (!options_number(item, &number)) return NULL;
    int at = out->count;
    (void)snprintf(out->name[at], ITEM_BYTES, "%s", item);
    out->made[at] = tt_scale_number(out->name[at], number);
    return &out->made[at];
}

bool scale_option_list(const char *text, scale_list *out) {
    const char *whole = text;
    char item[ITEM_BYTES];
    out->count = 0;
    do {
        const tt_scale_rule *rule = NULL;
        if (out->count < LIST_MOST && options_item(&text, item)) rule = rule_of(out, item);
        if (!rule) return refuse(whole);
        for (int i = 0; i < out->count; i++)
            if (strcmp(out->rule[i]->name, rule->name) == 0) {
                (void)message_fail(0, "--scale: %s stands there twice; each rule once", item);
                return false;
            }
        out->rule[out->count++] = rule;
    } while (options_another(&text));
    return true;
}

bool scale_option_one(const char *text, scale_list *out) {
    if (!scale_option_list(text, out)) return false;
    if (out->count == 1) return true;
    (void)message_fail(0, "--scale '%s': expected one rule or number", text);
    return false;
}

char *scale_option_help(void) {
    char *text = NULL;
    size_t size = 0;
    int count;
    const tt_scale_rule *rules = tt_scale_rules(&count);
    FILE *to = open_memstream(&text, &size);
    if (!to) return NULL;
    (void)fputs("Scaling rules (--scale), or a number that multiplies q.k:\n", to);
    for (int i = 0; i < count; i++)
        (void)fprintf(to, "  %-8s %-52s %s\n", rules[i].name, rules[i].formula, rules[i].source);
    if (fclose(to) == 0) return text;
    free(text);
    return NULL;
}

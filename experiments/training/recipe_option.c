#include "training/recipe_option.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/scale_option.h"

/* ---- Optimizers and their rates -------------------------------------------------------------- */

static bool refuse(const char *text) {
    char list[WORDS_BYTES];
    options_words(optimizer_name, ", ", list);
    return complain("--optimizer '%s': expected, separated by commas, NAME or NAME:LR, names "
                    "being %s, and LR finite and above 0",
                    text, list);
}

static bool add(optimizer_rate *out, int *count, const optimizer *o, double lr) {
    if (*count == LIST_MOST)
        return complain("--optimizer, --lr: more than %d optimizers with their rates",
                        (int)LIST_MOST);
    for (int i = 0; i < *count; i++)
        if (out[i].optimizer == o && out[i].lr == lr)
            return complain("--optimizer: %s at %g stands there twice; each once", o->name, lr);
    out[(*count)++] = (optimizer_rate){o, lr};
    return true;
}

/* One item: at its own rate, at each of --lr, or at the optimizer's default. */
static bool add_item(const options *o, char *item, optimizer_rate *out, int *count) {
    static double lr[LIST_MOST];
    int rates = 1;
    char *colon = strchr(item, ':');
    if (colon) *colon = '\0';
    const optimizer *named = optimizer_find(item);
    if (!named) return refuse(options_text(o, "optimizer"));
    lr[0] = named->lr;
    if (colon && (!options_number(colon + 1, &lr[0]) || lr[0] <= 0))
        return refuse(options_text(o, "optimizer"));
    if (!colon && options_given(o, "lr") && !options_positive_list(o, "lr", lr, &rates))
        return false;
    for (int i = 0; i < rates; i++)
        if (!add(out, count, named, lr[i])) return false;
    return true;
}

static bool read_rates(const options *o, optimizer_rate *out, int *count) {
    const char *at = options_text(o, "optimizer");
    char item[ITEM_BYTES];
    bool without = false;
    *count = 0;
    do {
        if (!options_item(&at, item)) return refuse(options_text(o, "optimizer"));
        without = without || !strchr(item, ':');
        if (!add_item(o, item, out, count)) return false;
    } while (options_another(&at));
    return without || !options_given(o, "lr") ||
           complain("--lr %s: each optimizer of --optimizer %s has its own", options_text(o, "lr"),
                    options_text(o, "optimizer"));
}

/* ---- The recipe ------------------------------------------------------------------------------ */

/* A number at least `least`, and below `below`. */
static bool read_number(const options *o, const char *name, double least, double below,
                        double *out) {
    const char *text = options_text(o, name);
    if (text[0] == '\0') return true;
    if (options_number(text, out) && *out >= least && *out < below) return true;
    if (isinf(below))
        return complain("--%s '%s': expected a finite number, at least %g", name, text, least);
    return complain("--%s '%s': expected a number from %g to below %g", name, text, least, below);
}

static bool read_positive(const options *o, const char *name, double *out) {
    return options_text(o, name)[0] == '\0' || options_positive(o, name, out);
}

/* Refuses a constant that no optimizer asked for uses. */
static bool is_used(const options *o, const char *name, const optimizer_rate *rates, int count,
                    int moments) {
    bool used = !options_given(o, name);
    for (int i = 0; i < count; i++)
        used = used || tt_optim_moments(rates[i].optimizer->kind) == moments;
    return used || complain("--%s %s: no optimizer of --optimizer %s uses it", name,
                            options_text(o, name), options_text(o, "optimizer"));
}

static bool read_step(const char *text, tt_size *out) {
    char *end;
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 9) return false;
    *out = (tt_size)strtoll(text, &end, 10);
    return *end == '\0';
}

static bool read_point(char *item, schedule_point *out) {
    char *colon = strchr(item, ':');
    if (!colon) return false;
    *colon = '\0';
    return read_step(item, &out->step) && options_number(colon + 1, &out->factor) &&
           out->factor > 0;
}

static bool read_schedule(const options *o, recipe *r) {
    const char *text = options_text(o, "schedule"), *at = text;
    char item[ITEM_BYTES];
    if (text[0] == '\0') return true;
    do {
        schedule_point *point = &r->schedule[r->schedule_count];
        if (r->schedule_count == SCHEDULE_MOST)
            return complain("--schedule: more than %d points", (int)SCHEDULE_MOST);
        if (!options_item(&at, item) || !read_point(item, point) ||
            (r->schedule_count > 0 && point->step <= point[-1].step))
            return complain("--schedule '%s': expected STEP:FACTOR, separated by commas, steps "
                            "ascending from 0, factors above 0, as 100:0.5,200:0.1",
                            text);
        r->schedule_count++;
    } while (options_another(&at));
    return true;
}

static bool read_temperature(const options *o, recipe *r) {
    const char *text = options_text(o, "learn-temperature"), *at = strchr(text, '@');
    char number[ITEM_BYTES];
    if (text[0] == '\0') return true;
    (void)snprintf(number, sizeof number, "%.*s", (int)strcspn(text, "@"), text);
    return (options_number(number, &r->temperature_lr) && r->temperature_lr > 0 &&
            (!at || read_step(at + 1, &r->temperature_from))) ||
           complain("--learn-temperature '%s': expected a rate above 0, or LR@STEP, as 0.1@500",
                    text);
}

bool schedule_option(const options *o, recipe *r) {
    return read_schedule(o, r) &&
           (!options_given(o, "warm-up") ||
            options_size(o, "warm-up", 1, 1000000000, &r->warm_up)) &&
           read_temperature(o, r);
}

bool recipe_option(const options *o, optimizer_rate *out, int *count, recipe *r) {
    *r = RECIPE_PLAIN;
    return read_rates(o, out, count) && read_number(o, "momentum", 0, 1, &r->momentum) &&
           read_number(o, "beta1", 0, 1, &r->beta1) && read_number(o, "beta2", 0, 1, &r->beta2) &&
           options_positive(o, "eps", &r->eps) &&
           read_number(o, "weight-decay", 0, INFINITY, &r->weight_decay) &&
           read_positive(o, "clip", &r->clip) && schedule_option(o, r) &&
           is_used(o, "momentum", out, *count, 1) && is_used(o, "beta1", out, *count, 2) &&
           is_used(o, "beta2", out, *count, 2) && is_used(o, "eps", out, *count, 2);
}

const option_words RECIPE_WORDS[] = {
    {"optimizer", optimizer_name}, {"scale", scale_list_word}, {NULL, NULL}};

void recipe_option_help(FILE *to) {
    (void)fputs("Optimizers (--optimizer), g being dL/dW:\n", to);
    for (int i = 0; optimizer_at(i); i++) {
        const optimizer *o = optimizer_at(i);
        (void)fprintf(to, "  %-8s %s (lr %g, decay %g)\n", o->name, o->meaning, o->lr,
                      o->weight_decay);
    }
}

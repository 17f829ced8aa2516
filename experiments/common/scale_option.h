/* scale_option.h: --scale on the command line: names of rules and numbers, the same everywhere. */
#ifndef COMMON_SCALE_OPTION_H
#define COMMON_SCALE_OPTION_H

#include "common/options.h"
#include "tt/scale.h"

/* The rules of a list; those made from numbers live in it, so it must not be copied. */
typedef struct scale_list {
    const tt_scale_rule *rule[LIST_MOST];
    int count;
    tt_scale_rule made[LIST_MOST];
    char name[LIST_MOST][ITEM_BYTES];
} scale_list;

/* Reads "none,sqrt,0.125": prints one line and returns false on an unknown name, a number that is
 * not finite or something that stands there twice. */
bool scale_option_list(const char *text, scale_list *out);

/* The same where there may be only one. */
bool scale_option_one(const char *text, scale_list *out);

/* Names, formulas and sources of all rules, for --help; the caller frees; NULL without memory. */
char *scale_option_help(void);

#endif

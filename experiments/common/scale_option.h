/* scale_option.h: --scale on the command line: names of rules and numbers, the same everywhere. */
#ifndef COMMON_SCALE_OPTION_H
#define COMMON_SCALE_OPTION_H

#include "common/message.h"
#include "common/options.h"
#include "common/scaling.h"

/* Room for the number of an item, "times" and a rule's formula. */
enum { FORMULA_BYTES = ITEM_BYTES + 80 };

/* The rules of a list; those made from numbers live in it, so it must not be copied. */
typedef struct scale_list {
    const scaling *rule[LIST_MOST];
    int count;
    scaling made[LIST_MOST];
    char name[LIST_MOST][ITEM_BYTES]; /* as written */
    char formula[LIST_MOST][FORMULA_BYTES];
} scale_list;

/* Reads "none,sqrt,0.125,rms*16", "all" standing for every named rule: prints one line and returns
 * false on an unknown name, a number that is not finite or what stands there twice. */
bool scale_list_read(const char *text, scale_list *out);

/* The same of the option "scale", and where that may name only one. */
bool scale_option_list(const options *o, scale_list *out);
bool scale_option_one(const options *o, scale_list *out);

/* The i-th word of a list, the rules' names and "all": a word_list. */
const char *scale_list_word(int i);

/* What it takes beside numbers, where it is a list and where it may name only one: for a
 * command_spec. */
extern const option_words SCALE_LIST_WORDS[], SCALE_ONE_WORDS[];

/* Names, formulas and sources of all rules, for --help. */
void scale_option_help(FILE *to);

#endif

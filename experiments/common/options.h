/* options.h: command lines in the GNU style (--name value, --name=value), the same for every
 * subcommand. A subcommand states its options in one table, from which parser, help and errors are
 * made, and asks for their values by name with the functions below. Each of these, on bad input,
 * prints one line naming the option, the text and what is allowed, and returns false; the
 * subcommand then returns EXIT_USAGE.
 */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tt/tensor.h"

typedef struct option_spec {
    const char *name;     /* without the dashes */
    const char *value;    /* what the value is called in help, with its unit; NULL for a flag */
    const char *standard; /* the default, as text; "" for none */
    const char *help;
} option_spec;

/* A list of words, written where what they name is: the i-th, or NULL from their count up. */
typedef const char *word_list(int i);

/* An option whose value is one of these; help lists them. */
typedef struct option_words {
    const char *option;
    word_list *words;
} option_words;

typedef struct options options;

/* All words of a list, "a, b or c" where `last` is " or ". */
enum { WORDS_BYTES = 1024 };
void options_words(word_list *words, const char *last, char list[WORDS_BYTES]);

struct share_files;

/* What main.c knows of a subcommand. */
typedef struct command_spec {
    const char *name;
    const char *summary; /* one line */
    const option_spec *options;
    int count;
    const option_words *words;     /* ends with an option NULL; NULL for none */
    const option_words *explained; /* the same of options whose words `more` explains */
    const char *notes;             /* paragraphs below the options */
    const char *const *examples;   /* command lines that run; NULL behind the last */
    void (*more)(FILE *to);        /* prints a further note; NULL for none */
    int (*run)(const options *o);  /* returns the exit code */
    const char *operand;           /* what must stand behind the options; NULL: nothing may */
    int operands_least;            /* how many must, where one is not all; 0: one */
    /* Prints what the results at this path show, which these options gave, in the command's own
     * words. Returns the exit code. NULL: it has no such words. */
    int (*report)(const options *o, const char *path, FILE *to);
    /* Writes to --output what one run of all would write, from shares of it (common/shard.h);
     * returns the exit code. NULL: it has none. */
    int (*merge)(const options *o, const struct share_files *files);
} command_spec;

enum { OPTIONS_MOST = 40 };

/* The text of each option, in the order of the table: what was given, or the default. A flag's is
 * "yes" or "". Borrowed from argv and the table. */
struct options {
    const command_spec *command;
    const char *text[OPTIONS_MOST];
    const char *operand; /* the first; NULL where the command has none */
    char *const *operands;
    int operand_count;
};

/* Reads the command line and runs the subcommand, or prints its help. argv[0] is its name. Returns
 * the exit code; wrong usage was named in one line, an unknown option's with the nearest there is.
 */
int command_run(const command_spec *command, int argc, char **argv);

/* Prints the subcommand's help on standard output. */
void command_help(const command_spec *command);

/* What help says of one of its options, without a line end. */
void option_describe(FILE *to, const command_spec *command, const option_spec *s);

/* The words that may stand as the option's value or in its list; NULL for none. */
word_list *option_values(const command_spec *command, const char *name);

/* The option that every subcommand has behind its own. */
extern const option_spec OPTION_HELP;

/* The nearest of `count` names to a mistyped one (edit distance up to a third of its length, at
 * least 2), or NULL. */
const char *options_nearest(const char *typed, const char *const *names, int count);

/* ---- Values, by the option's name, which must be in the table ---- */

const char *options_text(const options *o, const char *name);
bool options_flag(const options *o, const char *name);

/* Whether the command line has it. */
bool options_given(const options *o, const char *name);

bool options_int(const options *o, const char *name, int64_t least, int64_t most, int64_t *out);
bool options_size(const options *o, const char *name, int64_t least, int64_t most, tt_size *out);

/* A number > 0, finite. */
bool options_positive(const options *o, const char *name, double *out);

/* The place of the text among the option's words; -1 for an option that was not given and whose
 * default is none of them. */
bool options_choice(const options *o, const char *name, int *out);

/* The same among other words than those of the table. */
bool options_word(const options *o, const char *name, word_list *words, int *out);

enum { LIST_MOST = 1024 };

/* Comma-separated whole numbers and ranges a..b without duplicates, into out[LIST_MOST]. */
bool options_int_list(const options *o, const char *name, int64_t least, int64_t most, int64_t *out,
                      int *count);

/* Comma-separated numbers > 0, finite, and ranges a..b of a, 2a, 4a, ... while <= b, without
 * duplicates, into out[LIST_MOST]. */
bool options_positive_list(const options *o, const char *name, double *out, int *count);

/* ---- Pieces, for values of another kind ---- */

enum { ITEM_BYTES = 64 };

/* Copies the item up to the next comma into `item` and moves *text behind it; false for an empty or
 * overlong one. */
bool options_item(const char **text, char item[ITEM_BYTES]);

/* After an item: true, and *text past the comma, if another must follow. */
bool options_another(const char **text);

/* A finite decimal number, all of the text. */
bool options_number(const char *text, double *out);

#endif

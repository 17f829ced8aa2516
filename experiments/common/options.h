/* options.h: command lines in the GNU style (--name value, --name=value), the same for every
 * subcommand. A subcommand states its options in one table, from which both the parser and --help
 * are made, and turns the texts it gets into values with the functions below. Each of these, on
 * bad input, prints one line naming the option, the text and what is allowed, and returns false;
 * the subcommand then exits with EXIT_USAGE.
 */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct option_spec {
    const char *name;     /* without the dashes */
    const char *value;    /* what the value is called in help, with its unit; NULL for a flag */
    const char *standard; /* the default, as text; "" for none */
    const char *help;
} option_spec;

typedef struct command_spec {
    const char *name;    /* the subcommand */
    const char *summary; /* one line */
    const option_spec *options;
    int count;
    const char *notes;   /* printed below the options; NULL for none */
    char *(*more)(void); /* makes a further note, freed by the caller; NULL for none */
} command_spec;

enum { OPTIONS_MOST = 40 };

/* The text of each option, in the order of the table: what was given, or the default. A flag's is
 * "yes" or "". Borrowed from argv and the table. */
typedef struct options {
    const char *text[OPTIONS_MOST];
} options;

typedef enum options_result { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG } options_result;

/* argv[0] is the subcommand's name. OPTIONS_HELP: --help was asked for and printed. OPTIONS_WRONG:
 * a line was printed; an unknown option's names the nearest one there is. */
options_result options_parse(const command_spec *command, int argc, char **argv, options *out);

/* The text of the option of that name (which must be in the table). */
const char *options_text(const command_spec *command, const options *o, const char *name);
bool options_flag(const command_spec *command, const options *o, const char *name);

/* Prints the subcommand's help on standard output. */
void options_help(const command_spec *command);

/* The nearest of `count` names to a mistyped one (edit distance up to a third of its length, at
 * least 2), or NULL. */
const char *options_nearest(const char *typed, const char *const *names, int count);

/* ---- Values. `name` is only for the message. ---- */

bool options_int(const char *name, const char *text, int64_t least, int64_t most, int64_t *out);

/* A number > 0, finite. */
bool options_positive(const char *name, const char *text, double *out);

enum { LIST_MOST = 1024 };

/* Comma-separated whole numbers and ranges a..b without duplicates, into out[LIST_MOST]. */
bool options_int_list(const char *name, const char *text, int64_t least, int64_t most, int64_t *out,
                      int *count);

/* Comma-separated numbers > 0, finite, without duplicates, into out[LIST_MOST]. */
bool options_positive_list(const char *name, const char *text, double *out, int *count);

/* ---- Pieces, for lists of another kind ---- */

enum { ITEM_BYTES = 64 };

/* Copies the item up to the next comma into `item` and moves *text behind it; false for an empty or
 * overlong one. */
bool options_item(const char **text, char item[ITEM_BYTES]);

/* After an item: true, and *text past the comma, if another must follow. */
bool options_another(const char **text);

/* A finite decimal number, all of the text. */
bool options_number(const char *text, double *out);

#endif

/* options.c: getopt_long with a table in front of it. strtoll and strtod take more than a command
 * line should (blanks, hexadecimal, nan), so what may stand in a number is looked at first.
 */
#include "common/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/text.h"

enum { NAME_BYTES = 64, OPTION_VALUES = 256 };

/* ---- Finding what was meant ------------------------------------------------------------------ */

static int least_of(int a, int b, int c) {
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein distance, one row at a time; names are shorter than NAME_BYTES. */
static int distance(const char *a, const char *b) {
    int row[NAME_BYTES + 1];
    int a_length = (int)strlen(a), b_length = (int)strlen(b);
    for (int j = 0; j <= b_length; j++) row[j] = j;
    for (int i = 1; i <= a_length; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            int above = row[j];
            row[j] = least_of(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_length];
}

const char *options_nearest(const char *typed, const char *const *names, int count) {
    const char *nearest = NULL;
    int length = (int)strlen(typed);
    int least = (length / 3 > 2 ? length / 3 : 2) + 1;
    if (length >= NAME_BYTES) return NULL;
    for (int i = 0; i < count; i++) {
        int d = distance(typed, names[i]);
        if (d < least) {
            least = d;
            nearest = names[i];
        }
    }
    return nearest;
}

/* ---- The table ------------------------------------------------------------------------------- */

static int index_of(const command_spec *command, const char *name) {
    for (int i = 0; i < command->count; i++)
        if (strcmp(command->options[i].name, name) == 0) return i;
    return -1;
}

const char *options_text(const options *o, const char *name) {
    return o->text[index_of(o->command, name)];
}

bool options_flag(const options *o, const char *name) {
    return options_text(o, name)[0] != '\0';
}

bool options_given(const options *o, const char *name) {
    int i = index_of(o->command, name); /* else the text is the table's own */
    return o->text[i] != o->command->options[i].standard;
}

static word_list *find_words(const option_words *w, const char *name) {
    for (; w && w->option; w++)
        if (strcmp(w->option, name) == 0) return w->words;
    return NULL;
}

static word_list *words_of(const command_spec *command, const char *name) {
    return find_words(command->words, name);
}

word_list *option_values(const command_spec *command, const char *name) {
    word_list *words = words_of(command, name);
    return words ? words : find_words(command->explained, name);
}

void options_words(word_list *words, const char *last, char list[WORDS_BYTES]) {
    list[0] = '\0';
    for (int i = 0; words(i); i++)
        text_add(list, WORDS_BYTES, "%s%s", i == 0 ? "" : words(i + 1) ? ", " : last, words(i));
}

enum { HELP_COLUMN = 20 };

const option_spec OPTION_HELP = {"help", NULL, "", "print this and exit"};

void option_describe(FILE *to, const command_spec *command, const option_spec *s) {
    char list[WORDS_BYTES] = "";
    word_list *words = words_of(command, s->name);
    if (words) options_words(words, ", ", list);
    (void)fprintf(to, "%s%s", s->help, list);
    if (s->value && s->standard[0]) (void)fprintf(to, " (default: %s)", s->standard);
}

/* One option: its name and value, and in the column beside it what it is. */
static void print_option(FILE *to, const command_spec *command, const option_spec *s) {
    char left[NAME_BYTES];
    int used = snprintf(left, sizeof left, "  --%s%s%s", s->name, s->value ? " " : "",
                        s->value ? s->value : "");
    (void)fprintf(to, "%-*s%s", HELP_COLUMN - 1, left, used < HELP_COLUMN ? " " : "  ");
    option_describe(to, command, s);
    (void)fputc('\n', to);
}

static void print_options(FILE *to, const void *context) {
    const command_spec *command = context;
    for (int i = 0; i < command->count; i++) print_option(to, command, &command->options[i]);
    print_option(to, command, &OPTION_HELP);
}

static void print_more(FILE *to, const void *context) {
    ((const command_spec *)context)->more(to);
}

void command_help(const command_spec *command) {
    printf("Usage: sqrtdk %s [options]%s%s\n\n", command->name, command->operand ? " " : "",
           command->operand ? command->operand : "");
    text_flow(stdout, command->summary, 0);
    puts("\nOptions:");
    text_flow_from(stdout, print_options, command, HELP_COLUMN);
    putchar('\n');
    text_flow(stdout, command->notes, 0);
    if (command->more) {
        putchar('\n');
        text_flow_from(stdout, print_more, command, 4);
    }
    if (command->examples[0]) puts("\nExamples:");
    for (int i = 0; command->examples[i]; i++)
        text_line(stdout, 6, "  sqrtdk %s", command->examples[i]);
}

/* ---- The command line ------------------------------------------------------------------------ */

static int unknown_option(const command_spec *command, const char *argument) {
    const char *names[OPTIONS_MOST + 1];
    char typed[NAME_BYTES];
    const char *from = argument;
    while (*from == '-') from++;
    (void)snprintf(typed, sizeof typed, "%.*s", (int)strcspn(from, "="), from);
    for (int i = 0; i < command->count; i++) names[i] = command->options[i].name;
    names[command->count] = "help";
    const char *nearest =
        strncmp(argument, "--", 2) == 0 ? options_nearest(typed, names, command->count + 1) : NULL;
    if (nearest)
        return message_fail(EXIT_USAGE, "%s: unknown option '%s'; did you mean --%s?",
                            command->name, argument, nearest);
    return message_fail(EXIT_USAGE, "%s: unknown option '%s'; see 'sqrtdk help %s'", command->name,
                        argument, command->name);
}

/* What getopt_long refused: an option without its value, a flag with one, or an unknown one. */
static int refuse(const command_spec *command, int code, const char *argument) {
    int known = optopt >= OPTION_VALUES ? optopt - OPTION_VALUES : -1; /* also if abbreviated */
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
    if (code == ':' && known >= 0)
        return message_fail(EXIT_USAGE, "%s: --%s needs a value: %s", command->name,
                            command->options[known].name, command->options[known].value);
    if (strchr(argument, '=') && (index_of(command, name) >= 0 || strcmp(name, "help") == 0))
        return message_fail(EXIT_USAGE, "%s: --%s takes no value, but '%s' gives it one",
                            command->name, name, argument);
    return unknown_option(command, argument);
}

/* Options for getopt_long; the last one, after them, is --help. */
static void fill_table(const command_spec *command, struct option *table) {
    for (int i = 0; i < command->count; i++) {
        table[i].name = command->options[i].name;
        table[i].has_arg = command->options[i].value ? required_argument : no_argument;
        table[i].val = OPTION_VALUES + i;
    }
    table[command->count].name = "help";
    table[command->count].val = 'h';
}

int command_run(const command_spec *command, int argc, char **argv) {
    struct option table[OPTIONS_MOST + 2] = {{0}};
    options o = {.command = command};
    fill_table(command, table);
    for (int i = 0; i < command->count; i++) o.text[i] = command->options[i].standard;
    optind = 1;
    opterr = 0;
    for (;;) {
        int at = optind;
        int code = getopt_long(argc, argv, "+:h", table, NULL);
        if (code == -1) break;
        if (code == 'h') {
            command_help(command);
            return EXIT_OK;
        }
        if (code == '?' || code == ':') return refuse(command, code, argv[at]);
        o.text[code - OPTION_VALUES] = optarg ? optarg : "yes";
    }
    const int least = command->operands_least > 0 ? command->operands_least : 1;
    if (command->operand && argc - optind < least)
        return message_fail(EXIT_USAGE, "%s: expected %s behind the options", command->name,
                            command->operand);
    if (command->operand) {
        o.operand = argv[optind];
        o.operands = argv + optind;
        o.operand_count = command->operands_least > 0 ? argc - optind : 1;
        optind += o.operand_count;
    }
    if (optind == argc) return command->run(&o);
    return message_fail(EXIT_USAGE, "%s: unexpected argument '%s'; options start with --",
                        command->name, argv[optind]);
}

/* ---- Values ---------------------------------------------------------------------------------- */

bool options_item(const char **text, char item[ITEM_BYTES]) {
    size_t length = strcspn(*text, ",");
    if (length == 0 || length >= ITEM_BYTES) return false;
    memcpy(item, *text, length);
    item[length] = '\0';
    *text += length;
    return true;
}

bool options_another(const char **text) {
    if (**text != ',') return false;
    ++*text;
    return true;
}

static bool parse_int(const char *text, int64_t *out) {
    char *end;
    *out = 0;
    if (text[0] < '0' || text[0] > '9') return false;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    *out = value;
    return errno == 0 && *end == '\0';
}

bool options_number(const char *text, double *out) {
    char *end;
    /* strtod alone would take hexadecimal, nan and inf */
    if (strspn(text, "0123456789.eE+-") != strlen(text) || text[0] == '\0') return false;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out);
}

static bool parse_positive(const char *text, double *out) {
    return options_number(text, out) && *out > 0;
}

bool options_int(const options *o, const char *name, int64_t least, int64_t most, int64_t *out) {
    const char *text = options_text(o, name);
    if (parse_int(text, out) && *out >= least && *out <= most) return true;
    return complain("--%s '%s': expected a whole number from %lld to %lld", name, text,
                    (long long)least, (long long)most);
}

bool options_size(const options *o, const char *name, int64_t least, int64_t most, tt_size *out) {
    int64_t value;
    if (!options_int(o, name, least, most, &value)) return false;
    *out = (tt_size)value;
    return true;
}

bool options_positive(const options *o, const char *name, double *out) {
    const char *text = options_text(o, name);
    if (parse_positive(text, out)) return true;
    return complain("--%s '%s': expected a finite number above 0", name, text);
}

static bool refuse_word(const char *name, const char *text, word_list *words) {
    char list[WORDS_BYTES];
    options_words(words, " or ", list);
    return complain("--%s '%s': expected %s", name, text, list);
}

bool options_word(const options *o, const char *name, word_list *words, int *out) {
    const char *text = options_text(o, name);
    for (*out = 0; words(*out); ++*out)
        if (strcmp(text, words(*out)) == 0) return true;
    *out = -1;
    return !options_given(o, name) || refuse_word(name, text, words);
}

bool options_choice(const options *o, const char *name, int *out) {
    return options_word(o, name, words_of(o->command, name), out);
}

/* "3" or "3..7" as first and last. */
static bool parse_range(const char *item, int64_t *first, int64_t *last) {
    char left[ITEM_BYTES];
    const char *dots = strstr(item, "..");
    if (!dots) {
        bool good = parse_int(item, first);
        *last = *first;
        return good;
    }
    memcpy(left, item, (size_t)(dots - item));
    left[dots - item] = '\0';
    return parse_int(left, first) && parse_int(dots + 2, last) && *first <= *last;
}

static bool twice(const char *name, const char *text, const char *item) {
    return complain("--%s '%s': %s stands there twice; each value once", name, text, item);
}

bool options_int_list(const options *o, const char *name, int64_t least, int64_t most, int64_t *out,
                      int *count) {
    const char *text = options_text(o, name), *at = text;
    char item[ITEM_BYTES];
    int64_t first, last;
    *count = 0;
    do {
        if (!options_item(&at, item) || !parse_range(item, &first, &last) || first < least ||
            last > most)
            return complain("--%s '%s': expected whole numbers from %lld to %lld, separated by "
                            "commas, ranges as 2..5",
                            name, text, (long long)least, (long long)most);
        if (last - first >= LIST_MOST - *count)
            return complain("--%s '%s': more than %d values", name, text, (int)LIST_MOST);
        for (int64_t v = first; v <= last; v++) {
            (void)snprintf(item, sizeof item, "%lld", (long long)v);
            for (int i = 0; i < *count; i++)
                if (out[i] == v) return twice(name, text, item);
            out[(*count)++] = v;
        }
    } while (options_another(&at));
    return true;
}

/* "3" or "0.25..32" as first and last. */
static bool parse_doubling(const char *item, double *first, double *last) {
    char left[ITEM_BYTES];
    const char *dots = strstr(item, "..");
    if (!dots) {
        if (!parse_positive(item, first)) return false;
        *last = *first;
        return true;
    }
    memcpy(left, item, (size_t)(dots - item));
    left[dots - item] = '\0';
    return parse_positive(left, first) && parse_positive(dots + 2, last) && *first <= *last;
}

bool options_positive_list(const options *o, const char *name, double *out, int *count) {
    const char *text = options_text(o, name), *at = text;
    char item[ITEM_BYTES];
    double first, last;
    *count = 0;
    do {
        if (!options_item(&at, item) || !parse_doubling(item, &first, &last))
            return complain("--%s '%s': expected finite numbers above 0, separated by commas, "
                            "ranges (doubling) as 0.25..32",
                            name, text);
        for (double v = first; v <= last; v *= 2) {
            if (*count == LIST_MOST)
                return complain("--%s '%s': more than %d values", name, text, (int)LIST_MOST);
            if (first < last) (void)snprintf(item, sizeof item, "%g", v);
            for (int i = 0; i < *count; i++)
                if (out[i] == v) return twice(name, text, item);
            out[(*count)++] = v;
        }
    } while (options_another(&at));
    return true;
}

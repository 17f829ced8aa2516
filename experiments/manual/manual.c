/* manual.c: the commands and their options for the manual page, and as a table for the completion
 * of bash, from the same tables that parser and help are made of. Run where the program is built;
 * what they stand in is sqrtdk.man and sqrtdk.bash.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/version.h"

/* ---- Texts for roff -------------------------------------------------------------------------- */

/* One character as it is, not as a hyphen, a quotation mark or a request. */
static void roff_character(char c) {
    static const char PLAIN[] = "-'`^~\\";
    static const char *const ESCAPED[] = {"\\-", "\\(aq", "\\(ga", "\\(ha", "\\(ti", "\\e"};
    const char *at = strchr(PLAIN, c);
    if (at)
        (void)fputs(ESCAPED[at - PLAIN], stdout);
    else
        (void)putchar(c);
}

/* A line, or its start. */
static void roff_text(const char *text, size_t length) {
    if (length > 0 && text[0] == '.') (void)fputs("\\&", stdout);
    for (size_t i = 0; i < length; i++) roff_character(text[i]);
}

static void roff_line(const char *text, size_t length) {
    roff_text(text, length);
    putchar('\n');
}

static void out_of_memory(void) {
    (void)fputs("manual: out of memory\n", stderr);
    exit(EXIT_FAILURE);
}

/* A stream into memory, which is the caller's to free once it is closed. */
static FILE *into(char **text) {
    static size_t size;
    FILE *to = open_memstream(text, &size);
    if (!to) out_of_memory();
    return to;
}

static void complete(FILE *to) {
    if (fclose(to) != 0) out_of_memory();
}

/* ---- The manual page ------------------------------------------------------------------------- */

static void man_option(const command_spec *command, const option_spec *s) {
    char *text = NULL;
    FILE *to = into(&text);
    option_describe(to, command, s);
    complete(to);
    printf(".TP\n\\fB\\-\\-");
    roff_text(s->name, strlen(s->name));
    printf("\\fR");
    if (s->value) printf(" \\fI%s\\fR", s->value);
    putchar('\n');
    roff_line(text, strlen(text));
    free(text);
}

static void man_paragraphs(const char *text) {
    while (*text) {
        const size_t length = strcspn(text, "\n");
        puts(".PP");
        roff_line(text, length);
        text += length + (text[length] == '\n');
    }
}

/* Paragraphs, and between them tables: lines that are indented by two, their columns by spaces. */
static void man_more(const command_spec *command) {
    char *text = NULL;
    bool row = false, first = true;
    FILE *to = into(&text);
    if (command->more) command->more(to);
    complete(to);
    for (const char *at = text; *at; at += *at == '\n') {
        const size_t length = strcspn(at, "\n"), indent = strspn(at, " ") >= 2 ? 2 : 0;
        if (row && indent == 0) puts(".RE");
        if (length > 0 && indent == 0 && (row || first)) puts(".PP");
        if (!row && indent == 2) puts(".RS 4");
        if (indent == 2) puts(".br\n.ti -2");
        if (length > 0) roff_line(at + indent, length - indent);
        row = indent == 2;
        first = length == 0;
        at += length;
    }
    if (row) puts(".RE");
    free(text);
}

static void man_command(const command_spec *command) {
    printf(".SS %s\n", command->name);
    printf("\\fBsqrtdk %s\\fR [\\fIoptions\\fR]", command->name);
    if (command->operand) printf(" \\fI%s\\fR", command->operand);
    putchar('\n');
    man_paragraphs(command->summary);
    for (int i = 0; i < command->count; i++) man_option(command, &command->options[i]);
    man_option(command, &OPTION_HELP);
    man_paragraphs(command->notes);
    man_more(command);
    if (command->examples[0]) puts(".PP");
    for (int i = 0; command->examples[i]; i++) {
        (void)fputs("sqrtdk ", stdout);
        roff_line(command->examples[i], strlen(command->examples[i]));
        puts(".br");
    }
}

/* ---- The table for bash: `_sqrtdk_table KEY` prints words ------------------------------------ */

static void bash_key(const char *command, const char *option) {
    printf("    '%s%s%s') echo '", command, option ? " --" : "", option ? option : "");
}

/* The kind of the option's value, and what it may be: words, else its default. */
static void bash_option(const command_spec *command, const option_spec *s) {
    word_list *words = option_values(command, s->name);
    bash_key(command->name, s->name);
    (void)fputs(s->value, stdout);
    for (int i = 0; words && words(i); i++) printf(" %s", words(i));
    if (!words && s->standard[0]) printf(" %s", s->standard);
    puts("' ;;");
}

static void bash_command(const command_spec *command) {
    bash_key(command->name, NULL);
    for (int i = 0; i < command->count; i++) printf("--%s ", command->options[i].name);
    printf("--%s' ;;\n", OPTION_HELP.name);
    if (command->operand)
        printf("    '%s operand') echo '%s' ;;\n", command->name, command->operand);
    for (int i = 0; i < command->count; i++)
        if (command->options[i].value) bash_option(command, &command->options[i]);
}

static void bash_table(void) {
    puts("_sqrtdk_table() {\n    case $1 in");
    bash_key("help", NULL);
    for (int i = 0; i < COUNT; i++) printf("%s%s", i > 0 ? " " : "", COMMANDS[i]->name);
    puts("' ;;");
    for (int i = 0; i < COUNT; i++) bash_command(COMMANDS[i]);
    puts("    esac\n}");
}

static void man_head(void) {
    puts(".TH SQRTDK 1 \"\" \"sqrtdk " SQRTDK_VERSION "\"\n.SH NAME\nsqrtdk \\- " PURPOSE);
}

static void man_commands(void) {
    for (int i = 0; i < COUNT; i++) man_command(COMMANDS[i]);
}

/* Lines of a template that are replaced. */
static const struct {
    const char *line;
    void (*print)(void);
} PLACES[] = {
    {".\\\" HEAD\n", man_head}, {".\\\" COMMANDS\n", man_commands}, {"# TABLE\n", bash_table}};

static void print_line(const char *line) {
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++)
        if (strcmp(line, PLACES[i].line) == 0) {
            PLACES[i].print();
            return;
        }
    (void)fputs(line, stdout);
}

int main(void) {
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) print_line(line);
    free(line);
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}

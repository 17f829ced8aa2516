/* report.c: what a run left becomes one JSON text in the page, which draws it and can train it
 * again: its settings, what the command says of it, and of each logged step the loss.
 */
#include "page/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/message.h"
#include "common/output.h"
#include "stall/stall.h"

/* Those whose results the page shows. */
static const command_spec *const SHOWN[] = {&STALL_COMMAND};
enum { SHOWN_COUNT = sizeof SHOWN / sizeof *SHOWN };

/* Where the page takes a run: this line of it is replaced. */
static const char PLACE[] = "<script type=\"application/json\" id=\"run\">null</script>\n";

static const option_spec OPTIONS[] = {
    {"output", "FILE", "", "the page (default: FILE with .html); - for standard output"},
    {"page", "FILE", "",
     "the page to fill (default: page/sqrtdk.html beside the program, then "
     "../share/sqrtdk/sqrtdk.html)"},
};

enum { LOG_BYTES_MOST = 1000000 };

/* ---- Files ----------------------------------------------------------------------------------- */

/* All of a file as a string; the caller frees. NULL with errno set. */
static char *read_all(const char *path) {
    FILE *from = fopen(path, "rb");
    char *text = NULL;
    size_t count = 0;
    if (!from) return NULL;
    if (getdelim(&text, &count, '\0', from) < 0) {
        free(text);
        text = NULL;
        if (!ferror(from)) errno = ENODATA;
    }
    (void)fclose(from);
    return text;
}

/* The page beside this program, as built or as installed; the caller frees. NULL: neither. */
static char *page_here(void) {
    static const char *const PLACES[] = {"page/sqrtdk.html", "../share/sqrtdk/sqrtdk.html"};
    char program[4096], path[4200];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) return read_all("build/page/sqrtdk.html");
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", program, PLACES[i]);
        char *page = read_all(path);
        if (page) return page;
    }
    return NULL;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* "<" is escaped, or a text could end the script that holds it. */
static void write_string(FILE *to, const char *text) {
    (void)fputc('"', to);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < ' ' || *c == '<' || *c == '"' || *c == '\\')
            (void)fprintf(to, "\\u%04x", *c);
        else
            (void)fputc(*c, to);
    (void)fputc('"', to);
}

static void write_member(FILE *to, const char *name, const char *text) {
    (void)fputs(",\n", to);
    write_string(to, name);
    (void)fputc(':', to);
    write_string(to, text);
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* Of each run and step what the page draws; of a log that is too long its medians over seeds. */
static const char *const OF_LOG[] = {"seed", "d_k",  "scale", "optimizer",
                                     "lr",   "step", "loss",  "loss_uniform"};
static const char *const OF_BANDS[] = {"d_k",  "scale",        "optimizer", "lr",
                                       "step", "ratio_median", "ratio_q1",  "ratio_q3"};
enum { COLUMNS = 8, FIELDS_MOST = 256 };

/* The columns of these names of a CSV, as a CSV; the caller frees. NULL if it lacks one, or without
 * memory. */
static char *columns_of(const char *csv, const char *const name[COLUMNS]) {
    char *out = NULL;
    size_t bytes = 0;
    int at[COLUMNS], fields = 0;
    FILE *to = open_memstream(&out, &bytes);
    if (!to) return NULL;
    for (int n = 0; n < COLUMNS; n++) at[n] = -1;
    for (const char *line = csv; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *field[FIELDS_MOST + 1];
        fields = 0;
        for (const char *f = line; fields < FIELDS_MOST; f++) {
            field[fields++] = f;
            f += strcspn(f, ",\n");
            if (*f != ',') break;
        }
        for (int n = 0; n < COLUMNS; n++) {
            for (int i = 0; line == csv && i < fields; i++)
                if (strcspn(field[i], ",\n") == strlen(name[n]) &&
                    strncmp(field[i], name[n], strlen(name[n])) == 0)
                    at[n] = i;
            if (at[n] < 0 || at[n] >= fields) {
                (void)fclose(to);
                free(out);
                return NULL;
            }
            (void)fprintf(to, "%s%.*s", n > 0 ? "," : "", (int)strcspn(field[at[n]], ",\n"),
                          field[at[n]]);
        }
        (void)fputc('\n', to);
    }
    if (fclose(to) == 0) return out;
    free(out);
    return NULL;
}

/* ---- The command that left it ---------------------------------------------------------------- */

typedef struct reporting {
    const char *path;
    char *meta;
    const command_spec *command;
    FILE *to;
    const char *only_there; /* an option that was given and that the page does not have; or "" */
} reporting;

static reporting now; /* the command's run has no other way to it */

/* An option, not among those that the page has, that is not at its default; "" for none. */
static const char *beyond_the_page(const options *o) {
    static const char *const HAS[] = {"d-k",   "scale", "optimizer", "lr",    "seed",
                                      "steps", "batch", "tokens",    "every", "output"};
    for (int i = 0; i < o->command->count; i++) {
        const option_spec *s = &o->command->options[i];
        bool has = strcmp(o->text[i], s->standard) == 0;
        for (size_t k = 0; k < sizeof HAS / sizeof *HAS; k++)
            has = has || strcmp(HAS[k], s->name) == 0;
        if (!has) return s->name;
    }
    return "";
}

static int speak(const options *o) {
    now.only_there = beyond_the_page(o);
    return now.command->report(o, now.path, now.to);
}

static const command_spec *command_of(const char *meta) {
    static const char KEY[] = "program = sqrtdk ";
    if (strncmp(meta, KEY, sizeof KEY - 1) != 0) return NULL;
    for (int i = 0; i < SHOWN_COUNT; i++) {
        const char *name = SHOWN[i]->name, *at = meta + sizeof KEY - 1;
        if (strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == '\n') return SHOWN[i];
    }
    return NULL;
}

/* A line "key = value" of .meta. */
typedef struct setting {
    const char *key, *value;
    int key_length, value_length;
} setting;

/* Moves *at behind the next line of the first paragraph; false at its end. */
static bool next_setting(const char **at, setting *out) {
    const char *line = *at, *end = line + strcspn(line, "\n"), *middle = strstr(line, " = ");
    if (!middle || middle + 2 >= end + 1 || end == line) return false;
    out->key = line;
    out->key_length = (int)(middle - line);
    out->value = middle + 3;
    out->value_length = end > out->value ? (int)(end - out->value) : 0;
    *at = *end ? end + 1 : end;
    return true;
}

static bool is(const char *text, const char *from, int length) {
    return strlen(text) == (size_t)length && strncmp(text, from, (size_t)length) == 0;
}

/* It as an argument, which the caller frees; NULL where it is the default, or without memory. */
static char *argument_of(const command_spec *command, const setting *s) {
    for (int i = 0; i < command->count; i++) {
        const option_spec *option = &command->options[i];
        if (!is(option->name, s->key, s->key_length)) continue;
        const char *standard = option->value ? option->standard : "no";
        if (is(standard, s->value, s->value_length)) return NULL;
        char *out = malloc((size_t)(s->key_length + s->value_length) + 4);
        if (out && option->value)
            (void)sprintf(out, "--%.*s=%.*s", s->key_length, s->key, s->value_length, s->value);
        else if (out)
            (void)sprintf(out, "--%.*s", s->key_length, s->key);
        return out;
    }
    return NULL;
}

/* The options of .meta's first paragraph as a command line. */
static int run_again(const command_spec *command) {
    char *argv[OPTIONS_MOST + 2] = {strdup(command->name)};
    const char *at = now.meta;
    command_spec again = *command;
    int argc = 1;
    setting s;
    while (argc <= OPTIONS_MOST && next_setting(&at, &s)) {
        argv[argc] = argument_of(command, &s);
        argc += argv[argc] != NULL;
    }
    again.run = speak;
    const int code = command_run(&again, argc, argv);
    for (int i = 0; i < argc; i++) free(argv[i]);
    return code;
}

/* What it says, as a string; the caller frees. NULL after one line. */
static char *said(void) {
    char *text = NULL;
    size_t bytes = 0;
    now.to = open_memstream(&text, &bytes);
    if (!now.to) {
        (void)complain("out of memory");
        return NULL;
    }
    const int code = run_again(now.command);
    if (fclose(now.to) == 0 && code == EXIT_OK) return text;
    free(text);
    return NULL;
}

/* ---- The page -------------------------------------------------------------------------------- */

static char *text_beside(const char *path, const char *ending) {
    char *beside = output_beside(path, ending);
    char *text = beside ? read_all(beside) : NULL;
    if (!text) (void)complain("cannot read '%s': %s", beside ? beside : path, strerror(errno));
    free(beside);
    return text;
}

/* The figures that scripts/plots draws of a run: figures/stem_verdict.svg, ... */
static const char *const FIGURES[] = {"_verdict.svg", "_loss.svg", "_signal.svg", "_frozen.svg"};
enum { FIGURE_COUNT = sizeof FIGURES / sizeof *FIGURES };

/* results/stall.csv -> results/figures/stall_verdict.svg; the caller frees. NULL without memory. */
static char *figure_path(const char *path, const char *ending) {
    char *stem = output_beside(path, ending);
    char *out = stem ? malloc(strlen(stem) + sizeof "figures/") : NULL;
    const char *slash = stem ? strrchr(stem, '/') : NULL;
    const size_t folder = slash ? (size_t)(slash - stem) + 1 : 0;
    if (out) (void)sprintf(out, "%.*sfigures/%s", (int)folder, stem, stem + folder);
    free(stem);
    return out;
}

/* Whether a file is there, and not older than the log. */
static bool is_of(const char *figure, const char *log) {
    struct stat drawn, run;
    return stat(figure, &drawn) == 0 && stat(log, &run) == 0 && drawn.st_mtime >= run.st_mtime;
}

/* A member that lists what was drawn of this run, as text. */
static void write_figures(FILE *to, const char *path) {
    int count = 0;
    (void)fputs(",\n\"figures\":[", to);
    for (int i = 0; i < FIGURE_COUNT; i++) {
        char *figure = figure_path(path, FIGURES[i]);
        char *svg = figure && is_of(figure, path) ? read_all(figure) : NULL;
        if (svg && count++ > 0) (void)fputs(",\n", to);
        if (svg) write_string(to, svg);
        free(figure);
        free(svg);
    }
    (void)fputc(']', to);
}

static bool write_data(FILE *to, const char *path) {
    char *log = text_beside(path, ".csv"), *words = log ? said() : NULL;
    char *rows = words ? columns_of(log, OF_LOG) : NULL;
    const bool whole = rows && strlen(rows) <= LOG_BYTES_MOST;
    char *bands = rows && !whole ? text_beside(path, "_bands.csv") : NULL;
    char *medians = bands ? columns_of(bands, OF_BANDS) : NULL;
    const bool good = words && (whole || medians);
    if (good) {
        (void)fputs("<script type=\"application/json\" id=\"run\">{\"shown\":true", to);
        write_member(to, "name", path);
        write_member(to, "meta", now.meta);
        write_member(to, "said", words);
        write_member(to, "only_there", now.only_there);
        write_member(to, whole ? "log" : "bands", whole ? rows : medians);
        write_figures(to, path);
        (void)fputs("}</script>\n", to);
    }
    if (words && !rows) (void)complain("%s: expected the columns of a log of stall", path);
    free(log);
    free(words);
    free(rows);
    free(bands);
    free(medians);
    return good;
}

static bool write_page(FILE *to, const char *page, const char *path) {
    const char *place = strstr(page, PLACE);
    if (!place) return complain("--page: expected the page that 'make page' builds");
    (void)fwrite(page, 1, (size_t)(place - page), to);
    if (!write_data(to, path)) return false;
    (void)fputs(place + sizeof PLACE - 1, to);
    return true;
}

static int run_report(const options *o) {
    const char *path = o->operand, *given = options_text(o, "page");
    const char *asked = options_text(o, "output");
    char *page = *given ? read_all(given) : page_here();
    char *beside = output_beside(path, ".html");
    output file = {.stream = NULL};
    int code = EXIT_FAILED;
    now = (reporting){.path = path, .meta = page && beside ? text_beside(path, ".meta") : NULL};
    now.command = now.meta ? command_of(now.meta) : NULL;
    if (!page && *given)
        (void)complain("--page '%s': %s", given, strerror(errno));
    else if (!page)
        (void)complain("the page is not there: 'make page' builds it beside the program, 'make "
                       "install' puts it into PREFIX/share/sqrtdk");
    else if (now.meta && !now.command)
        (void)complain("%s: expected results of stall", path);
    else if (now.meta && output_open(&file, *asked ? asked : beside) &&
             write_page(file.stream, page, path) && output_commit(&file)) {
        code = EXIT_OK;
        if (strcmp(asked, "-") != 0) printf("Written: %s\n", *asked ? asked : beside);
    }
    output_discard(&file);
    free(page);
    free(beside);
    free(now.meta);
    return code;
}

static const char *const EXAMPLES[] = {
    "report results/quick.csv", "report --output results/again.html results/quick.csv", NULL};

const command_spec REPORT_COMMAND = {
    .name = "report",
    .summary =
        "Puts a run of stall into the page: one HTML file that shows it and trains it again.",
    .options = OPTIONS,
    .count = sizeof OPTIONS / sizeof *OPTIONS,
    .notes =
        "FILE is the log; stem_runs.csv and stem.meta must lie beside it. The page is one file "
        "that works without a network. Of a log whose losses take more than 1 MB it has "
        "the medians over seeds. Figures that scripts/plots drew of the run, in the folder "
        "figures beside it, are in the page too.",
    .examples = EXAMPLES,
    .run = run_report,
    .operand = "FILE",
};

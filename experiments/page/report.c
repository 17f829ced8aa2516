/* report.c: what a run left becomes one JSON text in the page, which shows it: its settings, what
 * the command says of it, its tables and figures; and of each logged step of stall the loss, so
 * that the page can draw it and train it again.
 */
#include "page/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/again.h"
#include "common/message.h"
#include "common/output.h"
#include "common/quote.h"
#include "common/text.h"
#include "page/beside.h"
#include "stall/stall.h"

/* Where the page takes a run: this line of it is replaced. */
static const char PLACE[] = "<script type=\"application/json\" id=\"run\">null</script>\n";

static const option_spec OPTIONS[] = {
    {"output", "FILE", "", "the page (default: FILE with .html); - for standard output"},
    {"page", "FILE", "",
     "the page to fill (default: page/sqrtdk.html beside the program, then "
     "../share/sqrtdk/sqrtdk.html)"},
};

enum { LOG_BYTES_MOST = 1000000, ROWS_MOST = 20 };

/* The page beside this program, as built or as installed; the caller frees. NULL: neither. */
static char *page_here(void) {
    static const char *const PLACES[] = {"page/sqrtdk.html", "../share/sqrtdk/sqrtdk.html"};
    char program[4096], path[4200];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) return beside_read("build/page/sqrtdk.html");
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", program, PLACES[i]);
        char *page = beside_read(path);
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

typedef struct some_columns {
    const char *csv;
    const char *const *name; /* [COLUMNS] */
    bool *lacks;             /* one of them */
} some_columns;

/* As a CSV, up to where one is lacking. */
static void print_columns(FILE *to, const void *context) {
    const some_columns *c = context;
    const char *csv = c->csv, *const *name = c->name;
    int at[COLUMNS], fields = 0;
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
                *c->lacks = true;
                return;
            }
            (void)fprintf(to, "%s%.*s", n > 0 ? "," : "", (int)strcspn(field[at[n]], ",\n"),
                          field[at[n]]);
        }
        (void)fputc('\n', to);
    }
}

/* The columns of these names of the CSV at `path`; the caller frees. NULL after one line. */
static char *columns_of(const char *path, const char *csv, const char *const name[COLUMNS]) {
    bool lacks = false;
    size_t size;
    const some_columns c = {csv, name, &lacks};
    char *out = text_print(print_columns, &c, &size);
    if (!out) (void)complain_of_memory();
    if (!out || !lacks) return out;
    (void)complain("%s: expected the columns of a log of stall", path);
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
    figure_list figures;
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

static void print_said(FILE *to, const void *context) {
    int *code = *(int *const *)context;
    now.to = to;
    if (*code == EXIT_OK && now.command->report)
        *code = again_run(now.command, now.meta, NULL, 0, speak);
}

/* What it says, as a string, "" for a command without words; the caller frees. NULL after one line.
 */
static char *said(void) {
    int code = EXIT_OK, *at = &code;
    size_t size;
    char *text = text_print(print_said, &at, &size);
    const bool whole = text && !text_was_unbroken();
    if (!whole && code == EXIT_OK) (void)complain_of_memory();
    if (whole && code == EXIT_OK) return text;
    free(text);
    return NULL;
}

/* ---- The page -------------------------------------------------------------------------------- */

/* The losses of stall's log, or medians of one that is too long. */
static bool write_log(FILE *to, const char *path) {
    char *log = beside_text(path, ".csv"), *rows = log ? columns_of(path, log, OF_LOG) : NULL;
    const bool whole = rows && strlen(rows) <= LOG_BYTES_MOST;
    char *bands = rows && !whole ? beside_text(path, "_bands.csv") : NULL;
    char *medians = bands ? columns_of(path, bands, OF_BANDS) : NULL;
    if (whole || medians) write_member(to, whole ? "log" : "bands", whole ? rows : medians);
    free(log);
    free(rows);
    free(bands);
    free(medians);
    return whole || medians;
}

/* The head of a CSV and its first rows, and how many more there are. */
static bool write_table(FILE *to, const char *path, const char *ending) {
    char *csv = beside_text(path, ending), *end = csv;
    long more = 0;
    if (!csv) return false;
    for (int i = 0; i <= ROWS_MOST && *end; i++) end += strcspn(end, "\n"), end += *end == '\n';
    for (const char *c = end; *c; c++) more += *c == '\n';
    *end = '\0';
    (void)fputs("{\"ending\":", to);
    write_string(to, ending);
    write_member(to, "rows", csv);
    (void)fprintf(to, ",\"more\":%ld}", more);
    free(csv);
    return true;
}

/* The CSVs that .meta lists. */
static bool write_tables(FILE *to, const char *path) {
    static const char KEY[] = "\nfiles = ";
    const char *at = strstr(now.meta, KEY);
    char ending[64];
    bool good = true;
    int count = 0, length;
    (void)fputs(",\n\"tables\":[", to);
    at = at ? at + sizeof KEY - 1 : ".csv";
    for (; good && sscanf(at, "%63[^ \n]%n", ending, &length) == 1; at += *at == ' ') {
        at += length;
        if (strcmp(ending, ".meta") == 0) continue;
        if (count++ > 0) (void)fputs(",\n", to);
        good = write_table(to, path, ending);
    }
    (void)fputc(']', to);
    return good;
}

/* What was drawn of this run, as text. */
static bool write_figures(FILE *to) {
    (void)fputs(",\n\"figures\":[", to);
    for (int i = 0; i < now.figures.count; i++) {
        char *svg = beside_read(now.figures.path[i]);
        if (!svg) return complain("cannot read '%s': %s", now.figures.path[i], strerror(errno));
        if (i > 0) (void)fputs(",\n", to);
        write_string(to, svg);
        free(svg);
    }
    (void)fputc(']', to);
    return true;
}

static bool write_data(FILE *to, const char *path) {
    char *words = said();
    if (!words) return false;
    (void)fputs("<script type=\"application/json\" id=\"run\">{\"shown\":true", to);
    write_member(to, "name", path);
    write_member(to, "command", now.command->name);
    write_member(to, "meta", now.meta);
    write_member(to, "said", words);
    write_member(to, "only_there", now.only_there ? now.only_there : "");
    free(words);
    const bool good = (now.command != &STALL_COMMAND || write_log(to, path)) &&
                      write_tables(to, path) && figures_find(&now.figures, path) &&
                      write_figures(to);
    (void)fputs("}</script>\n", to);
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

/* For people: what was written, and what there might be in it. */
static void say_written(const char *page, const char *stem, const char *folder) {
    (void)fputs("Written: ", stdout);
    quote_print(stdout, page, strlen(page));
    (void)fputc('\n', stdout);
    if (now.figures.count == 0)
        printf("It has no figures: none of this run is beside its CSV or in %s, where\n"
               "'scripts/plots %s %s' draws them.\n",
               folder, stem, folder);
}

static int run_report(const options *o) {
    const char *path = o->operand, *given = options_text(o, "page");
    const char *asked = options_text(o, "output");
    char *beside = output_beside(path, ".html"), *stem = output_beside(path, "");
    char *folder = beside_figures(path);
    char *page = *given ? beside_read(given) : page_here();
    output file = {.stream = NULL};
    int code = EXIT_FAILED;
    now = (reporting){.path = path, .meta = page && beside ? beside_text(path, ".meta") : NULL};
    now.command = now.meta ? again_command(now.meta) : NULL;
    if (!beside || !stem || !folder || (!page && errno == ENOMEM))
        (void)complain_of_memory();
    else if (!page && *given)
        (void)complain("--page '%s': %s", given, strerror(errno));
    else if (!page)
        (void)complain("the page is not there: 'make page' builds it beside the program, 'make "
                       "install' puts it into PREFIX/share/sqrtdk");
    else if (now.meta && !now.command)
        (void)complain("%s: expected results of a command of this program", path);
    else if (now.meta && output_open(&file, *asked ? asked : beside) &&
             write_page(file.stream, page, path) && output_close(&file) && output_commit(&file)) {
        code = EXIT_OK;
        if (strcmp(asked, "-") != 0) say_written(*asked ? asked : beside, stem, folder);
    }
    output_discard(&file);
    free(page);
    free(beside);
    free(stem);
    free(folder);
    free(now.meta);
    figures_free(&now.figures);
    return code;
}

static const char *const EXAMPLES[] = {
    "report results/quick.csv", "report --output results/again.html results/quick.csv", NULL};

const command_spec REPORT_COMMAND = {
    .name = "report",
    .summary = "Puts results into the page: one HTML file that shows them, and trains a run of "
               "stall again.",
    .options = OPTIONS,
    .count = sizeof OPTIONS / sizeof *OPTIONS,
    .notes =
        "FILE = stem.csv is what a command of this program wrote; stem.meta and the files that it "
        "lists must lie beside it. The page is one file that works without a network. It has the "
        "settings, the first rows of each table, and the figures that scripts/plots drew "
        "(stem_*.svg in figures/ or beside FILE, if not older); of a run of stall also what stall "
        "says, and the losses or, where they take more than 1 MB, their medians over seeds.",
    .examples = EXAMPLES,
    .run = run_report,
    .operand = "FILE",
};

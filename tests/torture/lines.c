/* lines.c: random command lines. Commands and options are those that the program's help lists;
 * values are right ones, near ones, garbage and extremes. What does not end in time is asked to
 * (SIGTERM) and must. A case is the number of its random stream.
 */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

enum { COMMANDS_MOST = 16, OPTIONS_MOST = 64, NAME_BYTES = 32, HELP_BYTES = 1024 };
enum { PATIENCE = 700 }; /* milliseconds; most lines take 20 */

static long asked; /* to end */

typedef struct option {
    char name[NAME_BYTES];
    char value[NAME_BYTES]; /* FILE, N, LIST, ...; empty: a flag */
    char help[HELP_BYTES];  /* its words are values, too */
} option;

typedef struct command {
    char name[NAME_BYTES];
    option option[OPTIONS_MOST];
    int count;
} command;

static command commands[COMMANDS_MOST];
static int command_count;

/* ---- What the help lists --------------------------------------------------------------------- */

static outcome help(const torture *t, const char *line) {
    char text[128], *words[WORDS_MOST];
    (void)snprintf(text, sizeof text, "%s", line);
    words_of(t, text, words);
    return run(t, words, "case", 30);
}

/* "  --name VALUE  help", and lines that go on with it. */
static void read_option_line(command *c, const char *line) {
    if (strncmp(line, "  --", 4) == 0 && c->count < OPTIONS_MOST) {
        option *o = &c->option[c->count++];
        int used = 0;
        if (sscanf(line, "  --%31[a-z0-9-]%n", o->name, &used) != 1) c->count--;
        if (line[used] == ' ' && isupper((unsigned char)line[used + 1]))
            (void)sscanf(line + used, " %31s", o->value);
        (void)snprintf(o->help, sizeof o->help, "%s", line + used);
    } else if (c->count > 0) {
        char *to = c->option[c->count - 1].help;
        const size_t length = strlen(to);
        (void)snprintf(to + length, HELP_BYTES - length, " %s", line);
    }
}

static void read_help(const torture *t, command *c) {
    char line[64];
    (void)snprintf(line, sizeof line, "help %.31s", c->name);
    outcome o = help(t, line);
    char *at = strstr(o.out, "\nOptions:\n");
    if (at) at += 10;
    while (at && *at && *at != '\n') {
        char *end = strchr(at, '\n');
        if (!end) break;
        *end = '\0';
        read_option_line(c, at);
        at = end + 1;
    }
    outcome_free(&o);
}

static void read_all_help(const torture *t) {
    outcome o = help(t, "--help");
    const char *at = strstr(o.out, "\nCommands:\n");
    for (at = at ? at + 11 : ""; *at == ' ' && command_count < COMMANDS_MOST;) {
        command *c = &commands[command_count];
        if (at[2] != ' ' && sscanf(at, "  %31s", c->name) == 1) command_count++;
        at = strchr(at, '\n') + 1;
    }
    outcome_free(&o);
    for (int i = 0; i < command_count; i++) read_help(t, &commands[i]);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static const char *const EXTREMES[] = {"",
                                       "-",
                                       "--",
                                       "0",
                                       "-0",
                                       "-1",
                                       "1e300",
                                       "1e-300",
                                       "1e-320",
                                       "nan",
                                       "inf",
                                       "-inf",
                                       "0x10",
                                       "1.5",
                                       "99999999999999999999",
                                       "4294967296",
                                       "9223372036854775807",
                                       "2147483648",
                                       "1e9",
                                       " 1",
                                       "1 ",
                                       "1,",
                                       ",1",
                                       "1,,2",
                                       "1,1",
                                       "3..1",
                                       "1..",
                                       "..3",
                                       "1..3",
                                       "1..4",
                                       "0..0",
                                       "%s%n",
                                       "a",
                                       "\n",
                                       "a\033[31mb",
                                       "\xff\xfe",
                                       "\xe2\x88\x9a",
                                       "sqrt*2",
                                       "sqrt*",
                                       "*2",
                                       "sgd:",
                                       "sgd:1:2",
                                       "adam:0.1",
                                       "0.1@5",
                                       "0.1@",
                                       "@5",
                                       "5:0.5",
                                       "5:0.5,10:0.1",
                                       "5:",
                                       "../x.csv",
                                       "/nowhere/x.csv",
                                       "/dev/null",
                                       "/dev/full",
                                       ".",
                                       "folder",
                                       "1e308",
                                       "1e308,1e307",
                                       "0.1,0.10000000000000001",
                                       "0.5,1",
                                       "65536",
                                       "65537",
                                       "4294967295",
                                       "1e",
                                       "+1",
                                       "1e+2",
                                       "-1e-2",
                                       "none,none",
                                       "all",
                                       "sqrt,none,0.3"};
static const char *const SMALL[] = {"1", "2", "3", "4", "2,3", "1..3"};
static const char *const FILES[] = {"q.npy",   "k.npy",     "v.npy",    "do.npy",
                                    "dq.npy",  "dk.npy",    "dv.npy",   "q.csv",
                                    "log.csv", "page.html", "log.meta", "nothing.npy"};

#define PICK(t, list) (list)[torture_below(t, sizeof(list) / sizeof *(list))]

/* A word of the help, as one of a list of names is. */
static void pick_word(torture *t, const option *o, char value[TEXT_BYTES]) {
    const char *word[HELP_BYTES / 2];
    int count = 0;
    for (const char *c = o->help; *c; c++)
        if (isalnum((unsigned char)*c) && (c == o->help || !isalnum((unsigned char)c[-1])))
            word[count++] = c;
    value[0] = '\0';
    if (count == 0) return;
    const char *from = word[torture_below(t, (uint64_t)count)];
    (void)snprintf(value, TEXT_BYTES, "%.*s", (int)strcspn(from, " ,;:()"), from);
}

static void pick_value(torture *t, const option *o, char value[TEXT_BYTES]) {
    const uint64_t kind = torture_below(t, 10);
    if (strstr(o->value, "FILE") && kind < 7)
        (void)snprintf(value, TEXT_BYTES, "%s", PICK(t, FILES));
    else if (kind < 4)
        (void)snprintf(value, TEXT_BYTES, "%s", PICK(t, SMALL));
    else if (kind < 6)
        pick_word(t, o, value);
    else if (kind < 9)
        (void)snprintf(value, TEXT_BYTES, "%s", PICK(t, EXTREMES));
    else
        memset(value, 'x', TEXT_BYTES - 1);
    value[TEXT_BYTES - 1] = '\0';
}

/* ---- Lines ----------------------------------------------------------------------------------- */

typedef struct line {
    char text[WORDS_MOST][TEXT_BYTES + NAME_BYTES];
    char *words[WORDS_MOST];
    int count;
} line;

static void append(line *l, const char *text) {
    (void)snprintf(l->text[l->count], sizeof l->text[0], "%s", text);
    l->words[l->count] = l->text[l->count];
    l->words[++l->count] = NULL;
}

static bool has(const command *c, const char *name) {
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->option[i].name, name) == 0) return true;
    return false;
}

/* So that most lines are done soon; what follows may undo it. */
static void append_small(line *l, const command *c) {
    static const char *const SIZES[][2] = {
        {"--d-k", "2,8"},   {"--steps", "8"},    {"--batch", "2"}, {"--tokens", "3"},
        {"--d-model", "3"}, {"--d-v", "2"},      {"--rows", "8"},  {"--seed", "0"},
        {"--kappa", "1,2"}, {"--sigma0", "1,2"}, {"--keys", "3"},
    };
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        if (has(c, SIZES[i][0] + 2)) {
            append(l, SIZES[i][0]);
            append(l, SIZES[i][1]);
        }
    if (has(c, "output"))
        append(l, strcmp(c->name, "report") == 0 ? "--output=x.html" : "--output=x.csv");
    if (strcmp(c->name, "report") == 0) append(l, "--page=page.html");
}

static void append_files(line *l, const command *c) {
    static const char *const HEADS[] = {"q", "k", "v", "do", "dq", "dk", "dv"};
    const int count = strcmp(c->name, "gradcheck") == 0 ? 7 : 3;
    for (int i = 0; has(c, "q") && i < count; i++) {
        char text[NAME_BYTES];
        (void)snprintf(text, sizeof text, "--%s=%s.npy", HEADS[i], HEADS[i]);
        append(l, text);
    }
}

static void draw(torture *t, line *l) {
    const command *c = &commands[torture_below(t, (uint64_t)command_count)];
    *l = (line){.count = 0};
    append(l, t->program);
    append(l, torture_below(t, 100) ? c->name : PICK(t, EXTREMES));
    append_small(l, c);
    if (strcmp(c->name, "inspect") == 0 || torture_below(t, 3) == 0) append_files(l, c);
    for (uint64_t left = torture_below(t, 6); left > 0; left--) {
        const option *o = &c->option[torture_below(t, (uint64_t)c->count)];
        char text[TEXT_BYTES + NAME_BYTES], value[TEXT_BYTES];
        (void)snprintf(text, sizeof text, "--%s", o->name);
        append(l, text);
        pick_value(t, o, value);
        if (o->value[0] ? torture_below(t, 40) > 0 : torture_below(t, 40) == 0) append(l, value);
    }
    if (strcmp(c->name, "report") == 0 || torture_below(t, 60) == 0)
        append(l, torture_below(t, 4) ? "log.csv" : PICK(t, FILES));
}

/* ---- Checking -------------------------------------------------------------------------------- */

static void limit_memory(void *context) {
    const struct rlimit most = {(rlim_t)4 << 30, (rlim_t)4 << 30}; /* 4 GiB */
    (void)context;
    (void)setrlimit(RLIMIT_AS, &most);
}

static bool ends_within(pid_t process, int milliseconds) {
    const struct timespec pause = {0, 2000000};
    siginfo_t info;
    for (int i = 0; i < milliseconds; i += 2) {
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

/* Whether a table has a number that is none: as a word of its own. Infinity may be one where a line
 * says what it stands for. */
static bool has_no_number(const char *text) {
    static const char *const NONE[] = {"nan", "-nan", "-inf", "inf"};
    const int count = strstr(text, "\ninf: ") ? 3 : 4;
    for (const char *at = text; *at;) {
        const size_t length = strcspn(at, " \n");
        for (int i = 0; i < count; i++)
            if (length == strlen(NONE[i]) && strncmp(at, NONE[i], length) == 0) return true;
        at += length;
        at += strspn(at, " \n");
    }
    return false;
}

static const char *what_is_left(const torture *t) {
    static char wrong[512];
    folder after;
    folder_read(t, "case", &after);
    const char *left = folder_left_over(&after);
    if (!left) return NULL;
    (void)snprintf(wrong, sizeof wrong, "%s is left", left);
    return wrong;
}

static const char *check(torture *t, const line *l) {
    folder_make(t, "case", "inputs");
    const pid_t process = run_start(t, l->words, "case", 60, limit_memory, NULL);
    const bool in_time = ends_within(process, PATIENCE);
    asked += !in_time;
    if (!in_time) (void)kill(process, SIGTERM);
    if (!in_time && !ends_within(process, 10000)) (void)kill(process, SIGKILL);
    outcome o = run_end(t, process);
    const char *bad = NULL;
    if (!in_time)
        bad = o.signal == SIGTERM || o.code == 128 + SIGTERM || o.code == 0 ? NULL
                                                                            : outcome_wrong(&o);
    else
        bad = outcome_wrong(&o);
    if (!bad && o.code == 0 && has_no_number(o.out)) bad = "nan or inf in a table";
    if (!bad && in_time) bad = what_is_left(t);
    if (t->only) {
        for (int i = 0; l->words[i]; i++) printf("'%s' ", l->words[i]);
        printf("\nexit %d, signal %d\n%s%s", o.code, o.signal, o.out, o.err);
    }
    static char said[4 * TEXT_BYTES];
    if (bad) (void)snprintf(said, sizeof said, "%s", bad); /* it may point into what is freed */
    outcome_free(&o);
    return bad ? said : NULL;
}

static void say_line(const line *l) {
    printf("  cd inputs &&");
    for (int i = 0; l->words[i]; i++) {
        const bool plain = strspn(l->words[i], "abcdefghijklmnopqrstuvwxyz0123456789-=.,/_") ==
                           strlen(l->words[i]);
        printf(plain && l->words[i][0] ? " %.80s" : " '%.80s'", l->words[i]);
    }
    puts("");
}

static void make_inputs(const torture *t) {
    static const char *const HEADS[] = {"q", "k", "v", "do", "dq", "dk", "dv"};
    static const char PAGE[] =
        "<html>\n<script type=\"application/json\" id=\"run\">null</script>\n</html>\n";
    static const char ROWS[] = "1,0\n0,1\n0.5,-1\n";
    char text[] = "stall --d-k 2 --steps 3 --seed 0 --batch 2 --quiet --output log.csv";
    char *words[WORDS_MOST];
    folder_make(t, "inputs", NULL);
    words_of(t, text, words);
    outcome o = run(t, words, "inputs", 60);
    if (o.code != 0) exit(2);
    outcome_free(&o);
    file_write(t, "inputs", "page.html", PAGE, sizeof PAGE - 1);
    file_write(t, "inputs", "q.csv", ROWS, sizeof ROWS - 1);
    for (size_t i = 0; i < sizeof HEADS / sizeof *HEADS; i++) {
        char from[128], file[NAME_BYTES];
        (void)snprintf(from, sizeof from, "tests/golden/gradients/%s.npy", HEADS[i]);
        (void)snprintf(file, sizeof file, "%s.npy", HEADS[i]);
        file_copy(t, from, "inputs", file);
    }
}

int main(int argc, char **argv) {
    static line l;
    torture t;
    torture_start(&t, "lines", "sqrtdk", argc, argv);
    folder_make(&t, "case", NULL);
    read_all_help(&t);
    make_inputs(&t);
    if (command_count == 0) return 2;
    for (uint64_t i = 0; torture_goes_on(&t); i++) {
        char name[32];
        if (t.only) i = strtoull(t.only, NULL, 10);
        (void)snprintf(name, sizeof name, "%llu", (unsigned long long)i);
        t.random = t.seed + (i << 32);
        draw(&t, &l);
        const char *bad = check(&t, &l);
        torture_count(&t, name, bad);
        if (bad) say_line(&l);
        if (t.only) break;
    }
    printf("of these lines %ld were long and asked to end\n", asked);
    return torture_end(&t, 0);
}

/* main.c: the table of subcommands. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/message.h"
#include "common/options.h"
#include "common/version.h"
#include "gradcheck/gradcheck.h"
#include "inspect/inspect.h"
#include "saturation/saturation.h"
#include "stall/stall.h"
#include "trace/trace.h"

typedef struct subcommand {
    const command_spec *spec;
    int (*run)(int argc, char **argv);
} subcommand;

static const subcommand SUBCOMMANDS[] = {
    {&STALL_COMMAND, stall_main},           {&GRADCHECK_COMMAND, gradcheck_main},
    {&TRACE_COMMAND, trace_main},           {&INSPECT_COMMAND, inspect_main},
    {&SATURATION_COMMAND, saturation_main},
};

enum { COUNT = sizeof SUBCOMMANDS / sizeof *SUBCOMMANDS };

static int print_help(void) {
    puts("sqrtdk: why attention divides by the square root of d_k, shown on numbers.\n\n"
         "Usage: sqrtdk SUBCOMMAND [options]\n"
         "       sqrtdk help SUBCOMMAND\n"
         "       sqrtdk --help | --version\n\nSubcommands:");
    for (int i = 0; i < COUNT; i++)
        printf("  %-12s %s\n", SUBCOMMANDS[i].spec->name, SUBCOMMANDS[i].spec->summary);
    return EXIT_OK;
}

static const subcommand *find(const char *name) {
    for (int i = 0; i < COUNT; i++)
        if (strcmp(SUBCOMMANDS[i].spec->name, name) == 0) return &SUBCOMMANDS[i];
    return NULL;
}

static int unknown(const char *word) {
    static const char *const WORDS[] = {"help", "--help", "--version"};
    const char *names[COUNT + 3];
    int count = 0;
    for (; count < COUNT; count++) names[count] = SUBCOMMANDS[count].spec->name;
    for (int i = 0; i < 3; i++) names[count++] = WORDS[i];
    const char *nearest = options_nearest(word, names, count);
    if (nearest)
        return message_fail(EXIT_USAGE, "unknown subcommand '%s'; did you mean %s?", word, nearest);
    return message_fail(EXIT_USAGE, "unknown subcommand '%s'; see 'sqrtdk --help'", word);
}

/* A closed standard descriptor would be given to the next file opened, and what is meant for people
 * would land in a result. Opened for reading, writing to it fails as it should. */
static void fill_closed_descriptors(void) {
    int fd;
    do fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) (void)close(fd);
}

static int run(int argc, char **argv) {
    if (argc < 2) return message_fail(EXIT_USAGE, "expected a subcommand; see 'sqrtdk --help'");
    if (strcmp(argv[1], "--version") == 0) {
        puts("sqrtdk " SQRTDK_VERSION);
        return EXIT_OK;
    }
    bool help = strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
                strcmp(argv[1], "-h") == 0;
    if (help && (argc == 2 || strcmp(argv[2], "help") == 0)) return print_help();
    const subcommand *s = find(argv[help ? 2 : 1]);
    if (!s) return unknown(argv[help ? 2 : 1]);
    if (!help) return s->run(argc - 1, argv + 1);
    options_help(s->spec);
    return EXIT_OK;
}

int main(int argc, char **argv) {
    fill_closed_descriptors();
    (void)signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of writing, with its reason */
    int code = run(argc, argv);
    if (code == EXIT_OK && (fflush(stdout) != 0 || ferror(stdout)))
        return message_fail(EXIT_FAILED, "cannot write standard output: %s", strerror(errno));
    return code;
}

/* main.c: the table of subcommands. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/message.h"
#include "common/options.h"
#include "common/output.h"
#include "common/text.h"
#include "common/version.h"
#include "gradcheck/gradcheck.h"
#include "inspect/inspect.h"
#include "saturation/saturation.h"
#include "stall/stall.h"
#include "trace/trace.h"

static const command_spec *const COMMANDS[] = {
    &STALL_COMMAND, &GRADCHECK_COMMAND, &TRACE_COMMAND, &INSPECT_COMMAND, &SATURATION_COMMAND,
};

enum { COUNT = sizeof COMMANDS / sizeof *COMMANDS };

static void print_commands(void) {
    for (int i = 0; i < COUNT; i++)
        text_line(stdout, 13, "  %-10s %s", COMMANDS[i]->name, COMMANDS[i]->summary);
}

static int print_help(void) {
    puts("sqrtdk: why attention divides by the square root of d_k, shown on numbers.\n\n"
         "Usage: sqrtdk COMMAND [options]\n"
         "       sqrtdk help COMMAND\n"
         "       sqrtdk --help | --version\n\nCommands:");
    print_commands();
    puts("\nExamples:");
    for (int i = 0; i < 2; i++) text_line(stdout, 6, "  sqrtdk %s", COMMANDS[i]->examples[0]);
    return EXIT_OK;
}

/* What someone sees who types the name alone. */
static int print_short_help(void) {
    puts("sqrtdk: why attention divides by the square root of d_k. Commands:");
    print_commands();
    puts("Try 'sqrtdk help COMMAND', or first: sqrtdk trace");
    return EXIT_OK;
}

static const command_spec *find(const char *name) {
    for (int i = 0; i < COUNT; i++)
        if (strcmp(COMMANDS[i]->name, name) == 0) return COMMANDS[i];
    return NULL;
}

static int unknown(const char *word) {
    static const char *const WORDS[] = {"help", "--help", "--version"};
    const char *names[COUNT + 3];
    int count = 0;
    for (; count < COUNT; count++) names[count] = COMMANDS[count]->name;
    for (int i = 0; i < 3; i++) names[count++] = WORDS[i];
    const char *nearest = options_nearest(word, names, count);
    if (nearest)
        return message_fail(EXIT_USAGE, "unknown command '%s'; did you mean %s?", word, nearest);
    return message_fail(EXIT_USAGE, "unknown command '%s'; see 'sqrtdk --help'", word);
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
    if (argc < 2) return print_short_help();
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("sqrtdk " SQRTDK_VERSION);
        return EXIT_OK;
    }
    bool help = strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
                strcmp(argv[1], "-h") == 0;
    if (help && (argc == 2 || strcmp(argv[2], "help") == 0)) return print_help();
    const command_spec *command = find(argv[help ? 2 : 1]);
    if (!command) return unknown(argv[help ? 2 : 1]);
    if (!help) return command_run(command, argc - 1, argv + 1);
    command_help(command);
    return EXIT_OK;
}

int main(int argc, char **argv) {
    fill_closed_descriptors();
    output_catch_signals();
    (void)signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of writing, with its reason */
    int code = run(argc, argv);
    if (code == EXIT_OK && (fflush(stdout) != 0 || ferror(stdout)))
        return message_fail(EXIT_FAILED, "cannot write standard output: %s", strerror(errno));
    return code;
}

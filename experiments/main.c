/* main.c: the subcommands by their names. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common/again.h"
#include "common/message.h"
#include "common/output.h"
#include "common/settings.h"
#include "common/text.h"
#include "tt/arithmetic.h"
#include "tt/kernel.h"

static void print_commands(void) {
    for (int i = 0; i < COUNT; i++)
        text_line(stdout, 13, "  %-10s %s", COMMANDS[i]->name, COMMANDS[i]->summary);
}

static int print_help(void) {
    puts("sqrtdk: " PURPOSE ", shown on numbers.\n\n"
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
    puts("sqrtdk: " PURPOSE ". Commands:");
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
    if (nearest && strcmp(nearest, word) != 0) /* as --version is none behind help */
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

/* EXIT_OK, or what the environment variable that names a kernel asks for in vain. */
static int check_kernel(void) {
    const char *wanted = getenv(TT_KERNEL_VARIABLE);
    tt_kernel kernel;
    char runs[64] = "";
    if (!wanted || (tt_kernel_find(wanted, &kernel) && tt_kernel_runs(kernel))) return EXIT_OK;
    for (int i = 0; i < TT_KERNEL_COUNT; i++)
        if (tt_kernel_runs((tt_kernel)i)) {
            const size_t used = strlen(runs);
            (void)snprintf(runs + used, sizeof runs - used, "%s%s", used ? ", " : "",
                           tt_kernel_name((tt_kernel)i));
        }
    return message_fail(EXIT_USAGE, "the environment's %s=%s: expected one that runs here: %s",
                        TT_KERNEL_VARIABLE, wanted, runs);
}

/* Bits that only this build has are no result. */
static int check_arithmetic(void) {
    const char *wrong = tt_arithmetic_error();
    if (!wrong) return EXIT_OK;
    return message_fail(EXIT_FAILED,
                        "this build's arithmetic is relaxed: %s; see the Makefile's flags", wrong);
}

static int run(int argc, char **argv) {
    int code = check_kernel();
    if (code != EXIT_OK) return code;
    if (argc < 2) return print_short_help();
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("sqrtdk %s, kernel %s\n", settings_version(), tt_kernel_name(tt_kernel_here()));
        return EXIT_OK;
    }
    bool help = strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
                strcmp(argv[1], "-h") == 0;
    if (help && (argc == 2 || strcmp(argv[2], "help") == 0)) return print_help();
    const command_spec *command = find(argv[help ? 2 : 1]);
    if (!command) return unknown(argv[help ? 2 : 1]);
    if (help && argc > 3)
        return message_fail(EXIT_USAGE, "help: unexpected argument '%s' after '%s'", argv[3],
                            argv[2]);
    if (help) {
        command_help(command);
        return EXIT_OK;
    }
    again_among(COMMANDS, COUNT);
    code = check_arithmetic();
    return code == EXIT_OK ? command_run(command, argc - 1, argv + 1) : code;
}

int main(int argc, char **argv) {
    fill_closed_descriptors();
    output_catch_signals();
    (void)signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of writing, with its reason */
    const int code = message_code(run(argc, argv));
    const char *reason = code == EXIT_OK ? output_flush(stdout) : NULL;
    return reason ? message_fail(EXIT_FAILED, "cannot write standard output: %s", reason) : code;
}

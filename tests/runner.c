/* runner.c: runs every suite. CK_RUN_SUITE=name runs one, CK_FORK=no keeps all in one process.
 * `run list` prints the suites' names instead, `run list quick` those of the quick ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"

typedef enum length { QUICK, LONG } length;

static const struct {
    const char *name;
    Suite *(*make)(void);
    length length;
} LIST[] = {
#define ENTRY(name, length) {#name, name##_suite, length},
    SUITES(ENTRY)
#undef ENTRY
};
enum { COUNT = sizeof LIST / sizeof *LIST };

static int list(length longest) {
    for (int i = 0; i < COUNT; i++)
        if (LIST[i].length <= longest) (void)puts(LIST[i].name);
    return EXIT_SUCCESS;
}

static int run(void) {
    SRunner *runner = srunner_create(NULL);
    for (int i = 0; i < COUNT; i++) srunner_add_suite(runner, LIST[i].make());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    (void)unsetenv("CDPATH"); /* with it the shells of tests may go elsewhere */
    if (argc == 1) return run();
    if (strcmp(argv[1], "list") == 0 && argc == 2) return list(LONG);
    if (strcmp(argv[1], "list") == 0 && argc == 3 && strcmp(argv[2], "quick") == 0)
        return list(QUICK);
    (void)fputs("usage: run [list [quick]]\n", stderr);
    return 2;
}

/* test_bits.c: what this build computes has the committed bits, whichever kernel and whichever
 * variants of the C library's functions are in use; so nothing may come from that library which is
 * not exact.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"
#include "support.h"
#include "tt/kernel.h"

static void assert_bits_under(const char *setting) {
    char command[512];
    (void)snprintf(command, sizeof command,
                   "%s " TEST_BUILD "/bits >" SCRATCH "bits.txt && cmp " SCRATCH "bits.txt " GOLDEN
                   "bits.txt",
                   setting);
    ck_assert_msg(shell(command) == 0, "other bits under %s", setting);
}

START_TEST(every_kernel_gives_the_committed_bits) {
    const tt_kernel kernel = (tt_kernel)_i;
    char setting[64];
    (void)snprintf(setting, sizeof setting, TT_KERNEL_VARIABLE "=%s", tt_kernel_name(kernel));
    if (tt_kernel_runs(kernel)) assert_bits_under(setting);
}
END_TEST

/* glibc has an exp, a log and so on for processors with FMA, whose last bits differ. */
START_TEST(the_c_librarys_variants_change_no_bit) {
    assert_bits_under("GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable");
}
END_TEST

START_TEST(a_kernel_that_is_not_here_is_refused) {
    static const char *const NAMES[] = {"avx", "", "PORTABLE"};
    for (int i = 0; i < LENGTH(NAMES); i++) {
        char setting[64];
        (void)snprintf(setting, sizeof setting, TT_KERNEL_VARIABLE "=%s", NAMES[i]);
        const captured *c = run_program(setting, "trace");
        ck_assert_int_eq(c->code, 2);
        assert_one_line(c->err, "expected one that runs here: portable");
    }
    ck_assert(!tt_kernel_runs(TT_KERNEL_COUNT));
}
END_TEST

START_TEST(version_and_meta_name_the_kernel) {
    const captured *c = run_program(TT_KERNEL_VARIABLE "=portable", "--version");
    assert_says(c->out, "kernel portable");
    run_quietly(TT_KERNEL_VARIABLE "=portable", "stall --d-k 2 --steps 2", "kernel");
    ck_assert(shell("grep -qx 'kernel = portable' " SCRATCH "kernel.meta") == 0);
}
END_TEST

/* ---- What comes from the C library ----------------------------------------------------------- */

/* Exact by their definition, or rounded once. */
static const char *const EXACT[] = {"fabs",  "floor", "fma",   "fmax", "fmin",
                                    "frexp", "ldexp", "round", "sqrt"};

/* Of the rest of math.h (C11 7.12) nothing is asked: most is off by a last place here and there. */
static const char *const INEXACT[] = {
    "acos", "acosh",  "asin",   "asinh", "atan",  "atan2",  "atanh", "cbrt",  "cos",
    "cosh", "erf",    "erfc",   "exp",   "exp2",  "expm1",  "fmod",  "hypot", "j0",
    "j1",   "jn",     "lgamma", "log",   "log10", "log1p",  "log2",  "pow",   "remainder",
    "sin",  "sincos", "sinh",   "tan",   "tanh",  "tgamma", "y0",    "y1",    "yn"};

static bool is_one_of(const char *name, const char *const *list, int count) {
    for (int i = 0; i < count; i++) {
        const size_t length = strlen(list[i]);
        /* macOS writes an underscore before; f and l are for float and long double */
        const char *at = name + (name[0] == '_');
        if (strncmp(at, list[i], length) == 0 && (!at[length] || strspn(at + length, "fl") == 1))
            return true;
    }
    return false;
}

START_TEST(only_exact_functions_come_from_the_c_librarys_mathematics) {
    char name[256];
    int exact = 0;
    ck_assert_int_eq(shell("nm -u " TEST_BUILD "/libtensortape.a $(find " TEST_BUILD
                           "/experiments -name '*.o') >" SCRATCH "imported.txt"),
                     0);
    FILE *from = open_file(SCRATCH "imported.txt");
    while (fscanf(from, "%255s", name) == 1) {
        exact += is_one_of(name, EXACT, LENGTH(EXACT));
        ck_assert_msg(!is_one_of(name, INEXACT, LENGTH(INEXACT)), "%s is imported", name);
        ck_assert_msg(strncmp(name, "_ZGV", 4) != 0, "%s is imported", name); /* glibc's vectors */
    }
    (void)fclose(from);
    ck_assert_int_ge(exact, 3); /* names are read: floor, frexp and ldexp are always calls */
}
END_TEST

Suite *bits_suite(void) {
    const TTest *tests[] = {the_c_librarys_variants_change_no_bit,
                            a_kernel_that_is_not_here_is_refused, version_and_meta_name_the_kernel,
                            only_exact_functions_come_from_the_c_librarys_mathematics};
    Suite *suite = suite_of("bits", tests, LENGTH(tests), 120);
    add_loop(suite, every_kernel_gives_the_committed_bits, TT_KERNEL_COUNT, 120);
    return suite;
}

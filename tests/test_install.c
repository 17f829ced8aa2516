/* test_install.c: what is installed serves someone who has nothing else of this project, and goes
 * again without a trace. The folder has a blank in its name.
 */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "suites.h"
#include "support.h"

#define ROOT SCRATCH "inst all"
#define PREFIX ROOT "/usr"
#define PKG_CONFIG "PKG_CONFIG_PATH='" PREFIX "/lib/pkgconfig' pkg-config "

static void does(const char *command) {
    ck_assert_msg(shell(command) == 0, "%s", command);
}

static void install(void) {
    does("BUILD=" TEST_BUILD " scripts/install '" PREFIX "' >" SCRATCH "inst.txt");
}

/* Into a folder that has something of others. */
static void install_anew(void) {
    does("rm -rf '" ROOT "' && mkdir -p '" PREFIX "/lib' && echo >'" PREFIX "/lib/other'");
    install();
}

/* Fails unless the paths that `found` prints are those that `expected` prints. */
static void assert_same_list(const char *expected, const char *found) {
    char command[2048];
    (void)snprintf(command, sizeof command,
                   "{ %s; } | LC_ALL=C sort >" SCRATCH "expected.txt && { %s; } | LC_ALL=C sort | "
                   "diff " SCRATCH "expected.txt -",
                   expected, found);
    does(command);
}

START_TEST(what_is_installed_is_this_list) {
    install_anew();
    assert_same_list("printf '%s\\n' bin/sqrtdk bin/sqrtdk-plots lib/libtensortape.a lib/other "
                     "lib/pkgconfig/tensortape.pc share/bash-completion/completions/sqrtdk "
                     "share/man/man1/sqrtdk.1 share/sqrtdk/draw share/sqrtdk/installed "
                     "share/sqrtdk/plots; ls include/tt/*.h; "
                     "ls scripts/figures/*.gp | sed 's|scripts|share/sqrtdk|'; "
                     "[ ! -e " TEST_BUILD "/page/sqrtdk.html ] || echo share/sqrtdk/sqrtdk.html",
                     "cd '" PREFIX "' && find * ! -type d");
}
END_TEST

/* Twice, as an update does: the folders that the first made go too. */
START_TEST(what_was_there_before_is_what_stays) {
    install_anew();
    install();
    does("scripts/install --remove '" PREFIX "' >" SCRATCH "inst.txt");
    assert_same_list("printf '%s\\n' usr usr/lib usr/lib/other", "cd '" ROOT "' && find *");
    ck_assert_int_eq(shell("scripts/install --remove '" PREFIX "' >" SCRATCH "inst.txt 2>&1"), 1);
    char *said = read_whole(SCRATCH "inst.txt");
    assert_one_line(said, "nothing to remove");
    free(said);
}
END_TEST

/* A package is made under a folder that is no part of any path in it. */
START_TEST(what_is_staged_does_not_know_where) {
    does("rm -rf '" ROOT "' && BUILD=" TEST_BUILD " scripts/install /usr '" ROOT "' >" SCRATCH
         "inst.txt");
    does("grep -qx prefix=/usr '" PREFIX "/lib/pkgconfig/tensortape.pc'");
    does("grep -qx /usr/bin/sqrtdk '" PREFIX "/share/sqrtdk/installed'");
    does("! grep -rlq '" ROOT "' '" ROOT "'");
    does("scripts/install --remove /usr '" ROOT "' >" SCRATCH "inst.txt && rmdir '" ROOT "'");
}
END_TEST

/* ---- The library ----------------------------------------------------------------------------- */

START_TEST(the_library_has_only_names_of_its_own) {
    char kind, name[256];
    int count = 0;
    does("nm -g -P " TEST_BUILD "/libtensortape.a >" SCRATCH "symbols.txt");
    FILE *from = open_file(SCRATCH "symbols.txt");
    for (char line[512]; fgets(line, sizeof line, from);) {
        /* U is another's; macOS writes an underscore before; __ are the sanitizers' */
        if (sscanf(line, "%255s %c", name, &kind) != 2 || kind == 'U' || kind == 'w') continue;
        count++;
        ck_assert_msg(strncmp(name + (name[0] == '_'), "tt_", 3) == 0 || strstr(name, "__") == name,
                      "%s %c", name, kind);
    }
    (void)fclose(from);
    ck_assert_int_ge(count, 80); /* names are read: the headers declare so many functions */
}
END_TEST

/* The example as a stranger builds it, from another folder. */
static void build_and_run(const char *compiler, const char *example, const char *says) {
    char command[2048];
    (void)snprintf(command, sizeof command,
                   "set -e; cp experiments/examples/%s.c " SCRATCH "inst_example.c; cd " SCRATCH
                   "; flags=$(PKG_CONFIG_PATH='inst all/usr/lib/pkgconfig' pkg-config --cflags "
                   "--libs tensortape); eval \"%s inst_example.c -x none -o inst_example $flags\"; "
                   "./inst_example | grep -q '%s'",
                   example, compiler, says);
    does(command);
}

static void build_examples(const char *compiler) {
    install_anew();
    build_and_run(compiler, "attention", "output 6.6976 6.6048,");
    build_and_run(compiler, "custom_op", "7 PASS, 0 FAIL");
}

START_TEST(c_links_the_installed_library) {
    if (shell("command -v pkg-config >/dev/null") != 0)
        (void)puts("note: no pkg-config here; the installed library is not linked");
    else
        build_examples(TEST_CC " -std=c11 -x c");
}
END_TEST

static bool have_cxx(void) {
    const bool have = shell("printf 'int main() { return 0; }' | " TEST_CXX " -x c++ - -o " SCRATCH
                            "cxx 2>/dev/null") == 0;
    if (!have) (void)puts("note: no C++ compiler here; the library is linked in C only");
    return have;
}

START_TEST(cxx_links_the_installed_library) {
    if (have_cxx() && shell("command -v pkg-config >/dev/null") == 0)
        build_examples(TEST_CXX " -std=c++11 -x c++");
}
END_TEST

START_TEST(the_headers_are_cxx_11_without_a_warning) {
    if (have_cxx())
        does("echo '#include \"tt/tt.h\"' | " TEST_CXX
             " -std=c++11 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only -x c++ -");
}
END_TEST

/* ---- The program ----------------------------------------------------------------------------- */

START_TEST(an_installed_program_draws_from_any_folder) {
    if (!have_gnuplot()) return;
    install_anew();
    does("chmod -R a-w '" PREFIX "' && mkdir -p " SCRATCH "inst_user && ln -sf \"$PWD/" PREFIX
         "/bin/sqrtdk-plots\" " SCRATCH "inst_user/draw");
    const int code =
        shell("set -e; export PATH=$PWD/'" PREFIX "/bin':$PATH CDPATH=/:/usr; cd " SCRATCH
              "inst_user; sqrtdk precision --d-k 8,64 --seed 0 --quiet --force --output run.csv; "
              "sqrtdk-plots run >drawn.txt; ./draw run.csv linked >>drawn.txt; "
              "printf '%s\\n' ./run_precision.png ./run_precision.svg linked/run_precision.png "
              "linked/run_precision.svg | diff - drawn.txt; ls $(cat drawn.txt) >/dev/null");
    does("chmod -R u+w '" PREFIX "'");
    ck_assert_int_eq(code, 0);
    ck_assert_int_eq(shell("'" PREFIX "/bin/sqrtdk-plots' 2>" SCRATCH "inst.txt"), 2);
    char *said = read_whole(SCRATCH "inst.txt");
    assert_says(said, "usage: sqrtdk-plots STEM");
    free(said);
}
END_TEST

/* The folder of a build differs from one to the next; what it gives does not, but where lines are
 * counted: that program says where. */
START_TEST(neither_program_nor_library_holds_the_folder_of_the_build) {
    if (strstr(TEST_CC, "--coverage")) return;
    does("! LC_ALL=C grep -q -F \"$PWD\" " TEST_BUILD "/libtensortape.a");
    does("! LC_ALL=C grep -q -F \"$PWD\" " TEST_BUILD "/sqrtdk");
}
END_TEST

START_TEST(the_version_names_what_is_in_meta) {
    run_quietly("", "precision --d-k 8 --seed 0", "version");
    does(TEST_BUILD "/sqrtdk --version | grep -qx \"sqrtdk $(sed -n 's/^version = //p' " SCRATCH
                    "version.meta), commit $(sed -n 's/^commit = //p' " SCRATCH
                    "version.meta), kernel $(sed -n 's/^kernel = //p' " SCRATCH "version.meta)\"");
}
END_TEST

/* ---- Manual page and completion -------------------------------------------------------------- */

START_TEST(the_manual_page_has_every_command_and_option) {
    char *page = read_whole(TEST_BUILD "/manual/sqrtdk.1");
    const char *at = page;
    for (int c = 0; c < COUNT; c++) {
        char heading[64];
        (void)snprintf(heading, sizeof heading, ".SS %s\n", COMMANDS[c]->name);
        at = strstr(at, heading);
        ck_assert_msg(at != NULL, "%s", heading);
        for (int i = 0; i < COMMANDS[c]->count; i++) {
            char option[128] = "\n\\fB\\-\\-";
            for (const char *n = COMMANDS[c]->options[i].name; *n; n++)
                strncat(*n == '-' ? strcat(option, "\\") : option, n, 1);
            at = strstr(at, strcat(option, "\\fR"));
            ck_assert_msg(at != NULL, "%s: %s", COMMANDS[c]->name, option);
        }
    }
    free(page);
}
END_TEST

START_TEST(no_formatter_complains_of_the_manual_page) {
    if (shell("command -v groff >/dev/null") == 0)
        does("groff -man -Tascii -ww -z " TEST_BUILD "/manual/sqrtdk.1 2>&1 | diff - /dev/null");
    if (shell("command -v mandoc >/dev/null") == 0)
        does("mandoc -Tlint -W warning " TEST_BUILD
             "/manual/sqrtdk.1 | grep -v 'missing date' | diff - "
             "/dev/null");
}
END_TEST

/* What TAB offers behind a text, whose words are cut as bash cuts them. */
static void assert_offers(const char *typed, const char *words, const char *offered) {
    char command[1024];
    (void)snprintf(command, sizeof command,
                   "bash -c '. " TEST_BUILD "/manual/sqrtdk; COMP_LINE=$0 COMP_POINT=${#0} "
                   "COMP_WORDS=($1 \"$2\") COMP_CWORD=${#COMP_WORDS[@]}; ((COMP_CWORD--)); _sqrtdk "
                   "2>/dev/null; echo \"${COMPREPLY[*]}\"' '%s' %s >" SCRATCH "offered.txt",
                   typed, words);
    does(command);
    char *text = read_whole(SCRATCH "offered.txt");
    text[strcspn(text, "\n")] = '\0';
    ck_assert_msg(strcmp(text, offered) == 0, "%s: %s, not %s", typed, text, offered);
    free(text);
}

START_TEST(tab_offers_commands_options_and_values) {
    static const struct {
        const char *typed, *words, *offered;
    } CASES[] = {
        {"sqrtdk st", "sqrtdk st", "stall"},
        {"sqrtdk help sa", "'sqrtdk help' sa", "saturation"},
        {"sqrtdk --v", "sqrtdk --v", "--version"},
        {"sqrtdk stall --sc", "'sqrtdk stall' --sc", "--scale --schedule"},
        {"sqrtdk stall --scale co", "'sqrtdk stall --scale' co", "cosine"},
        {"sqrtdk stall --scale none,s", "'sqrtdk stall --scale' none,s", "none,sqrt"},
        {"sqrtdk stall --scale sqrt,s", "'sqrtdk stall --scale' sqrt,s", ""}, /* each once */
        {"sqrtdk stall --scale=none,t", "'sqrtdk stall --scale =' none,t", "none,t5"},
        {"sqrtdk stall --scale=", "'sqrtdk stall --scale' =",
         "none sqrt linear log keys cosine t5 rms all"},
        {"sqrtdk map --optimizer adam:0.1,s", "'sqrtdk map --optimizer adam :' 0.1,s", "0.1,sgd"},
        {"sqrtdk trace --lesson f", "'sqrtdk trace --lesson' f", "five-tokens"},
        {"sqrtdk trace --scale a", "'sqrtdk trace --scale' a", ""}, /* one rule, not all */
        {"sqrtdk stall --steps ", "'sqrtdk stall --steps' ''", "500"},
        {"sqrtdk stall --clip ", "'sqrtdk stall --clip' ''", ""},
        {"sqrtdk stall --quiet --re", "'sqrtdk stall --quiet' --re", "--resume"},
        {"sqrtdk report ", "'sqrtdk report' ''", ""}, /* files, which bash completes itself */
        {"sqrtdk inspect --q READ", "'sqrtdk inspect --q' READ", ""},
        {"sqrtdk inspect --q a.npy,READ", "'sqrtdk inspect --q' a.npy,READ", "a.npy,README.md"},
    };
    if (shell("command -v bash >/dev/null") != 0) return;
    for (int i = 0; i < LENGTH(CASES); i++)
        assert_offers(CASES[i].typed, CASES[i].words, CASES[i].offered);
}
END_TEST

/* ---- Packing --------------------------------------------------------------------------------- */

/* Unpacked it lies in a folder of this repository, which is not asked: that has another commit, or
 * one with changes. scripts/same_build packs twice and builds. */
START_TEST(a_packed_folder_knows_its_commit) {
    if (shell("git rev-parse -q --verify HEAD >" SCRATCH "head.txt 2>/dev/null") != 0) {
        (void)puts("note: no git here; nothing is packed");
        return;
    }
    does("unset MAKEFLAGS MAKELEVEL; rm -rf " SCRATCH "pack; make -s dist BUILD=" SCRATCH
         "pack >/dev/null 2>&1; cd " SCRATCH "pack && gzip -d <\"$(echo *.tar.gz)\" | tar xf - && "
         "make -s -C sqrtdk-*/ build/commit && "
         "cut -c 1-12 ../head.txt | cmp - sqrtdk-*/build/commit");
}
END_TEST

Suite *install_suite(void) {
    const TTest *tests[] = {what_is_installed_is_this_list,
                            what_was_there_before_is_what_stays,
                            what_is_staged_does_not_know_where,
                            the_library_has_only_names_of_its_own,
                            c_links_the_installed_library,
                            cxx_links_the_installed_library,
                            the_headers_are_cxx_11_without_a_warning,
                            an_installed_program_draws_from_any_folder,
                            neither_program_nor_library_holds_the_folder_of_the_build,
                            the_version_names_what_is_in_meta,
                            the_manual_page_has_every_command_and_option,
                            no_formatter_complains_of_the_manual_page,
                            tab_offers_commands_options_and_values,
                            a_packed_folder_knows_its_commit};
    return suite_of("install", tests, LENGTH(tests), 60);
}

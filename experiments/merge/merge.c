/* merge.c: `sqrtdk merge OUT SHARE...`: what several machines computed becomes, byte for byte, what
 * one would have written. The settings at the beginning of the first share say which command that
 * is, and its merge function does it.
 */
#include "merge/merge.h"

#include <stdlib.h>
#include <string.h>

#include "common/again.h"
#include "common/message.h"
#include "common/output.h"
#include "common/resumable.h"

static const option_spec OPTIONS[] = {
    {"allow-missing", NULL, "", "write what there is, and no sentence about it"},
    {"force", NULL, "", "replace OUT even if its settings were others"},
    {"quiet", NULL, "", "no tables, no sentences"},
};

static share_files files; /* the command's run has no other way to them */

static int merge_now(const options *o) {
    return o->command->merge(o, &files);
}

/* A share in OUT's place would be replaced by what is made of the others. */
static bool is_partial(const char *path) {
    static const char ENDING[] = ".partial";
    const size_t length = strlen(path), ending = sizeof ENDING - 1;
    return length >= ending && strcmp(path + length - ending, ENDING) == 0;
}

static int run_merge(const options *o) {
    const char *const given[][2] = {{"output", o->operand},
                                    {"force", options_text(o, "force")},
                                    {"quiet", options_text(o, "quiet")}};
    files = (share_files){o->operands + 1, o->operand_count - 1, options_flag(o, "allow-missing")};
    if (!o->operand[0] || is_partial(o->operand) || output_is_direct(o->operand))
        return message_fail(EXIT_USAGE, "merge: '%s' stands where OUT is expected, a regular file",
                            o->operand);
    char *settings = partial_settings(files.path[0]);
    if (!settings) return EXIT_FAILED;
    const command_spec *command = again_command(settings);
    int code = EXIT_FAILED;
    if (!command || !command->merge)
        (void)complain("%s: expected a share of a command that knows --shard", files.path[0]);
    else
        code = again_run(command, settings, given, sizeof given / sizeof *given, merge_now);
    free(settings);
    return code;
}

static const char *const EXAMPLES[] = {
    "stall --d-k 8 --steps 60 --shard 1/1 --output results/dealt.csv",
    "merge results/dealt.csv results/dealt.csv.1-of-1.partial", NULL};

const command_spec MERGE_COMMAND = {
    .name = "merge",
    .summary =
        "Makes one run's files of the shares that stall, map or saturation left with --shard.",
    .options = OPTIONS,
    .count = sizeof OPTIONS / sizeof *OPTIONS,
    .notes = "OUT is the FILE that the command would have written without --shard, with those "
             "beside it: the same bytes, .meta's record of the machine aside. Shares in any order; "
             "of an interrupted share what is complete counts. Their settings must be the same. "
             "Runs that are in no share are listed, and are an error unless --allow-missing is "
             "given; then files have the rows there are, and .meta says how many runs are missing.",
    .examples = EXAMPLES,
    .run = run_merge,
    .operand = "OUT SHARE...",
    .operands_least = 2,
};

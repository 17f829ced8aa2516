/* commands.h: the table of subcommands, which main.c runs and manual/ describes. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "common/options.h"
#include "gradcheck/gradcheck.h"
#include "inspect/inspect.h"
#include "map/map.h"
#include "merge/merge.h"
#include "page/report.h"
#include "precision/precision.h"
#include "saturation/saturation.h"
#include "stall/stall.h"
#include "trace/trace.h"

#define PURPOSE "why attention divides by the square root of d_k"

static const command_spec *const COMMANDS[] = {
    &STALL_COMMAND, &GRADCHECK_COMMAND, &TRACE_COMMAND, &INSPECT_COMMAND, &SATURATION_COMMAND,
    &MAP_COMMAND,   &PRECISION_COMMAND, &MERGE_COMMAND, &REPORT_COMMAND,
};

enum { COUNT = sizeof COMMANDS / sizeof *COMMANDS };

#endif

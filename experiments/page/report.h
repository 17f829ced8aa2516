/* report.h: the subcommand `sqrtdk report`: the page, filled with a run. */
#ifndef PAGE_REPORT_H
#define PAGE_REPORT_H

#include "common/options.h"

extern const command_spec REPORT_COMMAND;

#endif

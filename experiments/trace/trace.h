/* trace.h: the subcommand `sqrtdk trace`. */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "common/options.h"

extern const command_spec TRACE_COMMAND;

#endif

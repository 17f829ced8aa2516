/* trace.h: the subcommand `sqrtdk trace`. */
#ifndef TRACE_H
#define TRACE_H

#include "options.h"

extern const command_spec TRACE_COMMAND;
int trace_main(int argc, char **argv);

#endif

/* stall.h: the subcommand `sqrtdk stall`. */
#ifndef STALL_H
#define STALL_H

#include "options.h"

extern const command_spec STALL_COMMAND;
int stall_main(int argc, char **argv);

#endif

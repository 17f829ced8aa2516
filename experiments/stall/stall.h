/* stall.h: the subcommand `sqrtdk stall`. */
#ifndef STALL_STALL_H
#define STALL_STALL_H

#include "common/options.h"

extern const command_spec STALL_COMMAND;

#endif

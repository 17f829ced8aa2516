/* inspect.h: the subcommand `sqrtdk inspect`. */
#ifndef INSPECT_INSPECT_H
#define INSPECT_INSPECT_H

#include "common/options.h"

extern const command_spec INSPECT_COMMAND;

#endif

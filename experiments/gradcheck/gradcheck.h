/* gradcheck.h: the subcommand `sqrtdk gradcheck`. */
#ifndef GRADCHECK_GRADCHECK_H
#define GRADCHECK_GRADCHECK_H

#include "common/options.h"

extern const command_spec GRADCHECK_COMMAND;

#endif

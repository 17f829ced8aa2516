/* precision.h: `sqrtdk precision`. */
#ifndef PRECISION_PRECISION_H
#define PRECISION_PRECISION_H

#include "common/options.h"

extern const command_spec PRECISION_COMMAND;

#endif

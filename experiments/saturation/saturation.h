/* saturation.h: `sqrtdk saturation`. */
#ifndef SATURATION_SATURATION_H
#define SATURATION_SATURATION_H

#include "common/options.h"

extern const command_spec SATURATION_COMMAND;

#endif

/* saturation.h: `sqrtdk saturation`. */
#ifndef SATURATION_SATURATION_H
#define SATURATION_SATURATION_H

#include "common/options.h"

extern const command_spec SATURATION_COMMAND;
int saturation_main(int argc, char **argv);

#endif

/* saturation.h: `sqrtdk saturation`. */
#ifndef SATURATION_H
#define SATURATION_H

#include "options.h"

extern const command_spec SATURATION_COMMAND;
int saturation_main(int argc, char **argv);

#endif

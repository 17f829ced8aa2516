/* map.h: the subcommand `sqrtdk map`. */
#ifndef MAP_MAP_H
#define MAP_MAP_H

#include "common/options.h"

extern const command_spec MAP_COMMAND;

#endif

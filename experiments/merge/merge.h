/* merge.h: the subcommand `sqrtdk merge`: shares of one experiment become its results. */
#ifndef MERGE_MERGE_H
#define MERGE_MERGE_H

#include "common/options.h"

extern const command_spec MERGE_COMMAND;

#endif

/* gradcheck.h: the subcommand `sqrtdk gradcheck`. */
#ifndef GRADCHECK_H
#define GRADCHECK_H

#include "options.h"

extern const command_spec GRADCHECK_COMMAND;
int gradcheck_main(int argc, char **argv);

#endif

/* again.h: a command is run again from the settings that it recorded (common/settings.h), by those
 * who work on its results: with a function of their own in place of its run.
 */
#ifndef COMMON_AGAIN_H
#define COMMON_AGAIN_H

#include "common/options.h"

/* The program's commands; borrowed. To be called before the others. */
void again_among(const command_spec *const *commands, int count);

/* The command that recorded these settings, "program = sqrtdk NAME" and "key = value" lines up to
 * an empty one or the end; NULL for none. */
const command_spec *again_command(const char *settings);

/* Reads the settings as its command line and calls `run` with them. `given` adds `count` options,
 * name and text, of which an empty text is none. Returns the exit code. */
int again_run(const command_spec *command, const char *settings, const char *const (*given)[2],
              int count, int (*run)(const options *o));

#endif

/* sets.h: the sets of a saturation run as a partial file keeps them. */
#ifndef SATURATION_SETS_H
#define SATURATION_SETS_H

#include "common/partial.h"
#include "saturation/draw.h"

/* The cells are borrowed. */
partial_runs saturation_sets(saturation *s, const char *command);

#endif

/* report.h: a map as a CSV, as the partial file keeps it, and as tables. */
#ifndef MAP_REPORT_H
#define MAP_REPORT_H

#include "common/partial.h"
#include "map/grid.h"

/* A row for each finished cell, in the map's order. */
void map_csv(FILE *to, const map *m);

/* A row for each kept step of each cell, likewise. */
void map_curves_csv(FILE *to, const map *m);

/* The columns and their meanings, for --help. */
void map_columns_help(FILE *to);

/* Its cells as runs of a partial file; the map is borrowed. */
partial_runs map_runs(map *m, const char *command);

/* For people: when each cell reached 0.1, or how it ended. */
void map_tables(FILE *to, const map *m);

#endif

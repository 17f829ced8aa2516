/* beside.h: what a run left beside its CSV, as texts: files of its stem, and the figures that
 * scripts/plots drew of it.
 */
#ifndef PAGE_BESIDE_H
#define PAGE_BESIDE_H

#include <stdbool.h>

/* All of a file as a string, which the caller frees. NULL with errno set. */
char *beside_read(const char *path);

/* results/map.csv, .meta -> what is in results/map.meta; the caller frees. NULL after one line. */
char *beside_text(const char *path, const char *ending);

/* results/map.csv -> results/figures; the caller frees. NULL without memory. */
char *beside_figures(const char *path);

typedef struct figure_list {
    char **path;
    int count;
} figure_list;

/* The figures of a run, by name: figures/STEM_*.svg and STEM.svg, or if there are none those beside
 * the CSV, that are not older than it, and not of a run whose stem goes on, as stall_rules does
 * from stall. False, after one line, without memory; free it in any case. */
bool figures_find(figure_list *f, const char *path);
void figures_free(figure_list *f);

#endif

/* keep.h: results that give way to others without being lost: a set of files moves to the next free
 * number.
 */
#ifndef COMMON_KEEP_H
#define COMMON_KEEP_H

#include <stdbool.h>

/* Moves those that exist of the files with these endings beside `path` (as output_beside has them)
 * to stem.N and the ending, N the least number under which nothing stands. *kept is then the new
 * name of the first; the caller frees it; NULL if none of them exists. False, and one line, if one
 * could not be moved; the others then stand where they stood. */
bool keep_aside(const char *path, const char *const *endings, int count, char **kept);

#endif

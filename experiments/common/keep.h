/* keep.h: results that give way to others without being lost: a set of files moves to the next free
 * number.
 */
#ifndef COMMON_KEEP_H
#define COMMON_KEEP_H

#include <stdbool.h>

enum { KEPT_MOST = 48 };

typedef struct kept {
    int count;
    char *from[KEPT_MOST], *to[KEPT_MOST];
} kept;

/* Moves those that exist of the files with these endings beside `path` (as output_beside has them)
 * to stem.N and the ending, N the least number under which nothing stands. Of a symbolic link the
 * file that it leads to moves, and the link stays. False, and one line, if one could not be moved;
 * the others then stand where they stood. Free with kept_free in any case. */
bool keep_aside(kept *k, const char *path, const char *const *endings, int count);

/* Moves all back. */
void kept_undo(kept *k);
void kept_free(kept *k);

#endif

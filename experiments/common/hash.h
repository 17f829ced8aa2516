/* hash.h: FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): one number for a text, to tell
 * whether it is what was written and to give each named thing a random stream of its own.
 */
#ifndef COMMON_HASH_H
#define COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of no text. */
#define HASH_START UINT64_C(0xcbf29ce484222325)

/* The hash of the text that `hash` stands for, followed by this one. */
uint64_t hash_text(uint64_t hash, const char *text, size_t length);

#endif

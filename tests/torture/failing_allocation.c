/* failing_allocation.c: preloaded into the program. The allocation number FAIL_AT fails, and with
 * FAIL_ALL all that follow; how many there were is written to the file FAIL_COUNT. Only those after
 * main was entered count: what the loader does before is not the program's.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_aligned)(size_t, size_t);

static atomic_long count, fail_at;
static atomic_bool fail_all, counting;

/* Function pointers and object pointers are of one size here, but ISO C has no conversion. */
static void find(const char *name, void *to) {
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(to, &found, sizeof found);
}

/* Until the library is ready, dlsym's own wishes come from here. */
static _Alignas(64) char early[1 << 16];
static size_t early_used;

static void *from_early(size_t bytes) {
    void *at = early + early_used;
    early_used += (bytes + 63) & ~(size_t)63;
    return early_used <= sizeof early ? at : NULL;
}

static bool is_early(const void *p) {
    const char *c = p;
    return c >= early && c < early + sizeof early;
}

static void report(void) {
    const char *path = getenv("FAIL_COUNT");
    const long counted = atomic_load(&count);
    atomic_store(&counting, false);
    FILE *to = path ? fopen(path, "w") : NULL;
    if (!to) return;
    (void)fprintf(to, "%ld\n", counted);
    (void)fclose(to);
}

__attribute__((constructor)) static void start(void) {
    const char *at = getenv("FAIL_AT");
    find("malloc", &real_malloc);
    find("calloc", &real_calloc);
    find("realloc", &real_realloc);
    find("aligned_alloc", &real_aligned);
    (void)atexit(report);
    atomic_store(&fail_at, at ? strtol(at, NULL, 10) : 0);
    atomic_store(&fail_all, getenv("FAIL_ALL") != NULL);
    atomic_store(&counting, true);
}

static bool fails(void) {
    if (!atomic_load(&counting)) return false;
    const long number = atomic_fetch_add(&count, 1) + 1, at = atomic_load(&fail_at);
    if (at == 0 || (number != at && !(atomic_load(&fail_all) && number > at))) return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes) {
    if (!real_malloc) return from_early(bytes);
    return fails() ? NULL : real_malloc(bytes);
}

void *calloc(size_t each, size_t bytes) {
    if (!real_calloc) return from_early(each * bytes);
    return fails() ? NULL : real_calloc(each, bytes);
}

void *realloc(void *old, size_t bytes) {
    if (!real_realloc || is_early(old)) {
        void *moved = malloc(bytes);
        if (moved && old) memmove(moved, old, bytes); /* early blocks are followed by others */
        return moved;
    }
    return fails() ? NULL : real_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    if (!real_aligned) return from_early(bytes);
    return fails() ? NULL : real_aligned(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes) {
    *out = aligned_alloc(alignment, bytes);
    return *out ? 0 : ENOMEM;
}

void free(void *p) {
    static void (*real_free)(void *);
    if (!real_free) find("free", &real_free);
    if (real_free && !is_early(p)) real_free(p);
}

#include "common/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct crew {
    atomic_ptrdiff_t next;
    tt_size count;
    parallel_piece *piece;
    void *context;
} crew;

static void *work_through(void *argument) {
    crew *c = argument;
    for (;;) {
        tt_size i = atomic_fetch_add(&c->next, 1);
        if (i >= c->count) return NULL;
        c->piece(c->context, i);
    }
}

void parallel_for(int threads, tt_size count, parallel_piece *piece, void *context) {
    crew c = {.count = count, .piece = piece, .context = context};
    tt_size helpers = (threads < count ? threads : count) - 1, started = 0;
    pthread_t *helper = helpers > 0 ? calloc((size_t)helpers, sizeof *helper) : NULL;
    while (helper && started < helpers &&
           pthread_create(&helper[started], NULL, work_through, &c) == 0)
        started++;
    (void)work_through(&c);
    for (tt_size i = 0; i < started; i++) (void)pthread_join(helper[i], NULL);
    free(helper);
}

/* lessons.h: the four lessons of `sqrtdk trace`. */
#ifndef TRACE_LESSONS_H
#define TRACE_LESSONS_H

#include "trace/steps.h"

typedef struct trace_lesson trace_lesson;

/* The lesson of that name; if there is none, prints one line that names all and returns NULL. */
const trace_lesson *trace_lesson_find(const char *name);

/* Prints the lesson under this mask (without files). Returns EXIT_OK; or EXIT_USAGE or EXIT_FAILED
 * after one line on standard error. */
int trace_lesson_run(const trace_lesson *lesson, const trace_settings *settings,
                     const mask_request *mask);

/* Q, K, V [B,T,d] of the lesson "five-tokens" and what they are made of: X [1,5,3] and W [1,3,3],
 * drawn as PyTorch draws them after manual_seed(42), in float32, then multiplied in float64. */
typedef struct five_tokens {
    double x[15], w_q[9], w_k[9], w_v[9], q[15], k[15], v[15];
} five_tokens;

/* False without memory. */
bool five_tokens_new(five_tokens *f);

#endif

/* lessons.h: the lessons of `sqrtdk trace`. */
#ifndef TRACE_LESSONS_H
#define TRACE_LESSONS_H

#include "trace/steps.h"

/* The name of the i-th lesson, or NULL: a word_list. */
const char *trace_lesson_name(int i);

/* Names and what each lesson is about, for --help. */
void trace_lessons_help(FILE *to);

/* Prints the i-th lesson under this mask (without files). Returns EXIT_OK; or EXIT_USAGE or
 * EXIT_FAILED after one line on standard error. */
int trace_lesson_run(int lesson, const trace_settings *settings, const mask_request *mask);

/* Q, K, V [B,T,d] of the lesson "five-tokens" and what they are made of: X [1,5,3] and W [1,3,3],
 * drawn as PyTorch draws them after manual_seed(42), in float32, then multiplied in float64. */
typedef struct five_tokens {
    double x[15], w_q[9], w_k[9], w_v[9], q[15], k[15], v[15];
} five_tokens;

/* False without memory. */
bool five_tokens_new(five_tokens *f);

#endif

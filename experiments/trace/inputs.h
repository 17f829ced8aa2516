/* inputs.h: what the lessons are about: their names, and the Q, K and V that they start from. */
#ifndef TRACE_INPUTS_H
#define TRACE_INPUTS_H

#include <stdbool.h>

#include "heads/head_files.h"

enum { SOFT_LOOKUP, FIVE_TOKENS, BATCH, ONE_HOT, LESSON_COUNT };

/* The name of the i-th lesson, or NULL: a word_list. */
const char *trace_lesson_name(int i);

/* What it is about, in a line; likewise. */
const char *trace_lesson_about(int i);

enum { LESSON_MOST = 64 }; /* entries of Q, K or V */

typedef struct lesson_input {
    tt_size queries, keys, d_k, d_v;
    double q[LESSON_MOST], k[LESSON_MOST], v[LESSON_MOST];
} lesson_input;

/* The input of a lesson: of `batch` that of this entry, of `one-hot` that of d_k 16, the first
 * width at which it is hard to follow by hand. False without memory. */
bool lesson_input_new(int lesson, int entry, lesson_input *in);

/* It as a head, which borrows it. */
attention_head lesson_head(lesson_input *in, const tt_mask *mask);

/* Q, K, V [B,T,d] of the lesson "five-tokens" and what they are made of: X [1,5,3] and W [1,3,3],
 * drawn as PyTorch draws them after manual_seed(42), in float32, then multiplied in float64. */
typedef struct five_tokens {
    double x[15], w_q[9], w_k[9], w_v[9], q[15], k[15], v[15];
} five_tokens;

/* False without memory. */
bool five_tokens_new(five_tokens *f);

/* Of the lesson "batch". */
enum { BATCH_B = 2, BATCH_T = 3, BATCH_H = 4 };

/* Of the lesson "one-hot": Q [2,d_k] and K [3,d_k] of a width that is 4 times a square. */
enum { ONE_HOT_NARROW = 4, ONE_HOT_QUERIES = 2, ONE_HOT_KEYS = 3 };
void one_hot_widen(tt_size d_k, double *q, double *k);

#endif

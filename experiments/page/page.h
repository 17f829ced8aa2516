/* page.h: what the browser page calls: a teacher and its students, one step at a time; the exact
 * curves; one head step by step; and the words of the program's own lists. Compiled to WebAssembly
 * these functions compute the bits that the program computes; natively the tests call them.
 *
 * There is one of each at a time. Numbers that a function returns a pointer to are good until the
 * next call; that may also have grown the memory, so whoever reads from outside looks at it only
 * then.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include <stdint.h>

#ifdef __wasm__
#define PAGE_EXPORT(name) __attribute__((export_name(#name)))
#else
#define PAGE_EXPORT(name)
#endif

enum {
    PAGE_STUDENTS = 3,    /* without, with, and one of any start and rate */
    PAGE_STEPS = 500,     /* as `sqrtdk stall` trains */
    PAGE_D_K_MOST = 1024, /* so that a step takes less than a second */
    PAGE_TOKENS_MOST = 32,
    PAGE_BATCH_MOST = 32
};

/* ---- Words ----------------------------------------------------------------------------------- */

enum {
    PAGE_RULES,
    PAGE_OPTIMIZERS,
    PAGE_COLUMNS,
    PAGE_VERDICTS,
    PAGE_LESSONS,
    PAGE_HEADINGS,
    PAGE_LISTS
};
enum { PAGE_NAME, PAGE_MEANING, PAGE_SOURCE };

/* A word of entry i of a list: its name, what it means or, of a rule, where it is from; of a
 * heading above a step of a head, it and the one for rules that divide by norms. NULL from their
 * count up and where there is none. */
const char *page_word(int list, int i, int which) PAGE_EXPORT(word);

/* A limit of the page: PAGE_STEPS, ... by their order above. */
int page_limit(int i) PAGE_EXPORT(limit);

/* The rate of an optimizer where none is given. */
double page_optimizer_lr(int i) PAGE_EXPORT(optimizer_lr);

/* ---- Training -------------------------------------------------------------------------------- */

/* A new teacher, whose students are gone: 1, or 0 beyond the limits or without memory. */
int page_teacher(int d_k, int tokens, int batch, double seed) PAGE_EXPORT(teacher);

/* Student `which` starts, under the rule, by the optimizer `method` at this rate, its first weights
 * times gain. Likewise. */
int page_student(int which, int rule, int method, double lr, double gain) PAGE_EXPORT(student);

/* Likewise the cell of `map` at this point of its plane. */
int page_point(int which, int method, double sigma0, double kappa) PAGE_EXPORT(point);

/* The teacher's next batch. Likewise. */
int page_next(void) PAGE_EXPORT(next);

/* What of the columns a step measures: nothing, all but what costs most, all. */
enum { PAGE_NOTHING, PAGE_BRIEF, PAGE_ALL };

/* A student's step on it: 1, 0 if that is past its last or failed, -1 if it diverged. */
int page_step(int which, int measured) PAGE_EXPORT(step);

/* Steps that it took. */
int page_steps(int which) PAGE_EXPORT(steps);

/* loss / loss_uniform of each of these. */
const double *page_ratios(int which) PAGE_EXPORT(ratios);

/* The columns of the last step that was measured, in the order of the list; nan if left out. */
const double *page_columns(int which) PAGE_EXPORT(columns);

/* Of the first sequence of the batch, all [T,T]: the student's weights before its update, the
 * teacher's; and [T], the norm of the gradient d l_r / d z_r that passes row r's softmax. */
const double *page_weights(int which) PAGE_EXPORT(weights);
const double *page_teacher_weights(void) PAGE_EXPORT(teacher_weights);
const double *page_row_gradients(int which) PAGE_EXPORT(row_gradients);

/* What `stall` and `map` say of a run that was asked for as many steps as it took. */
int page_verdict(int which) PAGE_EXPORT(verdict);

/* The median of its last 20 ratios, kappa at its start, and where it is on the map's plane. */
double page_ratio(int which) PAGE_EXPORT(ratio);
double page_kappa(int which) PAGE_EXPORT(kappa);
double page_kappa_now(int which) PAGE_EXPORT(kappa_now);
double page_sigma_now(int which) PAGE_EXPORT(sigma_now);

/* ---- Saturation ------------------------------------------------------------------------------ */

/* The exact means of a row of n keys at this width (theory_moments, in its order) under a rule;
 * NULL for a rule that divides by norms, or where theory.h does not go. */
const double *page_theory(int n, int d_k, int rule) PAGE_EXPORT(theory);

/* ---- Step by step ---------------------------------------------------------------------------- */

/* One head: Q, K and V become those of a lesson. 1, or 0 if there is none or no memory. */
int page_lesson(int lesson) PAGE_EXPORT(lesson);

/* Its matrices: Q, K, V, S, dO, dP, and from PAGE_SIDES on those of trace/matrices.h, in their
 * order, under the rule (side 0) and without a scale (side 1). */
enum { PAGE_Q, PAGE_K, PAGE_V, PAGE_S, PAGE_D_O, PAGE_D_P, PAGE_SIDES };

/* Q, K or V, to be changed in place. */
double *page_input(int which) PAGE_EXPORT(input);

/* Computes all of them, the way back too if asked for. Likewise. */
int page_attend(int rule, int causal, int backward) PAGE_EXPORT(attend);

/* Its numbers, row by row, and sizes; NULL and 0 where it was not computed. */
const double *page_matrix(int which, int side) PAGE_EXPORT(matrix);
int page_rows(int which, int side) PAGE_EXPORT(rows);
int page_cols(int which, int side) PAGE_EXPORT(cols);

/* ---- Arithmetic ------------------------------------------------------------------------------ */

/* One lane of the kernel's fused multiply-add. */
double page_fma(double a, double b, double c) PAGE_EXPORT(fma);

/* How many of some hard cases it does not round once: 0 where the results are the program's. */
int page_fma_faults(void) PAGE_EXPORT(fma_faults);

#endif

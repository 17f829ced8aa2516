/* lessons.h: the lessons of `sqrtdk trace`. */
#ifndef TRACE_LESSONS_H
#define TRACE_LESSONS_H

#include "trace/inputs.h"
#include "trace/steps.h"

/* Names and what each lesson is about, for --help. */
void trace_lessons_help(FILE *to);

/* Prints the i-th lesson under this mask (without files). Returns EXIT_OK; or EXIT_USAGE or
 * EXIT_FAILED after one line on standard error. */
int trace_lesson_run(int lesson, const trace_settings *settings, const mask_request *mask);

#endif

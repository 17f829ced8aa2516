/* suites.h: one suite a module, listed once here and run by runner.c. */
#ifndef SUITES_H
#define SUITES_H

#include <check.h>

Suite *rng_suite(void);
Suite *gemm_suite(void);
Suite *softmax_suite(void);
Suite *tape_suite(void);
Suite *ops_suite(void);
Suite *attention_suite(void);
Suite *scale_suite(void);
Suite *reference_suite(void);
Suite *optim_suite(void);
Suite *stats_suite(void);
Suite *options_suite(void);
Suite *output_suite(void);
Suite *model_suite(void);
Suite *stall_suite(void);
Suite *gradcheck_suite(void);
Suite *npy_suite(void);
Suite *theory_suite(void);
Suite *saturation_suite(void);
Suite *trace_suite(void);
Suite *inspect_suite(void);
Suite *program_suite(void);

#endif

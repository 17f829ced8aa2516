/* runner.c: runs every suite. CK_RUN_SUITE=name runs one, CK_FORK=no keeps all in one process. */
#include <stdlib.h>

#include "suites.h"

int main(void) {
    SRunner *runner = srunner_create(rng_suite());
    srunner_add_suite(runner, gemm_suite());
    srunner_add_suite(runner, softmax_suite());
    srunner_add_suite(runner, tape_suite());
    srunner_add_suite(runner, ops_suite());
    srunner_add_suite(runner, attention_suite());
    srunner_add_suite(runner, scale_suite());
    srunner_add_suite(runner, reference_suite());
    srunner_add_suite(runner, optim_suite());
    srunner_add_suite(runner, stats_suite());
    srunner_add_suite(runner, options_suite());
    srunner_add_suite(runner, output_suite());
    srunner_add_suite(runner, model_suite());
    srunner_add_suite(runner, stall_suite());
    srunner_add_suite(runner, gradcheck_suite());
    srunner_add_suite(runner, npy_suite());
    srunner_add_suite(runner, theory_suite());
    srunner_add_suite(runner, saturation_suite());
    srunner_add_suite(runner, trace_suite());
    srunner_add_suite(runner, inspect_suite());
    srunner_add_suite(runner, program_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* suites.h: every suite, in the one list that the runner, `make valgrind`, `make coverage` and
 * scripts/mutants go through; a suite X is made by X_suite() of one module. QUICK: seconds under
 * valgrind. LONG: trains, draws, integrates or starts the program for minutes there. Those that
 * notice most faults soonest come first. */
#ifndef SUITES_H
#define SUITES_H

#include <check.h>

#define SUITES(X)                                                                                  \
    X(rng, QUICK)                                                                                  \
    X(gemm, QUICK)                                                                                 \
    X(kernels, QUICK)                                                                              \
    X(elementary, QUICK)                                                                           \
    X(softmax, QUICK)                                                                              \
    X(ops, QUICK)                                                                                  \
    X(attention, QUICK)                                                                            \
    X(optim, QUICK)                                                                                \
    X(stats, QUICK)                                                                                \
    X(tape, QUICK)                                                                                 \
    X(scale, QUICK)                                                                                \
    X(stall, QUICK)                                                                                \
    X(options, QUICK)                                                                              \
    X(csv, QUICK)                                                                                  \
    X(output, QUICK)                                                                               \
    X(partial, QUICK)                                                                              \
    X(reference, QUICK)                                                                            \
    X(npy, QUICK)                                                                                  \
    X(trace, QUICK)                                                                                \
    X(masks, QUICK)                                                                                \
    X(inputs, QUICK)                                                                               \
    X(inspect, QUICK)                                                                              \
    X(factor, LONG)                                                                                \
    X(precision, QUICK)                                                                            \
    X(theory, LONG)                                                                                \
    X(training, LONG)                                                                              \
    X(map, LONG)                                                                                   \
    X(page, LONG)                                                                                  \
    X(product, LONG)                                                                               \
    X(saturation, LONG)                                                                            \
    X(gradcheck, LONG)                                                                             \
    X(bits, LONG)                                                                                  \
    X(install, LONG)                                                                               \
    X(foreign, LONG)                                                                               \
    X(peers, LONG)                                                                                 \
    X(figures, LONG)                                                                               \
    X(shards, LONG)                                                                                \
    X(results, LONG)                                                                               \
    X(program, LONG)

#define DECLARE(name, length) Suite *name##_suite(void);
SUITES(DECLARE)
#undef DECLARE

#endif

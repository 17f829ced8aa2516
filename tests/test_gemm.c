/* test_gemm.c: every element is one chain of fused multiply-adds over k, whatever the shape. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gemm.h"
#include "suites.h"
#include "support.h"
#include "tt/kernel.h"

static double element(tt_gemm_form form, tt_size m, tt_size n, tt_size k, const double *a,
                      const double *b, tt_size i, tt_size j, double start) {
    double c = start;
    for (tt_size p = 0; p < k; p++)
        c = fma(form == TT_GEMM_TN ? a[p * m + i] : a[i * k + p],
                form == TT_GEMM_NT ? b[j * k + p] : b[p * n + j], c);
    return c;
}

/* All forms of one product, fresh and accumulating, against the plain chain: the same bits. */
static void check_product(tt_tensor a, tt_tensor b, tt_tensor start) {
    const tt_size m = a.rows, n = b.cols, k = a.cols;
    tt_tensor c = tt_tensor_new(1, m, n);
    for (int form = TT_GEMM_NN; form <= TT_GEMM_TN; form++)
        for (int add = 0; add < 2; add++) {
            memcpy(c.data, start.data, (size_t)(m * n) * sizeof(double));
            tt_gemm((tt_gemm_form)form, m, n, k, a.data, b.data, c.data, add);
            for (tt_size i = 0; i < m; i++)
                for (tt_size j = 0; j < n; j++) {
                    double expected = element((tt_gemm_form)form, m, n, k, a.data, b.data, i, j,
                                              add ? start.data[i * n + j] : 0);
                    const double got = c.data[i * n + j];
                    ck_assert_msg(isnan(expected) ? isnan(got)
                                                  : memcmp(&got, &expected, sizeof got) == 0,
                                  "form %d, [%td,%td,%td], add %d, element (%td,%td): %a, not %a",
                                  form, m, n, k, add, i, j, got, expected);
                }
        }
    tt_tensor_free(&c);
}

static void check_shape(tt_rng *rng, tt_size m, tt_size n, tt_size k) {
    tt_tensor a = random_tensor(rng, 1, m, k), b = random_tensor(rng, 1, k, n);
    tt_tensor start = random_tensor(rng, 1, m, n);
    check_product(a, b, start);
    tt_tensor_free(&a);
    tt_tensor_free(&b);
    tt_tensor_free(&start);
}

/* Each test runs under each kernel that this machine executes. */
static bool under_kernel(int i) {
    return tt_kernel_use((tt_kernel)i);
}

START_TEST(every_shape_around_the_tile_gives_the_plain_chains_bits) {
    /* 33 rows: from 32 up a panel is copied even where it lies ready */
    static const tt_size M[] = {1, 7, 8, 9, 17, 33}, N[] = {1, 15, 16, 17, 33}, K[] = {0, 1, 5, 64};
    tt_rng rng;
    if (!under_kernel(_i)) return;
    tt_rng_seed(&rng, 1);
    for (int i = 0; i < LENGTH(M); i++)
        for (int j = 0; j < LENGTH(N); j++)
            for (int p = 0; p < LENGTH(K); p++) check_shape(&rng, M[i], N[j], K[p]);
}
END_TEST

START_TEST(a_chain_longer_than_a_panel_is_unbroken) {
    tt_rng rng;
    if (!under_kernel(_i)) return;
    tt_rng_seed(&rng, 2);
    check_shape(&rng, 9, 18, 256);
    check_shape(&rng, 9, 18, 600);
}
END_TEST

/* Where products or sums overflow, or lose bits below the smallest number, because of one operand;
 * and zeros of both signs. */
START_TEST(numbers_of_any_size_give_the_plain_chains_bits) {
    static const double UNITS[] = {0x1p-1074, 0x1p-1022, 0x1p-970, 0x1p-480, 0x1p500,
                                   0x1p990,   0x1p1020,  -0.0,     INFINITY};
    tt_rng rng;
    if (!under_kernel(_i)) return;
    tt_rng_seed(&rng, 3);
    for (int u = 0; u < LENGTH(UNITS); u++)
        for (int which = 0; which < 6; which++) { /* A, B or C; all of it, or its first entry */
            tt_tensor t[] = {random_tensor(&rng, 1, 3, 4), random_tensor(&rng, 1, 4, 18),
                             random_tensor(&rng, 1, 3, 18)};
            const tt_tensor scaled = t[which % 3];
            for (tt_size i = 0; i < (which < 3 ? tt_tensor_count(scaled) : 1); i++)
                scaled.data[i] *= UNITS[u];
            check_product(t[0], t[1], t[2]);
            for (int i = 0; i < 3; i++) tt_tensor_free(&t[i]);
        }
}
END_TEST

START_TEST(zeros_of_both_signs_give_the_plain_chains_bits) {
    tt_rng rng;
    if (!under_kernel(_i) || !fma_knows_minus_zero()) return;
    tt_rng_seed(&rng, 4);
    tt_tensor a = random_tensor(&rng, 1, 3, 4), b = random_tensor(&rng, 1, 4, 18);
    tt_tensor start = random_tensor(&rng, 1, 3, 18);
    for (int i = 0; i < 3 * 18; i++) start.data[i] = i % 2 ? 0.0 : -0.0;
    for (int i = 0; i < 12; i++) a.data[i] = i % 3 ? 0.0 : -0.0;
    check_product(a, b, start);
    tt_tensor_free(&a);
    tt_tensor_free(&b);
    tt_tensor_free(&start);
}
END_TEST

/* Memory whose last byte is followed by a page that may not be touched: reading beyond an operand
 * ends the test. */
typedef struct walled {
    void *memory;
    size_t size, page;
    double *data;
} walled;

static walled before_a_wall(tt_size count) {
    walled w = {.page = (size_t)sysconf(_SC_PAGESIZE)};
    const size_t need = (size_t)count * sizeof(double);
    w.size = (need + w.page - 1) / w.page * w.page;
    ck_assert(posix_memalign(&w.memory, w.page, w.size + w.page) == 0);
    memset(w.memory, 0, w.size);
    ck_assert(mprotect((char *)w.memory + w.size, w.page, PROT_NONE) == 0);
    w.data = (double *)((char *)w.memory + w.size - need);
    return w;
}

static void tear_down(walled *w) {
    ck_assert(mprotect((char *)w->memory + w->size, w->page, PROT_READ | PROT_WRITE) == 0);
    free(w->memory);
}

START_TEST(nothing_beyond_an_operand_is_read_or_written) {
    const tt_size m = 9, n = 19, k = 5;
    if (!under_kernel(_i)) return;
    walled a = before_a_wall(m * k), b = before_a_wall(k * n), c = before_a_wall(m * n);
    for (int form = TT_GEMM_NN; form <= TT_GEMM_TN; form++)
        tt_gemm((tt_gemm_form)form, m, n, k, a.data, b.data, c.data, true);
    ck_assert(c.data[m * n - 1] == 0);
    tear_down(&a);
    tear_down(&b);
    tear_down(&c);
}
END_TEST

Suite *gemm_suite(void) {
    const TTest *tests[] = {nothing_beyond_an_operand_is_read_or_written,
                            every_shape_around_the_tile_gives_the_plain_chains_bits,
                            a_chain_longer_than_a_panel_is_unbroken,
                            numbers_of_any_size_give_the_plain_chains_bits,
                            zeros_of_both_signs_give_the_plain_chains_bits};
    Suite *suite = suite_of("gemm", NULL, 0, 60);
    for (int i = 0; i < LENGTH(tests); i++) add_loop(suite, tests[i], TT_KERNEL_COUNT, 60);
    return suite;
}

/* test_rng.c: the numbers are torch's: uniforms bit for bit, normals to the last places. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"
#include "support.h"

static void draw(tt_rng *rng, const char *kind, tt_size n, double *out) {
    float single[16];
    if (strcmp(kind, "randn64") == 0) {
        tt_rng_normal(rng, out, n);
        return;
    }
    if (strcmp(kind, "rand64") == 0) {
        tt_rng_uniform(rng, out, n);
        return;
    }
    ck_assert(n < 16);
    if (strcmp(kind, "rand32") == 0)
        tt_rng_uniform_f32(rng, single, n);
    else
        ck_assert(tt_rng_normal_f32(rng, single, n));
    for (tt_size i = 0; i < n; i++) out[i] = (double)single[i];
}

/* Units of the last place of y. */
static double ulps(double x, double y) {
    int exponent;
    (void)frexp(y, &exponent);
    return fabs(x - y) / ldexp(1, exponent - DBL_MANT_DIG);
}

/* Torch's normals are made of its C library's log, sin and cos, which are off the nearest double by
 * 0.51 ulp at most, as ours are: so either may be the other neighbour, here and there. A cosine
 * that is off by one in its last place moves a product by two at most. */
START_TEST(one_stream_of_all_calls_and_sizes_is_torchs) {
    FILE *from = open_file(GOLDEN "torch_random.txt");
    char kind[16], number[64];
    unsigned long seed;
    tt_size n, compared = 0, normals = 0, equal = 0;
    double got[1000];
    tt_rng rng;
    ck_assert_int_eq(fscanf(from, "seed %lu", &seed), 1);
    tt_rng_seed(&rng, seed);
    while (fscanf(from, "%15s %td", kind, &n) == 2) {
        draw(&rng, kind, n, got);
        for (tt_size i = 0; i < n; i++, compared++) {
            ck_assert_int_eq(fscanf(from, "%63s", number), 1);
            const double torch = strtod(number, NULL);
            const bool is_normal = strcmp(kind, "randn64") == 0;
            normals += is_normal;
            equal += is_normal && got[i] == torch;
            ck_assert_msg(is_normal ? ulps(got[i], torch) <= 2 : got[i] == torch,
                          "%s %td [%td]: %a, torch drew %s", kind, n, i, got[i], number);
        }
    }
    (void)fclose(from);
    ck_assert_int_eq(compared, 2265);
    ck_assert_msg((double)equal >= 0.99 * (double)normals, "%td of %td normals are torch's", equal,
                  normals);
}
END_TEST

START_TEST(lesson_draws_are_exact) {
    static const struct {
        const char *name;
        int count;
    } BLOCKS[] = {{"X", 15}, {"W_q", 9}, {"W_k", 9}, {"W_v", 9}};
    float got[15];
    double expected[15];
    tt_rng rng;
    tt_rng_seed(&rng, 42);
    for (int b = 0; b < LENGTH(BLOCKS); b++) {
        const int count = BLOCKS[b].count;
        read_lesson(BLOCKS[b].name, expected, count);
        if (b == 0)
            tt_rng_uniform_f32(&rng, got, count);
        else
            ck_assert(tt_rng_normal_f32(&rng, got, count));
        for (int i = 0; i < count; i++)
            ck_assert_msg((double)got[i] == expected[i], "%s[%d]: %a is not %a", BLOCKS[b].name, i,
                          (double)got[i], expected[i]);
    }
}
END_TEST

START_TEST(only_the_low_32_bits_of_a_seed_count) {
    tt_rng a, b;
    double x, y;
    tt_rng_seed(&a, 5);
    tt_rng_seed(&b, (UINT64_C(1) << 32) + 5);
    tt_rng_uniform(&a, &x, 1);
    tt_rng_uniform(&b, &y, 1);
    ck_assert(x == y);
}
END_TEST

START_TEST(float32_normals_from_16_up_are_refused_and_draw_nothing) {
    float sixteen[16];
    double x, y;
    tt_rng rng, copy;
    tt_rng_seed(&rng, 1);
    copy = rng;
    ck_assert(!tt_rng_normal_f32(&rng, sixteen, 16));
    tt_rng_uniform(&rng, &x, 1);
    tt_rng_uniform(&copy, &y, 1);
    ck_assert(x == y);
}
END_TEST

START_TEST(seeding_forgets_the_cached_normal) {
    tt_rng a, b = {{0}, 0, false, 0};
    double x, y;
    tt_rng_seed(&a, 9);
    tt_rng_normal(&a, &x, 1); /* its sine half waits now */
    tt_rng_seed(&a, 9);
    tt_rng_seed(&b, 9);
    tt_rng_normal(&a, &x, 1);
    tt_rng_normal(&b, &y, 1);
    ck_assert(x == y);
}
END_TEST

Suite *rng_suite(void) {
    const TTest *tests[] = {one_stream_of_all_calls_and_sizes_is_torchs, lesson_draws_are_exact,
                            only_the_low_32_bits_of_a_seed_count,
                            float32_normals_from_16_up_are_refused_and_draw_nothing,
                            seeding_forgets_the_cached_normal};
    return suite_of("rng", tests, LENGTH(tests), 60);
}

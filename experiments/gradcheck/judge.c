#include "gradcheck/judge.h"

#include <math.h>
#include <stdlib.h>

#include "common/stats.h"

tt_gradcheck_verdict judge_element(double ours, double given, double bound, bool idle,
                                   double rtol) {
    const double error = fabs(given - ours);
    if (!isfinite(given) || error > bound) return TT_GRADCHECK_FAIL;
    if (rtol > 0 && error > rtol * fmax(fabs(ours), fabs(given))) return TT_GRADCHECK_FAIL;
    if (idle && given == 0) return TT_GRADCHECK_PASS;
    return bound < fabs(ours) / 2 ? TT_GRADCHECK_PASS : TT_GRADCHECK_INCONCLUSIVE;
}

tt_gradcheck_verdict tally_verdict(const tally *t) {
    if (t->failed > 0) return TT_GRADCHECK_FAIL;
    return t->passed > 0 ? TT_GRADCHECK_PASS : TT_GRADCHECK_INCONCLUSIVE;
}

bool judge_elements(const expectation *e, const given_gradient *given, tt_size first, tt_size count,
                    tally *out) {
    const tt_tensor ours = e->ours.of[given->which], bound = e->bound[given->which];
    double *confirmed = malloc((size_t)count * sizeof *confirmed), worst = -1;
    tt_size sure = 0;
    *out = (tally){.count = count, .worst = first};
    if (!confirmed) return false;
    for (tt_size i = first; i < first + count; i++) {
        const double x = ours.data[i], y = given->file->data[i];
        const double allowed = e->multiple * bound.data[i] + array_half_digit(given->file, x);
        const bool idle = e->idle[given->which][i / ours.cols] != 0;
        const tt_gradcheck_verdict v = judge_element(x, y, allowed, idle, given->rtol);
        const double share = !isfinite(y) ? INFINITY : y == x ? 0 : fabs(y - x) / allowed;
        out->passed += v == TT_GRADCHECK_PASS;
        out->failed += v == TT_GRADCHECK_FAIL;
        out->inconclusive += v == TT_GRADCHECK_INCONCLUSIVE;
        if (v == TT_GRADCHECK_PASS && x != 0) confirmed[sure++] = allowed / fabs(x);
        if (share <= worst) continue;
        worst = share;
        out->worst = i;
        out->worst_bound = allowed;
    }
    stats_sort(confirmed, sure);
    out->confirmed = sure > 0 ? stats_quantile(confirmed, sure, 0.5) : (double)NAN;
    free(confirmed);
    return true;
}

#include "training/verdict.h"

#include <math.h>

const char *verdict_name(int i) {
    static const char *const NAMES[VERDICTS + 1] = {
        [TRAINED] = "trained", [SLOW] = "slow", [STALLED] = "stalled", [DIVERGED] = "diverged"};
    return NAMES[i];
}

verdict verdict_of(double ratio) {
    if (!isfinite(ratio)) return DIVERGED;
    if (ratio <= 0.1) return TRAINED;
    return ratio >= 1 ? STALLED : SLOW;
}

const char *verdict_reason(verdict v, double entropy, double entropy_teacher) {
    if (v == TRAINED || v == DIVERGED || isnan(entropy)) return "";
    return entropy < entropy_teacher ? "too sharp" : "too flat";
}

#include "heads/precision_table.h"

#include <math.h>

static int width_of(int pipeline) {
    return pipeline < PRECISION_EAGER_SHIFTED ? 8 : 13;
}

void precision_table_head(FILE *to, bool scales) {
    if (scales) (void)fprintf(to, "%-6s ", "scale");
    (void)fprintf(to, "%-8s %-10s", "format", "");
    for (int p = 0; p < PRECISION_PIPELINES; p++)
        (void)fprintf(to, " %*s", width_of(p), precision_pipeline_name(p));
    (void)fputc('\n', to);
}

bool precision_table_rows(FILE *to, const char *scale, const char *format,
                          double of[PRECISION_PIPELINES][ROUNDING_STATS]) {
    static const char *const LINES[ROUNDING_STATS] = {
        [ROUNDING_ZERO_ROWS] = "rows at 0",
        [ROUNDING_MEDIAN_ROW] = "median row",
        [ROUNDING_P90_ROW] = "90% row",
        [ROUNDING_WHOLE] = "whole",
    };
    bool infinite = false;
    for (int s = 0; s < ROUNDING_STATS; s++) {
        if (scale) (void)fprintf(to, "%-6s ", s == 0 ? scale : "");
        (void)fprintf(to, "%-8s %-10s", s == 0 ? format : "", LINES[s]);
        for (int p = 0; p < PRECISION_PIPELINES; p++) {
            infinite = infinite || isinf(of[p][s]);
            (void)fprintf(to, " %*.2g", width_of(p), of[p][s]);
        }
        (void)fputc('\n', to);
    }
    return infinite;
}

void precision_table_infinite(FILE *to) {
    (void)fputs("inf: overflows in the format, or is exactly 0 in float64 and not in the format.\n",
                to);
}

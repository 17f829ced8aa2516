#include "saturation/sets.h"

#include <inttypes.h>

#include "common/csv.h"

/* ---- Writing --------------------------------------------------------------------------------- */

static saturation_cell *cells_of(void *context, tt_size i) {
    const saturation *s = context;
    return &s->cells[i * s->rules];
}

static void write_header(FILE *to, void *context) {
    (void)context;
    (void)fputs("set,rule,metric,mean,standard_error,p10,median,p90,pooled,pooled_error\n", to);
}

static bool is_complete(void *context, tt_size i) {
    return cells_of(context, i)->finished;
}

static bool is_elsewhere(void *context, tt_size i) {
    return cells_of(context, i)->elsewhere;
}

/* Sets, rules and metrics by their places, to which the settings give a meaning. */
static void write_rows(FILE *to, void *context, tt_size i) {
    const saturation *s = context;
    for (int k = 0; k < s->rules; k++)
        for (int m = 0; m < saturation_metrics(s); m++) {
            const saturation_cell *c = &s->cells[i * s->rules + k];
            const saturation_summary *of = &c->of[m];
            const double number[] = {of->mean, of->standard_error, of->p10,        of->median,
                                     of->p90,  c->pooled,          c->pooled_error};
            (void)fprintf(to, "%td,%d,%d", i, k, m);
            for (size_t n = 0; n < sizeof number / sizeof *number; n++) csv_number(to, number[n]);
            (void)fputc('\n', to);
        }
}

static void write_end(FILE *to, void *context, tt_size i) {
    (void)context;
    (void)fprintf(to, "%td", i);
}

static void write_name(FILE *to, void *context, tt_size i) {
    const saturation *s = context;
    const saturation_cell *c = cells_of(context, i);
    if (s->config.sigma_count > 0)
        (void)fprintf(to, "sigma %g, %" PRId64 " keys", c->sigma, c->keys);
    else
        (void)fprintf(to, "d_k %" PRId64 ", %" PRId64 " keys", c->d_k, c->keys);
}

/* ---- Reading back ---------------------------------------------------------------------------- */

/* A whole number below `count` and its comma. */
static bool read_place(const char **at, tt_size count, tt_size *out) {
    double place;
    if (!csv_read(at, &place) || !(place >= 0 && place < (double)count)) return false;
    *out = (tt_size)place;
    return true;
}

static bool read_row(void *context, const char *line) {
    const saturation *s = context;
    const char *at = line;
    tt_size set, rule, metric;
    if (!read_place(&at, s->count / s->rules, &set) || !read_place(&at, s->rules, &rule) ||
        !read_place(&at, saturation_metrics(s), &metric) || is_complete(context, set))
        return false;
    saturation_cell *c = cells_of(context, set) + rule;
    saturation_summary *of = &c->of[metric];
    return csv_read(&at, &of->mean) && csv_read(&at, &of->standard_error) &&
           csv_read(&at, &of->p10) && csv_read(&at, &of->median) && csv_read(&at, &of->p90) &&
           csv_read(&at, &c->pooled) && csv_read(&at, &c->pooled_error);
}

static bool read_end(void *context, const char *text) {
    const saturation *s = context;
    tt_size set;
    if (!read_place(&text, s->count / s->rules, &set) || *text || is_complete(context, set))
        return false;
    for (int k = 0; k < s->rules; k++) cells_of(context, set)[k].finished = true;
    return true;
}

static void forget(void *context, tt_size i) {
    (void)context; /* a set's rows are written over */
    (void)i;
}

partial_runs saturation_sets(saturation *s, const char *command) {
    return (partial_runs){.command = command,
                          .context = s,
                          .count = s->count / s->rules,
                          .header = write_header,
                          .complete = is_complete,
                          .elsewhere = is_elsewhere,
                          .rows = write_rows,
                          .end = write_end,
                          .name = write_name,
                          .read_row = read_row,
                          .read_end = read_end,
                          .forget = forget};
}

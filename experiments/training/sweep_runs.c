#include "training/sweep_runs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/csv.h"
#include "training/log.h"

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_header(FILE *to, void *context) {
    (void)context;
    log_header(to);
}

static bool is_complete(void *context, tt_size i) {
    const sweep *s = context;
    return s->runs[i].finished;
}

static bool is_elsewhere(void *context, tt_size i) {
    return ((const sweep *)context)->runs[i].elsewhere;
}

static void write_rows(FILE *to, void *context, tt_size i) {
    const sweep *s = context;
    log_run(to, s, &s->runs[i]);
}

static void write_end(FILE *to, void *context, tt_size i) {
    const sweep *s = context;
    const run *c = &s->runs[i];
    log_key(to, c);
    (void)fprintf(to, ",%td", c->steps);
    csv_number(to, c->ratio);
    csv_number(to, c->middle);
}

static void write_name(FILE *to, void *context, tt_size i) {
    const run *c = &((const sweep *)context)->runs[i];
    (void)fprintf(to, "d_k %" PRId64 " %s %s lr %g seed %" PRId64, c->d_k, c->scale->name,
                  c->optimizer->name, c->lr, c->seed);
}

/* ---- Reading back ---------------------------------------------------------------------------- */

static bool is_name(const char *name, const char *field, size_t length) {
    return strncmp(name, field, length) == 0 && name[length] == '\0';
}

/* The open run that a line's first fields (seed, d_k, scale, optimizer, lr) name, and where they
 * end. */
static run *named_run(const sweep *s, const char *line, const char **rest) {
    char *at, *end;
    const int64_t seed = strtoll(line, &at, 10);
    const int64_t d_k = *at == ',' ? strtoll(at + 1, &at, 10) : 0;
    if (*at != ',') return NULL;
    const char *scale = at + 1;
    const size_t length = strcspn(scale, ",");
    if (scale[length] != ',') return NULL;
    const char *name = scale + length + 1;
    const size_t name_length = strcspn(name, ",");
    if (name[name_length] != ',') return NULL;
    const double lr = strtod(name + name_length + 1, &end);
    *rest = end + (*end == ',');
    for (tt_size i = 0; *end == ',' && i < s->count; i++) {
        run *c = &s->runs[i];
        if (c->seed == seed && c->d_k == d_k && c->lr == lr &&
            is_name(c->scale->name, scale, length) &&
            is_name(c->optimizer->name, name, name_length))
            return c->finished ? NULL : c;
    }
    return NULL;
}

static bool read_row(void *context, const char *line) {
    const sweep *s = context;
    const char *rest;
    run *c = named_run(s, line, &rest);
    if (!c || !sweep_make_rows(s, c) || c->row_count == sweep_rows(s)) return false;
    return log_read_row(rest, &c->rows[c->row_count++]);
}

/* Steps taken and both ratios. */
static bool read_end(void *context, const char *text) {
    const sweep *s = context;
    const char *at;
    double steps;
    run *c = named_run(s, text, &at);
    if (!c || !csv_read(&at, &steps) || !csv_read(&at, &c->ratio) || !csv_read(&at, &c->middle) ||
        *at || !(steps >= 0 && steps <= (double)s->config.steps))
        return false;
    c->steps = (tt_size)steps;
    return c->finished = true;
}

static void forget(void *context, tt_size i) {
    ((const sweep *)context)->runs[i].row_count = 0;
}

partial_runs sweep_runs(sweep *s, const char *command) {
    return (partial_runs){.command = command,
                          .context = s,
                          .count = s->count,
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

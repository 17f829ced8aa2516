#include "training/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/csv.h"

/* The run's settings follow this column. */
static bool settings_follow(int column) {
    return strcmp(column_name(column), "moved") == 0;
}

void log_header(FILE *to) {
    (void)fputs("seed,d_k,scale,lr,step", to);
    for (int i = 0; i < columns_count(); i++)
        (void)fprintf(to, ",%s%s", column_name(i),
                      settings_follow(i) ? ",init,init_gain,kappa" : "");
    (void)fputc('\n', to);
}

void log_key(FILE *to, const run *c) {
    (void)fprintf(to, "%" PRId64 ",%" PRId64 ",%s", c->seed, c->d_k, c->scale->name);
    csv_number(to, c->lr);
}

void log_run(FILE *to, const run *c, const char *init) {
    for (tt_size r = 0; r < c->row_count; r++) {
        log_key(to, c);
        (void)fprintf(to, ",%" PRId64, c->rows[r].step);
        for (int i = 0; i < columns_count(); i++) {
            csv_number(to, c->rows[r].value[i]);
            if (!settings_follow(i)) continue;
            (void)fprintf(to, ",%s", init);
            csv_number(to, c->gain);
            csv_number(to, c->kappa);
        }
        (void)fputc('\n', to);
    }
}

void log_write(FILE *to, const sweep *s, const char *init) {
    log_header(to);
    for (tt_size i = 0; i < s->count; i++) log_run(to, &s->runs[i], init);
}

bool log_read_number(const char **at, double *out) {
    char *end;
    *out = strtod(*at, &end);
    bool good = end != *at && (*end == ',' || *end == '\n');
    *at = *end == ',' ? end + 1 : end;
    return good;
}

bool log_read_row(const char *text, log_row *row) {
    double setting;
    char *end;
    row->step = strtoll(text, &end, 10);
    if (*end != ',') return false;
    const char *at = end + 1;
    for (int i = 0; i < columns_count(); i++) {
        if (!log_read_number(&at, &row->value[i])) return false;
        if (!settings_follow(i)) continue;
        at += strcspn(at, ","); /* init */
        if (*at++ != ',' || !log_read_number(&at, &setting) || !log_read_number(&at, &setting))
            return false;
    }
    return *at == '\n';
}

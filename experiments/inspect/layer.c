/* layer.c: heads are measured some at a time, as many as there are threads, and each in strips of
 * rows; then, head by head, their rows are taken together, which finds the first error.
 */
#include "inspect/layer.h"

#include <stdlib.h>

#include "common/machine.h"
#include "common/parallel.h"
#include "inspect/strip.h"

const head_stats *inspect_stats(const inspect_layer *l, tt_size entry, int rule) {
    return &l->stats[entry * l->rules + rule];
}

/* ---- Some heads at a time -------------------------------------------------------------------- */

typedef struct shift {
    const head_files *files;
    const inspect_rules *rules;
    double *const *weights; /* by entry */
    int threads;
    tt_size first, count, most; /* entries at work, and for how many there is room */
    tt_size strips;             /* of a head */
    strip_head *head;           /* [most] */
    double *keys;               /* [most][2][Tk] */
    measured_row *rows;         /* [most][rules][Tq] */
    bool *starved;              /* [most][strips]: without memory */
} shift;

static bool shift_new(shift *s) {
    const tt_size most = s->most;
    s->strips = (s->files->queries + STRIP_ROWS - 1) / STRIP_ROWS;
    s->head = calloc((size_t)most, sizeof *s->head);
    s->keys = calloc((size_t)most, 2 * (size_t)s->files->keys * sizeof *s->keys);
    s->rows = calloc((size_t)(most * s->rules->count), (size_t)s->files->queries * sizeof *s->rows);
    s->starved = calloc((size_t)most, (size_t)s->strips * sizeof *s->starved);
    return s->head && s->keys && s->rows && s->starved;
}

static void shift_free(shift *s) {
    free(s->head);
    free(s->keys);
    free(s->rows);
    free(s->starved);
}

static void set_head(void *context, tt_size n) {
    const shift *s = context;
    double *keys = s->keys + n * 2 * s->files->keys;
    s->head[n] = (strip_head){.at = head_files_at(s->files, s->first + n),
                              .rules = s->rules,
                              .key_norm = keys,
                              .key_factor = keys + s->files->keys,
                              .rows = s->rows + n * s->rules->count * s->files->queries,
                              .weights = s->weights[s->first + n]};
    strip_set_keys(&s->head[n]);
}

static void measure_strip(void *context, tt_size i) {
    const shift *s = context;
    s->starved[i] = !strip_measure(&s->head[i / s->strips], i % s->strips * STRIP_ROWS);
}

/* ---- A head's rows together ------------------------------------------------------------------ */

static int check_row(const head_files *f, const scaling *rule, tt_size i, tt_size beyond) {
    if (beyond < 0) return EXIT_OK;
    return message_fail(EXIT_FAILED,
                        "%s, %s: the logit of query %td and key %td (scale %s) is beyond the "
                        "range of a double; expected smaller numbers",
                        f->paths.q, f->paths.k, i, beyond, rule->name);
}

static int take_rule(const shift *s, tt_size n, int r, head_stats *out) {
    const tt_size queries = s->files->queries;
    const measured_row *rows = s->head[n].rows + r * queries;
    int code = EXIT_OK;
    for (tt_size i = 0; i < queries && code == EXIT_OK; i++)
        code = check_row(s->files, s->rules->rule[r], i, rows[i].beyond);
    if (code == EXIT_OK && !head_stats_of_rows(rows, queries, out))
        code = message_fail(EXIT_FAILED, "out of memory");
    return code;
}

/* stats[rules] */
static int take_head(const shift *s, tt_size n, head_stats *stats) {
    int code = EXIT_OK;
    for (tt_size i = 0; i < s->strips; i++)
        if (s->starved[n * s->strips + i]) return message_fail(EXIT_FAILED, "out of memory");
    for (int r = 0; r < s->rules->count && code == EXIT_OK; r++) {
        const int first = inspect_rules_first_alike(s->rules, r);
        if (first < r)
            stats[r] = stats[first];
        else
            code = take_rule(s, n, r, &stats[r]);
    }
    return code;
}

/* ---- All heads ------------------------------------------------------------------------------- */

static int measure_heads(shift *s, inspect_layer *l) {
    const tt_size heads = l->batch * l->heads;
    int code = EXIT_OK;
    for (; s->first < heads && code == EXIT_OK; s->first += s->count) {
        s->count = heads - s->first < s->most ? heads - s->first : s->most;
        parallel_for(s->threads, s->count, set_head, s);
        parallel_for(s->threads, s->count * s->strips, measure_strip, s);
        for (tt_size n = 0; n < s->count && code == EXIT_OK; n++)
            code = take_head(s, n, &l->stats[(s->first + n) * l->rules]);
    }
    return code;
}

/* A thread has a strip at work and a head in the shift. */
static int threads_that_fit(const head_files *f, const inspect_rules *rules, int threads) {
    const double rows = (double)rules->count * (double)f->queries * sizeof(measured_row);
    const double keys = 2 * (double)f->keys * sizeof(double);
    const double at_once = machine_memory() / (strip_bytes(f->keys) + rows + keys);
    if (machine_memory() <= 0 || at_once >= threads) return threads;
    return at_once < 1 ? 1 : (int)at_once;
}

int inspect_layer_measure(const char *name, const head_files *f, const inspect_rules *rules,
                          int threads, double *const *weights, inspect_layer *out) {
    const tt_size heads = f->batch * f->heads;
    shift s = {.files = f, .rules = rules, .weights = weights};
    *out = (inspect_layer){name,       f->paths.q, f->batch, f->heads,     f->key_heads,
                           f->queries, f->keys,    f->d_k,   rules->count, NULL};
    s.threads = threads_that_fit(f, rules, threads);
    s.most = s.threads < heads ? s.threads : heads;
    out->stats = calloc((size_t)heads, (size_t)rules->count * sizeof *out->stats);
    const int code = shift_new(&s) && out->stats ? measure_heads(&s, out)
                                                 : message_fail(EXIT_FAILED, "out of memory");
    shift_free(&s);
    if (code != EXIT_OK) inspect_layer_free(out);
    return code;
}

void inspect_layer_free(inspect_layer *l) {
    free(l->stats);
    l->stats = NULL;
}

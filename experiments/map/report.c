#include "map/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/csv.h"
#include "common/text.h"

/* ---- Columns --------------------------------------------------------------------------------- */

/* Writes a comma and the field. */
typedef void print_field(FILE *to, const map_config *m, const cell *c);

static void print_scale(FILE *to, const map_config *m, const cell *c) {
    (void)m;
    csv_text(to, c->scale->name);
}

static void print_target(FILE *to, const map_config *m, const cell *c) {
    (void)c;
    csv_text(to, teacher_target_word(m->training.hard_target));
}

static void print_target_gain(FILE *to, const map_config *m, const cell *c) {
    (void)c;
    csv_number(to, m->training.target_gain);
}

static void print_batch(FILE *to, const map_config *m, const cell *c) {
    (void)c;
    (void)fprintf(to, ",%td", m->training.batch);
}

static void print_tokens(FILE *to, const map_config *m, const cell *c) {
    (void)c;
    (void)fprintf(to, ",%td", m->training.tokens);
}

static void print_d_model(FILE *to, const map_config *m, const cell *c) {
    (void)c;
    (void)fprintf(to, ",%td", m->training.d_model);
}

static void print_d_v(FILE *to, const map_config *m, const cell *c) {
    (void)c;
    (void)fprintf(to, ",%td", m->training.d_v);
}

static void print_d_k(FILE *to, const map_config *m, const cell *c) {
    (void)m;
    (void)fprintf(to, ",%" PRId64, c->d_k);
}

static void print_sigma0(FILE *to, const map_config *m, const cell *c) {
    (void)m;
    csv_known(to, c->sigma0);
}

static void print_seed(FILE *to, const map_config *m, const cell *c) {
    (void)m;
    (void)fprintf(to, ",%" PRId64, c->seed);
}

static void print_lr(FILE *to, const map_config *m, const cell *c) {
    (void)m;
    csv_number(to, c->lr);
}

static void print_gain(FILE *to, const map_config *m, const cell *c) {
    (void)m;
    csv_number(to, c->gain);
}

static void print_steps(FILE *to, const map_config *m, const cell *c) {
    (void)c;
    (void)fprintf(to, ",%td", m->steps);
}

static void print_verdict(FILE *to, const map_config *m, const cell *c) {
    csv_text(to, verdict_name((int)cell_verdict(m, c)));
}

static void print_state(FILE *to, const map_config *m, const cell *c) {
    csv_text(to, state_name(cell_state(m, c)));
}

static void print_options(FILE *to, const map_config *m, const cell *c) {
    (void)c;
    csv_text(to, m->options);
}

/* Without a function the field is what was found; the first is print_row's own. */
static const struct {
    const char *name, *meaning;
    print_field *print;
    finding found;
} COLUMNS[] = {
    {"optimizer", "how the weights move", NULL, FOUND},
    {"scale", "the rule; on the plane sqrt, whatever rule a point stands for", print_scale, FOUND},
    {"target", "what is learned", print_target, FOUND},
    {"target_gain", "factor on the teacher's logits", print_target_gain, FOUND},
    {"batch", "sequences a step", print_batch, FOUND},
    {"tokens", "of a sequence", print_tokens, FOUND},
    {"d_model", "width of the tokens", print_d_model, FOUND},
    {"d_v", "width of the values", print_d_v, FOUND},
    {"d_k", "width of the keys", print_d_k, FOUND},
    {"sigma0", "s sqrt(d_k) g_q g_k: deviation of the first logits, nominally", print_sigma0,
     FOUND},
    {"kappa", "the nominal step in logits at the start", NULL, KAPPA},
    {"seed", "of all numbers", print_seed, FOUND},
    {"lr", "as used", print_lr, FOUND},
    {"gain", "on the first Wq, Wk", print_gain, FOUND},
    {"steps", "asked for", print_steps, FOUND},
    {"steps_taken", "fewer if the ratio fell below 1e-12 or the cell diverged", NULL, STEPS_TAKEN},
    {"ratio", "loss / loss_uniform, median of the last 20 steps", NULL, RATIO},
    {"verdict", "as stall's", print_verdict, FOUND},
    {"state", "likewise", print_state, FOUND},
    {"steps_to_0.1", "first step, from 0, whose last 20 ratios have a median <= 0.1", NULL,
     STEPS_TO},
    {"entropy", "of a row's weights, nats, mean, at the last step", NULL, ENTROPY},
    {"entropy_teacher", "of the target's weights", NULL, ENTROPY_TEACHER},
    {"logit_std", "standard deviation of the logits at the last step", NULL, LOGIT_STD},
    {"cos_m", "cosine of Wq Wk^T with the teacher's at the last step", NULL, COS_M},
    {"ratio_rescaled", "loss / loss_uniform there after the best scalar", NULL, RATIO_RESCALED},
    {"kappa_end", "kappa there: lr s^2 (|Wq|^2 + |Wk|^2) / 2 as they then are", NULL, KAPPA_END},
    {"growth", "of a distance, logarithm a step, mean over steps 20 to 199", NULL, GROWTH},
    {"digits_lost", "its largest growth since the start, in decimal digits", NULL, DIGITS_LOST},
    {"options", "what was given beside all these", print_options, FOUND},
};

enum { COUNT = sizeof COLUMNS / sizeof *COLUMNS };

static bool is_shown(const map_config *c, int column) {
    return c->chaos || (COLUMNS[column].found != GROWTH && COLUMNS[column].found != DIGITS_LOST);
}

static void print_header(FILE *to, const map_config *c) {
    for (int i = 0; i < COUNT; i++)
        if (is_shown(c, i)) (void)fprintf(to, "%s%s", i > 0 ? "," : "", COLUMNS[i].name);
    (void)fputc('\n', to);
}

static void print_row(FILE *to, const map_config *m, const cell *c) {
    (void)fputs(c->optimizer->name, to);
    for (int i = 1; i < COUNT; i++) {
        if (!is_shown(m, i)) continue;
        if (COLUMNS[i].print)
            COLUMNS[i].print(to, m, c);
        else
            csv_known(to, c->found[COLUMNS[i].found]);
    }
    (void)fputc('\n', to);
}

void map_csv(FILE *to, const map *m) {
    print_header(to, &m->config);
    for (tt_size i = 0; i < m->count; i++)
        if (m->cells[i].finished) print_row(to, &m->config, &m->cells[i]);
}

static void print_point(FILE *to, const map_config *m, const cell *c, const curve_point *at) {
    (void)fputs(c->optimizer->name, to);
    csv_text(to, c->scale->name);
    print_target(to, m, c);
    print_d_k(to, m, c);
    print_sigma0(to, m, c);
    csv_known(to, c->found[KAPPA]);
    print_seed(to, m, c);
    print_lr(to, m, c);
    (void)fprintf(to, ",%td", at->step);
    csv_number(to, at->ratio);
    csv_number(to, at->logit_std);
    csv_number(to, at->temperature);
    csv_known(to, at->kappa);
    print_options(to, m, c);
    (void)fputc('\n', to);
}

void map_curves_csv(FILE *to, const map *m) {
    (void)fputs("optimizer,scale,target,d_k,sigma0,kappa,seed,lr,step,ratio,logit_std,temperature,"
                "kappa_now,options\n",
                to);
    for (tt_size i = 0; i < m->count; i++)
        for (tt_size k = 0; k < m->cells[i].points; k++)
            print_point(to, &m->config, &m->cells[i], &m->cells[i].curve[k]);
}

void map_columns_help(FILE *to) {
    (void)fputs("Columns:\n", to);
    for (int i = 0; i < COUNT; i++)
        (void)fprintf(to, "  %-16s %s\n", COLUMNS[i].name, COLUMNS[i].meaning);
}

/* ---- The partial file ------------------------------------------------------------------------ */

static void write_header(FILE *to, void *context) {
    const map *m = context;
    print_header(to, &m->config);
}

static bool is_complete(void *context, tt_size i) {
    return ((const map *)context)->cells[i].finished;
}

static bool is_elsewhere(void *context, tt_size i) {
    return ((const map *)context)->cells[i].elsewhere;
}

static const char POINT[] = "# at,";

/* A row for people, and the curve: the cell's place and a point a line. */
static void write_rows(FILE *to, void *context, tt_size i) {
    const map *m = context;
    const cell *c = &m->cells[i];
    print_row(to, &m->config, c);
    for (tt_size k = 0; k < c->points; k++) {
        const curve_point *at = &c->curve[k];
        (void)fprintf(to, "%s%td,%td", POINT, i, at->step);
        csv_number(to, at->ratio);
        csv_number(to, at->logit_std);
        csv_number(to, at->temperature);
        csv_number(to, at->kappa);
        (void)fputc('\n', to);
    }
}

/* The cell's place, which the settings give a meaning, and all that was found. */
static void write_end(FILE *to, void *context, tt_size i) {
    const map *m = context;
    (void)fprintf(to, "%td", i);
    for (int k = 0; k < FOUND; k++) csv_number(to, m->cells[i].found[k]);
}

static void write_name(FILE *to, void *context, tt_size i) {
    const map *m = context;
    const cell *c = &m->cells[i];
    (void)fprintf(to, "d_k %" PRId64 " ", c->d_k);
    if (m->config.lr_count > 0)
        (void)fprintf(to, "%s %s lr %g", c->scale->name, c->optimizer->name, c->lr);
    else
        (void)fprintf(to, "%s sigma0 %g kappa %g", c->optimizer->name, c->sigma0, c->found[KAPPA]);
    (void)fprintf(to, " seed %" PRId64, c->seed);
}

/* The cell that a line's first field names. */
static cell *named_cell(const map *m, const char **at) {
    double place;
    if (!csv_read(at, &place) || !(place >= 0 && place < (double)m->count)) return NULL;
    return &m->cells[(tt_size)place];
}

static bool read_row(void *context, const char *line) {
    const map *m = context;
    const char *at = line + strlen(POINT);
    double step;
    if (strncmp(line, POINT, strlen(POINT)) != 0) return true;
    cell *c = named_cell(m, &at);
    if (!c || c->finished || !csv_read(&at, &step)) return false;
    if (!(step >= 0 && step < (double)m->config.steps)) return false;
    if (step == 0 && !cell_make_curve(&m->config, c)) return false;
    if (!c->curve || c->points == map_curve_points(&m->config)) return false;
    curve_point *to = &c->curve[c->points++];
    to->step = (tt_size)step;
    return csv_read(&at, &to->ratio) && csv_read(&at, &to->logit_std) &&
           csv_read(&at, &to->temperature) && csv_read(&at, &to->kappa);
}

static bool read_end(void *context, const char *text) {
    const map *m = context;
    const char *at = text;
    cell *c = named_cell(m, &at);
    if (!c || c->finished) return false;
    for (int k = 0; k < FOUND; k++)
        if (!csv_read(&at, &c->found[k])) return false;
    return c->finished = *at == '\0';
}

static void forget(void *context, tt_size i) {
    ((const map *)context)->cells[i].points = 0;
}

partial_runs map_runs(map *m, const char *command) {
    return (partial_runs){.command = command,
                          .context = m,
                          .count = m->count,
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

/* ---- Tables ---------------------------------------------------------------------------------- */

static const char LETTERS[VERDICTS] = {
    [TRAINED] = 't', [EARLY] = 'e', [SLOW] = 's', [STALLED] = 'S', [DIVERGED] = 'D'};

enum { LABEL = 7, ENTRY_BYTES = 32 };

/* Whether a cell comes before another: the sooner at 0.1, of those that never were the one that
 * ends lower. */
static bool is_before(const cell *a, const cell *b) {
    const double x = a->found[STEPS_TO], y = b->found[STEPS_TO];
    if (isnan(x) && isnan(y)) return a->found[RATIO] < b->found[RATIO];
    return isnan(y) ? !isnan(x) : x < y;
}

/* The seed in the middle, the lower one of two, the first of equals. */
static const cell *lower_median(const cell *cells, int seeds) {
    for (int i = 0; i < seeds; i++) {
        int before = 0;
        for (int j = 0; j < seeds; j++)
            before +=
                is_before(&cells[j], &cells[i]) || (j < i && !is_before(&cells[i], &cells[j]));
        if (before == (seeds - 1) / 2) return &cells[i];
    }
    return cells;
}

static const double *across_of(const map_config *c) {
    return c->lr_count == 0 ? c->kappa : c->lr;
}

/* Characters of a column: what is above it, or as many steps as there are and a mark. */
static int field_of(const map_config *c) {
    int most = snprintf(NULL, 0, "%td*", c->steps);
    for (int k = 0; k < map_across(c); k++) {
        const int label = snprintf(NULL, 0, "%.4g", across_of(c)[k]);
        if (label > most) most = label;
    }
    return most;
}

static void print_entry(FILE *to, const map_config *m, const cell *c, int field) {
    const verdict v = cell_verdict(m, c);
    char entry[ENTRY_BYTES] = {LETTERS[v], '\0'};
    if (!isnan(c->found[STEPS_TO]))
        (void)snprintf(entry, sizeof entry, "%.0f%s", c->found[STEPS_TO] + 1,
                       v == TRAINED ? "" : "*");
    (void)fprintf(to, " %*s", field, entry);
}

/* Columns first to last - 1 of one table: of each row its label and its cells. */
static void print_block(FILE *to, const map *m, int method, int scale, int d_k, int first,
                        int last) {
    const map_config *c = &m->config;
    const bool plane = c->lr_count == 0;
    const int rows = plane ? c->sigma0_count : c->d_k_count, field = field_of(c);
    (void)fprintf(to, "%*s", LABEL, plane ? "sigma0" : "d_k");
    for (int k = first; k < last; k++) (void)fprintf(to, " %*.4g", field, across_of(c)[k]);
    (void)fputc('\n', to);
    for (int i = 0; i < rows; i++) {
        (void)fprintf(to, "%*.6g", LABEL, plane ? c->sigma0[i] : (double)c->d_k[i]);
        for (int k = first; k < last; k++) {
            const cell *cells = map_cells_at(m, method, scale, plane ? d_k : i, plane ? i : 0, k);
            print_entry(to, c, lower_median(cells, c->seed_count), field);
        }
        (void)fputc('\n', to);
    }
}

/* Where in the list of rates the seed in the middle is trained soonest, the first of equals; -1 if
 * at none. */
static int fastest(const map *m, int method, int scale, int d_k) {
    const map_config *c = &m->config;
    double least = INFINITY;
    int found = -1;
    for (int k = 0; k < c->lr_count; k++) {
        const cell *of = lower_median(map_cells_at(m, method, scale, d_k, 0, k), c->seed_count);
        if (cell_verdict(c, of) != TRAINED || !(of->found[STEPS_TO] < least)) continue;
        least = of->found[STEPS_TO];
        found = k;
    }
    return found;
}

/* How many of the table's cells are early. */
static int early_of(const map *m, int method, int scale) {
    const map_config *c = &m->config;
    int early = 0;
    for (int d = 0; d < c->d_k_count; d++)
        for (int k = 0; k < c->lr_count; k++)
            early += cell_verdict(c, lower_median(map_cells_at(m, method, scale, d, 0, k),
                                                  c->seed_count)) == EARLY;
    return early;
}

/* Of a table without a trained cell: of an early one nothing is said. */
static void print_none(FILE *to, const map *m, int method, int scale) {
    const map_config *c = &m->config;
    const int early = early_of(m, method, scale);
    if (early == c->d_k_count * c->lr_count)
        (void)fprintf(to, "Too early to tell: none trained within %td steps, and all are early\n",
                      c->steps);
    else
        (void)fprintf(to, "No lr of these trained within %td steps%s\n", c->steps,
                      early > 0 ? "; of the early cells nothing is said" : "");
}

typedef struct rates_of {
    const map *map;
    int method, scale;
} rates_of;

static void print_fastest(FILE *to, const void *context) {
    const rates_of *r = context;
    const map_config *c = &r->map->config;
    const int first = fastest(r->map, r->method, r->scale, 0);
    bool one = true;
    for (int d = 1; d < c->d_k_count; d++)
        one = one && fastest(r->map, r->method, r->scale, d) == first;
    if (one && first < 0) {
        print_none(to, r->map, r->method, r->scale);
        return;
    }
    (void)fputs("Fastest at lr", to);
    for (int d = 0; d < (one ? 1 : c->d_k_count); d++) {
        const int k = fastest(r->map, r->method, r->scale, d);
        (void)fputs(d > 0 ? "," : "", to);
        if (k < 0)
            (void)fputs(" none", to);
        else
            (void)fprintf(to, " %.4g", c->lr[k]);
        if (!one) (void)fprintf(to, d == 0 ? " (d_k %" PRId64 ")" : " (%" PRId64 ")", c->d_k[d]);
    }
    (void)fputs(one && c->d_k_count > 1 ? " at every d_k\n" : "\n", to);
}

static void print_table(FILE *to, const map *m, int method, int scale, int d_k) {
    const map_config *c = &m->config;
    const int fit = (text_width() - LABEL) / (field_of(c) + 1), columns = map_across(c);
    const int most = fit > 0 ? fit : 1;
    const char *name = c->optimizer[method]->name;
    if (c->lr_count == 0)
        text_line(to, 4, "\nd_k %" PRId64 ", %s, kappa across:", c->d_k[d_k], name);
    else
        text_line(to, 4, "\nscale %s, %s, lr across:", c->scale[scale]->name, name);
    for (int first = 0; first < columns; first += most)
        print_block(to, m, method, scale, d_k, first,
                    first + most < columns ? first + most : columns);
    if (c->lr_count > 0) text_flow_from(to, print_fastest, &(rates_of){m, method, scale}, 4);
}

void map_tables(FILE *to, const map *m) {
    const map_config *c = &m->config;
    if (c->options && c->options[0]) text_line(to, 0, "With %s.", c->options);
    text_line(to, 0,
              "Steps until the ratio (loss / loss of not attending), median of 20, was 0.1 or "
              "less%s",
              c->seed_count > 1 ? ", of the seed in the middle" : "");
    if (c->lr_count == 0)
        text_line(to, 0,
                  "sigma0: nominal standard deviation of the first logits; kappa: nominal step in "
                  "logits (1: sqrt's with gradient descent at lr 1)");
    for (int o = 0; o < c->optimizer_count; o++)
        for (int s = 0; s < c->scale_count; s++)
            for (int d = 0; d < (c->lr_count == 0 ? c->d_k_count : 1); d++)
                print_table(to, m, o, s, d);
    text_line(to, 0,
              "\nNot within %td steps: e early, too few steps to tell; S stalled, ratio >= 1 and "
              "hardly falling; s slow, neither; D diverged (and t trained, with fewer than 20). "
              "*: above 0.1 again at the end.",
              c->steps);
}

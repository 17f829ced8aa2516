#include "training/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/csv.h"

/* ---- What tells runs apart ------------------------------------------------------------------- */

/* A comma and what stands behind it: nothing where the run does not use it. */
typedef void print_setting(FILE *to, const sweep_config *c, const run *r);

static void print_if(FILE *to, bool used, double x) {
    csv_known(to, used ? x : NAN);
}

static bool is_adam(const run *r) {
    return tt_optim_moments(r->optimizer->kind) == 2;
}

static void print_init(FILE *to, const sweep_config *c, const run *r) {
    (void)r;
    csv_text(to, teacher_init_word(c->training.start_teacher));
}

static void print_gain(FILE *to, const sweep_config *c, const run *r) {
    (void)c;
    csv_number(to, r->gain);
}

static void print_kappa(FILE *to, const sweep_config *c, const run *r) {
    (void)c;
    csv_number(to, r->kappa);
}

static void print_momentum(FILE *to, const sweep_config *c, const run *r) {
    print_if(to, r->optimizer->kind == TT_MOMENTUM, c->recipe.momentum);
}

static void print_beta1(FILE *to, const sweep_config *c, const run *r) {
    print_if(to, is_adam(r), c->recipe.beta1);
}

static void print_beta2(FILE *to, const sweep_config *c, const run *r) {
    print_if(to, is_adam(r), c->recipe.beta2);
}

static void print_eps(FILE *to, const sweep_config *c, const run *r) {
    print_if(to, is_adam(r), c->recipe.eps);
}

static void print_decay(FILE *to, const sweep_config *c, const run *r) {
    csv_number(to, recipe_optim(&c->recipe, r->optimizer).weight_decay);
}

static void print_clip(FILE *to, const sweep_config *c, const run *r) {
    (void)r;
    print_if(to, isfinite(c->recipe.clip), c->recipe.clip);
}

/* Its commas would be the CSV's: "100:0.5 200:0.1". */
static void print_schedule(FILE *to, const sweep_config *c, const run *r) {
    (void)r;
    (void)fputc(',', to);
    for (int i = 0; i < c->recipe.schedule_count; i++) {
        char number[NUMBER_BYTES];
        (void)fprintf(to, "%s%td:%s", i > 0 ? " " : "", c->recipe.schedule[i].step,
                      csv_format(number, c->recipe.schedule[i].factor));
    }
}

static void print_warm_up(FILE *to, const sweep_config *c, const run *r) {
    (void)r;
    print_if(to, c->recipe.warm_up > 0, (double)c->recipe.warm_up);
}

static void print_temperature_lr(FILE *to, const sweep_config *c, const run *r) {
    (void)r;
    print_if(to, c->recipe.temperature_lr > 0, c->recipe.temperature_lr);
}

static void print_temperature_from(FILE *to, const sweep_config *c, const run *r) {
    (void)r;
    print_if(to, c->recipe.temperature_lr > 0, (double)c->recipe.temperature_from);
}

static void print_target(FILE *to, const sweep_config *c, const run *r) {
    (void)r;
    csv_text(to, teacher_target_word(c->training.hard_target));
}

static void print_target_gain(FILE *to, const sweep_config *c, const run *r) {
    (void)r;
    csv_number(to, c->training.target_gain);
}

static const struct {
    const char *name;
    print_setting *print;
} SETTINGS[] = {
    {"init", print_init},
    {"init_gain", print_gain},
    {"kappa", print_kappa},
    {"momentum", print_momentum},
    {"beta1", print_beta1},
    {"beta2", print_beta2},
    {"eps", print_eps},
    {"weight_decay", print_decay},
    {"clip", print_clip},
    {"schedule", print_schedule},
    {"warm_up", print_warm_up},
    {"temperature_lr", print_temperature_lr},
    {"temperature_from", print_temperature_from},
    {"target", print_target},
    {"target_gain", print_target_gain},
};

enum { SETTING_COUNT = sizeof SETTINGS / sizeof *SETTINGS };

/* They follow this column. */
static bool settings_follow(int column) {
    return strcmp(column_name(column), "moved") == 0;
}

/* ---- Writing --------------------------------------------------------------------------------- */

void log_header(FILE *to) {
    (void)fputs("seed,d_k,scale,optimizer,lr,step", to);
    for (int i = 0; i < columns_count(); i++) {
        (void)fprintf(to, ",%s", column_name(i));
        for (int k = 0; settings_follow(i) && k < SETTING_COUNT; k++)
            (void)fprintf(to, ",%s", SETTINGS[k].name);
    }
    (void)fputc('\n', to);
}

void log_key(FILE *to, const run *c) {
    (void)fprintf(to, "%" PRId64 ",%" PRId64 ",%s,%s", c->seed, c->d_k, c->scale->name,
                  c->optimizer->name);
    csv_number(to, c->lr);
}

void log_run(FILE *to, const sweep *s, const run *c) {
    for (tt_size r = 0; r < c->row_count; r++) {
        log_key(to, c);
        (void)fprintf(to, ",%" PRId64, c->rows[r].step);
        for (int i = 0; i < columns_count(); i++) {
            csv_number(to, c->rows[r].value[i]);
            for (int k = 0; settings_follow(i) && k < SETTING_COUNT; k++)
                SETTINGS[k].print(to, &s->config, c);
        }
        (void)fputc('\n', to);
    }
}

void log_write(FILE *to, const sweep *s) {
    log_header(to);
    for (tt_size i = 0; i < s->count; i++)
        if (s->runs[i].finished) log_run(to, s, &s->runs[i]);
}

/* ---- Reading back ---------------------------------------------------------------------------- */

bool log_read_row(const char *text, log_row *row) {
    char *end;
    row->step = strtoll(text, &end, 10);
    if (*end != ',') return false;
    const char *at = end + 1;
    for (int i = 0; i < columns_count(); i++) {
        if (!csv_read(&at, &row->value[i])) return false;
        for (int k = 0; settings_follow(i) && k < SETTING_COUNT; k++) {
            at += strcspn(at, ",");
            if (*at++ != ',') return false;
        }
    }
    return *at == '\n';
}

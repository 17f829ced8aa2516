/* sweep.c: a job is what shares random numbers and the teacher's pass: all scales at one d_k, rate
 * and seed. Threads take whole jobs, the widest first.
 */
#include "training/sweep.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/parallel.h"
#include "common/stats.h"
#include "training/kappa.h"
#include "training/ratios.h"

/* ---- Runs ----------------------------------------------------------------------------------- */

static double gain_at(const sweep_config *c, int64_t d_k) {
    double root = sqrt(sqrt((double)d_k)); /* exact where d_k is a power of 16 */
    if (c->gain_kind == GAIN_DK_DOWN) return 1 / root;
    return c->gain_kind == GAIN_DK_UP ? root : c->gain;
}

static tt_size rows_per_run(const sweep_config *c) {
    return (c->steps - 1) / c->every + 2;
}

tt_size sweep_rows(const sweep *s) {
    return rows_per_run(&s->config);
}

bool sweep_make_rows(const sweep *s, run *c) {
    const size_t rows = (size_t)sweep_rows(s), columns = (size_t)columns_count();
    if (c->rows) return true;
    c->rows = calloc(rows, sizeof *c->rows);
    c->values = calloc(rows * columns, sizeof *c->values);
    for (size_t r = 0; c->rows && c->values && r < rows; r++)
        c->rows[r].value = c->values + r * columns;
    return c->rows && c->values;
}

run *sweep_run_at(const sweep *s, int d_k, int scale, int rate, int seed) {
    const sweep_config *c = &s->config;
    tt_size at = ((tt_size)d_k * c->scale_count + scale) * c->rate_count + rate;
    return &s->runs[at * c->seed_count + seed];
}

static training_config training_of(const sweep_config *c, int64_t d_k) {
    training_config training = c->training;
    training.d_k = (tt_size)d_k;
    return training;
}

/* Sets a run's lr and kappa from what is given, by kappa at lr 1. */
static void set_rate(const sweep_config *c, run *to, double given, double kappa_per_lr) {
    to->lr = c->lr_in_logits ? given / kappa_per_lr : given;
    to->kappa = c->lr_in_logits ? given : given * kappa_per_lr;
}

static void lay_out(const sweep_config *c, run *to, int d_k, int scale, int rate, int seed) {
    const training_config training = training_of(c, c->d_k[d_k]);
    to->d_k = c->d_k[d_k];
    to->seed = c->seed[seed];
    to->scale = c->scale[scale];
    to->optimizer = c->rate[rate].optimizer;
    to->gain = gain_at(c, to->d_k);
    set_rate(c, to, c->rate[rate].lr, kappa_per_lr(to->scale, to->optimizer, &training, to->gain));
    to->ratio = to->middle = INFINITY;
}

/* Jobs, not runs: what is trained together stays together. */
static bool deal(const sweep *s) {
    const sweep_config *c = &s->config;
    const tt_size inner = (tt_size)c->rate_count * c->seed_count, jobs = c->d_k_count * inner;
    double *cost = calloc((size_t)jobs, sizeof *cost);
    int *owner = calloc((size_t)jobs, sizeof *owner);
    bool good = cost && owner;
    for (tt_size i = 0; good && i < jobs; i++) cost[i] = sweep_job_work(c, c->d_k[i / inner]);
    good = good && shard_deal(cost, jobs, c->shard.count, owner);
    for (tt_size i = 0; good && i < s->count; i++) {
        const tt_size d_k = i / (c->scale_count * inner);
        s->runs[i].elsewhere = owner[d_k * inner + i % inner] != c->shard.index;
    }
    free(cost);
    free(owner);
    return good;
}

bool sweep_new(sweep *s, const sweep_config *config) {
    const sweep_config *c = config;
    s->config = *c;
    s->count = (tt_size)c->d_k_count * c->scale_count * c->rate_count * c->seed_count;
    s->runs = calloc((size_t)s->count, sizeof *s->runs);
    if (!s->runs) return false;
    for (int d = 0; d < c->d_k_count; d++)
        for (int k = 0; k < c->scale_count; k++)
            for (int r = 0; r < c->rate_count; r++)
                for (int e = 0; e < c->seed_count; e++)
                    lay_out(c, sweep_run_at(s, d, k, r, e), d, k, r, e);
    return c->shard.count == 0 || deal(s);
}

void sweep_free(sweep *s) {
    for (tt_size i = 0; s->runs && i < s->count; i++) {
        free(s->runs[i].rows);
        free(s->runs[i].values);
    }
    free(s->runs);
    s->runs = NULL;
}

static double largest_d_k(const sweep_config *c) {
    int64_t largest = 0;
    for (int i = 0; i < c->d_k_count; i++)
        if (c->d_k[i] > largest) largest = c->d_k[i];
    return (double)largest;
}

double sweep_job_bytes(const sweep_config *config) {
    training_config training = config->training;
    int moments = 0;
    training.d_k = (tt_size)largest_d_k(config);
    for (int i = 0; i < config->rate_count; i++) {
        const int needed = tt_optim_moments(config->rate[i].optimizer->kind);
        if (needed > moments) moments = needed;
    }
    return training_bytes(&training, config->scale_count, moments);
}

double sweep_log_bytes(const sweep_config *config) {
    double runs =
        (double)config->d_k_count * config->scale_count * config->rate_count * config->seed_count;
    double row = (double)sizeof(log_row) + columns_count() * (double)sizeof(double);
    return runs * ((double)rows_per_run(config) * row + sizeof(run));
}

double sweep_job_work(const sweep_config *config, int64_t d_k) {
    const training_config *m = &config->training;
    double rows = (double)(m->batch * m->tokens), width = (double)(m->d_model + m->tokens);
    double one_teacher = 2 * width * rows * (double)d_k;
    double one_student = 5 * width * rows * (double)d_k;
    double draws = 60 * rows * (double)m->d_model; /* a normal costs about as much */
    return draws + one_teacher + config->scale_count * one_student;
}

/* ---- Measuring kappa ------------------------------------------------------------------------- */

typedef struct measuring {
    sweep *sweep;
    const atomic_int *stop;
    const scaling **rule; /* those to be measured */
    int *scale;           /* their places */
    int count;
    bool *failed; /* by piece */
} measuring;

/* All runs of one d_k and one seed. */
static void measure_piece(void *context, tt_size i) {
    const measuring *m = context;
    const sweep_config *c = &m->sweep->config;
    const int d = (int)(i / c->seed_count), e = (int)(i % c->seed_count);
    bool own = false;
    for (int r = 0; r < c->rate_count; r++)
        own = own || !sweep_run_at(m->sweep, d, 0, r, e)->elsewhere;
    if (!own) return;
    const training_config training = training_of(c, c->d_k[d]);
    double *per_lr = calloc((size_t)m->count, sizeof *per_lr);
    bool good = per_lr;
    for (int r = 0; good && r < c->rate_count && !*m->stop; r++) {
        const optimizer_rate *given = &c->rate[r];
        if (r == 0 || given->optimizer != c->rate[r - 1].optimizer)
            good = kappa_measure(m->rule, m->count, given->optimizer, &c->recipe, &training,
                                 gain_at(c, c->d_k[d]), (uint64_t)c->seed[e], per_lr);
        for (int k = 0; good && k < m->count; k++)
            set_rate(c, sweep_run_at(m->sweep, d, m->scale[k], r, e), given->lr, per_lr[k]);
    }
    m->failed[i] = !good;
    free(per_lr);
}

bool sweep_measure(sweep *s, const atomic_int *stop) {
    const sweep_config *c = &s->config;
    const tt_size pieces = (tt_size)c->d_k_count * c->seed_count;
    measuring m = {s,
                   stop,
                   calloc((size_t)c->scale_count, sizeof *m.rule),
                   calloc((size_t)c->scale_count, sizeof *m.scale),
                   0,
                   calloc((size_t)pieces, sizeof *m.failed)};
    bool good = m.rule && m.scale && m.failed;
    for (int k = 0; good && k < c->scale_count; k++) {
        if (scaling_is_constant(c->scale[k])) continue;
        m.scale[m.count] = k;
        m.rule[m.count++] = c->scale[k];
    }
    if (good && m.count > 0) parallel_for(c->threads, pieces, measure_piece, &m);
    for (tt_size i = 0; good && i < pieces; i++) good = !m.failed[i];
    free(m.rule);
    free(m.scale);
    free(m.failed);
    return good;
}

/* ---- Training one job ------------------------------------------------------------------------ */

typedef struct job {
    int d_k, rate, seed;
} job;

/* One student of a job and what its verdict needs. */
typedef struct trainee {
    student student;
    run *run;
    bool active;
    ratios ratios;
} trainee;

typedef struct shared {
    sweep *sweep;
    const sweep_observer *observer;
    const atomic_int *stop;
    pthread_mutex_t lock; /* guards all below and the observer */
    job *jobs;
    tt_size job_count;
    bool failed;
    char *error;
    size_t error_bytes;
} shared;

static void fail(shared *s, const char *what) {
    (void)pthread_mutex_lock(&s->lock);
    if (!s->failed) (void)snprintf(s->error, s->error_bytes, "%s", what);
    s->failed = true;
    (void)pthread_mutex_unlock(&s->lock);
}

static void conclude(trainee *t, bool diverged) {
    t->run->ratio = diverged ? INFINITY : ratios_last(&t->ratios);
    t->run->middle = diverged ? INFINITY : ratios_middle(&t->ratios);
    t->run->steps = t->ratios.steps;
    t->run->finished = true;
    t->active = false;
}

/* One step of one student. NULL, or what failed; a run that ceases to be finite is concluded. */
static const char *train_step(trainee *t, const teacher *from, meter *m, const sweep_config *c,
                              tt_size step) {
    run *to = t->run;
    log_row *row = &to->rows[to->row_count];
    const char *error = student_learn(&t->student, from);
    if (error) return error;
    const double ratio = student_loss(&t->student) / student_loss_uniform(&t->student, from);
    bool finite = isfinite(ratio);
    const bool logged = finite && (step % c->every == 0 || step == c->steps - 1);
    if (logged) error = meter_read(m, &t->student, from, row->value);
    if (error) return error;
    if (finite) {
        ratios_add(&t->ratios, c->steps, ratio);
        finite = student_update(&t->student);
    }
    if (logged) {
        row->step = step;
        error = meter_read_update(m, &t->student, from, row->value);
        if (error) return error;
        /* nothing that is not finite is logged, but it takes more than that to end a run */
        to->row_count += stats_finite(row->value, columns_count());
    }
    if (!finite || step == c->steps - 1) conclude(t, !finite);
    return NULL;
}

static bool report_finished(shared *s, const run *c) {
    (void)pthread_mutex_lock(&s->lock);
    bool good = !s->failed && s->observer->finished(s->observer->context, c);
    if (!good) s->failed = true;
    (void)pthread_mutex_unlock(&s->lock);
    return good;
}

static bool report_advance(shared *s, tt_size run_steps, double work) {
    (void)pthread_mutex_lock(&s->lock);
    bool go_on = !s->failed;
    if (go_on) s->observer->advanced(s->observer->context, run_steps, work);
    (void)pthread_mutex_unlock(&s->lock);
    return go_on;
}

/* Sets up the students of a job whose runs are not finished yet. */
static bool enrol(shared *s, const job *j, const teacher *from, trainee *all, int *count) {
    const sweep_config *c = &s->sweep->config;
    *count = 0;
    for (int k = 0; k < c->scale_count; k++) {
        run *to = sweep_run_at(s->sweep, j->d_k, k, j->rate, j->seed);
        if (to->finished) continue;
        const student_config config = {to->scale, to->gain, to->optimizer, to->lr, &c->recipe};
        trainee *t = &all[(*count)++];
        *t = (trainee){.run = to, .active = true};
        to->row_count = to->steps = 0;
        if (!sweep_make_rows(s->sweep, to) || !student_new(&t->student, from, &config))
            return false;
    }
    return true;
}

static void train(shared *s, const job *j, teacher *from, meter *m, trainee *all, int count) {
    const sweep_config *c = &s->sweep->config;
    const double work = sweep_job_work(c, c->d_k[j->d_k]);
    int active = count;
    for (tt_size step = 0; step < c->steps && active > 0; step++) {
        if (*s->stop) return;
        if (!teacher_next(from)) {
            fail(s, tt_tape_error(from->tape));
            return;
        }
        int trained = active;
        for (int i = 0; i < count; i++) {
            if (!all[i].active) continue;
            const char *error = train_step(&all[i], from, m, c, step);
            if (error) {
                fail(s, error);
                return;
            }
            if (all[i].active) continue;
            active--;
            if (!report_finished(s, all[i].run)) return;
        }
        if (!report_advance(s, trained, work)) return;
    }
}

static void run_job(shared *s, const job *j) {
    const sweep_config *c = &s->sweep->config;
    const training_config config = training_of(c, c->d_k[j->d_k]);
    teacher from;
    meter m = {.tape = NULL};
    int count = 0;
    trainee *all = calloc((size_t)c->scale_count, sizeof *all);
    bool good = teacher_new(&from, &config, (uint64_t)c->seed[j->seed]);
    good = good && all && meter_new(&m, &config) && enrol(s, j, &from, all, &count);
    if (good)
        train(s, j, &from, &m, all, count);
    else
        fail(s, "out of memory");
    for (int i = 0; i < count; i++) student_free(&all[i].student);
    meter_free(&m);
    teacher_free(&from);
    free(all);
}

static void run_piece(void *context, tt_size i) {
    shared *s = context;
    (void)pthread_mutex_lock(&s->lock);
    bool go_on = !s->failed && !*s->stop;
    (void)pthread_mutex_unlock(&s->lock);
    if (go_on) run_job(s, &s->jobs[i]);
}

/* ---- The sweep ------------------------------------------------------------------------------- */

/* Jobs with a run to train, those of the largest d_k first: a long job that starts last would be
 * waited for by idle processors. */
static bool list_jobs(shared *s) {
    const sweep_config *c = &s->sweep->config;
    s->jobs = calloc((size_t)c->d_k_count * (size_t)c->rate_count * (size_t)c->seed_count,
                     sizeof *s->jobs);
    if (!s->jobs) return false;
    for (int d = 0; d < c->d_k_count; d++)
        for (int r = 0; r < c->rate_count; r++)
            for (int e = 0; e < c->seed_count; e++) {
                bool open = false;
                for (int k = 0; k < c->scale_count; k++) {
                    const run *of = sweep_run_at(s->sweep, d, k, r, e);
                    open = open || !(of->finished || of->elsewhere);
                }
                if (!open) continue;
                tt_size at = s->job_count++;
                for (; at > 0 && c->d_k[s->jobs[at - 1].d_k] < c->d_k[d]; at--)
                    s->jobs[at] = s->jobs[at - 1];
                s->jobs[at] = (job){d, r, e};
            }
    return true;
}

sweep_result sweep_train(sweep *sw, const sweep_observer *observer, const atomic_int *stop,
                         char *error, size_t error_bytes) {
    shared s = {.sweep = sw,
                .observer = observer,
                .stop = stop,
                .error = error,
                .error_bytes = error_bytes};
    error[0] = '\0';
    if (!list_jobs(&s) || pthread_mutex_init(&s.lock, NULL) != 0) {
        (void)snprintf(error, error_bytes, "out of memory");
        free(s.jobs);
        return SWEEP_FAILED;
    }
    parallel_for(sw->config.threads, s.job_count, run_piece, &s);
    free(s.jobs);
    (void)pthread_mutex_destroy(&s.lock);
    if (s.failed) return SWEEP_FAILED;
    return *stop ? SWEEP_STOPPED : SWEEP_DONE;
}

/* cells.c: a piece is what is trained side by side. Where products of the weights are enough, all
 * cells of a piece share one tape, which stays in the cache.
 */
#include "map/cells.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/parallel.h"
#include "common/stats.h"
#include "map/chaos.h"
#include "training/kappa.h"
#include "training/ratios.h"
#include "training/rescaled.h"
#include "tt/attention.h"
#include "tt/elementary.h"
#include "tt/norm.h"
#include "tt/ops.h"
#include "tt/rowstats.h"

static const double ENDS_AT = 1e-12, TRAINED_AT = 0.1;

/* Cells of a piece: more would not share more, and students need memory each. */
enum { PRODUCTS_MOST = 64, STUDENTS_MOST = 16 };

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* Every `parts`-th of the cells of one d_k and seed, from `part` on. */
typedef struct piece {
    int d_k, seed, part, parts;
} piece;

/* The i-th cell of one d_k and seed, over all else; NULL from their count up. */
static cell *cell_of(const map *m, int d_k, int seed, tt_size i) {
    const map_config *c = &m->config;
    const tt_size inner = c->lr_count > 0 ? c->lr_count : (tt_size)c->sigma0_count * c->kappa_count;
    const tt_size outer = i / inner;
    if (outer >= (tt_size)c->optimizer_count * c->scale_count) return NULL;
    return &m->cells[((outer * c->d_k_count + d_k) * inner + i % inner) * c->seed_count + seed];
}

static bool is_open(const cell *c) {
    return !c->finished && !c->elsewhere;
}

static tt_size cells_of_group(const map *m) {
    return m->count / m->config.d_k_count / m->config.seed_count;
}

static bool is_all_exact(const map *m) {
    for (tt_size i = 0; i < m->count; i++)
        if (!cell_is_exact(&m->config, &m->cells[i])) return false;
    return true;
}

/* Enough pieces to keep the threads busy, of no more cells than is good. */
static int parts_of_group(const map *m) {
    const tt_size groups = (tt_size)m->config.d_k_count * m->config.seed_count;
    const tt_size most = is_all_exact(m) ? PRODUCTS_MOST : STUDENTS_MOST;
    const tt_size cells = cells_of_group(m);
    tt_size parts = (2 * (tt_size)m->config.threads + groups - 1) / groups;
    if (parts < (cells + most - 1) / most) parts = (cells + most - 1) / most;
    return (int)(parts < cells ? parts : cells);
}

static bool has_open(const map *m, const piece *p) {
    for (tt_size i = p->part; i < cells_of_group(m); i += p->parts)
        if (is_open(cell_of(m, p->d_k, p->seed, i))) return true;
    return false;
}

/* ---- Shards ---------------------------------------------------------------------------------- */

/* Steps of a product count 1; a student goes through d_k. */
static double step_work(const map_config *c, const cell *of) {
    if (cell_is_exact(c, of)) return c->chaos ? 2 : 1;
    return 1 + (double)of->d_k / 50;
}

/* Neighbours of one d_k and seed, which share numbers and a teacher. */
enum { DEALT_TOGETHER = 16 };

bool map_deal(map *m) {
    const map_config *c = &m->config;
    const tt_size of_group = cells_of_group(m);
    const tt_size blocks = (of_group + DEALT_TOGETHER - 1) / DEALT_TOGETHER;
    const tt_size groups = (tt_size)c->d_k_count * c->seed_count;
    double *cost = calloc((size_t)(groups * blocks), sizeof *cost);
    int *owner = calloc((size_t)(groups * blocks), sizeof *owner);
    bool good = cost && owner;
    for (tt_size g = 0; good && g < groups; g++)
        for (tt_size i = 0; i < of_group; i++) {
            const cell *of = cell_of(m, (int)(g / c->seed_count), (int)(g % c->seed_count), i);
            double *block = &cost[g * blocks + i / DEALT_TOGETHER];
            /* a teacher costs as much as its share of a student does */
            *block += step_work(c, of) + (i % DEALT_TOGETHER ? 0 : 1 + (double)of->d_k / 150);
        }
    good = good && shard_deal(cost, groups * blocks, c->shard.count, owner);
    for (tt_size g = 0; good && g < groups; g++)
        for (tt_size i = 0; i < of_group; i++)
            cell_of(m, (int)(g / c->seed_count), (int)(g % c->seed_count), i)->elsewhere =
                owner[g * blocks + i / DEALT_TOGETHER] != c->shard.index;
    free(cost);
    free(owner);
    return good;
}

/* ---- One cell -------------------------------------------------------------------------------- */

typedef struct trainee {
    cell *cell;
    bool exact, active;
    recipe recipe;
    product product; /* where exact, or */
    student student;
    twin twin; /* of the product, with --chaos */
    ratios ratios;
} trainee;

typedef struct shared {
    map *map;
    const map_observer *observer;
    const atomic_int *stop;
    pthread_mutex_t lock; /* guards all below and the observer */
    piece *pieces;
    tt_size piece_count;
    bool failed;
    char *error;
    size_t error_bytes;
} shared;

/* What the cells of a piece have in common. */
typedef struct table {
    const map_config *config;
    teacher teacher;
    meter meter;
    double *columns; /* [columns_count()], as the meter reads them */
    tt_tape *tape;   /* of the products */
    tt_tensor its_m, twin_wq, twin_wk;
    double uniform; /* loss of not attending, on the present batch */
    trainee *all;
    int count;
} table;

static double mean_entropy(tt_tensor w) {
    const tt_size rows = w.batch * w.rows;
    double sum = 0;
    for (tt_size r = 0; r < rows; r++)
        sum += tt_rowstats_compute(w.data + r * w.cols, w.cols).entropy;
    return sum / (double)rows;
}

/* kappa_now_of of a student that keeps the products. */
static double kappa_of_product(const trainee *t) {
    const product *p = &t->product;
    const double lr = t->cell->lr * recipe_factor(&t->recipe, p->steps);
    const double scale = tt_exp(p->tau) * p->scale;
    return lr * scale * scale * product_weights_squared(p) / 2;
}

static double kappa_now(const trainee *t, const table *b) {
    return t->exact ? kappa_of_product(t)
                    : kappa_now_of(&t->student, t->cell->optimizer, b->config->training.tokens);
}

static tt_tensor logits_of(const trainee *t) {
    return t->exact ? tt_value(t->product.tape, t->product.logits)
                    : tt_attention_logits(t->student.tape, t->student.output);
}

static const char *measure_product(trainee *t, table *b) {
    const product *p = &t->product;
    const tt_tensor z = logits_of(t);
    double *found = t->cell->found;
    found[ENTROPY] = mean_entropy(tt_value(p->tape, p->weights));
    found[ENTROPY_TEACHER] = mean_entropy(b->teacher.weights);
    found[LOGIT_STD] = stats_deviation(z.data, tt_tensor_count(z));
    found[COS_M] = stats_cosine(p->m.data, b->its_m.data, tt_tensor_count(p->m));
    found[RATIO_RESCALED] =
        rescaled_loss(b->meter.tape, z, tt_value(b->teacher.tape, b->teacher.values),
                      tt_value(b->teacher.tape, b->teacher.target), b->uniform) /
        b->uniform;
    return tt_tape_error(b->meter.tape);
}

static const char *measure_student(trainee *t, table *b) {
    static const struct {
        finding found;
        const char *column;
    } SAME[] = {{ENTROPY, "entropy_mean"},
                {ENTROPY_TEACHER, "entropy_teacher"},
                {LOGIT_STD, "logit_std"},
                {COS_M, "cos_m"},
                {RATIO_RESCALED, "ratio_rescaled"}};
    const char *error = meter_read(&b->meter, &t->student, &b->teacher, b->columns);
    for (size_t i = 0; !error && i < sizeof SAME / sizeof *SAME; i++)
        t->cell->found[SAME[i].found] = b->columns[column_find(SAME[i].column)];
    return error;
}

static const char *measure(trainee *t, table *b) {
    t->cell->found[KAPPA_END] = kappa_now(t, b);
    return t->exact ? measure_product(t, b) : measure_student(t, b);
}

static void keep_point(const trainee *t, const table *b, double ratio) {
    const tt_tensor z = logits_of(t);
    t->cell->curve[t->cell->points++] = (curve_point){
        .step = t->ratios.steps - 1,
        .ratio = ratio,
        .logit_std = stats_deviation(z.data, tt_tensor_count(z)),
        .temperature = t->exact ? tt_exp(t->product.tau) : student_temperature(&t->student),
        .kappa = kappa_now(t, b)};
}

static const char *learn(trainee *t, const table *b, double *loss) {
    const char *error = t->exact ? product_learn(&t->product, &b->teacher)
                                 : student_learn(&t->student, &b->teacher);
    if (!error) *loss = t->exact ? product_loss(&t->product) : student_loss(&t->student);
    return error;
}

/* The update, and what the twin makes of the same batch. */
static const char *update(trainee *t, const table *b, bool *finite) {
    if (!t->exact) {
        *finite = student_update(&t->student);
        return NULL;
    }
    const char *error = product_update(&t->product);
    *finite = product_finite(&t->product);
    if (!error && b->config->chaos) error = twin_step(&t->twin, &t->product, &b->teacher);
    return error;
}

/* Keeps the ratio of this step; whether it is the cell's last one. */
static bool keep_ratio(trainee *t, const map_config *c, double ratio) {
    double *found = t->cell->found;
    ratios_add(&t->ratios, c->steps, ratio);
    found[LAST_RATIO] = ratio;
    found[RATIO] = ratios_last(&t->ratios);
    found[STEPS_TAKEN] = (double)t->ratios.steps;
    const bool whole = t->ratios.steps >= RATIO_SPAN;
    if (whole && isnan(found[STEPS_TO]) && found[RATIO] <= TRAINED_AT)
        found[STEPS_TO] = (double)(t->ratios.steps - 1);
    return t->ratios.steps == c->steps || (whole && found[RATIO] < ENDS_AT);
}

/* Of a cell that diverged nothing was measured. */
static void conclude(trainee *t, const map_config *c, bool diverged) {
    double *found = t->cell->found;
    found[MIDDLE] = diverged ? INFINITY : ratios_middle(&t->ratios);
    if (diverged) {
        for (int i = LAST_RATIO; i < GROWTH; i++) found[i] = NAN;
        found[RATIO] = INFINITY;
    }
    if (t->exact && c->chaos) {
        found[GROWTH] = twin_growth(&t->twin);
        found[DIGITS_LOST] = twin_digits_lost(&t->twin);
    }
    t->cell->finished = true;
    t->active = false;
}

/* One step of one cell. NULL, or what failed. */
static const char *train_step(trainee *t, table *b) {
    double loss = NAN;
    const char *error = learn(t, b, &loss);
    if (error) return error;
    bool finite = isfinite(loss / b->uniform), last = false;
    if (finite) {
        const tt_size step = t->ratios.steps, every = b->config->every;
        last = keep_ratio(t, b->config, loss / b->uniform);
        if (every > 0 && (last || step % every == 0)) keep_point(t, b, loss / b->uniform);
        if (last) error = measure(t, b);
        if (!error) error = update(t, b, &finite);
    } else if (t->ratios.steps == 0) {
        t->cell->found[STEPS_TAKEN] = 0;
    }
    if (error) return error;
    if (last || !finite) conclude(t, b->config, !finite);
    return NULL;
}

/* ---- One piece ------------------------------------------------------------------------------- */

static void fail(shared *s, const char *what) {
    (void)pthread_mutex_lock(&s->lock);
    if (!s->failed) (void)snprintf(s->error, s->error_bytes, "%s", what);
    s->failed = true;
    (void)pthread_mutex_unlock(&s->lock);
}

static bool report_finished(shared *s, const cell *c) {
    (void)pthread_mutex_lock(&s->lock);
    bool good = !s->failed && s->observer->finished(s->observer->context, c - s->map->cells);
    if (!good) s->failed = true;
    (void)pthread_mutex_unlock(&s->lock);
    return good;
}

static bool report_advance(shared *s, tt_size steps, double work) {
    (void)pthread_mutex_lock(&s->lock);
    bool go_on = !s->failed;
    if (go_on) s->observer->advanced(s->observer->context, steps, work);
    (void)pthread_mutex_unlock(&s->lock);
    return go_on;
}

static bool enrol(trainee *t, table *b, cell *of) {
    const map_config *c = b->config;
    *t = (trainee){.cell = of, .exact = cell_is_exact(c, of), .active = true};
    t->recipe = cell_recipe(c, of);
    if (!cell_make_curve(c, of)) return false;
    if (!t->exact) {
        const student_config config = {of->scale, of->gain, of->optimizer, of->lr, &t->recipe};
        return student_new(&t->student, &b->teacher, &config);
    }
    const product_config config = {
        .rule = of->scale, .gain = of->gain, .lr = of->lr, .recipe = &t->recipe};
    return product_new(&t->product, b->teacher.first_wq, b->teacher.first_wk, &config, b->tape) &&
           (!c->chaos || twin_new(&t->twin, &t->product, b->twin_wq, b->twin_wk));
}

/* Measures kappa of cells whose rule has no constant factor. */
static bool find_kappa(const table *b, cell *of) {
    const training_config training = cell_training(b->config, of);
    double per_lr;
    if (!isnan(of->found[KAPPA])) return true;
    if (!kappa_measure(&of->scale, 1, of->optimizer, &RECIPE_PLAIN, &training, of->gain,
                       (uint64_t)of->seed, &per_lr))
        return false;
    of->found[KAPPA] = of->lr * per_lr;
    return true;
}

static bool copy(tt_tensor *to, tt_tensor from) {
    *to = tt_tensor_new(from.batch, from.rows, from.cols);
    if (!to->data) return false;
    memcpy(to->data, from.data, (size_t)tt_tensor_count(from) * sizeof *from.data);
    return true;
}

static bool table_new(table *b, const map *m, const piece *p) {
    const map_config *c = &m->config;
    training_config training = c->training;
    const tt_size of_group = cells_of_group(m);
    *b = (table){.config = c, .tape = tt_tape_new()};
    training.d_k = (tt_size)c->d_k[p->d_k];
    b->all = calloc((size_t)of_group, sizeof *b->all);
    b->columns = calloc((size_t)columns_count(), sizeof *b->columns);
    bool good = b->tape && b->all && b->columns;
    good = teacher_new(&b->teacher, &training, (uint64_t)c->seed[p->seed]) && good;
    good = meter_new(&b->meter, &training) && good;
    if (!good) return false;
    const tt_tensor its_m =
        tt_value(b->tape, tt_matmul_nt(b->tape, tt_const(b->tape, b->teacher.wq),
                                       tt_const(b->tape, b->teacher.wk)));
    good = its_m.data && copy(&b->its_m, its_m) && copy(&b->twin_wq, b->teacher.first_wq) &&
           copy(&b->twin_wk, b->teacher.first_wk) &&
           twin_weights(b->twin_wq, b->twin_wk, (uint64_t)c->seed[p->seed]);
    for (tt_size i = p->part; good && i < of_group; i += p->parts) {
        cell *of = cell_of(m, p->d_k, p->seed, i);
        if (is_open(of)) good = find_kappa(b, of) && enrol(&b->all[b->count++], b, of);
    }
    return good;
}

static void table_free(table *b) {
    for (int i = 0; i < b->count; i++) {
        product_free(&b->all[i].product);
        student_free(&b->all[i].student);
        twin_free(&b->all[i].twin);
    }
    free(b->all);
    free(b->columns);
    meter_free(&b->meter);
    teacher_free(&b->teacher);
    tt_tensor_free(&b->its_m);
    tt_tensor_free(&b->twin_wq);
    tt_tensor_free(&b->twin_wk);
    tt_tape_free(b->tape);
}

/* A step of every cell that is not done; false if that is the end. */
static bool step_all(shared *s, table *b, int *active) {
    double work = 0;
    const int training = *active;
    for (int i = 0; i < b->count; i++) {
        trainee *t = &b->all[i];
        if (!t->active) continue;
        const char *error = train_step(t, b);
        if (error) {
            fail(s, error);
            return false;
        }
        work += step_work(b->config, t->cell);
        if (t->active) continue;
        --*active;
        work += (double)(b->config->steps - t->ratios.steps) * step_work(b->config, t->cell);
        if (!report_finished(s, t->cell)) return false;
    }
    return report_advance(s, training, work) && *active > 0;
}

static void run_piece(void *context, tt_size i) {
    shared *s = context;
    table b;
    bool go_on = !*s->stop;
    if (!go_on) return;
    if (!has_open(s->map, &s->pieces[i])) return;
    if (!table_new(&b, s->map, &s->pieces[i])) {
        fail(s, "out of memory");
        go_on = false;
    }
    int active = b.count;
    go_on = go_on && active > 0;
    while (go_on && !*s->stop) {
        if (!teacher_next(&b.teacher)) {
            fail(s, tt_tape_error(b.teacher.tape));
            break;
        }
        b.uniform = loss_uniform(tt_value(b.teacher.tape, b.teacher.values),
                                 tt_value(b.teacher.tape, b.teacher.target));
        go_on = step_all(s, &b, &active);
    }
    table_free(&b);
}

/* ---- All pieces ------------------------------------------------------------------------------ */

/* The widest first: theirs is the slowest teacher. */
static bool list_pieces(shared *s) {
    const map_config *c = &s->map->config;
    const int parts = parts_of_group(s->map);
    s->pieces =
        calloc((size_t)c->d_k_count * (size_t)c->seed_count * (size_t)parts, sizeof *s->pieces);
    if (!s->pieces) return false;
    for (int d = 0; d < c->d_k_count; d++)
        for (int e = 0; e < c->seed_count; e++)
            for (int p = 0; p < parts; p++) {
                tt_size at = s->piece_count++;
                for (; at > 0 && c->d_k[s->pieces[at - 1].d_k] < c->d_k[d]; at--)
                    s->pieces[at] = s->pieces[at - 1];
                s->pieces[at] = (piece){d, e, p, parts};
            }
    return true;
}

map_result map_train(map *m, const map_observer *observer, const atomic_int *stop, char *error,
                     size_t error_bytes) {
    shared s = {
        .map = m, .observer = observer, .stop = stop, .error = error, .error_bytes = error_bytes};
    error[0] = '\0';
    if (!list_pieces(&s) || pthread_mutex_init(&s.lock, NULL) != 0) {
        (void)snprintf(error, error_bytes, "out of memory");
        free(s.pieces);
        return MAP_FAILED;
    }
    parallel_for(m->config.threads, s.piece_count, run_piece, &s);
    free(s.pieces);
    (void)pthread_mutex_destroy(&s.lock);
    if (s.failed) return MAP_FAILED;
    return *stop ? MAP_STOPPED : MAP_DONE;
}

double map_thread_bytes(const map *m) {
    const map_config *c = &m->config;
    training_config training = c->training;
    const double square = 8 * (double)training.d_model * (double)training.d_model;
    int moments = 0;
    bool exact = is_all_exact(m);
    for (int i = 0; i < c->d_k_count; i++)
        if (c->d_k[i] > training.d_k) training.d_k = (tt_size)c->d_k[i];
    for (int i = 0; i < c->optimizer_count; i++)
        if (tt_optim_moments(c->optimizer[i]->kind) > moments)
            moments = tt_optim_moments(c->optimizer[i]->kind);
    const double of_products = PRODUCTS_MOST * (c->chaos ? 12 : 6) * square;
    return training_bytes(&training, exact ? 1 : STUDENTS_MOST, moments) + of_products +
           2 * 8 * (double)training.d_model * (double)training.d_k;
}

double map_work(const map *m) {
    double work = 0;
    for (tt_size i = 0; i < m->count; i++)
        if (is_open(&m->cells[i]))
            work += (double)m->config.steps * step_work(&m->config, &m->cells[i]);
    return work;
}

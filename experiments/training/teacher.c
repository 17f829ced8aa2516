#include "training/teacher.h"

#include <math.h>
#include <string.h>

#include "tt/attention.h"
#include "tt/ops.h"

const char *teacher_init_word(int i) {
    static const char *const WORDS[INITS + 1] = {"standard", "teacher"};
    return WORDS[i];
}

const char *teacher_target_word(int i) {
    static const char *const WORDS[TARGETS + 1] = {"soft", "hard"};
    return WORDS[i];
}

static void draw_weights(tt_rng *rng, tt_tensor w, tt_size d_model) {
    tt_size count = tt_tensor_count(w);
    tt_rng_normal(rng, w.data, count);
    for (tt_size i = 0; i < count; i++) w.data[i] /= sqrt((double)d_model);
}

bool teacher_new(teacher *t, const training_config *config, uint64_t seed) {
    const training_config c = *config;
    tt_tensor *const drawn[] = {&t->wq, &t->wk, &t->wv, &t->first_wq, &t->first_wk, &t->first_wv};
    const tt_size width[] = {c.d_k, c.d_k, c.d_v, c.d_k, c.d_k, c.d_v};
    const int count = c.train_values ? 6 : 5;
    memset(t, 0, sizeof *t);
    t->config = c;
    t->x = tt_tensor_new(c.batch, c.tokens, c.d_model);
    t->tape = tt_tape_new();
    bool good = t->x.data && t->tape;
    for (int i = 0; i < count; i++) {
        *drawn[i] = tt_tensor_new(1, c.d_model, width[i]);
        good = good && drawn[i]->data;
    }
    tt_rng_seed(&t->rng, seed);
    for (int i = 0; good && i < count; i++) draw_weights(&t->rng, *drawn[i], c.d_model);
    if (!good) teacher_free(t);
    return good;
}

void teacher_free(teacher *t) {
    tt_tensor *all[] = {&t->wq, &t->wk, &t->wv, &t->first_wq, &t->first_wk, &t->first_wv, &t->x};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tt_tensor_free(all[i]);
    tt_tape_free(t->tape);
    t->tape = NULL;
}

/* The target's weights become 1 at each row's largest logit, the first of equals. */
static void look_up(teacher *t) {
    const tt_tensor z = tt_attention_logits(t->tape, t->target);
    tt_tensor w = tt_tape_tensor(t->tape, z.batch, z.rows, z.cols);
    if (!z.data || !w.data) return; /* the tape has the error */
    memset(w.data, 0, (size_t)tt_tensor_count(w) * sizeof *w.data);
    for (tt_size r = 0; r < z.batch * z.rows; r++) {
        const double *row = z.data + r * z.cols;
        tt_size largest = 0;
        for (tt_size j = 1; j < z.cols; j++)
            if (row[j] > row[largest]) largest = j;
        w.data[r * z.cols + largest] = 1;
    }
    t->weights = w;
    t->target = tt_matmul(t->tape, tt_const(t->tape, w), t->values);
}

bool teacher_next(teacher *t) {
    if (t->steps++ > 0 && t->config.fixed_batch) return true;
    tt_rng_normal(&t->rng, t->x.data, tt_tensor_count(t->x));
    tt_tape_reset(t->tape);
    tt_var x = tt_const(t->tape, t->x);
    tt_var q = tt_matmul(t->tape, x, tt_const(t->tape, t->wq));
    tt_var k = tt_matmul(t->tape, x, tt_const(t->tape, t->wk));
    t->values = tt_matmul(t->tape, x, tt_const(t->tape, t->wv));
    const double gain = t->config.target_gain != 0 ? t->config.target_gain : 1;
    tt_attention_options options = {.scale = gain / sqrt((double)t->config.d_k),
                                    .rows = TT_ATTENTION_ALL};
    t->target = tt_attention(t->tape, q, k, t->values, options);
    t->weights = tt_attention_weights(t->tape, t->target);
    if (t->config.hard_target) look_up(t);
    return !tt_tape_error(t->tape);
}

double loss_uniform(tt_tensor v, tt_tensor y) {
    double sum = 0;
    for (tt_size b = 0; b < v.batch; b++) {
        const double *vb = tt_tensor_matrix(v, b).data, *yb = tt_tensor_matrix(y, b).data;
        for (tt_size c = 0; c < v.cols; c++) {
            double mean = 0;
            for (tt_size i = 0; i < v.rows; i++) mean += vb[i * v.cols + c];
            mean /= (double)v.rows;
            for (tt_size i = 0; i < v.rows; i++) {
                double difference = mean - yb[i * v.cols + c];
                sum += difference * difference;
            }
        }
    }
    return sum / (double)tt_tensor_count(y);
}

/* tape.c: the arena, the list of nodes and the walk backward. */
#include "tt/tape.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, BLOCK_BYTES = 1 << 18, ERROR_BYTES = 256 };

typedef struct block {
    struct block *next;
    unsigned char *data;
    size_t size, used;
} block;

typedef struct node {
    const char *name;
    int inputs;
    int input[TT_MAX_INPUTS];
    bool wants_grad;
    tt_tensor value;
    tt_tensor grad;      /* in the arena, from the first backward on */
    tt_tensor lent_grad; /* a parameter's, the caller's */
    tt_function *backward;
    void *context;
} node;

struct tt_tape {
    block *first, *last;
    node *nodes;
    int count, capacity;
    unsigned epoch;
    bool walking; /* backward, whose nodes must stay where they are */
    size_t bytes;
    char error[ERROR_BYTES];
};

static const tt_var NO_VAR = {-1, 0};
static const char UNNAMED[] = "an error without a name";

/* Epochs come from one counter for all tapes, so no two lives of any tapes share one. */
static unsigned new_epoch(void) {
    static atomic_uint last;
    return atomic_fetch_add(&last, 1) + 1;
}

tt_tape *tt_tape_new(void) {
    tt_tape *tape = calloc(1, sizeof *tape);
    if (tape) tape->epoch = new_epoch();
    return tape;
}

void tt_tape_reset(tt_tape *tape) {
    for (block *b = tape->first; b; b = b->next) b->used = 0;
    tape->count = 0;
    tape->error[0] = '\0';
    tape->epoch = new_epoch();
}

void tt_tape_free(tt_tape *tape) {
    if (!tape) return;
    for (block *b = tape->first; b;) {
        block *next = b->next;
        free(b->data);
        free(b);
        b = next;
    }
    free(tape->nodes);
    free(tape);
}

const char *tt_tape_error(const tt_tape *tape) {
    return tape->error[0] ? tape->error : NULL;
}

size_t tt_tape_bytes(const tt_tape *tape) {
    return tape->bytes + (size_t)tape->capacity * sizeof *tape->nodes;
}

tt_var tt_tape_fail(tt_tape *tape, const char *format, ...) {
    if (!tape->error[0]) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(tape->error, sizeof tape->error, format, args);
        va_end(args);
        if (!tape->error[0]) memcpy(tape->error, UNNAMED, sizeof UNNAMED);
    }
    return NO_VAR;
}

static block *block_new(tt_tape *tape, size_t size) {
    void *data = NULL;
    block *b = malloc(sizeof *b);
    if (!b || posix_memalign(&data, ALIGNMENT, size) != 0) {
        free(b);
        return NULL;
    }
    *b = (block){NULL, data, size, 0};
    if (tape->last)
        tape->last->next = b;
    else
        tape->first = b;
    tape->last = b;
    tape->bytes += size;
    return b;
}

/* First fit over the chain: a step that repeats the last one's requests finds the same places. */
void *tt_tape_alloc(tt_tape *tape, size_t bytes) {
    if (tape->error[0]) return NULL;
    block *b = NULL;
    if (bytes <= PTRDIFF_MAX - ALIGNMENT) {
        bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        for (b = tape->first; b && b->size - b->used < bytes;) b = b->next;
        if (!b) b = block_new(tape, bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES);
    }
    if (!b) {
        tt_tape_fail(tape, "out of memory: %zu more bytes wanted", bytes);
        return NULL;
    }
    void *memory = b->data + b->used;
    b->used += bytes;
    return memory;
}

tt_tensor tt_tape_tensor(tt_tape *tape, tt_size batch, tt_size rows, tt_size cols) {
    tt_tensor t = {batch, rows, cols, NULL};
    tt_size count = tt_tensor_count(t);
    if (count < 0)
        tt_tape_fail(tape, "no tensor can have the shape [%td,%td,%td]", batch, rows, cols);
    else
        t.data = tt_tape_alloc(tape, (size_t)count * sizeof(double));
    return t;
}

static const node *find(const tt_tape *tape, tt_var var) {
    bool here = var.epoch == tape->epoch && var.id >= 0 && var.id < tape->count;
    return here ? &tape->nodes[var.id] : NULL;
}

static tt_var append(tt_tape *tape, node n) {
    if (tape->walking)
        return tt_tape_fail(tape, "%s: recorded during a backward of its own tape", n.name);
    if (tape->count == tape->capacity) {
        int capacity = tape->capacity ? 2 * tape->capacity : 16;
        node *nodes = realloc(tape->nodes, (size_t)capacity * sizeof *nodes);
        if (!nodes) return tt_tape_fail(tape, "%s: out of memory", n.name);
        tape->nodes = nodes;
        tape->capacity = capacity;
    }
    tape->nodes[tape->count] = n;
    return (tt_var){tape->count++, tape->epoch};
}

tt_var tt_param(tt_tape *tape, tt_tensor value, tt_tensor grad) {
    if (tape->error[0]) return NO_VAR;
    if (!value.data || tt_tensor_count(value) < 0)
        return tt_tape_fail(tape, "param: no data, or the shape [%td,%td,%td], which no tensor has",
                            value.batch, value.rows, value.cols);
    if (grad.data &&
        (grad.batch != value.batch || grad.rows != value.rows || grad.cols != value.cols))
        return tt_tape_fail(tape, "param: value [%td,%td,%td] and gradient [%td,%td,%td] differ",
                            value.batch, value.rows, value.cols, grad.batch, grad.rows, grad.cols);
    return append(tape,
                  (node){.name = "param", .wants_grad = true, .value = value, .lent_grad = grad});
}

tt_var tt_const(tt_tape *tape, tt_tensor value) {
    if (tape->error[0]) return NO_VAR;
    if (!value.data || tt_tensor_count(value) < 0)
        return tt_tape_fail(tape, "const: no data, or the shape [%td,%td,%td], which no tensor has",
                            value.batch, value.rows, value.cols);
    return append(tape, (node){.name = "const", .value = value});
}

tt_tensor tt_value(const tt_tape *tape, tt_var var) {
    const node *n = find(tape, var);
    return n ? n->value : (tt_tensor){0, 0, 0, NULL};
}

tt_tensor tt_grad(const tt_tape *tape, tt_var var) {
    const node *n = find(tape, var);
    return n ? n->grad : (tt_tensor){0, 0, 0, NULL};
}

void *tt_tape_context(const tt_tape *tape, tt_var var, tt_function *backward) {
    const node *n = find(tape, var);
    return n && n->backward == backward ? n->context : NULL;
}

static tt_call call_of(const tt_tape *tape, const node *n) {
    tt_call call = {.inputs = n->inputs, .out = n->value, .dout = n->grad, .context = n->context};
    for (int i = 0; i < n->inputs; i++) {
        call.in[i] = tape->nodes[n->input[i]].value;
        call.din[i] = tape->nodes[n->input[i]].grad;
    }
    return call;
}

tt_var tt_custom(tt_tape *tape, const char *name, int inputs, const tt_var *input, tt_size batch,
                 tt_size rows, tt_size cols, tt_function *forward, tt_function *backward,
                 void *context) {
    if (tape->error[0]) return NO_VAR;
    if (inputs < 0 || inputs > TT_MAX_INPUTS)
        return tt_tape_fail(tape, "%s: %d inputs, at most %d are possible", name, inputs,
                            (int)TT_MAX_INPUTS);
    node n = {.name = name, .inputs = inputs, .backward = backward, .context = context};
    for (int i = 0; i < inputs; i++) {
        const node *from = find(tape, input[i]);
        if (!from) return tt_tape_fail(tape, "%s: input %d is not on this tape", name, i);
        n.input[i] = input[i].id;
        n.wants_grad = n.wants_grad || from->wants_grad;
    }
    n.value = tt_tape_tensor(tape, batch, rows, cols);
    if (!n.value.data) return NO_VAR;
    tt_var var = append(tape, n);
    if (var.id < 0) return NO_VAR;
    tt_call call = call_of(tape, &tape->nodes[var.id]);
    forward(&call);
    return var;
}

/* Memory for the node's gradient, where it has none yet. */
static bool make_grad(tt_tape *tape, node *n) {
    if (!n->grad.data) n->grad = tt_tape_tensor(tape, n->value.batch, n->value.rows, n->value.cols);
    return n->grad.data;
}

/* Gives every node that wants one a gradient of zeros, but the node that backward starts from. */
static bool clear_grads(tt_tape *tape, const node *start) {
    for (int i = 0; i < tape->count; i++) {
        node *n = &tape->nodes[i];
        if (!n->wants_grad || n == start) continue;
        if (!make_grad(tape, n)) return false;
        memset(n->grad.data, 0, (size_t)tt_tensor_count(n->grad) * sizeof(double));
    }
    return true;
}

/* The gradient of THIS backward is complete on the tape before it is added to the caller's, so a
 * second backward adds the very same numbers again. */
static void add_to_lent(const node *n) {
    if (!n->lent_grad.data) return;
    tt_size count = tt_tensor_count(n->grad);
    for (tt_size i = 0; i < count; i++) n->lent_grad.data[i] += n->grad.data[i];
}

void tt_backward_from(tt_tape *tape, tt_var var, tt_tensor cotangent) {
    if (tape->error[0]) return;
    if (tape->walking) {
        tt_tape_fail(tape, "backward: called during a backward of its own tape");
        return;
    }
    if (!find(tape, var)) {
        tt_tape_fail(tape, "backward: the variable is not on this tape");
        return;
    }
    node *start = &tape->nodes[var.id];
    tt_tensor v = start->value;
    if (!cotangent.data || cotangent.batch != v.batch || cotangent.rows != v.rows ||
        cotangent.cols != v.cols) {
        tt_tape_fail(tape, "backward: value [%td,%td,%td] and cotangent [%td,%td,%td] differ",
                     v.batch, v.rows, v.cols, cotangent.batch, cotangent.rows, cotangent.cols);
        return;
    }
    if (start->wants_grad) {
        if (!make_grad(tape, start)) return;
        /* before clearing: the cotangent may be a gradient of this very tape */
        memmove(start->grad.data, cotangent.data, (size_t)tt_tensor_count(v) * sizeof(double));
    }
    if (!clear_grads(tape, start) || !start->wants_grad) return;
    tape->walking = true;
    for (int i = var.id; i >= 0 && !tape->error[0]; i--) {
        const node *n = &tape->nodes[i];
        if (!n->wants_grad) continue;
        if (n->backward) {
            tt_call call = call_of(tape, n);
            n->backward(&call);
        }
        add_to_lent(n);
    }
    tape->walking = false;
}

void tt_backward(tt_tape *tape, tt_var scalar) {
    double one = 1;
    tt_backward_from(tape, scalar, tt_tensor_view(&one, 1, 1, 1));
}

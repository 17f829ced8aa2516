#include "heads/mask_files.h"

#include <math.h>
#include <stdlib.h>

#include "common/machine.h"
#include "common/message.h"
#include "common/text.h"
#include "heads/input.h"
#include "heads/numbering.h"

/* ---- The options ----------------------------------------------------------------------------- */

enum { ALLOWED, HIDDEN, ADDITIVE, MEANINGS };

static const struct {
    const char *option, *word, *expected;
} MEANING[MEANINGS] = {
    {"allowed", "allowed",
     "expected 1 (may attend) or 0 (may not); a mask to be added goes to --mask-additive"},
    {"hidden", "hidden",
     "expected 1 (may not attend) or 0 (may); a mask to be added goes to --mask-additive"},
    {"mask-additive", "additive mask", "expected 0 (may attend), or -1e4 or less (may not)"},
};

const char *mask_word(int i) {
    static const char *const WORDS[] = {[TT_CAUSAL_NONE] = "none",
                                        [TT_CAUSAL_TOP_LEFT] = "causal-top-left",
                                        [TT_CAUSAL_BOTTOM_RIGHT] = "causal-bottom-right"};
    return i <= TT_CAUSAL_BOTTOM_RIGHT ? WORDS[i] : NULL;
}

/* What a dimension of a mask counts; the first three can be named by --mask-per. */
enum { BATCH, HEAD, QUERY, NAMED, KEY = NAMED, BATCH_HEAD };

const char *mask_axis_word(int axis) {
    static const char *const WORDS[NAMED] = {"batch", "head", "query"};
    return axis < NAMED ? WORDS[axis] : NULL;
}

const char *mask_file_word(const mask_request *mask) {
    return MEANING[mask->meaning].word;
}

static bool read_file_options(const options *o, mask_request *out) {
    out->key_lengths = options_text(o, "key-lengths");
    out->file = "";
    for (int i = 0; i < MEANINGS; i++) {
        const char *path = options_text(o, MEANING[i].option);
        if (!path[0]) continue;
        if (out->file[0])
            return complain("--%s and --%s: expected one of them", MEANING[out->meaning].option,
                            MEANING[i].option);
        out->file = path;
        out->meaning = i;
    }
    return options_word(o, "mask-per", mask_axis_word, &out->axis) &&
           (out->axis < 0 || out->file[0] ||
            complain("--mask-per: expected with --allowed, --hidden or --mask-additive"));
}

bool mask_request_read(const options *o, mask_request *out) {
    int causal;
    *out = (mask_request){.unaligned = options_flag(o, "causal")};
    if (out->unaligned && options_given(o, "mask"))
        return complain("--causal and --mask %s: expected one of them", options_text(o, "mask"));
    if (out->unaligned) out->causal = TT_CAUSAL_TOP_LEFT;
    if (!options_word(o, "mask", mask_word, &causal)) return false;
    if (causal >= 0) out->causal = (tt_causal)causal;
    return read_file_options(o, out);
}

bool mask_request_fits(const mask_request *mask, tt_size queries, tt_size keys) {
    return !mask->unaligned || queries == keys ||
           complain("--causal with %td queries and %td keys: expected --mask causal-top-left "
                    "(query 0 stands at key 0) or --mask causal-bottom-right (the last query "
                    "stands at the last key)",
                    queries, keys);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* What each dimension counts. Where it is 1, but for the keys, it stands for all. */
static const struct {
    const char *shape, *meaning;
    int ndim, axis[ARRAY_MAX_DIMS];
} READINGS[] = {
    {"[Tk]", "the same for all", 1, {KEY}},
    {"[Tq,Tk]", "for each query", 2, {QUERY, KEY}},
    {"[B,Tk]", "for each batch entry, as padding is", 2, {BATCH, KEY}},
    {"[B,Tq,Tk]", "for each batch entry and query", 3, {BATCH, QUERY, KEY}},
    {"[H,Tq,Tk]", "for each head and query", 3, {HEAD, QUERY, KEY}},
    {"[B*H,Tq,Tk]",
     "for each head of each batch entry, as torch's MultiheadAttention has them",
     3,
     {BATCH_HEAD, QUERY, KEY}},
    {"[B,H,Tq,Tk]",
     "for each; with 1 for all [B,1,1,Tk], [B,1,Tq,Tk], [1,H,Tq,Tk]",
     4,
     {BATCH, HEAD, QUERY, KEY}},
};

enum { READING_COUNT = sizeof READINGS / sizeof *READINGS };

const char *mask_shape(int i) {
    return i < READING_COUNT ? READINGS[i].shape : NULL;
}

void mask_shapes_help(FILE *to) {
    (void)fputs("Shapes of --allowed, --hidden and --mask-additive, of booleans, integers or "
                "floats (B batch entries, H heads of Q, Tq queries, Tk keys; a 1 in place of B, H "
                "or Tq stands for all):\n",
                to);
    for (int i = 0; i < READING_COUNT; i++)
        (void)fprintf(to, "  %-12s %s\n", READINGS[i].shape, READINGS[i].meaning);
    (void)fputs(
        "What the sizes leave open (B = H in the third dimension from the end, B = Tq in the "
        "second) is refused, unless --mask-per says what the first dimension counts.\n",
        to);
}

/* How far apart in the file two neighbours along each of BATCH, HEAD, QUERY are; 0 where one number
 * serves all. */
typedef struct strides {
    tt_size of[NAMED];
} strides;

/* Whether the array can be read so, and then how. */
static bool read_as(int reading, const array *a, const mask_sizes *s, strides *out) {
    const tt_size sizes[] = {[BATCH] = s->batch,
                             [HEAD] = s->heads,
                             [QUERY] = s->queries,
                             [KEY] = s->keys,
                             [BATCH_HEAD] = s->batch * s->heads};
    tt_size step = 1;
    *out = (strides){{0}};
    if (a->ndim != READINGS[reading].ndim) return false;
    for (int d = a->ndim - 1; d >= 0; d--) {
        const int axis = READINGS[reading].axis[d];
        const tt_size size = a->dim[d];
        if (size != sizes[axis] && (size != 1 || axis == KEY)) return false;
        if (axis == BATCH_HEAD && size > 1) {
            out->of[HEAD] = step;
            out->of[BATCH] = step * s->heads;
        } else if (axis < NAMED && size > 1) {
            out->of[axis] = step;
        }
        step *= size;
    }
    if (s->batch == 1) out->of[BATCH] = 0; /* so that equal meanings are equal */
    if (s->heads == 1) out->of[HEAD] = 0;
    return true;
}

static bool same_strides(const strides *a, const strides *b) {
    bool same = true;
    for (int i = 0; i < NAMED; i++) same = same && a->of[i] == b->of[i];
    return same;
}

static int refuse_shape(const mask_request *mask, const array *a, const mask_sizes *s) {
    char shape[SHAPE_BYTES], list[256], hint[NUMBERING_HINT];
    size_t used = 0;
    for (int i = 0; i < READING_COUNT; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                                 READINGS[i].shape);
    const array wanted = {.ndim = 2, .dim = {s->queries, s->keys}};
    (void)numbering_hint(hint, a, &wanted, true);
    if (!hint[0]) (void)numbering_hint(hint, a, &wanted, false);
    const bool said = mask->axis >= 0;
    return message_fail(
        EXIT_FAILED,
        "%s %s: expected %s (or 1 for B, H or Tq) with B %td, H %td, Tq %td, Tk %td%s%s%s",
        mask->file, array_shape(shape, a), list, s->batch, s->heads, s->queries, s->keys,
        said ? " and --mask-per " : "", said ? mask_axis_word(mask->axis) : "", hint);
}

/* Finds the one meaning that the shape has here; returns an exit code. */
static int find_reading(const mask_request *mask, const array *a, const mask_sizes *s,
                        strides *out) {
    int found = -1;
    for (int i = 0; i < READING_COUNT; i++) {
        char shape[SHAPE_BYTES];
        strides here;
        const int first = READINGS[i].axis[0];
        if ((mask->axis >= 0 && mask->axis != first) || !read_as(i, a, s, &here)) continue;
        if (found >= 0 && !same_strides(&here, out))
            return message_fail(EXIT_USAGE,
                                "%s %s can be %s or %s with B %td, H %td, Tq %td, Tk %td: expected "
                                "--mask-per %s or --mask-per %s",
                                mask->file, array_shape(shape, a), READINGS[found].shape,
                                READINGS[i].shape, s->batch, s->heads, s->queries, s->keys,
                                mask_axis_word(READINGS[found].axis[0]), mask_axis_word(first));
        if (found < 0) {
            found = i;
            *out = here;
        }
    }
    return found >= 0 ? EXIT_OK : refuse_shape(mask, a, s);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* -1e4, what some code adds for minus infinity, as bfloat16 holds it. */
static const double HIDES = -9984;

/* 1 for a key that may be seen, 0 for one that may not, -1 for what is neither. */
static int visible(int meaning, double x) {
    if (meaning == ADDITIVE) return x == 0 ? 1 : x <= HIDES ? 0 : -1;
    if (x != 0 && x != 1) return -1;
    return (x == 1) == (meaning == ALLOWED);
}

/* A mask that hides all says nothing of any head: it is one of another meaning. */
static bool refuse_dead(const mask_request *mask, const array *a) {
    const bool floats = a->kind != ARRAY_INTEGERS;
    if (mask->meaning == ALLOWED && floats)
        return complain("%s: all 0: an additive mask? (--mask-additive)", mask->file);
    if (mask->meaning == ALLOWED)
        return complain("%s: all 0: a mask of what is hidden? (--hidden)", mask->file);
    if (mask->meaning == HIDDEN)
        return complain("%s: all 1: a mask of what is allowed? (--allowed)", mask->file);
    return complain("%s: hides every key from every query; expected a 0", mask->file);
}

/* Whether every number has a meaning, and some key may be seen. */
static bool numbers_fit(const mask_request *mask, const array *a) {
    bool alive = false;
    for (tt_size i = 0; i < array_count(a); i++) {
        char place[SHAPE_BYTES];
        const int seen = visible(mask->meaning, a->data[i]);
        if (seen < 0)
            return complain("%s: %g at %s; %s", mask->file, a->data[i], array_place(place, a, i),
                            MEANING[mask->meaning].expected);
        alive = alive || seen;
    }
    return alive || refuse_dead(mask, a);
}

/* Spreads the numbers over [B or 1, H or 1, Tq, Tk]. */
static bool take_mask(const mask_request *mask, const array *a, const mask_sizes *s,
                      const strides *step, mask_files *out) {
    const tt_size size = s->queries * s->keys;
    out->batches = step->of[BATCH] > 0 ? s->batch : 1;
    out->heads = step->of[HEAD] > 0 ? s->heads : 1;
    const double bytes = (double)out->batches * (double)out->heads * (double)size;
    if (!machine_fits(bytes, "%s: the mask of %td queries and %td keys needs", mask->file,
                      s->queries, s->keys))
        return false;
    out->allowed = malloc((size_t)(out->batches * out->heads * size));
    if (!out->allowed) return complain_of_memory();
    unsigned char *to = out->allowed;
    for (tt_size b = 0; b < out->batches; b++)
        for (tt_size h = 0; h < out->heads; h++)
            for (tt_size i = 0; i < s->queries; i++) {
                const double *from =
                    a->data + b * step->of[BATCH] + h * step->of[HEAD] + i * step->of[QUERY];
                for (tt_size j = 0; j < s->keys; j++) *to++ = visible(mask->meaning, from[j]) == 1;
            }
    return true;
}

/* A list of any orientation: [B], or a row or column of a CSV. */
static bool take_key_lengths(const char *path, const array *a, const mask_sizes *s,
                             mask_files *out) {
    char shape[SHAPE_BYTES];
    if (array_count(a) != s->batch) {
        return complain("%s %s: expected one key length for each of %td batch entries", path,
                        array_shape(shape, a), s->batch);
    }
    out->key_lengths = malloc((size_t)s->batch * sizeof *out->key_lengths);
    if (!out->key_lengths) return complain_of_memory();
    for (tt_size b = 0; b < s->batch; b++) {
        double length = a->data[b];
        if (!(length >= 0 && length <= (double)s->keys && length == floor(length))) {
            return complain("%s: %g at [%td]; expected key lengths from 0 to %td", path, length, b,
                            s->keys);
        }
        out->key_lengths[b] = (tt_size)length;
    }
    return true;
}

static int read_key_lengths(const mask_request *mask, const mask_sizes *sizes, unsigned accept,
                            mask_files *out) {
    array a = {0};
    const bool good = input_read(mask->key_lengths, accept, &a) &&
                      (!a.data || take_key_lengths(mask->key_lengths, &a, sizes, out));
    array_free(&a);
    return good ? EXIT_OK : EXIT_FAILED;
}

static int read_mask(const mask_request *mask, const mask_sizes *sizes, unsigned accept,
                     mask_files *out) {
    array a = {0};
    strides step;
    if (!input_read(mask->file, accept, &a)) return EXIT_FAILED;
    if (!a.data) return EXIT_OK;
    int code = find_reading(mask, &a, sizes, &step);
    if (code == EXIT_OK && !(numbers_fit(mask, &a) && take_mask(mask, &a, sizes, &step, out)))
        code = EXIT_FAILED;
    array_free(&a);
    return code;
}

int mask_files_read(const mask_request *mask, const mask_sizes *sizes, unsigned accept,
                    mask_files *out) {
    accept |= ARRAY_ALLOW_INTEGERS | ARRAY_ALLOW_NONFINITE; /* refused above, with reason */
    *out = (mask_files){NULL, NULL, 1, 1};
    int code = read_key_lengths(mask, sizes, accept, out);
    if (code == EXIT_OK) code = read_mask(mask, sizes, accept, out);
    if (code != EXIT_OK) mask_files_free(out);
    return code;
}

void mask_files_free(mask_files *m) {
    free(m->key_lengths);
    free(m->allowed);
    *m = (mask_files){NULL, NULL, 1, 1};
}

tt_mask mask_files_at(const mask_files *m, tt_causal causal, const mask_sizes *sizes, tt_size b,
                      tt_size h) {
    tt_mask mask = {.causal = causal};
    if (m->key_lengths) mask.key_lengths = m->key_lengths + b;
    if (m->allowed) {
        const tt_size at = (m->batches > 1 ? b : 0) * m->heads + (m->heads > 1 ? h : 0);
        mask.allowed = m->allowed + at * sizes->queries * sizes->keys;
    }
    return mask;
}

/* trace.c: `sqrtdk trace`, attention as the lessons teach it, every matrix with its numbers, with
 * and without the scale. Options and input live here; the steps are in steps.c, the lessons in
 * lessons.c, the look in show.c.
 */
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

#include "common/message.h"
#include "common/scale_option.h"
#include "heads/head_files.h"
#include "trace/lessons.h"

enum { FORMAT_TEXT, FORMAT_MARKDOWN, FORMATS };

static const char *format_word(int i) {
    static const char *const WORDS[FORMATS + 1] = {"text", "markdown"};
    return WORDS[i];
}

static const option_words WORDS[] = {{"lesson", trace_lesson_name},
                                     {"mask", mask_word},
                                     {"mask-per", mask_axis_word},
                                     {"format", format_word},
                                     {NULL, NULL}};

static const option_spec OPTIONS[] = {
    {"lesson", "NAME", "soft-lookup", "what is traced, unless files are given: "},
    {"q", "FILE", "", "your own queries: .npy or CSV, [T,d], [H,T,d] or [B,H,T,d]"},
    {"k", "FILE", "", "and keys, as many heads as the queries or fewer"},
    {"v", "FILE", "", "and values"},
    {"heads", "LIST", "", "of your own input these heads only, from 0, of each batch entry"},
    {"do", "FILE", "",
     "with your own files: gradient of the output for the way back (default: 1 everywhere)"},
    MASK_OPTIONS,
    HEAD_FILE_OPTIONS,
    {"scale", "RULE", "sqrt", "a scaling rule or a number; see below"},
    {"backward", NULL, "", "the way back too: dO -> dV, dP -> dZ -> dS -> dQ, dK; implied by --do"},
    {"format", "NAME", "text", ""},
    {"digits", "N", "4", "digits after the point, 1 to 17"},
};

typedef struct request {
    const options *text;
    scale_list scale;
    trace_settings settings;
    mask_request mask;
    head_paths paths;
    head_choice heads;
    int lesson; /* -1: own input */
} request;

/* Either a lesson or files, not both; a lesson has its own sizes, so no masks from files, and one
 * head. */
static bool read_input(request *q) {
    const options *o = q->text;
    head_paths *p = &q->paths;
    *p = (head_paths){options_text(o, "q"), options_text(o, "k"), options_text(o, "v"),
                      options_text(o, "do"), options_flag(o, "bf16")};
    bool files = p->q[0] || p->k[0] || p->v[0] || p->d_out[0];
    if (files && options_given(o, "lesson"))
        return complain("--lesson with --q, --k, --v or --do: expected a lesson or files");
    if (files && (!p->q[0] || !p->k[0] || !p->v[0]))
        return complain("own input: expected --q, --k and --v");
    if (!files && (q->mask.key_lengths[0] || q->mask.file[0] || p->bf16))
        return complain("--key-lengths, --allowed, --hidden, --mask-additive and --bf16: expected "
                        "with --q, --k and --v");
    if (!files && options_given(o, "heads"))
        return complain("--heads: expected with --q, --k and --v; a lesson has one head");
    q->lesson = -1;
    return files || options_choice(o, "lesson", &q->lesson);
}

static bool read_request(request *q) {
    const options *o = q->text;
    int64_t digits;
    int format;
    if (!mask_request_read(o, &q->mask) || !scale_option_one(o, &q->scale) ||
        !options_int(o, "digits", 1, 17, &digits) || !read_input(q) ||
        !head_choice_read(o, &q->heads) || !options_choice(o, "format", &format))
        return false;
    bool markdown = format == FORMAT_MARKDOWN;
    q->settings =
        (trace_settings){.show = {stdout, markdown, (int)digits, !markdown && show_can_highlight()},
                         .rule = q->scale.rule[0],
                         .backward = options_flag(o, "backward") || q->paths.d_out[0]};
    return true;
}

/* The end of a path that is too long for a line. */
static const char *short_path(const char *path, const char **dots) {
    enum { MOST = 60 };
    size_t length = strlen(path);
    *dots = length > MOST ? "..." : "";
    return length > MOST ? path + length - MOST : path;
}

static void show_file(const show *s, const char *name, const char *path, const array *a) {
    char shape[SHAPE_BYTES];
    const char *dots, *end = short_path(path, &dots);
    show_line(s, "%s %s%s %s%s", name, dots, end, array_shape(shape, a), s->markdown ? "\n" : "");
}

/* What the files are, and what was made of them. */
static void show_files(const request *q, const head_files *f) {
    const show *s = &q->settings.show;
    const char *end = s->markdown ? "\n" : "";
    show_file(s, "Q", f->paths.q, &f->q);
    show_file(s, "K", f->paths.k, &f->k);
    show_file(s, "V", f->paths.v, &f->v);
    if (f->key_heads < f->heads)
        show_line(s,
                  "%td heads of queries share %td of keys and values: each is repeated %td times%s",
                  f->heads, f->key_heads, f->heads / f->key_heads, end);
    show_line(s, "mask %s%s%s%s, scale %s%s", mask_word((int)f->causal),
              f->masks.key_lengths ? ", key lengths" : "", f->masks.allowed ? ", " : "",
              f->masks.allowed ? mask_file_word(&q->mask) : "", q->settings.rule->name, end);
    if (!s->markdown) show_gap(s);
}

static int run_heads(const request *q, const head_files *f) {
    int code = EXIT_OK;
    show_files(q, f);
    for (tt_size e = 0; e < f->batch * f->heads && code == EXIT_OK; e++) {
        char heading[64];
        attention_head head = head_files_at(f, e);
        if (q->heads.count > 0 && !head_choice_has(&q->heads, e % f->heads)) continue;
        (void)snprintf(heading, sizeof heading, "Batch entry %td, head %td", e / f->heads,
                       e % f->heads);
        if (f->batch * f->heads > 1) show_heading(&q->settings.show, heading);
        code = trace_steps(&q->settings, &head, NULL);
    }
    return code;
}

static int run_files(const request *q) {
    head_files f;
    int code = head_files_read(&q->paths, &q->mask, &f);
    if (code != EXIT_OK) return code;
    if (!head_choice_fits(&q->heads, &f))
        code = EXIT_USAGE;
    else if (!head_files_fit(&f, HEAD_MATRICES + 2)) /* and E with both scales */
        code = EXIT_FAILED;
    else
        code = run_heads(q, &f);
    head_files_free(&f);
    return code;
}

static void print_more(FILE *to) {
    trace_lessons_help(to);
    (void)fputc('\n', to);
    mask_shapes_help(to);
    (void)fputc('\n', to);
    scale_option_help(to);
}

static int run_trace(const options *o) {
    static request q;
    q.text = o;
    if (!read_request(&q)) return EXIT_USAGE;
    return q.lesson < 0 ? run_files(&q) : trace_lesson_run(q.lesson, &q.settings, &q.mask);
}

static const char *const EXAMPLES[] = {
    "trace --lesson five-tokens --backward",
    "trace --causal --q q.npy --k k.npy --v v.npy --format markdown", NULL};

const command_spec TRACE_COMMAND = {
    .name = "trace",
    .summary =
        "Prints attention step by step, every matrix with its numbers, with and without the scale.",
    .options = OPTIONS,
    .count = sizeof OPTIONS / sizeof *OPTIONS,
    .words = WORDS,
    .explained = SCALE_ONE_WORDS,
    .notes = "On a terminal the largest logit and weight of a row are highlighted, unless NO_COLOR "
             "is set.",
    .examples = EXAMPLES,
    .more = print_more,
    .run = run_trace,
};

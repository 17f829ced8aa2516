/* trace.c: `sqrtdk trace`, attention as the lessons teach it, every matrix with its numbers, with
 * and without the scale. Options and input live here; the steps are in trace_steps.c, the lessons
 * in trace_lesson.c, the look in show.c.
 */
#include "trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/message.h"
#include "common/scale_option.h"
#include "heads/head_files.h"
#include "trace/lessons.h"

static const option_spec OPTIONS[] = {
    {"lesson", "NAME", "", "soft-lookup (the default), five-tokens, batch or one-hot"},
    {"q", "FILE", "", "your own queries: .npy or CSV, [T,d], [H,T,d] or [B,H,T,d]"},
    {"k", "FILE", "", "and keys, as many heads as the queries or fewer"},
    {"v", "FILE", "", "and values"},
    {"do", "FILE", "", "gradient of the output for the way back (default: 1 everywhere)"},
    MASK_OPTIONS,
    {"scale", "RULE", "sqrt", "a scaling rule or a number; see below"},
    {"backward", NULL, "", "the way back too: dO -> dV, dP -> dZ -> dS -> dQ, dK; implied by --do"},
    {"format", "NAME", "text", "text or markdown"},
    {"digits", "N", "4", "digits after the point, 1 to 17"},
};

const command_spec TRACE_COMMAND = {
    "trace",
    "Prints attention step by step, every matrix with its numbers, with and without the scale.",
    OPTIONS,
    sizeof OPTIONS / sizeof *OPTIONS,
    "Lessons: soft-lookup (one query, two keys), five-tokens (the numbers that PyTorch prints "
    "after\n"
    "manual_seed(42)), batch (B x T x H, every shape), one-hot (the same Q and K at growing d_k).\n"
    "On a terminal the largest logit and weight of a row are highlighted, unless NO_COLOR is set.",
    scale_option_help,
};

typedef struct request {
    options text;
    scale_list scale;
    trace_settings settings;
    mask_request mask;
    attention_paths paths;
    const trace_lesson *lesson; /* NULL: own input */
} request;

static const char *text_of(const request *q, const char *name) {
    return options_text(&TRACE_COMMAND, &q->text, name);
}

/* Either a lesson or files, not both; a lesson has its own sizes, so no masks from files. */
static bool read_input(request *q) {
    const char *name = text_of(q, "lesson");
    q->paths =
        (attention_paths){text_of(q, "q"), text_of(q, "k"), text_of(q, "v"), text_of(q, "do")};
    const attention_paths *p = &q->paths;
    bool files = p->q[0] || p->k[0] || p->v[0] || p->d_out[0];
    if (files && name[0]) {
        (void)message_fail(0, "--lesson with --q, --k, --v or --do: expected a lesson or files");
        return false;
    }
    if (files && (!p->q[0] || !p->k[0] || !p->v[0])) {
        (void)message_fail(0, "own input: expected --q, --k and --v");
        return false;
    }
    if (!files && (q->mask.key_lengths[0] || q->mask.allowed[0])) {
        (void)message_fail(0, "--key-lengths and --allowed: expected with --q, --k and --v");
        return false;
    }
    if (!files) q->lesson = trace_lesson_find(name[0] ? name : "soft-lookup");
    return files || q->lesson;
}

static bool read_request(request *q) {
    int64_t digits;
    const char *format = text_of(q, "format");
    if (!mask_request_read(&TRACE_COMMAND, &q->text, &q->mask) ||
        !scale_option_one(text_of(q, "scale"), &q->scale) ||
        !options_int("digits", text_of(q, "digits"), 1, 17, &digits) || !read_input(q))
        return false;
    if (strcmp(format, "text") != 0 && strcmp(format, "markdown") != 0) {
        (void)message_fail(0, "--format '%s': expected text or markdown", format);
        return false;
    }
    bool markdown = strcmp(format, "markdown") == 0;
    q->settings = (trace_settings){
        .show = {stdout, markdown, (int)digits, !markdown && show_can_highlight()},
        .rule = q->scale.rule[0],
        .backward = options_flag(&TRACE_COMMAND, &q->text, "backward") || q->paths.d_out[0]};
    return true;
}

/* The end of a path that is too long for a line. */
static const char *short_path(const char *path, const char **dots) {
    enum { MOST = 60 };
    size_t length = strlen(path);
    *dots = length > MOST ? "..." : "";
    return length > MOST ? path + length - MOST : path;
}

static void show_file(const show *s, const char *name, const char *path,
                      const struct array_file *a) {
    char shape[SHAPE_BYTES];
    const char *dots, *end = short_path(path, &dots);
    show_line(s, "%s %s%s %s%s", name, dots, end, attention_shape(shape, a),
              s->markdown ? "\n" : "");
}

/* What the files are, and what was made of them. */
static void show_files(const request *q, const attention_files *f) {
    const show *s = &q->settings.show;
    const char *end = s->markdown ? "\n" : "";
    show_file(s, "Q", f->paths.q, &f->q);
    show_file(s, "K", f->paths.k, &f->k);
    show_file(s, "V", f->paths.v, &f->v);
    if (f->key_heads < f->heads)
        show_line(s,
                  "%td heads of queries share %td of keys and values: each is repeated %td times%s",
                  f->heads, f->key_heads, f->heads / f->key_heads, end);
    show_line(s, "mask %s%s%s, scale %s%s", mask_name(f->causal),
              f->key_lengths ? ", key lengths" : "", f->allowed ? ", allowed" : "",
              q->settings.rule->name, end);
    if (!s->markdown) show_gap(s);
}

static int run_files(const request *q) {
    attention_files f;
    int code = attention_files_read(&q->paths, &q->mask, &f);
    if (code != EXIT_OK) return code;
    show_files(q, &f);
    for (tt_size e = 0; e < f.batch * f.heads && code == EXIT_OK; e++) {
        char heading[64];
        attention_head head = attention_files_head(&f, e);
        (void)snprintf(heading, sizeof heading, "Batch entry %td, head %td", e / f.heads,
                       e % f.heads);
        if (f.batch * f.heads > 1) show_heading(&q->settings.show, heading);
        code = trace_steps(&q->settings, &head, NULL);
    }
    attention_files_free(&f);
    return code;
}

int trace_main(int argc, char **argv) {
    static request q;
    switch (options_parse(&TRACE_COMMAND, argc, argv, &q.text)) {
    case OPTIONS_HELP:
        return EXIT_OK;
    case OPTIONS_WRONG:
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    if (!read_request(&q)) return EXIT_USAGE;
    int code = q.lesson ? trace_lesson_run(q.lesson, &q.settings, &q.mask) : run_files(&q);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_OK)
        return message_fail(EXIT_FAILED, "cannot write standard output: %s", strerror(errno));
    return code;
}

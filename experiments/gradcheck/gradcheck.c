/* gradcheck.c: `sqrtdk gradcheck`: every backward of the library against finite differences with
 * error bars (the method and the rule are in tt/gradcheck.h). Cases come from cases.c.
 */
#include "gradcheck/gradcheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/csv.h"
#include "common/message.h"
#include "common/parallel.h"
#include "common/results.h"
#include "common/scale_option.h"
#include "common/settings.h"
#include "common/text.h"
#include "gradcheck/cases.h"
#include "gradcheck/foreign.h"
#include "gradcheck/steps.h"

/* What --op takes: groups of cases, then single operations. */
enum { OP_ALL, OP_ATTENTION, OP_RULES, OP_GROUPS };

static const char *op_word(int i) {
    static const char *const GROUPS[OP_GROUPS] = {"all", "attention", "rules"};
    return i < OP_GROUPS ? GROUPS[i] : case_op_name(i - OP_GROUPS);
}

static const option_words WORDS[] = {
    {"op", op_word},       {"mask", case_mask_name},   {"mask-per", mask_axis_word},
    {"fault", fault_name}, {"precision", format_name}, {NULL, NULL}};

static const option_spec OPTIONS[] = {
    {"op", "NAME", "all",
     "what is checked, rules being attention by every scaling rule, with a learned factor "
     "exp(tau): "},
    {"batch", "B", "2", "entries of the batch"},
    {"tokens", "Tq", "4", "queries"},
    {"keys", "Tk", "5", "keys"},
    {"d-k", "LIST", "1,2,8,64,512", "key widths"},
    {"d-v", "N", "3", "width of the values"},
    {"scale", "LIST", "none,sqrt", "scaling rules, or numbers; see below"},
    {"mask", "NAME", "all", "masks of the cases, key-lengths and allowed drawn at random: "},
    {"causal", NULL, "", "short for --mask causal-top-left"},
    {"seed", "N", "0", "seed of inputs, W, samples and directions"},
    {"step", "H", "", "one fixed step instead of chosen ones"},
    {"rtol", "R", "",
     "relative error that still is equality (default: 1e-6; with --q a demand beside the "
     "format's)"},
    {"strict", NULL, "", "INCONCLUSIVE fails too"},
    {"fault", "NAME", "", "check a wrong backward, or with none the same code without a fault: "},
    {"q", "FILE", "",
     "someone else's backward: Q as .npy or CSV, [T,d], [H,T,d] or [B,H,T,d]; and"},
    {"k", "FILE", "", "K,"},
    {"v", "FILE", "", "V,"},
    {"do", "FILE", "", "the gradient of the output,"},
    {"dq", "FILE", "", "and the gradients to compare with ours: dQ,"},
    {"dk", "FILE", "", "dK,"},
    {"dv", "FILE", "", "dV; --scale is then one rule (default: sqrt), --mask as in inspect"},
    {"precision", "NAME", "",
     "with --q: the format it was computed in (default: by the values, or the files): "},
    MASK_FILE_OPTIONS("with --q: "),
    HEAD_FILE_OPTIONS,
    {"threads", "N", "", "threads (default: all processors); no result depends on it"},
    RESULTS_OPTIONS("results/gradcheck.csv", "CSV of all results"),
    {"quiet", NULL, "", "print failures and the last line only"},
};

typedef struct request {
    const options *text;
    check_shape shape;
    int64_t d_k[LIST_MOST], seed;
    int d_k_count;
    scale_list scale;
    int op, mask; /* the place in op_word, a mask_kind */
    int fault;    /* a fault, or -1 */
    tt_gradcheck_options check;
    bool strict, quiet;
    int threads;
    const char *output;
    bool from_files;
    head_paths paths;
    gradient_paths gradients;
    mask_request file_mask;
    const number_format *format; /* NULL: it is found */
} request;

enum { SATURATING = 20 }; /* keys so many times as large */

/* What all cases together gave. */
typedef struct totals {
    FILE *csv, *table;
    tt_size checked, passed, failed, inconclusive, not_finite;
    double worst_pass;
} totals;

/* One case, and what became of it; its inputs live only while it is checked. */
typedef struct job {
    int op; /* the place in op_word */
    tt_size d_k;
    const scaling *rule;
    mask_kind mask;
    double sharpness;
    check_case c;
    tt_gradcheck_result result[CASE_INPUTS];
    char error[256];
} job;

typedef struct job_list {
    const request *q;
    job *job;
    tt_size count, capacity;
} job_list;

/* ---- Options --------------------------------------------------------------------------------- */

static bool read_check(request *q) {
    const options *o = q->text;
    if (!options_int(o, "seed", 0, 4294967295, &q->seed) ||
        (options_given(o, "rtol") && !options_positive(o, "rtol", &q->check.rtol)) ||
        (options_given(o, "step") && !options_positive(o, "step", &q->check.step)))
        return false;
    q->check.seed = (uint64_t)q->seed;
    if (q->check.rtol >= 1)
        return complain("--rtol '%s': expected a number below 1", options_text(o, "rtol"));
    return true;
}

/* How many of the options were given. */
static int given(const options *o, const char *const *names, int count) {
    int n = 0;
    for (int i = 0; i < count; i++) n += options_text(o, names[i])[0] != '\0';
    return n;
}

/* What belongs to someone else's backward: all of Q, K, V, dO and at least one gradient, or none.
 */
static bool read_files(request *q) {
    static const char *const INPUTS[] = {"q", "k", "v", "do"},
                             *const OUTPUTS[] = {"dq", "dk", "dv"},
                             *const WITH[] = {"key-lengths", "allowed", "hidden",   "mask-additive",
                                              "mask-per",    "bf16",    "precision"};
    const options *o = q->text;
    int inputs = given(o, INPUTS, 4), outputs = given(o, OUTPUTS, 3),
        with = given(o, WITH, (int)(sizeof WITH / sizeof *WITH));
    q->from_files = inputs == 4 && outputs > 0;
    if (!q->from_files && inputs + outputs + with > 0)
        return complain(
            "gradcheck: expected --q, --k, --v, --do and one or more of --dq, --dk, "
            "--dv together, or none of these, of the mask's files, --bf16 and --precision");
    int format;
    if (!options_choice(o, "precision", &format)) return false;
    q->format = format_at(format);
    q->paths = (head_paths){options_text(o, "q"), options_text(o, "k"), options_text(o, "v"),
                            options_text(o, "do"), options_flag(o, "bf16")};
    q->gradients =
        (gradient_paths){{options_text(o, "dq"), options_text(o, "dk"), options_text(o, "dv")}};
    return true;
}

static bool read_scales(request *q) {
    if (q->from_files && !options_given(q->text, "scale"))
        return scale_list_read("sqrt", &q->scale);
    if (q->from_files) return scale_option_one(q->text, &q->scale);
    return scale_option_list(q->text, &q->scale);
}

static bool read_mask(request *q) {
    const options *o = q->text;
    if (q->from_files) return mask_request_read(o, &q->file_mask);
    if (!options_choice(o, "mask", &q->mask)) return false;
    if (!options_flag(o, "causal")) return true;
    q->mask = MASK_TOP_LEFT;
    return !options_given(o, "mask") ||
           complain("--causal and --mask %s: expected one of them", options_text(o, "mask"));
}

static bool read_request(request *q) {
    const options *o = q->text;
    q->strict = options_flag(o, "strict");
    q->quiet = options_flag(o, "quiet");
    return read_check(q) && read_files(q) && options_choice(o, "op", &q->op) &&
           options_size(o, "batch", 1, 64, &q->shape.batch) &&
           options_size(o, "tokens", 1, 4096, &q->shape.tokens) &&
           options_size(o, "keys", 1, 4096, &q->shape.keys) &&
           options_int_list(o, "d-k", 1, 65536, q->d_k, &q->d_k_count) &&
           options_size(o, "d-v", 1, 65536, &q->shape.d_v) && read_scales(q) && read_mask(q) &&
           options_choice(o, "fault", &q->fault) && settings_threads(o, &q->threads) &&
           results_option(o, &q->output);
}

/* ---- Results --------------------------------------------------------------------------------- */

static const char *slope_text(double slope, char text[32]) {
    (void)snprintf(text, 32, isnan(slope) ? "linear" : "%.3f", slope);
    return text;
}

static void print_index(FILE *to, tt_size index) {
    if (index < 0)
        (void)fputs("direction", to);
    else
        (void)fprintf(to, "%td", index);
}

static void write_row(FILE *to, const check_case *c, int input, const tt_gradcheck_result *r) {
    char slope[32];
    (void)fprintf(to, "%s,%s,%s,%td,%td,%td,%td,", c->op, c->name[input], c->text, r->checked,
                  r->passed, r->failed, r->inconclusive);
    print_index(to, r->worst.index);
    csv_number(to, r->worst.analytic);
    csv_number(to, r->worst.numeric);
    csv_number(to, r->worst.error_bar);
    (void)fprintf(to, ",%s\n", slope_text(r->taylor_slope, slope));
}

static void say_case(FILE *to, const check_case *c, const tt_gradcheck_result *r) {
    tt_size passed = 0, failed = 0, inconclusive = 0;
    double worst = 0;
    for (int i = 0; i < c->checked; i++) {
        passed += r[i].passed;
        failed += r[i].failed;
        inconclusive += r[i].inconclusive;
        worst = fmax(worst, r[i].worst_pass);
    }
    const char *saturated = strstr(c->text, CASE_SATURATED); /* the mark keeps its column */
    char text[CASE_BYTES];
    (void)snprintf(text, sizeof text, "%.*s%s",
                   (int)(saturated ? saturated - c->text : (ptrdiff_t)strlen(c->text)), c->text,
                   saturated ? " *" : "");
    text_line(to, 8, "%-10s %-43s %6td %4td %4td %8.1e", c->op, text, passed, failed, inconclusive,
              worst);
}

static void say_failures(FILE *to, const check_case *c, const tt_gradcheck_result *r) {
    for (int i = 0; i < c->checked; i++) {
        if (r[i].failed == 0) continue;
        char place[32] = "a direction";
        if (r[i].worst.index >= 0) (void)snprintf(place, sizeof place, "%td", r[i].worst.index);
        text_line(to, 4,
                  "FAIL %s %s: %td of %td derivatives of %s; worst at %s: analytic %.10g, numeric "
                  "%.10g +- %.1g",
                  c->op, c->text, r[i].failed, r[i].checked, c->name[i], place, r[i].worst.analytic,
                  r[i].worst.numeric, r[i].worst.error_bar);
    }
}

/* Says what is not checked because the function itself gives no number there. */
static void say_not_finite(FILE *to, const check_case *c, const tt_gradcheck_result *r) {
    if (r->not_finite > 0)
        text_line(to, 4,
                  "NOT CHECKED %s %s: %td output elements that are not finite, the first %td",
                  c->op, c->text, r->not_finite, r->first_not_finite);
}

static void say_kinks(FILE *to, const check_case *c, const tt_gradcheck_result *r) {
    for (int i = 0; i < c->checked; i++)
        if (r[i].kinks > 0)
            text_line(to, 4, "A KINK %s %s: %td derivatives of %s have one slope on each side",
                      c->op, c->text, r[i].kinks, c->name[i]);
}

static void say_job(const request *q, totals *t, const job *j) {
    const tt_gradcheck_result *r = j->result;
    for (int i = 0; i < j->c.checked; i++) {
        write_row(t->csv, &j->c, i, &r[i]);
        t->checked += r[i].checked;
        t->passed += r[i].passed;
        t->failed += r[i].failed;
        t->inconclusive += r[i].inconclusive;
        t->worst_pass = fmax(t->worst_pass, r[i].worst_pass);
    }
    t->not_finite += r->not_finite;
    if (!q->quiet) say_case(t->table, &j->c, r);
    say_failures(t->table, &j->c, r);
    say_kinks(t->table, &j->c, r);
    say_not_finite(t->table, &j->c, r);
}

/* ---- All cases ------------------------------------------------------------------------------- */

static bool asked(const request *q, int op) {
    return q->op == OP_ALL || q->op == op;
}

static bool add_job(job_list *list, job j) {
    if (list->count == list->capacity) {
        const tt_size capacity = 2 * list->capacity + 16;
        job *more = realloc(list->job, (size_t)capacity * sizeof *more);
        if (!more) return complain_of_memory();
        list->job = more;
        list->capacity = capacity;
    }
    list->job[list->count++] = j;
    return true;
}

static bool list_attention(job_list *list, int op, tt_size d_k, const scaling *rule,
                           double sharpness) {
    for (int m = 0; m < MASK_ALL; m++) {
        if (list->q->mask != MASK_ALL && list->q->mask != m) continue;
        if (!add_job(list, (job){.op = op,
                                 .d_k = d_k,
                                 .rule = rule,
                                 .mask = (mask_kind)m,
                                 .sharpness = sharpness}))
            return false;
    }
    return true;
}

static bool list_all(job_list *list) {
    const request *q = list->q;
    for (int i = 0; case_op_name(i); i++)
        if (asked(q, OP_GROUPS + i) && !add_job(list, (job){.op = OP_GROUPS + i})) return false;
    for (int d = 0; asked(q, OP_ATTENTION) && d < q->d_k_count; d++)
        for (int k = 0; k < q->scale.count; k++)
            if (!list_attention(list, OP_ATTENTION, (tt_size)q->d_k[d], q->scale.rule[k], 1))
                return false;
    /* rows as saturated as those of an unscaled d_k of 3200 */
    if (asked(q, OP_ATTENTION) &&
        !list_attention(list, OP_ATTENTION, 8, scaling_find("none"), SATURATING))
        return false;
    for (int k = 0; asked(q, OP_RULES) && scaling_at(k); k++)
        if (!list_attention(list, OP_RULES, 8, scaling_at(k), 1)) return false;
    return true;
}

static bool draw_job(const request *q, job *j) {
    check_shape shape = q->shape;
    shape.d_k = q->fault >= 0 ? 8 : j->d_k;
    if (q->fault >= 0) return case_faulty(&j->c, &shape, (fault)q->fault, q->check.seed);
    if (j->op >= OP_GROUPS) return case_op(&j->c, j->op - OP_GROUPS, &shape, q->check.seed);
    return case_attention(&j->c, op_word(j->op), &shape, j->rule, j->mask, j->sharpness,
                          j->op == OP_RULES, q->check.seed);
}

static void check_job(void *context, tt_size i) {
    const job_list *list = context;
    job *j = &list->job[i];
    const char *error = "out of memory";
    if (draw_job(list->q, j))
        error =
            tt_gradcheck(j->c.build, &j->c, j->c.input, j->c.checked, &list->q->check, j->result);
    if (error) (void)snprintf(j->error, sizeof j->error, "%s", error);
    case_free(&j->c);
}

/* Checks all cases, in whatever order, then says what became of them in theirs. False and one line
 * on failure. */
static bool run_jobs(job_list *list, totals *t) {
    const request *q = list->q;
    if (!(q->fault >= 0 ? add_job(list, (job){0}) : list_all(list))) return false;
    bool saturated = false;
    parallel_for(q->threads, list->count, check_job, list);
    for (tt_size i = 0; i < list->count; i++) {
        const job *j = &list->job[i];
        if (j->error[0]) return complain("%s %s: %s", j->c.op, j->c.text, j->error);
        say_job(q, t, j);
        saturated = saturated || j->sharpness > 1;
    }
    if (saturated && !q->quiet)
        text_line(t->table, 0,
                  "*: saturated rows: keys %d times as large, so logits as of d_k %d without the "
                  "scale",
                  (int)SATURATING, 8 * SATURATING * SATURATING);
    return true;
}

/* ---- The run --------------------------------------------------------------------------------- */

enum { RESULTS, STEPS, FILES };
static const char *const ENDINGS[FILES] = {"", "_steps.csv"};

static bool write_steps(const request *q, FILE *to) {
    const char *error = to ? gradcheck_steps_csv(to, q->check.seed) : NULL;
    return !error || complain("%s", error);
}

/* PASS needs something that passed: where no difference can tell, nothing was confirmed. */
static const char *verdict_of(const request *q, const totals *t) {
    if (t->failed > 0) return "FAIL";
    const bool open = t->passed == 0 || t->not_finite > 0 || (q->strict && t->inconclusive > 0);
    return open ? "INCONCLUSIVE" : "PASS";
}

static int say_totals(const request *q, const totals *t) {
    const char *verdict = verdict_of(q, t);
    text_line(t->table, 0,
              "%s: %td derivatives, %td PASS, %td FAIL, %td INCONCLUSIVE; the worst PASS differs "
              "by %.1e of its tensor's largest gradient",
              verdict, t->checked, t->passed, t->failed, t->inconclusive, t->worst_pass);
    if (fflush(t->table) != 0) return message_fail(EXIT_FAILED, "cannot write the table");
    const bool bad = t->failed > 0 || (q->strict && strcmp(verdict, "PASS") != 0);
    return bad ? EXIT_FAILED : EXIT_OK;
}

static int run_differences(const request *q, results *to, FILE *table) {
    totals t = {.csv = to->file[RESULTS].stream, .table = table};
    job_list list = {.q = q};
    (void)fputs("op,input,case,coordinates,pass,fail,inconclusive,worst_index,analytic,numeric,"
                "error_bar,taylor_slope\n",
                t.csv);
    if (!q->quiet)
        text_line(t.table, 8, "%-10s %-43s %6s %4s %4s %8s", "op", "case", "pass", "fail", "inc.",
                  "off by");
    bool good = run_jobs(&list, &t) && write_steps(q, to->file[STEPS].stream) && results_commit(to);
    free(list.job);
    if (!good) return EXIT_FAILED;
    const int code = say_totals(q, &t);
    if (!q->quiet) results_say(to, table);
    return code;
}

static int run_foreign(const request *q, results *to, FILE *table) {
    const foreign_request r = {.paths = &q->paths,
                               .mask = &q->file_mask,
                               .given = &q->gradients,
                               .rule = q->scale.rule[0],
                               .format = q->format,
                               .rtol = q->check.rtol};
    tt_gradcheck_verdict verdict;
    int code = foreign_check(&r, to->file[RESULTS].stream, table, &verdict);
    if (code != EXIT_OK) return code;
    const bool bad = verdict == TT_GRADCHECK_FAIL || (q->strict && verdict != TT_GRADCHECK_PASS);
    if (!results_commit(to)) return EXIT_FAILED;
    if (!q->quiet) results_say(to, table);
    return bad ? EXIT_FAILED : EXIT_OK;
}

static void print_more(FILE *to) {
    mask_shapes_help(to);
    (void)fputc('\n', to);
    scale_option_help(to);
}

static int run_gradcheck(const options *o) {
    static request q;
    results to;
    q.text = o;
    if (!read_request(&q)) return EXIT_USAGE;
    if (!results_open(&to, o, ENDINGS, q.from_files ? 1 : FILES)) return EXIT_FAILED;
    FILE *table = results_people(&to);
    int code = q.from_files ? run_foreign(&q, &to, table) : run_differences(&q, &to, table);
    results_discard(&to);
    return code;
}

static const char *const EXAMPLES[] = {
    "gradcheck --op attention --d-k 8 --output results/attention.csv",
    "gradcheck --fault flipped-sign --output results/fault.csv", NULL};

const command_spec GRADCHECK_COMMAND = {
    .name = "gradcheck",
    .summary =
        "Checks each backward against finite differences, with an error bar for every derivative.",
    .options = OPTIONS,
    .count = sizeof OPTIONS / sizeof *OPTIONS,
    .words = WORDS,
    .explained = SCALE_LIST_WORDS,
    .notes =
        "A derivative is PASS, FAIL, or INCONCLUSIVE where the true gradient lies below what "
        "differences can resolve; the whole is INCONCLUSIVE where nothing is PASS. Exit code 0: no "
        "FAIL; 1: a FAIL. Beside the CSV FILE = stem.csv lie stem_steps.csv (error against step, "
        "for the figure gradcheck_steps) and stem.meta.",
    .examples = EXAMPLES,
    .more = print_more,
    .run = run_gradcheck,
};

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
#include "common/results.h"
#include "common/scale_option.h"
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
    {"op", op_word}, {"mask", case_mask_name}, {"fault", fault_name}, {NULL, NULL}};

static const option_spec OPTIONS[] = {
    {"op", "NAME", "all", "what is checked, rules being attention by every scaling rule: "},
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
     "relative error that still is equality (default: 1e-6; with --q by the type of the files)"},
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
    {"key-lengths", "FILE", "", "with --q: one length for each batch entry"},
    {"allowed", "FILE", "", "with --q: 1 may attend, 0 may not"},
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
    const char *output;
    bool from_files;
    head_paths paths;
    gradient_paths gradients;
    mask_request file_mask;
} request;

/* What all cases together gave. */
typedef struct totals {
    FILE *csv, *table;
    tt_size checked, passed, failed, inconclusive;
    double worst_pass;
} totals;

/* ---- Options --------------------------------------------------------------------------------- */

static bool read_check(request *q) {
    const options *o = q->text;
    if (!options_int(o, "seed", 0, 4294967295, &q->seed) ||
        (options_given(o, "rtol") && !options_positive(o, "rtol", &q->check.rtol)) ||
        (options_given(o, "step") && !options_positive(o, "step", &q->check.step)))
        return false;
    q->check.seed = (uint64_t)q->seed;
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
                             *const MASKS[] = {"key-lengths", "allowed"};
    const options *o = q->text;
    int inputs = given(o, INPUTS, 4), outputs = given(o, OUTPUTS, 3), masks = given(o, MASKS, 2);
    q->from_files = inputs == 4 && outputs > 0;
    if (!q->from_files && inputs + outputs + masks > 0)
        return complain("gradcheck: expected --q, --k, --v, --do and one or more of --dq, --dk, "
                        "--dv together, or none of these and of the mask's files");
    q->paths = (head_paths){options_text(o, "q"), options_text(o, "k"), options_text(o, "v"),
                            options_text(o, "do")};
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
    return read_files(q) && options_choice(o, "op", &q->op) &&
           options_size(o, "batch", 1, 64, &q->shape.batch) &&
           options_size(o, "tokens", 1, 4096, &q->shape.tokens) &&
           options_size(o, "keys", 1, 4096, &q->shape.keys) &&
           options_int_list(o, "d-k", 1, 65536, q->d_k, &q->d_k_count) &&
           options_size(o, "d-v", 1, 65536, &q->shape.d_v) && read_scales(q) && read_mask(q) &&
           options_choice(o, "fault", &q->fault) && read_check(q) && results_option(o, &q->output);
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
    text_line(to, 8, "%-10s %-43s %6td %4td %4td %8.1e", c->op, c->text, passed, failed,
              inconclusive, worst);
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

/* Checks one case whose inputs were drawn, and frees it. False and one line on failure. */
static bool run_case(const request *q, totals *t, check_case *c, bool drawn) {
    tt_gradcheck_result r[CASE_INPUTS];
    const char *error =
        drawn ? tt_gradcheck(c->build, c, c->input, c->checked, &q->check, r) : "out of memory";
    for (int i = 0; i < c->checked && !error; i++) {
        write_row(t->csv, c, i, &r[i]);
        t->checked += r[i].checked;
        t->passed += r[i].passed;
        t->failed += r[i].failed;
        t->inconclusive += r[i].inconclusive;
        t->worst_pass = fmax(t->worst_pass, r[i].worst_pass);
    }
    if (!error && !q->quiet) say_case(t->table, c, r);
    if (!error) say_failures(t->table, c, r);
    if (error) (void)complain("%s %s: %s", c->op, c->text, error);
    case_free(c);
    return !error;
}

/* ---- All cases ------------------------------------------------------------------------------- */

static bool asked(const request *q, int op) {
    return q->op == OP_ALL || q->op == op;
}

static bool run_elementary(const request *q, totals *t) {
    for (int i = 0; case_op_name(i); i++) {
        check_case c;
        if (!asked(q, OP_GROUPS + i)) continue;
        bool drawn = case_op(&c, i, &q->shape, q->check.seed);
        if (!run_case(q, t, &c, drawn)) return false;
    }
    return true;
}

static bool run_attention(const request *q, totals *t, int op, tt_size d_k, const scaling *rule,
                          double sharpness) {
    for (int m = 0; m < MASK_ALL; m++) {
        check_case c;
        check_shape shape = q->shape;
        shape.d_k = d_k;
        if (q->mask != MASK_ALL && q->mask != m) continue;
        bool drawn =
            case_attention(&c, op_word(op), &shape, rule, (mask_kind)m, sharpness, q->check.seed);
        if (!run_case(q, t, &c, drawn)) return false;
    }
    return true;
}

static bool run_all(const request *q, totals *t) {
    if (!run_elementary(q, t)) return false;
    for (int d = 0; asked(q, OP_ATTENTION) && d < q->d_k_count; d++)
        for (int k = 0; k < q->scale.count; k++)
            if (!run_attention(q, t, OP_ATTENTION, (tt_size)q->d_k[d], q->scale.rule[k], 1))
                return false;
    /* rows as saturated as those of an unscaled d_k of 3000 */
    if (asked(q, OP_ATTENTION) && !run_attention(q, t, OP_ATTENTION, 8, scaling_find("none"), 20))
        return false;
    for (int k = 0; asked(q, OP_RULES) && scaling_at(k); k++)
        if (!run_attention(q, t, OP_RULES, 8, scaling_at(k), 1)) return false;
    return true;
}

static bool run_fault(const request *q, totals *t) {
    check_case c;
    check_shape shape = q->shape;
    shape.d_k = 8;
    bool drawn = case_faulty(&c, &shape, (fault)q->fault, q->check.seed);
    return run_case(q, t, &c, drawn);
}

/* ---- The run --------------------------------------------------------------------------------- */

enum { RESULTS, STEPS, FILES };
static const char *const ENDINGS[FILES] = {"", "_steps.csv"};

static bool write_steps(const request *q, FILE *to) {
    const char *error = to ? gradcheck_steps_csv(to, q->check.seed) : NULL;
    return !error || complain("%s", error);
}

static int say_totals(const request *q, const totals *t) {
    bool bad = t->failed > 0 || (q->strict && t->inconclusive > 0);
    text_line(t->table, 0,
              "%s: %td derivatives, %td PASS, %td FAIL, %td INCONCLUSIVE; the worst PASS differs "
              "by %.1e of its tensor's largest gradient",
              bad ? "FAIL" : "PASS", t->checked, t->passed, t->failed, t->inconclusive,
              t->worst_pass);
    if (fflush(t->table) != 0) return message_fail(EXIT_FAILED, "cannot write the table");
    return bad ? EXIT_FAILED : EXIT_OK;
}

static int run_differences(const request *q, results *to, FILE *table) {
    totals t = {.csv = to->file[RESULTS].stream, .table = table};
    (void)fputs("op,input,case,coordinates,pass,fail,inconclusive,worst_index,analytic,numeric,"
                "error_bar,taylor_slope\n",
                t.csv);
    if (!q->quiet)
        text_line(t.table, 8, "%-10s %-43s %6s %4s %4s %8s", "op", "case", "pass", "fail", "inc.",
                  "off by");
    bool good = q->fault >= 0 ? run_fault(q, &t) : run_all(q, &t);
    good = good && write_steps(q, to->file[STEPS].stream) && results_commit(to);
    return good ? say_totals(q, &t) : EXIT_FAILED;
}

static int run_foreign(const request *q, results *to, FILE *table) {
    bool differs;
    int code = foreign_check(&q->paths, &q->file_mask, &q->gradients, &q->scale.rule[0]->rule,
                             q->check.rtol, to->file[RESULTS].stream, table, &differs);
    if (code == EXIT_OK && (!results_commit(to) || differs)) code = EXIT_FAILED;
    return code;
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
    .notes =
        "A derivative is PASS, FAIL, or INCONCLUSIVE where the true gradient lies below what "
        "differences can resolve. Exit code 0: no FAIL; 1: a FAIL. Beside the CSV FILE = stem.csv "
        "lie stem_steps.csv (error against step, for the figure gradcheck_steps) and stem.meta.",
    .examples = EXAMPLES,
    .more = scale_option_help,
    .run = run_gradcheck,
};

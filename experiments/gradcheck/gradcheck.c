/* gradcheck.c: `sqrtdk gradcheck`: every backward of the library against finite differences with
 * error bars (the method and the rule are in tt/gradcheck.h). Cases come from gradcheck_cases.c.
 */
#include "gradcheck/gradcheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/output.h"
#include "common/scale_option.h"
#include "common/settings.h"
#include "gradcheck/cases.h"
#include "gradcheck/foreign.h"
#include "gradcheck/steps.h"
#include "tt/rng.h"

static const option_spec OPTIONS[] = {
    {"op", "NAME", "all",
     "all, attention, rules (attention by every scaling rule), or an operation: matmul, matmul_nt, "
     "add, scale, softmax, mse, dot"},
    {"batch", "B", "2", "entries of the batch"},
    {"tokens", "Tq", "4", "queries"},
    {"keys", "Tk", "5", "keys"},
    {"d-k", "LIST", "1,2,8,64,512", "key widths"},
    {"d-v", "N", "3", "width of the values"},
    {"scale", "LIST", "", "scaling rules, or numbers (default: none,sqrt); see below"},
    {"mask", "NAME", "",
     "none, causal-top-left, causal-bottom-right, or drawn: key-lengths, allowed, all (the "
     "default)"},
    {"causal", NULL, "", "short for --mask causal-top-left"},
    {"seed", "N", "0", "seed of inputs, W, samples and directions"},
    {"step", "H", "", "one fixed step instead of chosen ones"},
    {"rtol", "R", "",
     "relative error that still is equality (default: 1e-6; with --q by the type of the files)"},
    {"strict", NULL, "", "INCONCLUSIVE fails too"},
    {"fault", "NAME", "",
     "check a wrong backward: flipped-sign, missing-scale, missing-sum, swapped, mask-forgotten, "
     "or "
     "none for the same code without a fault"},
    {"q", "FILE", "",
     "someone else's backward: Q as .npy or CSV, [T,d], [H,T,d] or [B,H,T,d]; and"},
    {"k", "FILE", "", "K,"},
    {"v", "FILE", "", "V,"},
    {"do", "FILE", "", "the gradient of the output,"},
    {"dq", "FILE", "", "and the gradients to compare with ours: dQ,"},
    {"dk", "FILE", "", "dK,"},
    {"dv", "FILE", "", "dV; --scale is then one rule (default sqrt), --mask as in inspect"},
    {"key-lengths", "FILE", "", "with --q: one length for each batch entry"},
    {"allowed", "FILE", "", "with --q: 1 may attend, 0 may not"},
    {"output", "FILE", "results/gradcheck.csv", "CSV of all results; - for standard output"},
    {"quiet", NULL, "", "print failures and the last line only"},
};

const command_spec GRADCHECK_COMMAND = {
    "gradcheck",
    "Checks each backward against finite differences, with an error bar for every derivative.",
    OPTIONS,
    sizeof OPTIONS / sizeof *OPTIONS,
    "A derivative is PASS, FAIL, or INCONCLUSIVE where the true gradient lies below what "
    "differences\n"
    "can resolve. Exit code 0: no FAIL; 1: a FAIL. Beside the CSV FILE = stem.csv lie\n"
    "stem_steps.csv (error against step, for the figure gradcheck_steps) and stem.meta.",
    scale_option_help,
};

typedef struct request {
    options text;
    check_shape shape;
    int64_t d_k[LIST_MOST];
    int d_k_count;
    scale_list scale;
    int mask;  /* a mask_kind, or MASK_KINDS: all */
    int fault; /* a fault, or -1 */
    tt_check_options check;
    bool strict, quiet;
    const char *op, *output;
    bool from_files;
    attention_paths paths;
    gradient_paths gradients;
    mask_request file_mask;
} request;

/* What all cases together gave. */
typedef struct totals {
    FILE *csv, *table;
    tt_rng rng;
    tt_size checked, passed, failed, inconclusive;
    double worst_pass;
} totals;

/* ---- Options --------------------------------------------------------------------------------- */

static const char *text_of(const request *q, const char *name) {
    return options_text(&GRADCHECK_COMMAND, &q->text, name);
}

static bool read_size(const request *q, const char *name, int64_t most, tt_size *out) {
    int64_t value;
    if (!options_int(name, text_of(q, name), 1, most, &value)) return false;
    *out = (tt_size)value;
    return true;
}

/* The position of `text` among names[0..count-1], or `other` for the word that means something
 * else; false and one line for anything else. */
static bool read_name(const char *option, const char *text, const char *const *names, int count,
                      const char *word, int other, int *out) {
    *out = other;
    if (strcmp(text, word) == 0) return true;
    for (*out = 0; *out < count; ++*out)
        if (strcmp(text, names[*out]) == 0) return true;
    char list[256] = "";
    for (int i = 0; i < count; i++) {
        size_t used = strlen(list);
        (void)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    (void)message_fail(0, "--%s '%s': expected %s%s%s", option, text, word, word[0] ? ", " : "",
                       list);
    return false;
}

static bool read_op(request *q) {
    static const char *const MORE[] = {"all", "attention", "rules"};
    q->op = text_of(q, "op");
    for (int i = 0; i < 3; i++)
        if (strcmp(q->op, MORE[i]) == 0) return true;
    int count = 0, ignored;
    while (ELEMENTARY_OPS[count]) count++;
    return read_name("op", q->op, ELEMENTARY_OPS, count, "all, attention, rules", 0, &ignored);
}

static bool read_check(request *q) {
    int64_t seed;
    const char *step = text_of(q, "step"), *rtol = text_of(q, "rtol");
    if (!options_int("seed", text_of(q, "seed"), 0, 4294967295, &seed) ||
        (rtol[0] && !options_positive("rtol", rtol, &q->check.rtol)) ||
        (step[0] && !options_positive("step", step, &q->check.step)))
        return false;
    q->check.seed = (uint64_t)seed;
    return true;
}

/* What belongs to someone else's backward: all of Q, K, V, dO and at least one gradient, or none.
 */
static bool read_files(request *q) {
    q->paths =
        (attention_paths){text_of(q, "q"), text_of(q, "k"), text_of(q, "v"), text_of(q, "do")};
    q->gradients = (gradient_paths){text_of(q, "dq"), text_of(q, "dk"), text_of(q, "dv")};
    int inputs = (q->paths.q[0] != 0) + (q->paths.k[0] != 0) + (q->paths.v[0] != 0) +
                 (q->paths.d_out[0] != 0);
    int outputs = (q->gradients.dq[0] != 0) + (q->gradients.dk[0] != 0) + (q->gradients.dv[0] != 0);
    bool mask_files = text_of(q, "key-lengths")[0] || text_of(q, "allowed")[0];
    q->from_files = inputs == 4 && outputs > 0;
    if (q->from_files) return mask_request_read(&GRADCHECK_COMMAND, &q->text, &q->file_mask);
    if (inputs + outputs == 0 && !mask_files) return true;
    (void)message_fail(0, "gradcheck: expected --q, --k, --v, --do and one or more of --dq, --dk, "
                          "--dv together, or none of these and of the mask's files");
    return false;
}

static bool read_scales(request *q) {
    const char *text = text_of(q, "scale");
    if (!text[0]) text = q->from_files ? "sqrt" : "none,sqrt";
    if (!scale_option_list(text, &q->scale)) return false;
    if (!q->from_files || q->scale.count == 1) return true;
    (void)message_fail(0, "--scale '%s': expected one rule together with --q", text);
    return false;
}

static bool read_mask(request *q) {
    const char *mask = text_of(q, "mask");
    if (options_flag(&GRADCHECK_COMMAND, &q->text, "causal")) mask = "causal-top-left";
    if (q->from_files) return true;
    return read_name("mask", mask[0] ? mask : "all", MASK_NAMES, MASK_KINDS, "all", MASK_KINDS,
                     &q->mask);
}

static bool read_request(request *q) {
    const options *o = &q->text;
    bool good = read_files(q) && read_op(q) && read_size(q, "batch", 64, &q->shape.batch) &&
                read_size(q, "tokens", 4096, &q->shape.tokens) &&
                read_size(q, "keys", 4096, &q->shape.keys) &&
                options_int_list("d-k", text_of(q, "d-k"), 1, 65536, q->d_k, &q->d_k_count) &&
                read_size(q, "d-v", 65536, &q->shape.d_v) && read_scales(q) && read_mask(q) &&
                read_name("fault", text_of(q, "fault"), FAULT_NAMES, FAULTS, "", -1, &q->fault) &&
                read_check(q);
    q->strict = options_flag(&GRADCHECK_COMMAND, o, "strict");
    q->quiet = options_flag(&GRADCHECK_COMMAND, o, "quiet");
    q->output = text_of(q, "output");
    if (good && q->output[0] == '\0') {
        (void)message_fail(0, "--output '': expected a file name, or - for standard output");
        return false;
    }
    return good;
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

static void write_row(FILE *to, const check_case *c, int input, const tt_check_result *r) {
    char number[NUMBER_BYTES], slope[32];
    (void)fprintf(to, "%s,%s,%s,%td,%td,%td,%td,", c->op, c->name[input], c->text, r->checked,
                  r->passed, r->failed, r->inconclusive);
    print_index(to, r->worst.index);
    (void)fprintf(to, ",%s", output_number(number, r->worst.analytic));
    (void)fprintf(to, ",%s", output_number(number, r->worst.numeric));
    (void)fprintf(to, ",%s", output_number(number, r->worst.error_bar));
    (void)fprintf(to, ",%s\n", slope_text(r->taylor_slope, slope));
}

static void say_case(FILE *to, const check_case *c, const tt_check_result *r) {
    tt_size passed = 0, failed = 0, inconclusive = 0;
    double floor = 0, worst = 0;
    char slope[CASE_INPUTS][32];
    for (int i = 0; i < c->checked; i++) {
        passed += r[i].passed;
        failed += r[i].failed;
        inconclusive += r[i].inconclusive;
        worst = fmax(worst, r[i].worst_pass);
        floor = fmax(floor, r[i].floor);
        (void)slope_text(r[i].taylor_slope, slope[i]);
    }
    (void)fprintf(to, "%-10s %-44s %6td %5td %5td  %8.1e %8.1e ", c->op, c->text, passed, failed,
                  inconclusive, worst, floor);
    for (int i = 0; i < c->checked; i++) (void)fprintf(to, " %s:%s", c->name[i], slope[i]);
    (void)fputc('\n', to);
}

static void say_failures(FILE *to, const check_case *c, const tt_check_result *r) {
    for (int i = 0; i < c->checked; i++) {
        if (r[i].failed == 0) continue;
        (void)fprintf(to, "FAIL %s %s: %td of %td derivatives of %s; worst at ", c->op, c->text,
                      r[i].failed, r[i].checked, c->name[i]);
        print_index(to, r[i].worst.index);
        (void)fprintf(to, ": analytic %.10g, numeric %.10g +- %.1g\n", r[i].worst.analytic,
                      r[i].worst.numeric, r[i].worst.error_bar);
    }
}

/* Checks one case whose inputs were drawn, and frees it. False and one line on failure. */
static bool run_case(const request *q, totals *t, check_case *c, bool drawn) {
    tt_check_result r[CASE_INPUTS];
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
    if (error) (void)message_fail(0, "%s %s: %s", c->op, c->text, error);
    case_free(c);
    return !error;
}

/* ---- All cases ------------------------------------------------------------------------------- */

static bool asked(const request *q, const char *op) {
    return strcmp(q->op, "all") == 0 || strcmp(q->op, op) == 0;
}

static bool run_elementary(const request *q, totals *t) {
    for (int i = 0; ELEMENTARY_OPS[i]; i++) {
        check_case c;
        if (!asked(q, ELEMENTARY_OPS[i])) continue;
        bool drawn = case_elementary(&c, ELEMENTARY_OPS[i], &q->shape, &t->rng);
        if (!run_case(q, t, &c, drawn)) return false;
    }
    return true;
}

static bool run_attention(const request *q, totals *t, const char *op, tt_size d_k,
                          const tt_scale_rule *rule, double sharpness) {
    for (int m = 0; m < MASK_KINDS; m++) {
        check_case c;
        check_shape shape = q->shape;
        shape.d_k = d_k;
        if (q->mask != MASK_KINDS && q->mask != m) continue;
        bool drawn = case_attention(&c, op, &shape, rule, (mask_kind)m, sharpness, &t->rng);
        if (!run_case(q, t, &c, drawn)) return false;
    }
    return true;
}

static bool run_all(const request *q, totals *t) {
    int rules;
    const tt_scale_rule *rule = tt_scale_rules(&rules);
    if (!run_elementary(q, t)) return false;
    for (int d = 0; asked(q, "attention") && d < q->d_k_count; d++)
        for (int k = 0; k < q->scale.count; k++)
            if (!run_attention(q, t, "attention", (tt_size)q->d_k[d], q->scale.rule[k], 1))
                return false;
    /* rows as saturated as those of an unscaled d_k of 3000 */
    if (asked(q, "attention") && !run_attention(q, t, "attention", 8, tt_scale_find("none"), 20))
        return false;
    for (int k = 0; asked(q, "rules") && k < rules; k++)
        if (!run_attention(q, t, "rules", 8, &rule[k], 1)) return false;
    return true;
}

static bool run_fault(const request *q, totals *t) {
    check_case c;
    check_shape shape = q->shape;
    shape.d_k = 8;
    bool drawn = case_faulty(&c, &shape, (fault)q->fault, &t->rng);
    return run_case(q, t, &c, drawn);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* The files beside the CSV; `ending` says which. */
static bool write_beside(const request *q, const char *ending, output *o) {
    char *path = output_beside(q->output, ending);
    const char *error = NULL;
    bool good = path && output_open(o, path);
    free(path);
    if (!good) return false;
    char *settings = settings_describe(&GRADCHECK_COMMAND, &q->text);
    if (!settings)
        error = "out of memory";
    else if (strcmp(ending, ".meta") == 0)
        (void)fputs(settings, o->stream);
    else
        error = gradcheck_steps_csv(o->stream, q->check.seed);
    free(settings);
    if (error) (void)message_fail(0, "%s", error);
    return !error && output_close(o);
}

static int say_totals(const request *q, const totals *t) {
    bool bad = t->failed > 0 || (q->strict && t->inconclusive > 0);
    (void)fprintf(
        t->table,
        "%s: %td derivatives, %td PASS, %td FAIL, %td INCONCLUSIVE; the worst PASS differs "
        "by %.1e of its tensor's largest gradient\n",
        bad ? "FAIL" : "PASS", t->checked, t->passed, t->failed, t->inconclusive, t->worst_pass);
    if (fflush(t->table) != 0) return message_fail(EXIT_FAILED, "cannot write the table");
    return bad ? EXIT_FAILED : EXIT_OK;
}

static int run_files(const request *q, output *o, FILE *table) {
    int code = gradcheck_files(&q->paths, &q->file_mask, &q->gradients, q->scale.rule[0],
                               q->check.rtol, o->stream, table);
    bool good = code != EXIT_USAGE && output_close(o) && output_commit(o);
    output_discard(o);
    return good || code == EXIT_USAGE ? code : EXIT_FAILED;
}

static int run(const request *q) {
    const bool direct = output_is_direct(q->output);
    output o[3] = {{NULL, NULL, NULL}};
    totals t = {.table = direct ? stderr : stdout};
    if (!output_open(&o[0], q->output)) return EXIT_FAILED;
    t.csv = o[0].stream;
    if (q->from_files) return run_files(q, &o[0], t.table);
    tt_rng_seed(&t.rng, q->check.seed);
    (void)fputs("op,input,case,coordinates,pass,fail,inconclusive,worst_index,analytic,numeric,"
                "error_bar,taylor_slope\n",
                t.csv);
    if (!q->quiet)
        (void)fprintf(t.table, "%-10s %-44s %6s %5s %5s  %8s %8s  %s\n", "op", "case", "pass",
                      "fail", "inc.", "off by", "floor", "Taylor slopes");
    bool good = q->fault >= 0 ? run_fault(q, &t) : run_all(q, &t);
    good = good && output_close(&o[0]);
    if (good && !direct)
        good = write_beside(q, "_steps.csv", &o[1]) && write_beside(q, ".meta", &o[2]);
    for (int f = 0; f < 3; f++) {
        if (good && o[f].path && !output_commit(&o[f])) good = false;
        output_discard(&o[f]);
    }
    return good ? say_totals(q, &t) : EXIT_FAILED;
}

int gradcheck_main(int argc, char **argv) {
    static request q;
    switch (options_parse(&GRADCHECK_COMMAND, argc, argv, &q.text)) {
    case OPTIONS_HELP:
        return EXIT_OK;
    case OPTIONS_WRONG:
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    if (!read_request(&q)) return EXIT_USAGE;
    return run(&q);
}

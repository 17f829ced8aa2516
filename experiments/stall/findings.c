/* findings.c: words follow numbers: each sentence is printed only where its numbers are there, and
 * a cause only where two groups of the sweep differ in one thing.
 */
#include "stall/findings.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/change.h"
#include "common/text.h"

/* ---- The table ------------------------------------------------------------------------------- */

/* "stalled 4, slow 1; sharper": the group's verdict first, then what other seeds did, then its
 * state; "early 5 (3000)" with how many steps would do. */
static void print_verdict_cell(FILE *to, const sweep_config *c, const seed_group *g) {
    (void)fprintf(to, "%s %d", verdict_name((int)g->verdict), g->counts[g->verdict]);
    for (int v = 0; v < VERDICTS; v++)
        if (v != (int)g->verdict && g->counts[v] > 0)
            (void)fprintf(to, ", %s %d", verdict_name(v), g->counts[v]);
    if (g->verdict == EARLY)
        (void)fprintf(to, " (%.0f)", verdict_steps_needed(c, g->run));
    else if (g->state != NO_STATE)
        (void)fprintf(to, "; %s", state_name(g->state));
    (void)fputc('\n', to);
}

static bool several_optimizers(const sweep_config *c) {
    for (int i = 1; i < c->rate_count; i++)
        if (c->rate[i].optimizer != c->rate[0].optimizer) return true;
    return false;
}

enum { QUARTILES_BYTES = 48 };

/* With a third digit where the second does not tell them apart. */
static void quartiles_of(char text[QUARTILES_BYTES], const seed_group *g) {
    char least[QUARTILES_BYTES / 2 - 1], most[QUARTILES_BYTES / 2 - 1];
    for (int digits = 2; digits <= 3; digits++) {
        (void)snprintf(least, sizeof least, "%.*g", digits, g->ratio_q1);
        (void)snprintf(most, sizeof most, "%.*g", digits, g->ratio_q3);
        if (strcmp(least, most) != 0) break;
    }
    (void)snprintf(text, QUARTILES_BYTES, "%s..%s", least, most);
}

/* The optimizer and its rate have columns only where there are several, quartiles where there are
 * several seeds. */
static void print_table(FILE *to, const void *context) {
    const report *r = context;
    const sweep_config *c = &r->sweep->config;
    const bool rates = c->rate_count > 1 || c->lr_in_logits, optimizers = several_optimizers(c);
    (void)fprintf(to, "%5s %-6s ", "d_k", "scale");
    if (optimizers) (void)fprintf(to, "%-8s ", "");
    if (rates) (void)fprintf(to, "%5s ", "lr");
    (void)fprintf(to, "%8s ", "ratio");
    if (c->seed_count > 1) (void)fprintf(to, "%16s ", "quartiles");
    (void)fprintf(to, "%7s %7s  %s\n", "rowgrad", "step", "verdict");
    for (tt_size i = 0; i < r->count; i++) {
        const seed_group *g = &r->groups[i];
        char quartiles[QUARTILES_BYTES];
        (void)fprintf(to, "%5" PRId64 " %-6s ", g->run->d_k, g->run->scale->name);
        if (optimizers) (void)fprintf(to, "%-8s ", g->run->optimizer->name);
        if (rates) (void)fprintf(to, "%5.3g ", g->run->lr);
        (void)fprintf(to, "%8.3g ", g->ratio_median);
        quartiles_of(quartiles, g);
        if (c->seed_count > 1) (void)fprintf(to, "%16s ", quartiles);
        (void)fprintf(to, "%7.2g %7.2g  ", group_first(g, "row_grad_median"),
                      group_first(g, "logit_step"));
        print_verdict_cell(to, c, g);
    }
}

static bool is_verdict_there(const report *r, verdict v) {
    for (tt_size i = 0; i < r->count; i++)
        if (r->groups[i].counts[v] > 0) return true;
    return false;
}

static bool is_state_there(const report *r, state s) {
    for (tt_size i = 0; i < r->count; i++)
        if (r->groups[i].verdict != EARLY && r->groups[i].state == s) return true;
    return false;
}

/* What the words of the last column mean, of those that stand there. */
static void print_words(FILE *to, const report *r) {
    static const char *const VERDICT[VERDICTS] = {
        [TRAINED] = "ratio <= 0.1",
        [EARLY] = "too few steps to tell (how many would do)",
        [SLOW] = "none of the others",
        [STALLED] = "ratio >= 1, hardly below that of the middle of the run",
        [DIVERGED] = "a number ceased to be finite"};
    static const char *const STATE[STATES] = {
        [SHARPER] = "entropy below the teacher's, and one scalar on the logits would halve the "
                    "ratio",
        [FLATTER] = "entropy above the teacher's, and one scalar on the logits would halve the "
                    "ratio",
        [ALIKE] = "neither sharper nor flatter than the teacher in a way that one scalar mends"};
    const char *between = "Verdicts and their seeds.";
    for (int v = 0; v < VERDICTS; v++) {
        if (!is_verdict_there(r, (verdict)v)) continue;
        (void)fprintf(to, "%s %s: %s", between, verdict_name(v), VERDICT[v]);
        between = ";";
    }
    for (int i = NO_STATE + 1; i < STATES; i++)
        if (is_state_there(r, (state)i))
            (void)fprintf(to, "; %s: %s", state_name((state)i), STATE[i]);
    (void)fputs(".\n", to);
}

/* What was given and is not default, and what the columns are. */
static void print_preface(FILE *to, const void *context) {
    const report *r = context;
    const sweep_config *c = &r->sweep->config;
    const bool seeds = c->seed_count > 1;
    const double factor = recipe_factor(&c->recipe, 0);
    if (r->options[0]) (void)fprintf(to, "With %s.\n", r->options);
    (void)fprintf(to,
                  "Ratio: loss / loss of not attending, median of the last 20 steps%s. Rowgrad: "
                  "gradient of a row's logits, through the softmax, median row; step: how far the "
                  "update moves the logits (root mean square); both at step 0",
                  seeds ? ", median and quartiles over seeds" : "");
    if (factor != 1) (void)fprintf(to, ", which has %.3g of the rate", factor);
    (void)fputs(seeds ? ", median over seeds.\n" : ".\n", to);
    print_words(to, r);
}

void findings_table(FILE *to, const report *r) {
    text_flow_from(to, print_preface, r, 0);
    (void)fputc('\n', to);
    text_flow_from(to, print_table, r, 8);
    (void)fputc('\n', to);
}

/* ---- Sentences ------------------------------------------------------------------------------- */

static const seed_group *group_at(const report *r, int d_k, int scale, int rate) {
    const sweep_config *c = &r->sweep->config;
    return &r->groups[((tt_size)d_k * c->scale_count + scale) * c->rate_count + rate];
}

/* "lr 1", "adam, lr 0.001" or "kappa 1": what depends on it is said with it. */
static void print_rate(FILE *to, const sweep_config *c, const optimizer_rate *given) {
    if (given->optimizer != optimizer_at(0)) (void)fprintf(to, "%s, ", given->optimizer->name);
    (void)fprintf(to, "%s %g", c->lr_in_logits ? "kappa (nominal step in logits)" : "lr",
                  given->lr);
}

/* "; scale none: d_k 8, 16 trained, d_k 512 stalled" for one scale and rate. */
static void print_verdicts(FILE *to, const report *r, int scale, int rate) {
    const sweep_config *c = &r->sweep->config;
    (void)fprintf(to, " scale %s:", c->scale[scale]->name);
    const char *between = "";
    for (int v = 0; v < VERDICTS; v++) {
        bool first = true;
        for (int d = 0; d < c->d_k_count; d++) {
            const seed_group *g = group_at(r, d, scale, rate);
            if (g->verdict != (verdict)v) continue;
            if (first) (void)fprintf(to, "%s d_k", between);
            (void)fprintf(to, "%s %" PRId64, first ? "" : ",", g->run->d_k);
            first = false;
        }
        if (first) continue;
        (void)fprintf(to, " %s", verdict_name(v));
        between = ";";
    }
}

/* How many groups of a rate have this verdict. */
static int count_of(const report *r, int rate, verdict v) {
    const sweep_config *c = &r->sweep->config;
    int count = 0;
    for (int d = 0; d < c->d_k_count; d++)
        for (int k = 0; k < c->scale_count; k++) count += group_at(r, d, k, rate)->verdict == v;
    return count;
}

static const char *headline(const report *r, int rate) {
    const sweep_config *c = &r->sweep->config;
    const int early = count_of(r, rate, EARLY);
    if (count_of(r, rate, STALLED) > 0) return "Stall";
    if (early == c->d_k_count * c->scale_count) return "Too early to tell";
    return early > 0 ? "No stall, but too early to tell for some," : "No stall";
}

static void print_verdict_sentence(FILE *to, const report *r, int rate) {
    const sweep_config *c = &r->sweep->config;
    (void)fprintf(to, "%s within %td steps at ", headline(r, rate), c->steps);
    print_rate(to, c, &c->rate[rate]);
    for (int k = 0; k < c->scale_count; k++) {
        (void)fputc(k > 0 ? '.' : ':', to);
        print_verdicts(to, r, k, rate);
    }
    if (c->seed_count > 1)
        (void)fprintf(to,
                      " (%d seeds; the verdict is that of the seed whose ratio is in the middle%s)."
                      "\n",
                      c->seed_count, c->seed_count % 2 ? "" : ", the lower of two");
    else
        (void)fprintf(to, " (seed %" PRId64 " alone).\n", c->seed[0]);
}

/* What `early` means, once, with the numbers of the optimizers it was said of. */
static void print_early_sentence(FILE *to, const report *r) {
    const sweep_config *c = &r->sweep->config;
    const char *between =
        "Of early runs nothing is said: how far they were to move their logits, kappa "
        "times the steps, is below";
    bool any = false;
    for (int i = 0; optimizer_at(i); i++)
        for (int k = 0; k < c->rate_count; k++) {
            if (c->rate[k].optimizer != optimizer_at(i) || count_of(r, k, EARLY) == 0) continue;
            (void)fprintf(to, "%s %g (%s)", between, optimizer_at(i)->enough,
                          optimizer_at(i)->name);
            between = ",";
            any = true;
            break;
        }
    if (any) (void)fputs("; most soft starts that were tried had trained by then.\n", to);
}

static void narrowest_and_widest(const sweep_config *c, int *narrow, int *wide) {
    *narrow = *wide = 0;
    for (int d = 1; d < c->d_k_count; d++) {
        if (c->d_k[d] < c->d_k[*narrow]) *narrow = d;
        if (c->d_k[d] > c->d_k[*wide]) *wide = d;
    }
}

/* The links of the chain that are told, each in its own norm. */
static const struct {
    const char *words, *column;
} LINKS[] = {
    {" the typical row's gradient through the softmax ", "row_grad_median"},
    {", |dL/dWq| (Frobenius) ", "grad_wq"},
    {", per entry dL/dWq ", "grad_wq_rms"},
    {", the step in logits ", "logit_step"},
};

enum { LINK_COUNT = sizeof LINKS / sizeof *LINKS };

/* What becomes of the chain from narrow to wide, at step 0 and the first rate: a line a scale. Of
 * these only the step depends on the rate. */
static void print_gradient_sentence(FILE *to, const report *r) {
    const sweep_config *c = &r->sweep->config;
    int narrow, wide;
    const double factor = recipe_factor(&c->recipe, 0);
    narrowest_and_widest(c, &narrow, &wide);
    for (int k = 0; k < c->scale_count; k++) {
        const seed_group *a = group_at(r, narrow, k, 0), *b = group_at(r, wide, k, 0);
        if (narrow == wide)
            (void)fprintf(to, "At d_k %" PRId64, c->d_k[wide]);
        else
            (void)fprintf(to, "From d_k %" PRId64 " to %" PRId64, c->d_k[narrow], c->d_k[wide]);
        (void)fprintf(to, ", scale %s, at step 0:", c->scale[k]->name);
        for (int i = 0; i < LINK_COUNT; i++) {
            (void)fputs(LINKS[i].words, to);
            if (narrow == wide)
                (void)fprintf(to, "is %.2g", group_first(b, LINKS[i].column));
            else
                change_print(to, group_first(a, LINKS[i].column), group_first(b, LINKS[i].column));
        }
        (void)fputs(" at ", to);
        print_rate(to, c, &c->rate[0]);
        if (factor != 1) (void)fprintf(to, ", of which step 0 has %.3g", factor);
        (void)fputs(c->seed_count > 1 ? " (medians over seeds).\n" : ".\n", to);
    }
    if (c->rate_count > 1)
        (void)fprintf(to,
                      "At step 0 only the step depends on the %s; at the others it is in the "
                      "table.\n",
                      several_optimizers(c) ? "optimizer and its rate" : "rate");
}

static bool failed(const seed_group *g) {
    return g->verdict == STALLED || g->verdict == SLOW || g->verdict == DIVERGED;
}

/* The group of a scale that is told of: the widest that stalled, at the first rate where there is
 * one; else the widest that failed otherwise. NULL: none failed. */
static const seed_group *worst_of(const report *r, int scale, int *d_k, int *rate) {
    const sweep_config *c = &r->sweep->config;
    const seed_group *worst = NULL;
    for (int i = 0; i < c->rate_count; i++)
        for (int d = 0; d < c->d_k_count; d++) {
            const seed_group *g = group_at(r, d, scale, i);
            if (!failed(g)) continue;
            const bool stalls = worst && (g->verdict == STALLED) > (worst->verdict == STALLED);
            const bool wider = worst && i == *rate && g->run->d_k > worst->run->d_k &&
                               (g->verdict == STALLED) == (worst->verdict == STALLED);
            if (worst && !stalls && !wider) continue;
            worst = g;
            *d_k = d;
            *rate = i;
        }
    return worst;
}

static double value_of(const log_row *row, const char *column) {
    return row->value[column_find(column)];
}

static double last_of(const run *c, const char *column) {
    return value_of(&c->rows[c->row_count - 1], column);
}

/* That a run which failed has moved, and how far it got. */
static void print_way_sentence(FILE *to, const run *c) {
    const log_row *first = &c->rows[0], *last = &c->rows[c->row_count - 1];
    if (c->row_count < 2) return;
    (void)fprintf(to,
                  "On the way there, from step %" PRId64 " to the last step, %" PRId64
                  ": its ratio went from %.3g to %.3g, the share of rows whose largest weight is "
                  "the teacher's from %.2g to %.2g.\n",
                  first->step, last->step,
                  value_of(first, "loss") / value_of(first, "loss_uniform"),
                  value_of(last, "loss") / value_of(last, "loss_uniform"),
                  value_of(first, "argmax_agreement"), value_of(last, "argmax_agreement"));
}

static void print_state_sentence(FILE *to, const report *r, const seed_group *g, int rate) {
    static const char *const AS[STATES] = {
        [SHARPER] = "sharper than its teacher",
        [FLATTER] = "flatter than its teacher",
        [ALIKE] = "neither sharper nor flatter than its teacher in a way that one scalar mends"};
    if (g->state == NO_STATE) return;
    const run *c = g->run;
    (void)fprintf(to, "At d_k %" PRId64 ", scale %s, ", c->d_k, c->scale->name);
    print_rate(to, &r->sweep->config, &r->sweep->config.rate[rate]);
    (void)fprintf(to,
                  " the %s student is %s: its rows' entropy ends at %.2g nats, the teacher's at "
                  "%.2g; at the last step, %" PRId64
                  ", one scalar on its logits would bring the ratio from %.3g to %.2g (its "
                  "score matrix has cosine %.2g with the teacher's; seed %" PRId64 ").\n",
                  verdict_name((int)g->verdict), AS[g->state], last_of(c, "entropy_mean"),
                  last_of(c, "entropy_teacher"), c->rows[c->row_count - 1].step,
                  last_of(c, "loss") / last_of(c, "loss_uniform"), last_of(c, "ratio_rescaled"),
                  last_of(c, "cos_m"), c->seed);
    print_way_sentence(to, c);
}

static void print_run(FILE *to, const run *c) {
    (void)fprintf(to, "scale %s (%s, lr %.3g)", c->scale->name, c->optimizer->name, c->lr);
}

static bool alike(double a, double b) {
    return fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

/* Whether start, step and balance (of Wq and Wk) are all in which what trains Wq and Wk can differ
 * between these two: one rule; or rules that are one factor, steps in proportion to the gradient,
 * and nothing that acts on the weights' own size. */
static bool differ_in_numbers_only(const sweep_config *c, const run *a, const run *b) {
    if (a->optimizer != b->optimizer || a->scale == b->scale) return a->optimizer == b->optimizer;
    return !a->optimizer->normalised && isinf(c->recipe.clip) &&
           recipe_optim(&c->recipe, a->optimizer).weight_decay == 0 &&
           scaling_is_constant(a->scale) && scaling_is_constant(b->scale);
}

enum { DIFFERENCES = 5, DIFFERENCE_BYTES = 96 };

/* What two groups differ in, as text. */
typedef struct differences {
    char item[DIFFERENCES][DIFFERENCE_BYTES];
    int count;
} differences;

/* "the step (kappa 512 against 1)", if they do. */
static void add_numbers(differences *d, const char *what, double a, double b) {
    if (alike(a, b)) return;
    (void)snprintf(d->item[d->count++], DIFFERENCE_BYTES, "the %s %.3g against %.3g)", what, a, b);
}

static double balance_of(const run *c) {
    return scaling_query_gain(c->scale, c->d_k);
}

static differences differences_of(const sweep_config *c, const seed_group *bad,
                                  const seed_group *good) {
    const run *a = bad->run, *b = good->run;
    differences d = {.count = 0};
    if (!differ_in_numbers_only(c, a, b))
        (void)snprintf(d.item[d.count++], DIFFERENCE_BYTES, "%s",
                       a->optimizer != b->optimizer ? "the optimizer" : "the rule");
    add_numbers(&d, "start (deviation of the logits", group_first(bad, "logit_std"),
                group_first(good, "logit_std"));
    add_numbers(&d, "balance of the start (|Wq| over |Wk|", balance_of(a), balance_of(b));
    add_numbers(&d, "step (kappa", a->kappa, b->kappa);
    if (c->training.train_values) add_numbers(&d, "step of Wv (lr", a->lr, b->lr);
    return d;
}

/* In what a group that failed differs from one that trained; a cause only where it is one thing. */
static void print_comparison(FILE *to, const report *r, const seed_group *bad,
                             const seed_group *good) {
    const run *a = bad->run, *b = good->run;
    const differences d = differences_of(&r->sweep->config, bad, good);
    if (d.count == 0) return;
    (void)fprintf(to, "At d_k %" PRId64 ", ", a->d_k);
    print_run(to, a);
    (void)fprintf(to, " %s", bad->verdict == SLOW ? "was slow" : verdict_name((int)bad->verdict));
    if (bad->verdict != DIVERGED) (void)fprintf(to, " at a ratio of %.3g", a->ratio);
    (void)fputs(", ", to);
    print_run(to, b);
    (void)fprintf(to, " trained to %.3g; they differ in", b->ratio);
    for (int i = 0; i < d.count; i++)
        (void)fprintf(to, "%s %s", i == 0 ? "" : i == d.count - 1 ? " and" : ",", d.item[i]);
    if (d.count == 1)
        (void)fputs(" alone, which made the difference.\n", to);
    else
        (void)fputs(", and these runs do not tell which of them it was.\n", to);
}

/* With the first that trained at the same rate under another scale, and at another rate under the
 * same scale. */
static void print_comparisons(FILE *to, const report *r, const seed_group *bad, int d_k, int scale,
                              int rate) {
    const sweep_config *c = &r->sweep->config;
    if (bad->run->row_count == 0) return;
    for (int k = 0; k < c->scale_count; k++) {
        const seed_group *good = group_at(r, d_k, k, rate);
        if (k == scale || good->verdict != TRAINED) continue;
        print_comparison(to, r, bad, good);
        break;
    }
    for (int i = 0; i < c->rate_count; i++) {
        const seed_group *good = group_at(r, d_k, scale, i);
        if (i == rate || good->verdict != TRAINED) continue;
        print_comparison(to, r, bad, good);
        break;
    }
}

static void print_findings(FILE *to, const void *context) {
    const report *r = context;
    const sweep_config *c = &r->sweep->config;
    for (int i = 0; i < c->rate_count; i++) print_verdict_sentence(to, r, i);
    print_early_sentence(to, r);
    print_gradient_sentence(to, r);
    for (int k = 0; k < c->scale_count; k++) {
        int d_k = 0, rate = 0;
        const seed_group *worst = worst_of(r, k, &d_k, &rate);
        if (!worst) continue;
        print_state_sentence(to, r, worst, rate);
        print_comparisons(to, r, worst, d_k, k, rate);
    }
}

void findings_say(FILE *to, const report *r) {
    text_flow_from(to, print_findings, r, 0);
}

#include "gradcheck/foreign.h"

#include <math.h>
#include <string.h>

#include "common/csv.h"
#include "common/text.h"
#include "gradcheck/diagnosis.h"
#include "heads/input.h"
#include "heads/numbering.h"

static const char *verdict_word(tt_gradcheck_verdict v) {
    static const char *const WORDS[] = {"PASS", "FAIL", "INCONCLUSIVE"};
    return WORDS[v];
}

/* ---- The files ------------------------------------------------------------------------------- */

static bool same_shape(const array *a, const array *b) {
    bool same = a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++) same = a->dim[d] == b->dim[d];
    return same;
}

/* Those that were given, of the shapes of what they are the gradients of. */
static bool read_given(const foreign_request *r, const head_files *f, array file[HEAD_GRADIENTS]) {
    for (int i = 0; i < HEAD_GRADIENTS; i++) {
        const char *path = r->given->path[i];
        const array *shape = head_gradient_shape(f, i);
        char a[SHAPE_BYTES], b[SHAPE_BYTES], hint[NUMBERING_HINT];
        if (!path[0]) continue;
        if (!input_read(path, ARRAY_ALLOW_NONFINITE | head_paths_accept(r->paths), &file[i]))
            return false;
        if (same_shape(&file[i], shape)) continue;
        (void)numbering_hint(hint, &file[i], shape, true);
        if (!hint[0]) (void)numbering_hint(hint, &file[i], shape, false);
        return complain("%s: shape %s; expected %s, as %s is the gradient of it%s", path,
                        array_shape(a, &file[i]), array_shape(b, shape), head_gradient_name(i),
                        hint);
    }
    return true;
}

/* ---- The format ------------------------------------------------------------------------------ */

enum { FULL_DIGITS = 16 }; /* fewer do not tell doubles apart */

static number_list list_of(const array *a) {
    return (number_list){a->data, array_count(a)};
}

/* The format of the widest file: what its type or its digits can hold; of two bytes, the coarser
 * where both are there. */
static const number_format *format_of_files(const array *file, int *digits) {
    int bytes = 0;
    bool bfloats = false;
    *digits = 0;
    for (int i = 0; i < HEAD_GRADIENTS; i++) {
        if (!file[i].data) continue;
        const bool few = file[i].digits > 0 && file[i].digits < FULL_DIGITS;
        if (few && file[i].digits > *digits) *digits = file[i].digits;
        const int size = few ? 4 : file[i].item_bytes;
        if (size > bytes) bytes = size;
        bfloats = bfloats || file[i].kind == ARRAY_BFLOATS;
    }
    if (bytes == 2 && bfloats) return format_find("bfloat16");
    return format_find(bytes == 2 ? "float16" : bytes == 4 ? "float32" : "float64");
}

/* Where single tensors hold a narrower format's numbers only, that is said: it was not used. */
static void say_disagreement(FILE *table, const array *file, const head_gradients *ours,
                             const number_format *used) {
    for (int i = 0; i < HEAD_GRADIENTS; i++) {
        if (!file[i].data) continue;
        const number_list given = list_of(&file[i]),
                          mine = {ours->of[i].data, tt_tensor_count(ours->of[i])};
        const number_format *own = format_detect(&given, &mine, 1);
        if (own && own != used && own->bits < used->bits)
            text_line(table, 4,
                      "All values of %s are %s numbers, those of all files together are not; "
                      "--precision %s judges by it.",
                      head_gradient_name(i), own->name, own->name);
    }
}

static const number_format *choose_format(const foreign_request *r, const array *file,
                                          const head_gradients *ours, FILE *table) {
    number_list given[HEAD_GRADIENTS], mine[HEAD_GRADIENTS];
    int lists = 0, digits;
    tt_size values = 0;
    for (int i = 0; i < HEAD_GRADIENTS; i++) {
        if (!file[i].data) continue;
        given[lists] = list_of(&file[i]);
        mine[lists] = (number_list){ours->of[i].data, tt_tensor_count(ours->of[i])};
        values += given[lists++].count;
    }
    const number_format *by_files = format_of_files(file, &digits);
    const number_format *found = format_detect(given, mine, lists);
    if (r->format) {
        text_line(table, 4, "Judged as %s, as asked for.", r->format->name);
        return r->format;
    }
    if (found && found->bits <= by_files->bits) {
        text_line(table, 4, "Judged as %s: all %td given values are %s numbers.", found->name,
                  values, found->name);
        say_disagreement(table, file, ours, found);
        return found;
    }
    if (digits > 0)
        text_line(table, 4, "Judged as %s: a CSV has %d significant digits.", by_files->name,
                  digits);
    else
        text_line(table, 4, "Judged as %s, the files' type.", by_files->name);
    say_disagreement(table, file, ours, by_files);
    return by_files;
}

/* What one rounding of the inputs to the format, or to a file's digits, takes from them. */
static double input_unit(const head_files *f, const number_format *format) {
    const array *const inputs[] = {&f->q, &f->k, &f->v, &f->d_out};
    double unit = 0;
    for (int i = 0; i < 4; i++) {
        const array *a = inputs[i];
        bool held = true;
        for (tt_size n = 0; held && n < array_count(a); n++)
            held = !isfinite(a->data[n]) || format_holds(format, a->data[n]);
        if (!held) unit = fmax(unit, format->unit);
        if (a->digits > 0 && a->digits < FULL_DIGITS)
            unit = fmax(unit, array_half_digit(a, 1)); /* of a number of 1.00..., relative */
    }
    return unit;
}

/* ---- The report ------------------------------------------------------------------------------ */

static void csv_row(FILE *csv, int which, const char *head, const tally *t, double ours,
                    double given, const char *place) {
    (void)fprintf(csv, "%s,%s,%s,%td,%td,%td,%td", head_gradient_name(which), head,
                  verdict_word(tally_verdict(t)), t->count, t->passed, t->failed, t->inconclusive);
    csv_known(csv, t->confirmed);
    (void)fprintf(csv, ",%s", place);
    csv_number(csv, ours);
    csv_number(csv, given);
    csv_number(csv, t->worst_bound);
    (void)fputc('\n', csv);
}

/* "[0 1 2 3]" from "[0,1,2,3]": no comma in a CSV's cell. */
static const char *place_of(char buffer[SHAPE_BYTES], const array *a, tt_size i) {
    (void)array_place(buffer, a, i);
    for (char *at = buffer; *at; at++)
        if (*at == ',') *at = ' ';
    return buffer;
}

static void say_tensor(FILE *table, const given_gradient *g, const tally *t, double ours,
                       const number_format *format) {
    char place[SHAPE_BYTES], confirmed[64] = "";
    const double given = g->file->data[t->worst];
    if (!isnan(t->confirmed))
        (void)snprintf(confirmed, sizeof confirmed, ", to %.1g in the median", t->confirmed);
    text_line(table, 4, "%s %s: %.3g %% of %td elements confirmed%s; %td FAIL, %td INCONCLUSIVE",
              verdict_word(tally_verdict(t)), head_gradient_name(g->which),
              100 * (double)t->passed / (double)t->count, t->count, confirmed, t->failed,
              t->inconclusive);
    if (t->failed == 0) return;
    if (isfinite(given))
        text_line(table, 4, "  worst at %s: given %.10g, ours %.10g, off by %.2g, allowed %.2g",
                  array_place(place, g->file, t->worst), given, ours, fabs(given - ours),
                  t->worst_bound);
    else
        text_line(table, 4, "  at %s: given %s, ours %.10g (an overflow? the largest %s is %.5g)",
                  array_place(place, g->file, t->worst), array_nonfinite(given), ours, format->name,
                  format->most);
}

/* The tensor's line and rows: all of it, then each head. */
static bool report_tensor(const expectation *e, const given_gradient *g,
                          const number_format *format, FILE *csv, FILE *table,
                          tt_gradcheck_verdict *verdict) {
    const tt_tensor ours = e->ours.of[g->which];
    const tt_size size = ours.rows * ours.cols;
    char place[SHAPE_BYTES], head[32];
    for (tt_size h = -1; h < ours.batch; h++) {
        tally t;
        const tt_size first = h < 0 ? 0 : h * size, count = h < 0 ? ours.batch * size : size;
        if (!judge_elements(e, g, first, count, &t)) return complain("gradcheck: out of memory");
        (void)snprintf(head, sizeof head, "%td", h);
        csv_row(csv, g->which, h < 0 ? "all" : head, &t, ours.data[t.worst], g->file->data[t.worst],
                place_of(place, g->file, t.worst));
        if (h >= 0) continue;
        say_tensor(table, g, &t, ours.data[t.worst], format);
        *verdict = tally_verdict(&t);
    }
    return true;
}

/* FAIL before INCONCLUSIVE before PASS. */
static tt_gradcheck_verdict worse(tt_gradcheck_verdict a, tt_gradcheck_verdict b) {
    if (a == TT_GRADCHECK_FAIL || b == TT_GRADCHECK_FAIL) return TT_GRADCHECK_FAIL;
    return a == TT_GRADCHECK_PASS ? b : a;
}

static bool ours_are_finite(const head_files *f, const head_gradients *ours) {
    char place[SHAPE_BYTES];
    for (int i = 0; i < HEAD_GRADIENTS; i++)
        for (tt_size n = 0; n < tt_tensor_count(ours->of[i]); n++)
            if (!isfinite(ours->of[i].data[n]))
                return complain("%s: our own gradient at %s is %s: the inputs are too large for "
                                "float64, so there is no verdict",
                                head_gradient_name(i),
                                array_place(place, head_gradient_shape(f, i), n),
                                array_nonfinite(ours->of[i].data[n]));
    return true;
}

static bool judge_all(const foreign_request *r, const head_files *f, const array *file,
                      const precision *p, const expectation *e, FILE *csv, FILE *table,
                      tt_gradcheck_verdict *verdict) {
    *verdict = TT_GRADCHECK_PASS;
    (void)fputs("tensor,head,verdict,elements,pass,fail,inconclusive,confirmed_to,worst_at,ours,"
                "given,allowed_error\n",
                csv);
    for (int i = 0; i < HEAD_GRADIENTS; i++) {
        const given_gradient g = {i, &file[i], r->rtol};
        tt_gradcheck_verdict own = TT_GRADCHECK_PASS;
        if (!file[i].data) continue;
        if (!report_tensor(e, &g, p->format, csv, table, &own)) return false;
        *verdict = worse(*verdict, own);
    }
    text_line(table, 0,
              *verdict == TT_GRADCHECK_PASS   ? "PASS: no element is wrong, as far as %s can tell"
              : *verdict == TT_GRADCHECK_FAIL ? "FAIL: an element is further off than %s explains"
                                              : "INCONCLUSIVE: %s cannot hold what would tell",
              p->format->name);
    if (*verdict == TT_GRADCHECK_FAIL) diagnose(f, r->rule, p, file, e, table);
    return true;
}

int foreign_check(const foreign_request *r, FILE *csv, FILE *table, tt_gradcheck_verdict *verdict) {
    head_files f;
    array file[HEAD_GRADIENTS] = {{0}};
    head_gradients ours = {{{0, 0, 0, NULL}}};
    expectation e = {.idle = {NULL}};
    int code = head_files_read(r->paths, r->mask, &f);
    if (code != EXIT_OK) return code;
    const tt_tensor d_out = tt_tensor_view(f.d_out.data, f.batch * f.heads, f.queries, f.d_v);
    bool good = head_files_fit(&f, HEAD_MATRICES) && read_given(r, &f, file) &&
                head_gradients_compute(&ours, &f, &r->rule->rule, d_out, NULL) &&
                ours_are_finite(&f, &ours);
    if (good) {
        precision p = {choose_format(r, file, &ours, table), 0};
        p.input_unit = input_unit(&f, p.format);
        if (p.input_unit > 0)
            text_line(table, 4,
                      "Q, K, V or dO are no %s numbers: they may have been rounded to "
                      "%.1g of themselves first.",
                      p.format->name, p.input_unit);
        good = expectation_new(&e, &f, &r->rule->rule, &p) &&
               judge_all(r, &f, file, &p, &e, csv, table, verdict);
    }
    expectation_free(&e);
    head_gradients_free(&ours);
    for (int i = 0; i < HEAD_GRADIENTS; i++) array_free(&file[i]);
    head_files_free(&f);
    return good ? EXIT_OK : EXIT_FAILED;
}

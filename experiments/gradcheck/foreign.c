#include "gradcheck/foreign.h"

#include <math.h>

#include "common/csv.h"
#include "common/message.h"
#include "common/output.h"
#include "common/text.h"
#include "heads/array_file.h"
#include "heads/head_gradients.h"

/* ---- Comparing ------------------------------------------------------------------------------- */

static double default_rtol(int item_bytes) {
    if (item_bytes == 2) return 1e-2;
    return item_bytes == 4 ? 1e-5 : 1e-12;
}

typedef struct comparison {
    tt_size count, differ, worst;
    double rtol, largest, excess; /* the worst error over what is allowed there */
} comparison;

static comparison compare(tt_tensor ours, const array *theirs, double rtol) {
    comparison c = {.count = tt_tensor_count(ours)};
    c.rtol = rtol > 0 ? rtol : default_rtol(theirs->item_bytes);
    for (tt_size i = 0; i < c.count; i++) c.largest = fmax(c.largest, fabs(ours.data[i]));
    for (tt_size i = 0; i < c.count; i++) {
        double allowed = c.rtol * (fabs(ours.data[i]) + c.largest);
        double error = fabs(ours.data[i] - theirs->data[i]);
        double excess = error == 0 ? 0 : error / allowed;
        if (excess > c.excess) {
            c.excess = excess;
            c.worst = i;
        }
        c.differ += excess > 1;
    }
    return c;
}

static bool same_shape(const array *a, const array *b) {
    bool same = a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++) same = a->dim[d] == b->dim[d];
    return same;
}

static void report(FILE *csv, FILE *table, int which, const comparison *c, tt_tensor ours,
                   const array *theirs) {
    const double mine = ours.data[c->worst], its = theirs->data[c->worst];
    const double allowed = c->rtol * (fabs(mine) + c->largest);
    char place[SHAPE_BYTES];
    (void)fprintf(csv, "%s,%td,%td,%td", head_gradient_name(which), c->count, c->differ, c->worst);
    csv_number(csv, mine);
    csv_number(csv, its);
    csv_number(csv, allowed);
    (void)fputc('\n', csv);
    text_line(table, 4,
              "%s %s: %td of %td elements differ; worst at %s: given %.10g, ours %.10g, off by "
              "%.2g, allowed %.2g (rtol %.0e)",
              c->differ ? "FAIL" : "PASS", head_gradient_name(which), c->differ, c->count,
              array_place(place, theirs, c->worst), its, mine, fabs(mine - its), allowed, c->rtol);
}

/* ---- The files ------------------------------------------------------------------------------- */

/* Who compares: where to, and by which tolerance. */
typedef struct comparer {
    double rtol;
    FILE *csv, *table;
    bool differs; /* an element did */
} comparer;

/* Reads one gradient file and compares it. False on a bad file. */
static bool compare_file(comparer *to, const char *path, int which, const array *shape,
                         tt_tensor ours) {
    array theirs;
    char error[ARRAY_ERROR_SIZE], a[SHAPE_BYTES], b[SHAPE_BYTES];
    output_protect(path);
    if (!array_file_read(path, ARRAY_FINITE_FLOATS, &theirs, error, sizeof error))
        return complain("%s", error);
    bool fits = same_shape(&theirs, shape);
    if (fits) {
        comparison c = compare(ours, &theirs, to->rtol);
        report(to->csv, to->table, which, &c, ours, &theirs);
        to->differs = to->differs || c.differ > 0;
    } else {
        (void)complain("%s: shape %s; expected %s, as %s is the gradient of it", path,
                       array_shape(a, &theirs), array_shape(b, shape), head_gradient_name(which));
    }
    array_free(&theirs);
    return fits;
}

int foreign_check(const head_paths *paths, const mask_request *mask, const gradient_paths *given,
                  const tt_scale_rule *rule, double rtol, FILE *csv, FILE *table, bool *differs) {
    head_files f;
    head_gradients ours;
    comparer to = {rtol, csv, table, false};
    int code = head_files_read(paths, mask, &f);
    if (code != EXIT_OK) return code;
    const tt_tensor d_out = tt_tensor_view(f.d_out.data, f.batch * f.heads, f.queries, f.d_v);
    bool good = head_gradients_compute(&ours, &f, rule, d_out);
    (void)fputs("tensor,elements,differ,worst_index,ours,given,allowed_error\n", csv);
    for (int i = 0; i < HEAD_GRADIENTS && good; i++)
        if (given->path[i][0])
            good = compare_file(&to, given->path[i], i, head_gradient_shape(&f, i), ours.of[i]);
    head_gradients_free(&ours);
    head_files_free(&f);
    *differs = to.differs;
    return good ? EXIT_OK : EXIT_FAILED;
}

#include "heads/numbering.h"

#include <stdio.h>
#include <string.h>

#include "common/message.h"

static bool counts(const array *a, ptrdiff_t count, ptrdiff_t step, ptrdiff_t least) {
    bool good = a->kind == ARRAY_TEXT && a->data && count >= least;
    for (ptrdiff_t i = 0; good && i < count; i++) good = a->data[i * step] == (double)i;
    return good;
}

bool numbering_row(const array *a, ptrdiff_t least) {
    return counts(a, a->dim[1], 1, least);
}

bool numbering_column(const array *a, ptrdiff_t least) {
    return counts(a, a->dim[0], a->dim[1], least);
}

const char *numbering_hint(char buffer[NUMBERING_HINT], const array *a, const array *b, bool rows) {
    const int from_end = rows ? 2 : 1;
    buffer[0] = '\0';
    if (a->ndim < from_end || b->ndim < from_end) return buffer;
    const ptrdiff_t more = a->dim[a->ndim - from_end] - b->dim[b->ndim - from_end];
    const array *larger = more == 1 ? a : b;
    if ((more == 1 || more == -1) &&
        (rows ? numbering_row : numbering_column)(larger, NUMBERING_SIGN))
        (void)snprintf(buffer, NUMBERING_HINT,
                       " (the first %s of the larger counts 0, 1, ...: pandas? " ARRAY_PANDAS ")",
                       rows ? "row" : "column");
    return buffer;
}

void numbering_warn(const char *const *paths, const array *const *arrays, int count) {
    const bool rows = numbering_row(arrays[0], NUMBERING_SIGN) &&
                      numbering_row(arrays[1], NUMBERING_SIGN),
               columns = numbering_column(arrays[0], NUMBERING_SIGN) &&
                         numbering_column(arrays[1], NUMBERING_SIGN);
    char list[1024] = "";
    for (int i = 0; i < count; i++) {
        const bool row = numbering_row(arrays[i], rows ? NUMBERING_SIGN : NUMBERING_SURE),
                   column = numbering_column(arrays[i], columns ? NUMBERING_SIGN : NUMBERING_SURE);
        const size_t used = strlen(list);
        if (row || column)
            (void)snprintf(list + used, sizeof list - used, "%s%s (first %s)", used ? ", " : "",
                           paths[i],
                           row && column ? "row and column"
                           : row         ? "row"
                                         : "column");
    }
    if (list[0])
        (void)complain("warning: 0, 1, 2, ... in %s: read as numbers; if pandas wrote them as "
                       "names, use " ARRAY_PANDAS,
                       list);
}

#include "common/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *csv_format(char buffer[NUMBER_BYTES], double x) {
    if (!isfinite(x)) {
        (void)snprintf(buffer, NUMBER_BYTES, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
        return buffer;
    }
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(buffer, NUMBER_BYTES, "%.*g", digits, x);
        if (digits == 17 || strtod(buffer, NULL) == x) break;
    }
    /* The point is the only character of a %g number that a locale can change. */
    size_t lead = strspn(buffer, "-0123456789");
    size_t rest = lead + strcspn(buffer + lead, "0123456789e");
    if (rest > lead) {
        buffer[lead] = '.';
        memmove(buffer + lead + 1, buffer + rest, strlen(buffer + rest) + 1);
    }
    return buffer;
}

void csv_number(FILE *to, double x) {
    char number[NUMBER_BYTES];
    (void)fprintf(to, ",%s", csv_format(number, x));
}

void csv_known(FILE *to, double x) {
    if (isnan(x))
        (void)fputc(',', to);
    else
        csv_number(to, x);
}

void csv_text(FILE *to, const char *text) {
    const char *quote = strpbrk(text, ",\"\r\n") ? "\"" : "";
    (void)fprintf(to, ",%s", quote);
    for (; *text; text++) {
        if (*text == '"') (void)fputc('"', to);
        (void)fputc(*text, to);
    }
    (void)fputs(quote, to);
}

bool csv_read(const char **at, double *out) {
    char *end;
    *out = strtod(*at, &end);
    bool good = end != *at && (*end == ',' || *end == '\n' || *end == '\0');
    *at = *end == ',' ? end + 1 : end;
    return good;
}

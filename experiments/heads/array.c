#include "heads/array.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void array_free(array *a) {
    free(a->data);
    *a = (array){0};
}

ptrdiff_t array_count(const array *a) {
    ptrdiff_t count = 1;
    for (int i = 0; i < a->ndim; i++) count *= a->dim[i];
    return count;
}

/* "[1,2,3]" of these numbers. */
static const char *bracketed(char buffer[SHAPE_BYTES], int count, const ptrdiff_t *number) {
    int used = 0;
    for (int i = 0; i < count; i++)
        used += snprintf(buffer + used, (size_t)(SHAPE_BYTES - used), "%s%td", i ? "," : "[",
                         number[i]);
    (void)snprintf(buffer + used, (size_t)(SHAPE_BYTES - used), "]");
    return buffer;
}

const char *array_shape(char buffer[SHAPE_BYTES], const array *a) {
    return bracketed(buffer, a->ndim, a->dim);
}

const char *array_place(char buffer[SHAPE_BYTES], const array *a, ptrdiff_t i) {
    ptrdiff_t index[ARRAY_MAX_DIMS];
    for (int d = a->ndim - 1; d >= 0; i /= a->dim[d--]) index[d] = i % a->dim[d];
    return bracketed(buffer, a->ndim, index);
}

double array_half_digit(const array *a, double x) {
    enum { SHOWN = 40 }; /* digits that fit in the text; more say nothing of the exponent */
    char text[64];
    int exponent = -a->decimals;
    if (a->digits == 0 || !isfinite(x) || (x == 0 && a->decimals < 0)) return 0;
    if (a->decimals < 0) {
        (void)snprintf(text, sizeof text, "%.*e", (a->digits < SHOWN ? a->digits : SHOWN) - 1, x);
        exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10) - (a->digits - 1);
    }
    (void)snprintf(text, sizeof text, "0.5e%d", exponent);
    return strtod(text, NULL);
}

const char *array_nonfinite(double x) {
    return isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
}

bool array_fail(char *error, size_t error_size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, error_size, format, arguments);
    va_end(arguments);
    return false;
}

void array_quote(char *out, size_t out_size, const char *text, size_t length) {
    size_t kept = length < out_size ? length : out_size - 1;
    for (size_t i = 0; i < kept; i++) out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    out[kept] = '\0';
    if (kept < length && kept >= 3) memcpy(out + kept - 3, "...", 3);
}

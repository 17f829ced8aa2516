/* npy.c: a file is data from elsewhere, so the reader believes nothing that the header says until
 * it has been compared with the bytes there.
 */
#include "heads/npy.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAGIC_BYTES = 6,
    VERSION_END = 8,    /* magic, major, minor */
    HEADER_BYTES = 128, /* as written: see format_header */
    PARSED_DIMS = 64,   /* more than any numpy array has */
    SHAPE_TEXT = SHAPE_BYTES
};

/* One file on its way from bytes to an array. */
typedef struct reader {
    const unsigned char *bytes;
    size_t first, length; /* how many of the file's bytes are here, and how many it has */
    unsigned accept;      /* enum array_accept */
    char *error;
    size_t error_size;
    const char *at; /* what is left of the header's text */
    const char *end;
    char descr[24];
    char kind; /* 'f', 'b', 'i', 'u'; 'V' for bfloat16 */
    int item_bytes;
    bool big_endian;
    bool fortran_order;
    int ndim; /* as claimed: may exceed what dim holds until check_size */
    ptrdiff_t dim[ARRAY_MAX_DIMS];
} reader;

static const char magic[] = "\x93NUMPY";
static const size_t most_items = PTRDIFF_MAX / sizeof(double);

/* Writes a shape as Python does: (8, 96, 8), and (3,) for one dimension. */
static void format_shape(char out[SHAPE_TEXT], int ndim, const ptrdiff_t *dim) {
    int used = snprintf(out, SHAPE_TEXT, "(%td%s", dim[0], ndim == 1 ? "," : "");
    for (int i = 1; i < ndim; i++)
        used += snprintf(out + used, (size_t)(SHAPE_TEXT - used), ", %td", dim[i]);
    snprintf(out + used, (size_t)(SHAPE_TEXT - used), ")");
}

static void skip_space(reader *in) {
    while (in->at < in->end && (*in->at == ' ' || (*in->at >= '\t' && *in->at <= '\r'))) in->at++;
}

/* Skips white space, then takes the word if it comes next. */
static bool take(reader *in, const char *word) {
    skip_space(in);
    size_t length = strlen(word);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length) != 0) return false;
    in->at += length;
    return true;
}

/* Takes a quoted Python string; no name in this format needs an escape. */
static bool take_string(reader *in, char *out, size_t out_size) {
    char quote = take(in, "'") ? '\'' : '"';
    if (quote == '"' && !take(in, "\"")) return false;
    const char *start = in->at;
    while (in->at < in->end && *in->at != quote && *in->at != '\\' && *in->at != '\n') in->at++;
    array_quote(out, out_size, start, (size_t)(in->at - start));
    if (in->at == in->end || *in->at != quote) return false;
    in->at++;
    return true;
}

/* Takes a whole number; Python 2 may have written it with an L. */
static bool take_dimension(reader *in, ptrdiff_t *value) {
    skip_space(in);
    const char *start = in->at;
    *value = 0;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9') {
        int digit = *in->at - '0';
        if (*value > (PTRDIFF_MAX - digit) / 10) return false;
        *value = *value * 10 + digit;
        in->at++;
    }
    ptrdiff_t digits = in->at - start;
    if (in->at < in->end && *in->at == 'L') in->at++;
    return digits == 1 || (digits > 1 && *start != '0');
}

/* The parse_ functions return NULL, or what is wrong at the place that they reached. */
static const char *parse_descr(reader *in) {
    if (take(in, "[") || take(in, "(")) return "structured dtype; expected plain floats";
    bool taken = take_string(in, in->descr, sizeof in->descr);
    return taken ? NULL : "expected a quoted dtype as 'descr'";
}

static const char *parse_order(reader *in) {
    in->fortran_order = take(in, "True");
    bool taken = in->fortran_order || take(in, "False");
    return taken ? NULL : "expected True or False as 'fortran_order'";
}

static const char *parse_shape(reader *in) {
    bool comma = true;
    if (!take(in, "(")) return "expected a tuple as 'shape'";
    while (!take(in, ")")) {
        ptrdiff_t value;
        if (!comma) return "expected ',' or ')' in 'shape'";
        if (!take_dimension(in, &value)) return "expected a dimension from 0 to the largest size";
        if (in->ndim == PARSED_DIMS) return "too many dimensions";
        if (in->ndim < ARRAY_MAX_DIMS) in->dim[in->ndim] = value;
        in->ndim++;
        comma = take(in, ",");
    }
    return in->ndim == 1 && !comma ? "expected a tuple as 'shape', not a number" : NULL;
}

/* Parses the header, a Python dictionary with exactly three keys in any order. */
static const char *parse_header(reader *in) {
    static const struct {
        const char *key;
        const char *(*parse)(reader *);
    } entry[] = {{"descr", parse_descr}, {"fortran_order", parse_order}, {"shape", parse_shape}};
    bool seen[3] = {false, false, false};
    bool comma = true;
    if (!take(in, "{")) return "expected '{'";
    while (!take(in, "}")) {
        char key[24];
        int i = 0;
        if (!comma) return "expected ',' or '}'";
        if (!take_string(in, key, sizeof key)) return "expected a quoted key";
        while (i < 3 && strcmp(key, entry[i].key) != 0) i++;
        if (i == 3) return "unknown key; expected 'descr', 'fortran_order' and 'shape'";
        if (seen[i]) return "a key is given twice; expected it once";
        if (!take(in, ":")) return "expected ':' after a key";
        const char *problem = entry[i].parse(in);
        if (problem) return problem;
        seen[i] = true;
        comma = take(in, ",");
    }
    if (!seen[0] || !seen[1] || !seen[2]) return "expected 'descr', 'fortran_order' and 'shape'";
    skip_space(in);
    return in->at == in->end ? NULL : "expected only padding after '}'";
}

/* Finds the header's text from magic, version and length field. */
static bool find_header(reader *in) {
    size_t known = in->length < MAGIC_BYTES ? in->length : MAGIC_BYTES;
    if (known == 0 || memcmp(in->bytes, magic, known) != 0)
        return array_fail(in->error, in->error_size,
                          "does not start with the bytes \\x93NUMPY; expected a .npy file");
    int major = in->length >= VERSION_END ? in->bytes[MAGIC_BYTES] : 1;
    int minor = in->length >= VERSION_END ? in->bytes[MAGIC_BYTES + 1] : 0;
    if (major < 1 || major > 3 || minor != 0)
        return array_fail(in->error, in->error_size,
                          ".npy format version %d.%d; expected 1.0, 2.0 or 3.0", major, minor);
    size_t start = VERSION_END + (major == 1 ? 2 : 4);
    if (in->length < start)
        return array_fail(in->error, in->error_size,
                          "truncated: the start of a .npy file needs %zu bytes, the file has %zu",
                          start, in->length);
    uint32_t text = 0;
    for (size_t i = start; i > VERSION_END; i--) text = text << 8 | in->bytes[i - 1];
    if (text > in->length - start)
        return array_fail(in->error, in->error_size,
                          "truncated: the header needs %llu bytes, the file has %zu",
                          (unsigned long long)start + text, in->length);
    if (text > in->first - start)
        return array_fail(in->error, in->error_size,
                          "a header of %llu bytes; expected one within the first %zu",
                          (unsigned long long)start + text, in->first);
    in->at = (const char *)in->bytes + start;
    in->end = in->at + text;
    return true;
}

static const char *kind_name(char kind) {
    switch (kind) {
    case 'b':
        return "boolean";
    case 'i':
    case 'u':
        return "integer";
    case 'f':
        return "float of another size or byte order";
    case 'c':
        return "complex";
    case 'O':
        return "Python object";
    case 'S':
    case 'U':
        return "text";
    case 'V':
        return "raw bytes";
    default:
        return "no number";
    }
}

static bool this_machine_is_big_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

/* Whether descr, of two bytes a number, can be what a framework's bfloat16 becomes in numpy: raw
 * bytes or, viewed as such, uint16. In a file of integers the latter are themselves. */
static bool may_be_bfloat16(const reader *in, char kind, int size) {
    return size == 2 && (kind == 'V' || (kind == 'u' && !(in->accept & ARRAY_ALLOW_INTEGERS)));
}

static bool refuse_dtype(const reader *in, char kind, int size) {
    const bool integers = (in->accept & ARRAY_ALLOW_INTEGERS) != 0;
    if (may_be_bfloat16(in, kind, size))
        return array_fail(in->error, in->error_size,
                          "dtype '%s' (%s); if it is bfloat16, say --bf16", in->descr,
                          kind_name(kind));
    return array_fail(in->error, in->error_size,
                      "dtype '%s' (%s); expected '<f2', '<f4', '<f8' or big-endian%s", in->descr,
                      kind_name(kind), integers ? ", boolean or integer" : "");
}

/* Interprets descr: byte order, kind and size, such as <f4. */
static bool read_dtype(reader *in) {
    const char *descr = in->descr;
    bool integers = (in->accept & ARRAY_ALLOW_INTEGERS) != 0;
    bool formed = strlen(descr) == 3 && strchr("<>|=", descr[0]) && strchr("1248", descr[2]);
    char kind = strlen(descr) > 1 ? descr[1] : '\0';
    int size = formed ? descr[2] - '0' : 0;
    bool bfloat16 = (in->accept & ARRAY_BFLOAT16) && may_be_bfloat16(in, kind, size);
    bool number = kind == 'f' && size >= 2;
    if (integers) number = number || kind == 'i' || kind == 'u' || (kind == 'b' && size == 1);
    if (size < 1 || (!bfloat16 && (!number || (descr[0] == '|' && size > 1))))
        return refuse_dtype(in, kind, size);
    in->kind = bfloat16 ? 'V' : kind;
    in->item_bytes = size;
    in->big_endian = descr[0] == '>' || (descr[0] == '=' && this_machine_is_big_endian());
    return true;
}

/* Compares what the shape claims with the bytes after the header; gives the count of items, which
 * is 0 after an error. */
static size_t check_size(const reader *in) {
    int least = in->accept & ARRAY_ALLOW_INTEGERS ? 1 : 2;
    if (in->ndim < least || in->ndim > ARRAY_MAX_DIMS)
        return array_fail(in->error, in->error_size, "%d dimensions; expected %d to %d%s", in->ndim,
                          least, ARRAY_MAX_DIMS, least == 2 ? ": [T,d], [H,T,d] or [B,H,T,d]" : "");
    char shape[SHAPE_TEXT];
    format_shape(shape, in->ndim, in->dim);
    size_t count = 1;
    for (int i = 0; i < in->ndim; i++) {
        if (in->dim[i] == 0)
            return array_fail(in->error, in->error_size,
                              "shape %s is empty; expected dimensions of at least 1", shape);
        if ((size_t)in->dim[i] > most_items / count)
            return array_fail(in->error, in->error_size,
                              "shape %s overflows; expected what fits in a file of %zu bytes",
                              shape, in->length);
        count *= (size_t)in->dim[i];
    }
    size_t start = (size_t)(in->end - (const char *)in->bytes);
    size_t needed = start + count * (size_t)in->item_bytes;
    if (needed == in->length) return count;
    return array_fail(in->error, in->error_size,
                      "%s: shape %s of '%s' needs %zu bytes, the file has %zu",
                      needed > in->length ? "truncated" : "bytes after the array", shape, in->descr,
                      needed, in->length);
}

/* IEEE 754 binary16 has no C type: widened by hand, exactly, subnormals and nan included. */
static double half_to_double(uint64_t bits) {
    uint64_t sign = bits >> 15, exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 0) return (sign ? -1.0 : 1.0) * ((double)fraction * 0x1p-24);
    uint64_t wide = exponent == 31 ? 2047 : exponent - 15 + 1023;
    uint64_t result = sign << 63 | wide << 52 | fraction << 42;
    double value;
    memcpy(&value, &result, sizeof value);
    return value;
}

static double single_to_double(uint64_t bits) {
    uint32_t narrow = (uint32_t)bits;
    float single;
    memcpy(&single, &narrow, sizeof single);
    return (double)single;
}

static double decode_float(uint64_t bits, int item_bytes) {
    if (item_bytes == 2) return half_to_double(bits);
    if (item_bytes == 4) return single_to_double(bits);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double decode_item(const reader *in, const unsigned char *item) {
    uint64_t bits = 0;
    for (int i = 0; i < in->item_bytes; i++)
        bits = bits << 8 | item[in->big_endian ? i : in->item_bytes - 1 - i];
    switch (in->kind) {
    case 'b':
        return bits != 0;
    case 'u':
        return (double)bits;
    case 'V': /* the upper half of a single */
        return single_to_double(bits << 16);
    case 'i': {
        const uint64_t sign = (uint64_t)1 << (8 * in->item_bytes - 1);
        return bits & sign ? -(double)((sign << 1) - bits) : (double)bits;
    }
    default:
        return decode_float(bits, in->item_bytes);
    }
}

/* Decodes item after item of data in C order, wherever the stored order has it. */
static void decode_array(const reader *in, size_t count, double *data) {
    const unsigned char *from = (const unsigned char *)in->end;
    size_t stride[ARRAY_MAX_DIMS] = {0}, index[ARRAY_MAX_DIMS] = {0};
    size_t step = (size_t)in->item_bytes, offset = 0;
    for (int k = 0; k < in->ndim; k++) {
        int i = in->fortran_order ? k : in->ndim - 1 - k;
        stride[i] = step;
        step *= (size_t)in->dim[i];
    }
    for (size_t item = 0; item < count; item++) {
        data[item] = decode_item(in, from + offset);
        for (int i = in->ndim - 1; i >= 0; i--) {
            offset += stride[i];
            if (++index[i] < (size_t)in->dim[i]) break;
            offset -= stride[i] * index[i];
            index[i] = 0;
        }
    }
}

/* Names the first value that cannot be used: nan or inf, or an integer that a double may round. */
static bool check_values(const reader *in, size_t count, const double *data) {
    bool nonfinite_allowed = (in->accept & ARRAY_ALLOW_NONFINITE) != 0;
    size_t item = 0;
    const bool floats = in->kind == 'f' || in->kind == 'V';
    while (item < count &&
           (floats ? nonfinite_allowed || isfinite(data[item]) : fabs(data[item]) < 0x1p53))
        item++;
    if (item == count) return true;
    char place[SHAPE_BYTES];
    array a = {.ndim = in->ndim};
    memcpy(a.dim, in->dim, sizeof a.dim);
    (void)array_place(place, &a, (ptrdiff_t)item);
    if (!floats)
        return array_fail(in->error, in->error_size, "%.0f at %s; expected integers below 2^53",
                          data[item], place);
    return array_fail(in->error, in->error_size, "%s at %s; attention needs finite numbers",
                      array_nonfinite(data[item]), place);
}

/* Finds out from the header what the file has, and whether it has as much; gives the count of
 * items, which is 0 after an error. */
static size_t read_start(reader *in) {
    if (!find_header(in)) return 0;
    const char *problem = parse_header(in);
    if (problem)
        return array_fail(in->error, in->error_size, "bad .npy header at byte %td: %s",
                          in->at - (const char *)in->bytes, problem);
    return read_dtype(in) ? check_size(in) : 0;
}

static array_kind kind_of(const reader *in) {
    return in->kind == 'f' ? ARRAY_FLOATS : in->kind == 'V' ? ARRAY_BFLOATS : ARRAY_INTEGERS;
}

size_t npy_judge(const unsigned char *bytes, size_t first, size_t length, unsigned accept,
                 char *error, size_t error_size) {
    reader in = {.bytes = bytes,
                 .first = first,
                 .length = length,
                 .accept = accept,
                 .error = error,
                 .error_size = error_size};
    return read_start(&in);
}

bool npy_parse(const unsigned char *bytes, size_t length, unsigned accept, array *out, char *error,
               size_t error_size) {
    reader in = {.bytes = bytes,
                 .first = length,
                 .length = length,
                 .accept = accept,
                 .error = error,
                 .error_size = error_size};
    *out = (array){0};
    size_t count = read_start(&in);
    if (count == 0) return false;
    double *data = malloc(count * sizeof *data);
    if (!data) return array_fail(error, error_size, "no memory for %zu numbers", count);
    decode_array(&in, count, data);
    if (!check_values(&in, count, data)) {
        free(data);
        return false;
    }
    *out = (array){.ndim = in.ndim,
                   .data = data,
                   .kind = kind_of(&in),
                   .item_bytes = in.item_bytes,
                   .decimals = -1};
    memcpy(out->dim, in.dim, sizeof out->dim);
    return true;
}

/* Magic, version, length and dictionary as numpy.save has them. It pads to a multiple of 64, with
 * room for the first dimension to grow: 128 for every shape whose data fit in memory. */
static void format_header(char out[HEADER_BYTES], int ndim, const ptrdiff_t *dim) {
    enum { START = VERSION_END + 2, TEXT = HEADER_BYTES - START };
    char shape[SHAPE_TEXT];
    char text[TEXT + 1];
    format_shape(shape, ndim, dim);
    int used = snprintf(text, sizeof text,
                        "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape);
    memcpy(out, magic, MAGIC_BYTES);
    memcpy(out + MAGIC_BYTES, (const char[]){1, 0, TEXT, 0}, 4);
    memset(out + START, ' ', TEXT);
    memcpy(out + START, text, (size_t)used);
    out[HEADER_BYTES - 1] = '\n';
}

/* In little-endian bytes on every machine. */
static void write_item(FILE *to, double x) {
    unsigned char little[8];
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    for (int i = 0; i < 8; i++) little[i] = (unsigned char)(bits >> (8 * i) & 255);
    (void)fwrite(little, 1, sizeof little, to);
}

bool npy_write(FILE *to, int ndim, const ptrdiff_t *dim, const double *data) {
    size_t count = ndim >= 1 && ndim <= ARRAY_MAX_DIMS;
    for (int i = 0; count > 0 && i < ndim; i++)
        count = dim[i] >= 1 && (size_t)dim[i] <= most_items / count ? count * (size_t)dim[i] : 0;
    if (count == 0) return false;
    char header[HEADER_BYTES];
    format_header(header, ndim, dim);
    (void)fwrite(header, 1, HEADER_BYTES, to);
    for (size_t item = 0; item < count && !ferror(to); item++) write_item(to, data[item]);
    return true;
}

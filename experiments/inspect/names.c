#include "inspect/names.h"

#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/text.h"

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80 || (c && strchr("._-+=@#:~", c));
}

/* "layer4_q" of "dump/layer4_q.npy". */
static void print_stem(FILE *to, const char *path) {
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    const char *point = strrchr(from, '.'),
               *end = point && point > from ? point : strchr(from, '\0');
    for (; from < end; from++) (void)fputc(is_plain(*from) ? *from : '_', to);
}

static bool read_numbers(const options *o, int count, int64_t number[LIST_MOST]) {
    int given = 0;
    if (!options_int_list(o, "layers", 0, 1000000, number, &given)) return false;
    return given == count || complain("--layers '%s': %d numbers for %d files of --q; expected one "
                                      "for each",
                                      options_text(o, "layers"), given, count);
}

typedef struct named {
    const char *const *paths;
    const int64_t *number; /* NULL: the paths' stems are the names */
    int count;
} named;

/* All names, each with its end. */
static void print_names(FILE *to, const void *context) {
    const named *n = context;
    for (int i = 0; i < n->count; i++) {
        if (n->number)
            (void)fprintf(to, "%lld", (long long)n->number[i]);
        else
            print_stem(to, n->paths[i]);
        (void)fputc('\0', to);
    }
}

static bool all_differ(const char *const *paths, int count, const layer_names *names) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(names->name[i], names->name[j]) == 0)
                return complain("--q: %s and %s would both be layer %s; expected --layers with a "
                                "number for each file",
                                paths[j], paths[i], names->name[i]);
    return true;
}

bool layer_names_read(const options *o, const char *const *paths, int count, layer_names *out) {
    int64_t number[LIST_MOST];
    const bool given = options_given(o, "layers");
    out->text = NULL;
    if (given && !read_numbers(o, count, number)) return false;
    const named all = {paths, given ? number : NULL, count};
    size_t size;
    out->text = text_print(print_names, &all, &size);
    if (!out->text) return complain_of_memory();
    const char *at = out->text;
    for (int i = 0; i < count; i++, at = strchr(at, '\0') + 1) out->name[i] = at;
    return all_differ(paths, count, out);
}

void layer_names_free(layer_names *names) {
    free(names->text);
    names->text = NULL;
}

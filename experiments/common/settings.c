#include "common/settings.h"

#include <string.h>

#include "common/machine.h"
#include "common/quote.h"
#include "common/text.h"
#include "common/version.h"

static bool is_setting(const char *name) {
    static const char *const OTHERS[] = {"threads", "output", "force", "resume", "quiet", "shard"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (strcmp(name, OTHERS[i]) == 0) return false;
    return true;
}

static void print_settings(FILE *to, const void *context) {
    const options *o = context;
    (void)fprintf(to, "program = sqrtdk %s\n", o->command->name);
    for (int i = 0; i < o->command->count; i++) {
        const option_spec *s = &o->command->options[i];
        const char *value = !s->value && !o->text[i][0] ? "no" : o->text[i];
        if (!is_setting(s->name)) continue;
        (void)fprintf(to, "%s = ", s->name);
        quote_print(to, value, strlen(value));
        (void)fputc('\n', to);
    }
}

char *settings_describe(const options *o) {
    size_t size;
    return text_print(print_settings, o, &size);
}

static bool is_listed(const char *name, const char *const *list) {
    for (; *list; list++)
        if (strcmp(name, *list) == 0) return true;
    return false;
}

typedef struct given {
    const options *options;
    const char *const *but;
} given;

static void print_given(FILE *to, const void *context) {
    const given *g = context;
    const options *o = g->options;
    const char *between = "";
    for (int i = 0; i < o->command->count; i++) {
        const option_spec *s = &o->command->options[i];
        const char *value = o->text[i];
        if (!is_setting(s->name) || is_listed(s->name, g->but) || strcmp(value, s->standard) == 0)
            continue;
        (void)fprintf(to, "%s--%s%s", between, s->name, s->value ? " " : "");
        for (; s->value && *value; value++) (void)fputc(*value == ',' ? ' ' : *value, to);
        between = " ";
    }
}

char *settings_given(const options *o, const char *const *but) {
    const given g = {o, but};
    size_t size;
    return text_print(print_given, &g, &size);
}

const char *settings_version(void) {
    return SQRTDK_VERSION ", commit " SQRTDK_COMMIT;
}

void settings_record(FILE *to) {
    (void)fprintf(to, "results_version = %d\nversion = %s\ncommit = %s\n", (int)RESULTS_VERSION,
                  SQRTDK_VERSION, SQRTDK_COMMIT);
    machine_describe(to);
}

bool settings_threads(const options *o, int *threads) {
    int64_t value = machine_processors();
    if (options_given(o, "threads") && !options_int(o, "threads", 1, 1024, &value)) return false;
    *threads = (int)value;
    return true;
}

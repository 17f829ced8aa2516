#include "common/settings.h"

#include <stdlib.h>
#include <string.h>

#include "common/machine.h"
#include "common/version.h"

static bool is_setting(const char *name) {
    static const char *const OTHERS[] = {"threads", "output", "force", "resume", "quiet"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (strcmp(name, OTHERS[i]) == 0) return false;
    return true;
}

char *settings_describe(const options *o) {
    const command_spec *command = o->command;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) return NULL;
    (void)fprintf(to, "program = sqrtdk %s\n", command->name);
    for (int i = 0; i < command->count; i++) {
        const option_spec *s = &command->options[i];
        const char *value = o->text[i];
        if (is_setting(s->name))
            (void)fprintf(to, "%s = %s\n", s->name, !s->value && !value[0] ? "no" : value);
    }
    if (fclose(to) == 0) return text;
    free(text);
    return NULL;
}

static bool is_listed(const char *name, const char *const *list) {
    for (; *list; list++)
        if (strcmp(name, *list) == 0) return true;
    return false;
}

char *settings_given(const options *o, const char *const *but) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) return NULL;
    const char *between = "";
    for (int i = 0; i < o->command->count; i++) {
        const option_spec *s = &o->command->options[i];
        if (!is_setting(s->name) || is_listed(s->name, but) || strcmp(o->text[i], s->standard) == 0)
            continue;
        (void)fprintf(to, "%s--%s", between, s->name);
        if (s->value) (void)fprintf(to, " %s", o->text[i]);
        between = " ";
    }
    if (fclose(to) == 0) {
        for (char *at = text; (at = strchr(at, ','));) *at = ' ';
        return text;
    }
    free(text);
    return NULL;
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

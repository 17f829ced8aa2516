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

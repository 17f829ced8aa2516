#include "common/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/machine.h"
#include "common/version.h"

static bool is_setting(const char *name) {
    static const char *const NOT_SETTINGS[] = {"threads", "output", "resume", "quiet"};
    for (size_t i = 0; i < sizeof NOT_SETTINGS / sizeof *NOT_SETTINGS; i++)
        if (strcmp(name, NOT_SETTINGS[i]) == 0) return false;
    return true;
}

char *settings_describe(const options *o) {
    const command_spec *command = o->command;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) return NULL;
    (void)fprintf(to, "program = sqrtdk %s\nversion = %s\n", command->name, SQRTDK_VERSION);
    for (int i = 0; i < command->count; i++) {
        const option_spec *s = &command->options[i];
        const char *value = o->text[i];
        if (is_setting(s->name))
            (void)fprintf(to, "%s = %s\n", s->name, !s->value && !value[0] ? "no" : value);
    }
    machine_describe(to);
    if (fclose(to) == 0) return text;
    free(text);
    return NULL;
}

bool settings_threads(const options *o, int *threads) {
    int64_t value = machine_processors();
    if (options_given(o, "threads") && !options_int(o, "threads", 1, 1024, &value)) return false;
    *threads = (int)value;
    return true;
}

#include "common/again.h"

#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/quote.h"

static struct {
    const command_spec *const *command;
    int count;
} all;

void again_among(const command_spec *const *commands, int count) {
    all.command = commands;
    all.count = count;
}

const command_spec *again_command(const char *settings) {
    static const char KEY[] = "program = sqrtdk ";
    if (strncmp(settings, KEY, sizeof KEY - 1) != 0) return NULL;
    for (int i = 0; i < all.count; i++) {
        const char *name = all.command[i]->name, *at = settings + sizeof KEY - 1;
        if (strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == '\n') return all.command[i];
    }
    return NULL;
}

/* A line "key = value", the value quoted (common/quote.h). */
typedef struct setting {
    const char *key, *value;
    size_t key_length, value_length;
    bool quoted;
} setting;

/* Moves *at behind the next line; false at the end. */
static bool next_setting(const char **at, setting *out) {
    const char *line = *at, *end = line + strcspn(line, "\n"), *middle = strstr(line, " = ");
    if (!middle || middle + 3 > end) return false;
    *out = (setting){line, middle + 3, (size_t)(middle - line), (size_t)(end - middle - 3), true};
    *at = *end ? end + 1 : end;
    return true;
}

static bool is(const char *text, const char *from, size_t length) {
    return strlen(text) == length && strncmp(text, from, length) == 0;
}

static const option_spec *option_of(const command_spec *command, const char *name, size_t length) {
    for (int i = 0; i < command->count; i++)
        if (is(command->options[i].name, name, length)) return &command->options[i];
    return NULL;
}

/* Adds it to a command line; nothing where it is the default, or belongs to what was not used and
 * is empty. False without memory. */
static bool add(char **argv, int *argc, const command_spec *command, const setting *s) {
    const option_spec *option = option_of(command, s->key, s->key_length);
    if (!option || s->value_length == 0 || *argc > OPTIONS_MOST) return true;
    if (is(option->value ? option->standard : "no", s->value, s->value_length)) return true;
    const size_t bytes = s->key_length + s->value_length + sizeof "--=";
    char *text = malloc(bytes);
    if (!text) return false;
    (void)snprintf(text, bytes, option->value ? "--%.*s=%.*s" : "--%.*s", (int)s->key_length,
                   s->key, (int)s->value_length, s->value);
    if (s->quoted) quote_undo(text); /* names of options have no backslash */
    argv[(*argc)++] = text;
    return true;
}

int again_run(const command_spec *command, const char *settings, const char *const (*given)[2],
              int count, int (*run)(const options *o)) {
    char *argv[OPTIONS_MOST + 2] = {strdup(command->name)};
    command_spec again = *command;
    int argc = 1, code = EXIT_FAILED;
    bool good = argv[0];
    setting s;
    while (good && next_setting(&settings, &s)) good = add(argv, &argc, command, &s);
    for (int i = 0; good && i < count; i++) {
        s = (setting){given[i][0], given[i][1], strlen(given[i][0]), strlen(given[i][1]), false};
        good = add(argv, &argc, command, &s);
    }
    again.run = run;
    if (good)
        code = command_run(&again, argc, argv);
    else
        (void)complain_of_memory();
    for (int i = 0; i < argc; i++) free(argv[i]);
    return code;
}

#include "common/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH_LEAST = 20, WIDTH_MOST = 80, ROOM_LEAST = 4096 };

int text_width(void) {
    const char *columns = getenv("COLUMNS");
    const long width = columns ? strtol(columns, NULL, 10) : 0;
    return width >= WIDTH_LEAST && width <= WIDTH_MOST ? (int)width : WIDTH_MOST;
}

/* How much of a line is printed before the next break: up to the last space that fits, or, where a
 * word alone is wider, the word. */
static size_t fitting(const char *line, size_t length, size_t room) {
    if (length <= room) return length;
    size_t end = room;
    while (end > 0 && line[end] != ' ') end--;
    while (end > 0 && line[end - 1] == ' ') end--;
    if (end > 0) return end;
    end = strspn(line, " ");
    while (end < length && line[end] != ' ') end++;
    return end;
}

static void flow_line(FILE *to, const char *line, size_t length, int hang) {
    size_t room = (size_t)text_width();
    for (bool first = true; first || length > 0; first = false) {
        const size_t part = fitting(line, length, room);
        (void)fprintf(to, "%*s%.*s\n", first ? 0 : hang, "", (int)part, line);
        line += part;
        length -= part;
        while (length > 0 && *line == ' ') {
            line++;
            length--;
        }
        room =
            (size_t)(text_width() > hang + WIDTH_LEAST / 2 ? text_width() - hang : WIDTH_LEAST / 2);
    }
}

void text_flow(FILE *to, const char *text, int hang) {
    while (*text) {
        const size_t length = strcspn(text, "\n");
        flow_line(to, text, length, hang);
        text += length + (text[length] == '\n');
    }
}

void text_add(char *text, size_t bytes, const char *format, ...) {
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text + used, bytes - used, format, args);
    va_end(args);
}

/* Not open_memstream: glibc's loses what it finds no memory for, and tells nobody. */
char *text_print(text_printer *print, const void *context, size_t *size) {
    for (size_t room = ROOM_LEAST; room < PTRDIFF_MAX; room *= 2) {
        char *text = malloc(room);
        FILE *to = text ? fmemopen(text, room, "w") : NULL;
        long used = -1;
        if (to) {
            print(to, context);
            if (fflush(to) == 0 && !ferror(to)) used = ftell(to);
            (void)fclose(to);
        }
        if (used >= 0 && (size_t)used + 1 < room) { /* else it was full, and something is missing */
            text[used] = '\0';
            *size = (size_t)used;
            return text;
        }
        free(text);
        if (!to) return NULL;
    }
    return NULL;
}

static bool unbroken;

bool text_was_unbroken(void) {
    return unbroken;
}

void text_flow_from(FILE *to, text_printer *print, const void *context, int hang) {
    size_t size;
    char *text = text_print(print, context, &size);
    if (text)
        text_flow(to, text, hang);
    else
        print(to, context); /* without memory in lines that are too wide, but all of it */
    unbroken = unbroken || !text;
    free(text);
}

typedef struct formatted {
    const char *format;
    va_list *args;
} formatted;

static void print_formatted(FILE *to, const void *context) {
    const formatted *f = context;
    va_list args;
    va_copy(args, *f->args);
    (void)vfprintf(to, f->format, args);
    va_end(args);
    (void)fputc('\n', to);
}

void text_line(FILE *to, int hang, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const formatted f = {format, &args};
    text_flow_from(to, print_formatted, &f, hang);
    va_end(args);
}

#include "common/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH_LEAST = 20, WIDTH_MOST = 80 };

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

void text_line(FILE *to, int hang, const char *format, ...) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) return;
    va_list args;
    va_start(args, format);
    (void)vfprintf(memory, format, args);
    va_end(args);
    if (fclose(memory) == 0) {
        text_flow(to, text, hang);
        if (size == 0 || text[size - 1] == '\n') (void)fputc('\n', to);
    }
    free(text);
}

void text_flow_from(FILE *to, text_printer *print, const void *context, int hang) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) return;
    print(memory, context);
    if (fclose(memory) == 0) text_flow(to, text, hang);
    free(text);
}

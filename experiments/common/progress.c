#include "common/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"

void progress_start(progress *p, tt_size items, double work, bool quiet) {
    *p = (progress){.shown = !quiet && isatty(STDERR_FILENO),
                    .unit = "steps",
                    .item = "runs",
                    .items = items,
                    .work = work};
    (void)clock_gettime(CLOCK_MONOTONIC, &p->start);
}

double progress_seconds(const progress *p) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - p->start.tv_sec) + 1e-9 * (double)(now.tv_nsec - p->start.tv_nsec);
}

void progress_line(const progress *p, double seconds, char line[PROGRESS_WIDTH + 1]) {
    double share = p->work > 0 ? p->work_done / p->work : 1;
    if (share > 1) share = 1;
    double left = share > 0 ? seconds * (1 - share) / share : 0;
    if (!(left < 359999)) left = 359999; /* 5999:59, or no estimate yet */
    int used = snprintf(line, PROGRESS_WIDTH + 1, "%td of %td %s, %d:%02d left", p->items_done,
                        p->items, p->item, (int)(left / 60), (int)left % 60);
    const int width = text_width() - 1;
    line[width] = '\0';
    if (used < 0 || used >= width) return;
    char *rest = line + used;
    size_t room = (size_t)(width + 1 - used);
    if (p->last[0])
        (void)snprintf(rest, room, "; %s", p->last);
    else
        (void)snprintf(rest, room, ", %.0f %s/s", seconds > 0 ? (double)p->steps_done / seconds : 0,
                       p->unit);
}

/* Over the line before, with blanks and no escape sequence: not every terminal knows one. */
static void replace_line(progress *p, const char *line) {
    const int width = (int)strlen(line), rest = p->width > width ? p->width - width : 0;
    (void)fprintf(stderr, "\r%s%*s%.*s", line, rest, "", width == 0, "\r");
    (void)fflush(stderr);
    p->width = width;
}

static void draw(progress *p) {
    char line[PROGRESS_WIDTH + 1];
    p->drawn = progress_seconds(p);
    progress_line(p, p->drawn, line);
    replace_line(p, line);
}

void progress_advance(progress *p, tt_size steps, double work) {
    p->steps_done += steps;
    p->work_done += work;
    if (p->shown && progress_seconds(p) - p->drawn > 0.1) draw(p);
}

void progress_item(progress *p, const char *format, ...) {
    va_list values;
    va_start(values, format);
    (void)vsnprintf(p->last, sizeof p->last, format, values);
    va_end(values);
    p->items_done++;
    if (p->shown) draw(p);
}

void progress_end(progress *p) {
    if (p->shown) replace_line(p, "");
}

#include "common/progress.h"

#include <stdio.h>
#include <unistd.h>

enum { BAR = 24 };

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

static void draw(progress *p) {
    char bar[BAR + 1];
    double seconds = progress_seconds(p);
    double share = p->work > 0 ? p->work_done / p->work : 1;
    if (share > 1) share = 1;
    double left = share > 0 ? seconds * (1 - share) / share : 0;
    for (int i = 0; i < BAR; i++) bar[i] = i < (int)(share * (double)BAR) ? '#' : '.';
    bar[BAR] = '\0';
    if (!(left < 359999)) left = 359999; /* 99:59:59, or no estimate yet */
    (void)fprintf(stderr, "\r[%s] %td/%td %s, %.0f %s/s, %d:%02d left \033[K", bar, p->items_done,
                  p->items, p->item, seconds > 0 ? (double)p->steps_done / seconds : 0, p->unit,
                  (int)(left / 60), (int)left % 60);
    (void)fflush(stderr);
    p->drawn = seconds;
}

void progress_advance(progress *p, tt_size steps, double work) {
    p->steps_done += steps;
    p->work_done += work;
    if (p->shown && progress_seconds(p) - p->drawn > 0.1) draw(p);
}

void progress_item(progress *p) {
    p->items_done++;
    if (p->shown) draw(p);
}

void progress_end(progress *p) {
    if (p->shown) (void)fputs("\r\033[K", stderr);
}

#include "common/memory.h"

#include <stdio.h>
#include <unistd.h>

double memory_physical(void) {
#ifdef _SC_PHYS_PAGES
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && bytes > 0) return (double)pages * (double)bytes;
#endif
    return 0;
}

double memory_available(void) {
    char line[128];
    double kib = -1;
    FILE *from = fopen("/proc/meminfo", "r");
    while (from && kib < 0 && fgets(line, sizeof line, from))
        (void)sscanf(line, "MemAvailable: %lf kB", &kib);
    if (from) (void)fclose(from);
    return kib >= 0 ? kib * 1024 : memory_physical();
}

#include "common/machine.h"

#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "common/memory.h"
#include "tt/kernel.h"

tt_size machine_processors(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? count : 1;
}

double machine_memory(void) {
    const double memory = memory_physical();
    return memory < (double)PTRDIFF_MAX ? memory : (double)PTRDIFF_MAX;
}

bool machine_fits(double bytes, const char *format, ...) {
    const double gib = 1024.0 * 1024 * 1024, memory = machine_memory();
    char text[1024];
    va_list args;
    if (memory <= 0 || bytes <= memory) return true; /* 0: the system does not say */
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return complain("%s %.3g GiB; allowed are %.3g GiB, this machine's memory", text, bytes / gib,
                    memory / gib);
}

void machine_describe(FILE *to) {
    (void)fprintf(to, "kernel = %s\n", tt_kernel_name(tt_kernel_here()));
#ifdef __GLIBC__
    (void)fprintf(to, "c_library = glibc %s\n", gnu_get_libc_version());
#else
    (void)fprintf(to, "c_library = other\n");
#endif
#ifdef __VERSION__
    (void)fprintf(to, "compiler = %s\n", __VERSION__);
#endif
}

/* machine.c: see machine.h. */
#include "common/machine.h"

#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "tt/kernel.h"

tt_size machine_processors(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? count : 1;
}

double machine_memory(void) {
#ifdef _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && bytes > 0) return (double)pages * (double)bytes;
#endif
    return 0;
}

void machine_describe(FILE *to) {
    (void)fprintf(to, "kernel = %s\n", tt_kernel_name());
#ifdef __GLIBC__
    (void)fprintf(to, "c_library = glibc %s\n", gnu_get_libc_version());
#else
    (void)fprintf(to, "c_library = other\n");
#endif
#ifdef __VERSION__
    (void)fprintf(to, "compiler = %s\n", __VERSION__);
#endif
}

#include "common/stop.h"

#include <signal.h>
#include <stddef.h>

#include "common/output.h"

atomic_int stop_signal;

static const int STOPPING[] = {SIGINT, SIGTERM};

static void catch_with(void (*handler)(int), int flags) {
    const struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct sigaction before;
    for (int i = 0; i < 2; i++)
        if (sigaction(STOPPING[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(STOPPING[i], &action, NULL);
}

static void on_signal(int number) {
    stop_signal = number;
    catch_with(output_die, 0);
}

void stop_catch_signals(void) {
    catch_with(on_signal, 0);
}

void stop_spare_writes(void) {
    sigset_t signals; /* one that came in between would be the first twice */
    output_hold_signals(&signals);
    if (!stop_signal) catch_with(on_signal, SA_RESTART);
    output_release_signals(&signals);
}

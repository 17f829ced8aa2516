#include "common/stop.h"

#include <stddef.h>

#include "common/output.h"

volatile sig_atomic_t stop_signal;

static const int STOPPING[] = {SIGINT, SIGTERM};

static void on_signal(int number) {
    const struct sigaction action = {.sa_handler = output_die};
    stop_signal = number;
    for (int i = 0; i < 2; i++) (void)sigaction(STOPPING[i], &action, NULL);
}

void stop_catch_signals(void) {
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    for (int i = 0; i < 2; i++)
        if (sigaction(STOPPING[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(STOPPING[i], &action, NULL);
}

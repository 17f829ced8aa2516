/* calls.c: in each subcommand, over each state of the folder, one system call that writes, opens,
 * renames, syncs, removes or closes fails, each in turn. A case is COMMAND/STATE/CALL/REASON/N.
 *
 * Linux's seccomp lets this process answer the calls of another one (man 2 seccomp_unotify),
 * whatever C library stands between and however it is linked. Calls count from the program's own
 * first one, the opening of /dev/null; those that write to standard error never fail, or nothing
 * could be said.
 */
#define _GNU_SOURCE /* syscall */
#include <stdio.h>
#include <stdlib.h>

#include "tiny.h"

#if defined(__linux__) && __has_include(<linux/seccomp.h>)
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_open /* newer machines have only the second of each */
#define SYS_open SYS_openat
#define SYS_rename SYS_renameat2
#define SYS_unlink SYS_unlinkat
#define SYS_link SYS_linkat
#define SYS_mkdir SYS_mkdirat
#endif
#ifndef SYS_renameat
#define SYS_renameat SYS_renameat2
#endif

enum { NAMES_MOST = 3, REASONS_MOST = 2 };

/* The calls under test, by kind, and what each fails with. */
static const struct {
    const char *name;
    long number[NAMES_MOST];
    int reason[REASONS_MOST];
} KINDS[] = {
    {"write", {SYS_write, SYS_writev, SYS_pwrite64}, {ENOSPC, EIO}},
    {"open", {SYS_open, SYS_openat, SYS_openat}, {EACCES, EMFILE}},
    {"rename", {SYS_rename, SYS_renameat, SYS_renameat2}, {EACCES, EIO}},
    {"fsync", {SYS_fsync, SYS_fdatasync, SYS_fdatasync}, {EIO, ENOSPC}},
    {"unlink", {SYS_unlink, SYS_unlinkat, SYS_unlinkat}, {EACCES, EIO}},
    {"link", {SYS_link, SYS_linkat, SYS_linkat}, {EPERM, EIO}},
    {"close", {SYS_close, SYS_close, SYS_close}, {EIO, ENOSPC}},
    {"mkdir", {SYS_mkdir, SYS_mkdirat, SYS_mkdirat}, {EACCES, ENOSPC}},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static const char *reason_name(int reason) {
    return reason == ENOSPC   ? "ENOSPC"
           : reason == EIO    ? "EIO"
           : reason == EACCES ? "EACCES"
           : reason == EMFILE ? "EMFILE"
                              : "EPERM";
}

static int kind_of(long number) {
    for (int k = 0; k < KIND_COUNT; k++)
        for (int i = 0; i < NAMES_MOST; i++)
            if (KINDS[k].number[i] == number) return k;
    return -1;
}

/* ---- The watched process --------------------------------------------------------------------- */

/* Hands the calls under test to whoever holds the descriptor, which the page that both processes
 * share tells; then stops, until that one is ready. */
static void be_watched(void *context) {
    struct sock_filter code[2 + 2 * KIND_COUNT * NAMES_MOST];
    unsigned short used = 0;
    code[used++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int k = 0; k < KIND_COUNT; k++)
        for (int i = 0; i < NAMES_MOST; i++) {
            code[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                        (unsigned)KINDS[k].number[i], 0, 1);
            code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
        }
    code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {used, code};
    volatile int *descriptor = context;
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const long got =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    *descriptor = got < 0 ? -1 : (int)got;
    (void)raise(SIGSTOP);
}

/* Where two processes see one number. */
static int *shared_number(void) {
    static int *page;
    if (!page) page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? NULL : page;
}

/* Starts it; the descriptor on which its calls arrive, or -1 where the system has no such thing. */
static int start_watched(const torture *t, char *const words[], pid_t *process) {
    int *descriptor = shared_number(), status;
    if (!descriptor) return -1;
    *descriptor = -1;
    *process = run_start(t, words, "case", 30, be_watched, descriptor);
    if (waitpid(*process, &status, WUNTRACED) < 0 || !WIFSTOPPED(status)) return -1;
    const int handle = (int)syscall(SYS_pidfd_open, *process, 0);
    const int listener =
        *descriptor < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, handle, *descriptor, 0);
    (void)close(handle);
    (void)kill(*process, listener < 0 ? SIGKILL : SIGCONT);
    return listener;
}

/* ---- Answering ------------------------------------------------------------------------------- */

typedef struct watch {
    int kind, reason;
    long at;               /* the call of that kind that fails; 0: none */
    bool begun;            /* the program itself runs */
    long seen[KIND_COUNT]; /* by kind */
    char called[256];      /* the path that the failing call was given, if it was */
} watch;

static void read_path(const struct seccomp_notif *call, char path[256]) {
    const bool second = call->data.nr == SYS_openat || call->data.nr == SYS_unlinkat;
    const struct iovec here = {path, 255},
                       there = {(void *)(uintptr_t)call->data.args[second], 255};
    path[0] = '\0';
    const ssize_t got = process_vm_readv((pid_t)call->pid, &here, 1, &there, 1, 0);
    path[got > 0 ? got : 0] = '\0';
}

/* What the call is to fail with; 0: it goes on. */
static int answer(watch *w, const struct seccomp_notif *call) {
    const int kind = kind_of(call->data.nr);
    char path[256];
    if (!w->begun) {
        if (strcmp(KINDS[kind].name, "open") == 0) read_path(call, path);
        w->begun = strcmp(KINDS[kind].name, "open") == 0 && strcmp(path, "/dev/null") == 0;
        if (!w->begun) return 0;
    }
    const bool writes = strcmp(KINDS[kind].name, "write") == 0;
    if (writes && call->data.args[0] == STDERR_FILENO) return 0;
    w->seen[kind]++;
    if (w->at == 0 || kind != w->kind || w->seen[kind] != w->at) return 0;
    if (strcmp(KINDS[kind].name, "unlink") == 0) read_path(call, w->called);
    return w->reason;
}

static void answer_all(watch *w, int listener) {
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    while (poll(&waiting, 1, -1) > 0 && (waiting.revents & POLLIN)) {
        struct seccomp_notif call;
        memset(&call, 0, sizeof call);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
        const int reason = answer(w, &call);
        struct seccomp_notif_resp reply = {.id = call.id, .error = -reason};
        if (reason == 0) reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
    }
}

static bool run_watched(const torture *t, const tiny *command, watch *w, outcome *o) {
    char text[TEXT_BYTES], *words[WORDS_MOST];
    pid_t process = -1;
    (void)snprintf(text, sizeof text, "%s", command->line);
    words_of(t, text, words);
    const int listener = start_watched(t, words, &process);
    if (listener >= 0) answer_all(w, listener);
    if (listener >= 0) (void)close(listener);
    *o = run_end(t, process);
    return listener >= 0;
}

/* ---- Cases ----------------------------------------------------------------------------------- */

typedef struct failure {
    int command, state, kind, reason;
    long at;
} failure;

/* All failures of a command from one state; false where calls cannot be answered. */
static bool list_all(const torture *t, int command, int s, failure **list, long *length) {
    watch w = {.at = 0};
    outcome o;
    tiny_prepare(t, &TINY[command], (state)s, "case");
    const bool good = run_watched(t, &TINY[command], &w, &o);
    outcome_free(&o);
    for (int k = 0; k < KIND_COUNT; k++)
        for (int r = 0; r < REASONS_MOST; r++)
            for (long n = 1; n <= w.seen[k]; n++) {
                *list = torture_grow(*list, *length, sizeof **list);
                (*list)[(*length)++] = (failure){command, s, k, KINDS[k].reason[r], n};
            }
    return good;
}

static void try(torture *t, const failure *f, const expected *e) {
    const tiny *command = &TINY[f->command];
    char name[128];
    outcome o;
    watch w = {.kind = f->kind, .reason = f->reason, .at = f->at};
    (void)snprintf(name, sizeof name, "%s/%s/%s/%s/%ld", command->name, state_name((state)f->state),
                   KINDS[f->kind].name, reason_name(f->reason), f->at);
    if (!torture_wants(t, name)) return;
    tiny_prepare(t, command, (state)f->state, "case");
    if (!run_watched(t, command, &w, &o)) exit(2);
    torture_count(t, name, tiny_wrong(t, command, &e[f->command], (state)f->state, "case", &o));
    if (t->only)
        printf("sqrtdk %s\nexit %d, signal %d; %s\n%s%s", command->line, o.code, o.signal, w.called,
               o.out, o.err);
    outcome_free(&o);
}

int main(int argc, char **argv) {
    torture t;
    failure *list = NULL;
    long length = 0;
    torture_start(&t, "calls", "sqrtdk", argc, argv);
    expected *e = calloc((size_t)TINY_COUNT, sizeof *e);
    if (!e) return 2;
    for (int c = 0; c < TINY_COUNT; c++) {
        expected_make(&t, &TINY[c], &e[c]);
        for (int s = 0; s < e[c].states; s++)
            if (!list_all(&t, c, s, &list, &length)) {
                puts("calls          skipped: this system lets no one answer another's calls");
                return EXIT_SUCCESS;
            }
    }
    torture_shuffle(&t, list, length, sizeof *list);
    for (long i = 0; i < length && (t.only || torture_goes_on(&t)); i++) try(&t, &list[i], e);
    for (int c = 0; c < TINY_COUNT; c++) expected_free(&e[c]);
    free(e);
    free(list);
    return torture_end(&t, length);
}

#else
int main(void) {
    puts("calls          skipped: only Linux lets a process answer another's calls");
    return EXIT_SUCCESS;
}
#endif

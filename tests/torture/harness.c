#include "harness.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void give_up(const char *what) {
    (void)fprintf(stderr, "torture: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void *must(void *memory) {
    if (!memory) give_up("memory");
    return memory;
}

/* ---- A kind of torture ----------------------------------------------------------------------- */

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *from_environment(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

/* In memory where the system has such a folder: what fails is made to, and fsync costs most of the
 * time elsewhere. The name is fixed, so that a case's files can be looked at afterwards. */
static void make_scratch(torture *t, const char *build) {
    char path[PATH_BYTES], whole[PATH_BYTES];
    const char *here = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : build;
    if (!realpath(build, whole)) give_up(build);
    for (char *c = whole; here != build && *c; c++)
        if (*c == '/') *c = '-';
    (void)snprintf(path, sizeof path, "%.200s/torture%.600s-%s", here, here == build ? "" : whole,
                   t->kind);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) give_up(path);
    if (!realpath(path, t->scratch)) give_up(path);
}

void torture_start(torture *t, const char *kind, const char *program, int argc, char **argv) {
    char seed[32];
    const char *build = from_environment("TORTURE_BUILD", "build");
    (void)snprintf(seed, sizeof seed, "%lld", (long long)time(NULL));
    *t = (torture){.kind = kind, .only = argc > 1 ? argv[1] : NULL};
    t->seconds = strtod(from_environment("TORTURE_SECONDS", "10"), NULL);
    t->seed = strtoull(from_environment("TORTURE_SEED", seed), NULL, 10);
    t->random = t->seed;
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", build, program);
    if (!realpath(path, t->program)) give_up(path);
    if (!getcwd(t->root, sizeof t->root)) give_up("the folder");
    (void)snprintf(path, sizeof path, "%s/torture", build);
    if (!realpath(path, t->programs)) give_up(path);
    make_scratch(t, build);
    folder_make(t, "", NULL);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)signal(SIGPIPE, SIG_IGN);
}

bool torture_goes_on(torture *t) {
    if (t->started == 0) t->started = now();
    return now() - t->started < t->seconds;
}

bool torture_wants(const torture *t, const char *name) {
    return !t->only || strcmp(t->only, name) == 0;
}

void torture_count(torture *t, const char *name, const char *wrong) {
    t->tried++;
    t->survived += !wrong;
    if (!wrong) return;
    const long failed = t->tried - t->survived;
    const long most = strtol(from_environment("TORTURE_SHOWN", "20"), NULL, 10);
    if (failed <= most)
        printf("FAILED %s: %s\n  again: TORTURE_SEED=%llu %s/%s '%s'\n", name, wrong,
               (unsigned long long)t->seed, t->programs, t->kind, name);
    else if (failed == most + 1)
        puts("more that failed are only counted");
}

int torture_end(const torture *t, long of) {
    char all[32] = "";
    if (of > 0) (void)snprintf(all, sizeof all, " of %ld", of);
    printf("%-14s %8ld tried%s, %ld survived, seed %llu, %.0f s\n", t->kind, t->tried, all,
           t->survived, (unsigned long long)t->seed, t->started > 0 ? now() - t->started : 0);
    return t->tried > 0 && t->survived == t->tried ? EXIT_SUCCESS : EXIT_FAILURE;
}

uint64_t torture_below(torture *t, uint64_t limit) {
    uint64_t z = t->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % limit;
}

void *torture_grow(void *list, long length, size_t bytes) {
    return length % 1024 == 0 ? must(realloc(list, (size_t)(length + 1024) * bytes)) : list;
}

void torture_shuffle(torture *t, void *list, long length, size_t bytes) {
    char *at = list, other[256];
    for (long i = length - 1; i > 0; i--) {
        char *a = at + (size_t)i * bytes, *b = at + torture_below(t, (uint64_t)i + 1) * bytes;
        memcpy(other, a, bytes);
        memmove(a, b, bytes);
        memcpy(b, other, bytes);
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void path_in(const torture *t, const char *folder_name, const char *file,
                    char path[2 * PATH_BYTES]) {
    (void)snprintf(path, (size_t)2 * PATH_BYTES, "%s/%s%s%s", t->scratch, folder_name,
                   *file ? "/" : "", file);
}

static char *read_path(const char *path, size_t *bytes) {
    FILE *from = fopen(path, "rb");
    size_t room = 1 << 16;
    char *text = must(malloc(room + 1));
    *bytes = 0;
    if (!from) {
        free(text);
        return NULL;
    }
    for (size_t got; (got = fread(text + *bytes, 1, room - *bytes, from)) > 0;)
        if ((*bytes += got) == room) text = must(realloc(text, (room *= 2) + 1));
    text[*bytes] = '\0';
    (void)fclose(from);
    return text;
}

char *file_read(const torture *t, const char *folder_name, const char *file, size_t *bytes) {
    char path[2 * PATH_BYTES];
    path_in(t, folder_name, file, path);
    return read_path(path, bytes);
}

void file_write(const torture *t, const char *folder_name, const char *file, const void *data,
                size_t bytes) {
    char path[2 * PATH_BYTES];
    path_in(t, folder_name, file, path);
    FILE *to = fopen(path, "wb");
    if (!to || fwrite(data, 1, bytes, to) != bytes || fclose(to) != 0) give_up(path);
}

void file_copy(const torture *t, const char *from, const char *folder_name, const char *file) {
    char path[2 * PATH_BYTES];
    size_t bytes;
    (void)snprintf(path, sizeof path, "%s/%s", t->root, from);
    char *text = read_path(path, &bytes);
    if (!text) give_up(path);
    file_write(t, folder_name, file, text, bytes);
    free(text);
}

/* ---- Running --------------------------------------------------------------------------------- */

void words_of(const torture *t, char *text, char *words[WORDS_MOST]) {
    int count = 0;
    words[count++] = (char *)(uintptr_t)t->program;
    for (char *word = strtok(text, " "); word && count < WORDS_MOST - 1; word = strtok(NULL, " "))
        words[count++] = word;
    words[count] = NULL;
}

static void redirect(const torture *t, const char *file, int descriptor) {
    char path[2 * PATH_BYTES];
    path_in(t, file, "", path);
    const int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (to < 0 || dup2(to, descriptor) < 0) _exit(126);
    (void)close(to);
}

pid_t run_start(const torture *t, char *const words[], const char *folder_name, unsigned seconds,
                void (*before_exec)(void *), void *context) {
    char path[2 * PATH_BYTES];
    const pid_t process = fork();
    if (process < 0) give_up("fork");
    if (process > 0) return process;
    const struct rlimit none = {0, 0};
    path_in(t, folder_name, "", path);
    redirect(t, "out", STDOUT_FILENO);
    redirect(t, "err", STDERR_FILENO);
    if (chdir(path) != 0) _exit(126);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)alarm(seconds);
    if (before_exec) before_exec(context);
    (void)execv(words[0], words);
    _exit(126);
}

outcome run_end(const torture *t, pid_t process) {
    outcome o = {.code = -1};
    int status;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR) give_up("waitpid");
    if (WIFEXITED(status)) o.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) o.signal = WTERMSIG(status);
    o.out = must(file_read(t, "out", "", &o.out_bytes));
    o.err = must(file_read(t, "err", "", &o.err_bytes));
    return o;
}

outcome run(const torture *t, char *const words[], const char *folder_name, unsigned seconds) {
    return run_end(t, run_start(t, words, folder_name, seconds, NULL, NULL));
}

void outcome_free(outcome *o) {
    free(o->out);
    free(o->err);
    *o = (outcome){.code = -1};
}

static char said[4 * TEXT_BYTES];

/* A line before it may say that earlier results were kept. */
static const char *one_line_wrong(const outcome *o) {
    const char *line = o->err, *end = strchr(line, '\n'), *kept = strstr(line, " is kept as ");
    if (kept && end && kept < end && end[1]) {
        line = end + 1;
        end = strchr(line, '\n');
    }
    if (o->err_bytes == 0) return "nothing on standard error";
    if (strlen(o->err) != o->err_bytes) return "a byte 0 on standard error";
    if (strncmp(line, "sqrtdk: ", 8) != 0 || !end || end[1]) {
        (void)snprintf(said, sizeof said, "not one line on standard error: %.600s", o->err);
        return said;
    }
    for (const char *c = line; c < end; c++)
        if (iscntrl((unsigned char)*c)) return "a control character on standard error";
    return NULL;
}

const char *outcome_wrong(const outcome *o) {
    if (o->signal == SIGALRM) return "did not end in time";
    if (o->signal) {
        (void)snprintf(said, sizeof said, "ended by signal %d: %.1500s", o->signal, o->err);
        return said;
    }
    if (o->code == 0) return NULL;
    if (o->code != 1 && o->code != 2) {
        (void)snprintf(said, sizeof said, "exit %d: %.3000s", o->code, o->err);
        return said;
    }
    if (o->code == 1 && o->err_bytes == 0 && strstr(o->out, "FAIL")) return NULL;
    return one_line_wrong(o);
}

/* ---- Folders --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(a, b);
}

static bool ends_like(const char *text, const char *ending) {
    const size_t a = strlen(text), b = strlen(ending);
    return a >= b && strcmp(text + a - b, ending) == 0;
}

void folder_read(const torture *t, const char *name, folder *f) {
    char path[2 * PATH_BYTES];
    path_in(t, name, "", path);
    DIR *names = opendir(path);
    if (!names) give_up(path);
    *f = (folder){.count = 0};
    for (struct dirent *entry; (entry = readdir(names)) && f->count < FILES_MOST;) {
        if (entry->d_name[0] == '.') continue;
        size_t bytes;
        char *text = file_read(t, name, entry->d_name, &bytes);
        (void)snprintf(f->file[f->count].name, sizeof f->file->name, "%s", entry->d_name);
        uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
        for (size_t i = 0; text && i < bytes; i++)
            hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
        f->file[f->count].hash = hash;
        f->file[f->count++].bytes = bytes;
        free(text);
    }
    (void)closedir(names);
    qsort(f->file, (size_t)f->count, sizeof *f->file, by_name);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    (void)kind;
    return place->level == 0 ? 0 : remove(path);
}

void folder_make(const torture *t, const char *name, const char *from) {
    char path[2 * PATH_BYTES];
    folder f;
    path_in(t, name, "", path);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) give_up(path);
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0) give_up(path);
    if (!from) return;
    folder_read(t, from, &f);
    for (int i = 0; i < f.count; i++) {
        size_t bytes;
        char *text = must(file_read(t, from, f.file[i].name, &bytes));
        file_write(t, name, f.file[i].name, text, bytes);
        free(text);
    }
}

const char *folder_differs(const folder *a, const folder *b, const char *but) {
    int i = 0, j = 0;
    while (i < a->count || j < b->count) {
        if (i < a->count && but && ends_like(a->file[i].name, but)) {
            i++;
            continue;
        }
        if (j < b->count && but && ends_like(b->file[j].name, but)) {
            j++;
            continue;
        }
        const int order = i == a->count   ? 1
                          : j == b->count ? -1
                                          : strcmp(a->file[i].name, b->file[j].name);
        if (order < 0) return a->file[i].name;
        if (order > 0) return b->file[j].name;
        if (a->file[i].hash != b->file[j].hash || a->file[i].bytes != b->file[j].bytes)
            return a->file[i].name;
        i++;
        j++;
    }
    return NULL;
}

const char *folder_left_over(const folder *f) {
    for (int i = 0; i < f->count; i++)
        if (strstr(f->file[i].name, ".tmp-") || strstr(f->file[i].name, ".old-") ||
            ends_like(f->file[i].name, ".partial"))
            return f->file[i].name;
    return NULL;
}

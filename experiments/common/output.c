/* output.c: names of temporary files tell machine and process, "x.csv.tmp-1a2b3c4d-4711-AbCdEf", so
 * that those of dead processes can be told from those of running ones, on this machine and others.
 */
#include "common/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/message.h"

enum { OUTPUTS_MOST = 64, PROTECTED_MOST = 4096, MARK_BYTES = 64 };

/* ---- Signals --------------------------------------------------------------------------------- */

static const int ENDING[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
enum { ENDING_COUNT = sizeof ENDING / sizeof *ENDING };

/* Names that must not survive the program; a handler may read them at any time, in any thread. */
static char *_Atomic passing[OUTPUTS_MOST];
_Static_assert(ATOMIC_POINTER_LOCK_FREE == 2, "a signal handler reads them");

void output_die(int number) {
    for (int i = 0; i < OUTPUTS_MOST; i++)
        if (passing[i]) (void)unlink(passing[i]);
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t set;
    (void)sigaction(number, &action, NULL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)raise(number);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    _exit(EXIT_SIGNAL + number);
}

void output_catch_signals(void) {
    struct sigaction action = {.sa_handler = output_die}, before;
    for (int i = 0; i < ENDING_COUNT; i++)
        if (sigaction(ENDING[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(ENDING[i], &action, NULL);
}

void output_hold_signals(sigset_t *before) {
    sigset_t set;
    (void)sigemptyset(&set);
    for (int i = 0; i < ENDING_COUNT; i++) (void)sigaddset(&set, ENDING[i]);
    (void)pthread_sigmask(SIG_BLOCK, &set, before);
}

void output_release_signals(const sigset_t *before) {
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void remember(char *name) {
    for (int i = 0; i < OUTPUTS_MOST; i++)
        if (!passing[i]) {
            passing[i] = name;
            return;
        }
}

static void forget(const char *name) {
    for (int i = 0; i < OUTPUTS_MOST; i++)
        if (passing[i] == name) passing[i] = NULL;
}

/* ---- Paths ----------------------------------------------------------------------------------- */

/* "-", or a name of what standard output is sent to, such as /dev/stdout. */
static bool is_standard_output(const char *path) {
    struct stat info, out;
    if (strcmp(path, "-") == 0) return true;
    return stat(path, &info) == 0 && fstat(STDOUT_FILENO, &out) == 0 && info.st_dev == out.st_dev &&
           info.st_ino == out.st_ino;
}

bool output_is_direct(const char *path) {
    struct stat info;
    if (is_standard_output(path)) return true;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode);
}

bool output_make_folders(const char *path) {
    char *copy = strdup(path);
    if (!copy) return false;
    bool good = true;
    size_t made = 0; /* length of the last one that was not there */
    int count = 0;
    for (char *slash = strchr(copy + 1, '/'); slash && good; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool new = mkdir(copy, 0777) == 0;
        good = new || errno == EEXIST || errno == EISDIR;
        if (new) made = strlen(copy);
        count += new;
        *slash = '/';
    }
    int reason = errno;
    copy[made] = '\0';
    if (count > 1) (void)complain("made the folder %s", copy);
    free(copy);
    errno = reason;
    return good;
}

static char *joined(const char *a, size_t a_length, const char *b) {
    size_t b_length = strlen(b);
    char *text = malloc(a_length + b_length + 1);
    if (!text) return NULL;
    memcpy(text, a, a_length);
    memcpy(text + a_length, b, b_length + 1);
    return text;
}

char *output_beside(const char *path, const char *ending) {
    size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, ".csv") == 0) length -= 4;
    return joined(path, length, ending);
}

/* Where a path leads: a symbolic link stays, and what it points to is written. */
static char *target_of(const char *path) {
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && !output_is_direct(path))
        return realpath(path, NULL); /* NULL, with the reason, for a link that leads nowhere */
    return joined(path, strlen(path), "");
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static struct stat input[PROTECTED_MOST];
static int inputs;

void output_protect(const char *path) {
    if (inputs < PROTECTED_MOST && stat(path, &input[inputs]) == 0) inputs++;
}

bool output_may_replace(const output *o) {
    struct stat info;
    if (!o->path || stat(o->path, &info) != 0) return true;
    for (int i = 0; i < inputs; i++)
        if (input[i].st_dev == info.st_dev && input[i].st_ino == info.st_ino)
            return complain("cannot write %s: it is one of the files that were read", o->path);
    return true;
}

/* ---- Temporary files ------------------------------------------------------------------------- */

/* "-1a2b3c4d-", this machine's part of a name. */
static void machine_mark(char mark[MARK_BYTES]) {
    char name[256] = "";
    (void)gethostname(name, sizeof name - 1);
    (void)snprintf(mark, MARK_BYTES, "-%08x-",
                   (unsigned)(hash_text(HASH_START, name, strlen(name)) & 0xffffffffu));
}

static bool is_left_over(const char *name, const char *base, const char *kind) {
    char mark[MARK_BYTES], *end;
    size_t length = strlen(base);
    machine_mark(mark);
    if (strncmp(name, base, length) != 0) return false;
    name += length;
    if (strncmp(name, kind, strlen(kind)) != 0) return false;
    name += strlen(kind);
    if (strncmp(name, mark, strlen(mark)) != 0) return false;
    long process = strtol(name + strlen(mark), &end, 10);
    return *end == '-' && process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

/* Removes what killed processes of this machine left beside a target. */
static void sweep(const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *folder = slash ? joined(path, (size_t)(slash - path) + 1, "") : strdup(".");
    DIR *names = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; names && (entry = readdir(names));)
        if (is_left_over(entry->d_name, base, ".tmp") || is_left_over(entry->d_name, base, ".old"))
            (void)unlinkat(dirfd(names), entry->d_name, 0);
    if (names) (void)closedir(names);
    free(folder);
}

/* "path.tmp-1a2b3c4d-4711-" and `last`. */
static char *passing_name(const char *path, const char *kind, const char *last) {
    char mark[MARK_BYTES], ending[2 * MARK_BYTES];
    machine_mark(mark);
    (void)snprintf(ending, sizeof ending, "%s%s%ld-%s", kind, mark, (long)getpid(), last);
    return joined(path, strlen(path), ending);
}

/* Makes the temporary file, with the mode that the target has or would get. */
static bool open_temporary(output *o) {
    struct stat info;
    sigset_t signals;
    const mode_t hidden = umask(0);
    (void)umask(hidden);
    o->temporary = passing_name(o->path, ".tmp", "XXXXXX");
    if (!o->temporary) return false;
    output_hold_signals(&signals);
    int file = mkstemp(o->temporary);
    if (file >= 0) remember(o->temporary);
    output_release_signals(&signals);
    if (file < 0) {
        free(o->temporary);
        o->temporary = NULL;
        return false;
    }
    const bool there = stat(o->path, &info) == 0;
    (void)fchmod(file, there ? info.st_mode & 07777 : 0666 & ~hidden);
    o->stream = fdopen(file, "w");
    if (!o->stream) (void)close(file);
    return o->stream != NULL;
}

/* ---- One output ------------------------------------------------------------------------------ */

static bool refuse(output *o, const char *path, const char *reason) {
    (void)complain("cannot write %s: %s", path, reason);
    output_discard(o);
    return false;
}

/* The same with errno's reason. */
static bool fails(output *o, const char *path) {
    return refuse(o, path, strerror(errno));
}

bool output_open(output *o, const char *path) {
    struct stat info;
    *o = (output){.path = target_of(path)};
    if (!o->path) return fails(o, path);
    if (is_standard_output(path)) {
        o->stream = stdout;
        return true;
    }
    if (path[strlen(path) - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode))) {
        return refuse(o, path, "it is a folder");
    }
    if (output_is_direct(path)) {
        o->stream = fopen(path, "w");
        return o->stream || fails(o, path);
    }
    if (!output_make_folders(path)) return fails(o, path);
    sweep(o->path);
    return open_temporary(o) || fails(o, path);
}

const char *output_flush(FILE *stream) {
    if (fflush(stream) != 0) return strerror(errno);
    if (!ferror(stream)) return NULL;
    /* errno is by now of something else; what failed for good fails once more, with its reason */
    if (fputc('\n', stream) == EOF || fflush(stream) != 0) return strerror(errno);
    return "an earlier write failed";
}

bool output_close(output *o) {
    FILE *stream = o->stream;
    o->stream = NULL;
    const char *reason = output_flush(stream);
    if (!reason && o->temporary && fsync(fileno(stream)) != 0) reason = strerror(errno);
    if (stream == stdout) return !reason || refuse(o, "standard output", reason);
    if (fclose(stream) != 0 && !reason) reason = strerror(errno);
    return !reason || refuse(o, o->path, reason);
}

/* A second name for what an output is about to replace, to put it back by; where the file system
 * has no second names, another name. False, with errno, if what is there could not be kept. */
static bool set_aside(output *o) {
    struct stat info;
    if (stat(o->path, &info) == 0 && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return false;
    }
    o->earlier = passing_name(o->path, ".old", "");
    if (o->earlier &&
        (link(o->path, o->earlier) == 0 || (errno != ENOENT && rename(o->path, o->earlier) == 0))) {
        remember(o->earlier);
        return true;
    }
    const bool nothing = o->earlier && errno == ENOENT;
    free(o->earlier);
    o->earlier = NULL;
    return nothing;
}

/* What stays is swept by the next output of that name. */
static void remove_file(const char *path) {
    if (unlink(path) != 0 && errno != ENOENT)
        (void)complain("cannot remove %s: %s", path, strerror(errno));
}

static void put_back(output *o) {
    if (!o->earlier) {
        remove_file(o->path);
        return;
    }
    /* of two names of one file, rename does nothing and keeps both */
    if (rename(o->earlier, o->path) == 0)
        remove_file(o->earlier);
    else
        (void)complain("%s could not be put back: it is %s until the next run", o->path,
                       o->earlier);
    forget(o->earlier);
    free(o->earlier);
    o->earlier = NULL;
}

static bool place(output *o) {
    if (!o->temporary) return true; /* written directly, or not at all */
    if (!output_may_replace(o)) return false;
    if (!set_aside(o) || rename(o->temporary, o->path) != 0) {
        (void)complain("cannot write %s: %s", o->path, strerror(errno));
        if (o->earlier) put_back(o);
        return false;
    }
    forget(o->temporary);
    free(o->temporary);
    o->temporary = NULL;
    return true;
}

bool output_commit_all(output *o, int count) {
    sigset_t signals;
    int placed = 0;
    output_hold_signals(&signals);
    while (placed < count && place(&o[placed])) placed++;
    const bool good = placed == count;
    while (!good && placed-- > 0)
        if (o[placed].path && !o[placed].temporary) put_back(&o[placed]);
    output_release_signals(&signals);
    return good;
}

bool output_commit(output *o) {
    return output_commit_all(o, 1);
}

static void remove_passing(char *name) {
    if (!name) return;
    remove_file(name);
    forget(name);
    free(name);
}

void output_settle(output *o) {
    remove_passing(o->earlier);
    o->earlier = NULL;
}

void output_discard(output *o) {
    if (o->stream && o->stream != stdout) (void)fclose(o->stream);
    remove_passing(o->temporary);
    remove_passing(o->earlier);
    free(o->path);
    *o = (output){.path = NULL};
}

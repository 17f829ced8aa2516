/* partial.c: see unfinished.h. */
#include "training/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/message.h"
#include "common/output.h"
#include "training/log.h"

/* Takes over what an interrupted run left. */
static bool take_over(unfinished *u, const char *settings, sweep *s) {
    partial_result result = stall_partial_read(u->earlier, settings, s);
    if (result == PARTIAL_OTHER)
        (void)message_fail(0,
                           "--resume: %s is from a run with other settings (they stand at its "
                           "beginning); run without --resume, or with another --output",
                           u->path);
    if (result == PARTIAL_DAMAGED)
        (void)message_fail(0, "--resume: %s is damaged; run without --resume", u->path);
    return result == PARTIAL_READ || result == PARTIAL_MISSING;
}

/* A run that starts anew does not throw away what an interrupted one left: that gets another name.
 */
static bool keep_earlier(const unfinished *u, bool quiet) {
    char *kept = output_beside(u->path, ".old");
    bool good = kept && rename(u->path, kept) == 0;
    if (good && !quiet)
        (void)message_fail(0,
                           "an interrupted run's cells are kept in %s (--resume would have gone on "
                           "from them)",
                           kept);
    else if (!good)
        (void)message_fail(0, "cannot rename %s: %s", u->path, strerror(errno));
    free(kept);
    return good;
}

/* Only one run at a time may write to an output. The lock is on the partial file, as found and as
 * written, and ends with the program. */
static bool lock(const unfinished *u, FILE *file) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fileno(file), F_SETLK, &whole) == 0) return true;
    if (errno == EACCES || errno == EAGAIN)
        (void)message_fail(0, "another run is writing %s; expected another --output", u->target);
    else
        (void)message_fail(0, "cannot lock %s: %s", u->path, strerror(errno));
    return false;
}

static bool cannot_write(const char *path) {
    (void)message_fail(0, "cannot write %s: %s", path, strerror(errno));
    return false;
}

/* Opens the partial file as it is, or makes it, and locks it; *bytes is its size. */
static bool open_earlier(unfinished *u, off_t *bytes) {
    struct stat info;
    if (!output_make_folders(u->path)) return cannot_write(u->path);
    int fd = open(u->path, O_RDWR | O_CREAT | O_NONBLOCK, 0666);
    if (fd < 0) return cannot_write(u->path);
    u->earlier = fdopen(fd, "r+");
    if (!u->earlier || fstat(fd, &info) != 0) return cannot_write(u->path);
    *bytes = info.st_size;
    if (S_ISREG(info.st_mode)) return lock(u, u->earlier);
    (void)message_fail(0, "cannot write %s: it is no regular file", u->path);
    return false;
}

/* Starts the partial file anew: what was taken over, then whatever finishes from now on. It is
 * complete, and locked, before it takes the earlier one's place. */
static bool start_anew(unfinished *u, const char *settings, const sweep *s) {
    char ending[32];
    (void)snprintf(ending, sizeof ending, ".%ld.tmp", (long)getpid());
    char *temporary = output_beside(u->path, ending);
    u->file = temporary ? fopen(temporary, "w") : NULL;
    bool good = u->file && lock(u, u->file);
    if (good) stall_partial_header(u->file, settings);
    for (tt_size i = 0; good && i < s->count; i++)
        if (s->cells[i].finished) good = stall_partial_cell(u->file, &s->cells[i], u->init);
    good = good && fflush(u->file) == 0 && rename(temporary, u->path) == 0;
    if (!good) (void)cannot_write(u->path);
    if (!good && temporary) (void)unlink(temporary);
    free(temporary);
    return good;
}

static char *path_of(const char *target) {
    static const char ENDING[] = ".partial";
    size_t bytes = strlen(target) + sizeof ENDING;
    char *path = malloc(bytes);
    if (path) (void)snprintf(path, bytes, "%s%s", target, ENDING);
    return path;
}

bool unfinished_open(unfinished *u, const char *target, const char *settings, const char *init,
                     sweep *s, bool resume, bool quiet) {
    off_t bytes;
    *u = (unfinished){.path = path_of(target), .target = target, .init = init};
    if (!u->path) {
        (void)message_fail(0, "out of memory");
        return false;
    }
    if (!open_earlier(u, &bytes)) return false;
    if (resume && !take_over(u, settings, s)) return false;
    if (!resume && bytes > 0 && !keep_earlier(u, quiet)) return false;
    return start_anew(u, settings, s);
}

bool unfinished_add(unfinished *u, const cell *c) {
    return stall_partial_cell(u->file, c, u->init) || cannot_write(u->path);
}

void unfinished_remove(const unfinished *u) {
    if (u->path) (void)unlink(u->path);
}

void unfinished_close(unfinished *u) {
    if (u->file) (void)fclose(u->file);
    if (u->earlier) (void)fclose(u->earlier);
    free(u->path);
    *u = (unfinished){.path = NULL};
}

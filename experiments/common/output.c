#include "common/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/message.h"

bool output_is_direct(const char *path) {
    struct stat info, out;
    if (strcmp(path, "-") == 0) return true;
    if (stat(path, &info) != 0 || S_ISDIR(info.st_mode)) return false;
    bool standard = fstat(STDOUT_FILENO, &out) == 0 && info.st_dev == out.st_dev &&
                    info.st_ino == out.st_ino; /* /dev/stdout, sent to a file */
    return standard || !S_ISREG(info.st_mode);
}

bool output_make_folders(const char *path) {
    char *copy = strdup(path);
    if (!copy) return false;
    bool good = true;
    for (char *slash = strchr(copy + 1, '/'); slash && good; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        good = mkdir(copy, 0777) == 0 || errno == EEXIST || errno == EISDIR;
        *slash = '/';
    }
    int reason = errno;
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

static bool refuse(output *o, const char *path) {
    (void)complain("cannot write %s: %s", path, strerror(errno));
    output_discard(o);
    return false;
}

/* Where a path leads: a symbolic link stays, and what it points to is written. */
static char *target_of(const char *path) {
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && !output_is_direct(path))
        return realpath(path, NULL); /* NULL, with the reason, for a link that leads nowhere */
    return joined(path, strlen(path), "");
}

bool output_open(output *o, const char *path) {
    struct stat info;
    *o = (output){NULL, target_of(path), NULL};
    if (!o->path) return refuse(o, path);
    if (strcmp(path, "-") == 0) {
        o->stream = stdout;
        return true;
    }
    if (path[strlen(path) - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode))) {
        (void)complain("cannot write %s: it is a folder", path);
        output_discard(o);
        return false;
    }
    if (!output_is_direct(path)) {
        char ending[32];
        (void)snprintf(ending, sizeof ending, ".%ld.tmp", (long)getpid());
        o->temporary = joined(o->path, strlen(o->path), ending);
        if (!o->temporary || !output_make_folders(path)) return refuse(o, path);
    }
    o->stream = fopen(o->temporary ? o->temporary : path, "w");
    return o->stream ? true : refuse(o, path);
}

bool output_close(output *o) {
    FILE *stream = o->stream;
    o->stream = NULL;
    bool bad = fflush(stream) != 0 || ferror(stream);
    if (o->temporary && !bad) bad = fsync(fileno(stream)) != 0;
    if (stream == stdout) return bad ? refuse(o, "standard output") : true;
    if (fclose(stream) != 0) bad = true;
    return bad ? refuse(o, o->path) : true;
}

bool output_commit(output *o) {
    if (o->temporary && rename(o->temporary, o->path) != 0) return refuse(o, o->path);
    free(o->temporary);
    o->temporary = NULL;
    output_discard(o);
    return true;
}

void output_discard(output *o) {
    if (o->stream && o->stream != stdout) (void)fclose(o->stream);
    if (o->temporary) (void)unlink(o->temporary);
    free(o->temporary);
    free(o->path);
    *o = (output){NULL, NULL, NULL};
}

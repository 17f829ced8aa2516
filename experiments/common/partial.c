/* partial.c: what is read back is trusted only as far as its hash: whoever resumes must not build
 * on a damaged run.
 */
#include "common/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/csv.h"
#include "common/hash.h"
#include "common/keep.h"
#include "common/message.h"
#include "common/settings.h"
#include "common/text.h"

static const char COMPLETE[] = "# complete,";

enum { LINE_BYTES = 4096, TITLE_BYTES = 128, HASH_BYTES = 17 /* with the line's end */ };

/* ---- Writing --------------------------------------------------------------------------------- */

static void title_of(const partial_runs *runs, char title[TITLE_BYTES]) {
    (void)snprintf(title, TITLE_BYTES,
                   "# sqrtdk %s, unfinished: complete runs in the order they ended\n",
                   runs->command);
}

/* What stands before the runs. */
typedef struct beginning {
    const partial_runs *runs;
    const char *settings;
} beginning;

static void print_settings(FILE *to, const void *context) {
    const beginning *b = context;
    char title[TITLE_BYTES];
    title_of(b->runs, title);
    (void)fputs(title, to);
    for (const char *line = b->settings; *line;) {
        int length = (int)strcspn(line, "\n");
        (void)fprintf(to, "# %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
}

static void print_format(FILE *to, const void *context) {
    const beginning *b = context;
    (void)fprintf(to, "# results_version = %d\n", (int)RESULTS_VERSION);
    b->runs->header(to, b->runs->context);
}

typedef struct one_run {
    const partial_runs *runs;
    tt_size i;
} one_run;

static void print_run(FILE *to, const void *context) {
    const one_run *one = context;
    one->runs->rows(to, one->runs->context, one->i);
    (void)fputs(COMPLETE, to);
    one->runs->end(to, one->runs->context, one->i);
    (void)fputc(',', to);
}

/* A complete run, with a hash of its lines; NULL, or why it did not arrive. */
static const char *write_run(partial *p, tt_size i) {
    FILE *to = p->file.stream;
    const one_run one = {p->runs, i};
    size_t size;
    char *text = text_print(print_run, &one, &size);
    if (!text) return strerror(ENOMEM);
    (void)fprintf(to, "%s%016" PRIx64 "\n", text, hash_text(HASH_START, text, size));
    free(text);
    p->holds = true;
    return output_flush(to);
}

/* ---- Reading back ---------------------------------------------------------------------------- */

typedef enum found_kind {
    FOUND_GOOD,    /* complete runs are their owner's now */
    FOUND_EMPTY,   /* the file is */
    FOUND_OTHER,   /* its settings are others */
    FOUND_VERSION, /* its bits are those of another results version */
    FOUND_MEMORY,  /* there is none to tell, or to take them over */
    FOUND_DAMAGED  /* its beginning is cut off, or a complete run is not what was written */
} found_kind;

/* Whether the file goes on with this text. */
static found_kind compare_text(FILE *from, text_printer *print, const beginning *b,
                               found_kind otherwise) {
    size_t size;
    char *text = text_print(print, b, &size);
    found_kind kind = text ? FOUND_GOOD : FOUND_MEMORY;
    for (size_t i = 0; kind == FOUND_GOOD && i < size; i++) {
        int c = fgetc(from);
        if (c == EOF)
            kind = FOUND_DAMAGED;
        else if (c != (unsigned char)text[i])
            kind = otherwise;
    }
    free(text);
    return kind;
}

/* Compares the file's beginning with what would be written now. */
static found_kind compare_beginning(FILE *from, const beginning *b) {
    const int first = fgetc(from);
    if (first == EOF) return FOUND_EMPTY;
    (void)ungetc(first, from);
    const found_kind kind = compare_text(from, print_settings, b, FOUND_OTHER);
    return kind == FOUND_GOOD ? compare_text(from, print_format, b, FOUND_VERSION) : kind;
}

/* The last line of a run, behind which stands the hash of all before it; the line loses both. */
static bool read_end(const partial_runs *runs, char *line, uint64_t hash) {
    char expected[HASH_BYTES + 1];
    const size_t length = strlen(line);
    if (length < strlen(COMPLETE) + HASH_BYTES) return false;
    char *at = line + length - HASH_BYTES;
    (void)snprintf(expected, sizeof expected, "%016" PRIx64 "\n",
                   hash_text(hash, line, (size_t)(at - line)));
    if (strcmp(at, expected) != 0 || at[-1] != ',') return false;
    at[-1] = '\0';
    return runs->read_end(runs->context, line + strlen(COMPLETE));
}

/* One line; *hash is that of the run's lines so far. */
static bool read_line(const partial_runs *runs, char *line, uint64_t *hash) {
    if (strncmp(line, COMPLETE, strlen(COMPLETE)) == 0) {
        const uint64_t before = *hash;
        *hash = HASH_START;
        return read_end(runs, line, before);
    }
    *hash = hash_text(*hash, line, strlen(line));
    return runs->read_row(runs->context, line);
}

/* Whatever follows the last complete run is ignored. */
static found_kind read_found(FILE *from, const beginning *b) {
    char line[LINE_BYTES];
    uint64_t hash = HASH_START;
    found_kind result = compare_beginning(from, b);
    errno = 0;
    while (result == FOUND_GOOD && fgets(line, sizeof line, from)) {
        if (!strchr(line, '\n')) break; /* cut off in the middle of a line */
        if (!read_line(b->runs, line, &hash))
            result = errno == ENOMEM ? FOUND_MEMORY : FOUND_DAMAGED;
    }
    return result;
}

/* ---- Files of other machines ----------------------------------------------------------------- */

static const char TITLE[] = "# sqrtdk ", UNFINISHED[] = ", unfinished",
                  VERSION[] = "results_version =";

static FILE *open_share(const char *path) {
    FILE *from = fopen(path, "r");
    if (!from) (void)complain("cannot open %s: %s", path, strerror(errno));
    return from;
}

/* The settings' lines, as far as they go; *found is whether the line behind them ends them. */
typedef struct its_settings {
    FILE *from;
    bool *found;
} its_settings;

static void print_found_settings(FILE *to, const void *context) {
    const its_settings *its = context;
    char line[LINE_BYTES];
    rewind(its->from);
    *its->found = false;
    if (!fgets(line, sizeof line, its->from) || strncmp(line, TITLE, strlen(TITLE)) != 0 ||
        !strstr(line, UNFINISHED))
        return;
    bool fresh = true; /* a long line comes in pieces */
    for (; fgets(line, sizeof line, its->from); fresh = strchr(line, '\n')) {
        if (fresh && strncmp(line, "# ", 2) != 0) return;
        *its->found = fresh && strncmp(line + 2, VERSION, strlen(VERSION)) == 0;
        if (*its->found) return;
        (void)fputs(fresh ? line + 2 : line, to);
    }
}

char *partial_settings(const char *path) {
    size_t size;
    bool found = false;
    const its_settings its = {open_share(path), &found};
    if (!its.from) return NULL;
    char *text = text_print(print_found_settings, &its, &size);
    (void)fclose(its.from);
    if (text && found) return text;
    if (!text)
        (void)complain_of_memory();
    else
        (void)complain("%s: expected a file that --shard left, FILE.I-of-N.partial", path);
    free(text);
    return NULL;
}

/* The first line in which two texts differ. */
static void complain_of_line(const char *path, const char *is, const char *expected) {
    while (*is && strcspn(is, "\n") == strcspn(expected, "\n") &&
           strncmp(is, expected, strcspn(is, "\n")) == 0) {
        is += strcspn(is, "\n") + 1;
        expected += strcspn(expected, "\n") + 1;
    }
    (void)complain("%s: its settings are others: %.*s, where the first file has %.*s", path,
                   (int)strcspn(is, "\n"), is, (int)strcspn(expected, "\n"), expected);
}

bool partial_take(const char *path, const char *settings, const partial_runs *runs) {
    char *own = partial_settings(path);
    FILE *from = own ? open_share(path) : NULL;
    const beginning b = {runs, settings};
    const found_kind kind = from ? read_found(from, &b) : FOUND_DAMAGED;
    if (from) (void)fclose(from);
    for (tt_size i = 0; i < runs->count; i++)
        if (!runs->complete(runs->context, i)) runs->forget(runs->context, i);
    if (from && kind == FOUND_MEMORY) (void)complain_of_memory();
    if (from && kind == FOUND_OTHER) complain_of_line(path, own, settings);
    if (from && kind == FOUND_VERSION)
        (void)complain("%s: of another results version than this program's %d: its bits would not "
                       "fit",
                       path, (int)RESULTS_VERSION);
    if (from && (kind == FOUND_DAMAGED || kind == FOUND_EMPTY))
        (void)complain("%s: damaged, or with a run that an earlier file has", path);
    free(own);
    return from && kind == FOUND_GOOD;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Takes over what an interrupted command left. */
static bool take_over(partial *p, const char *settings) {
    const beginning b = {p->runs, settings};
    const found_kind kind = read_found(p->found, &b);
    if (kind == FOUND_MEMORY) return complain_of_memory();
    if (kind == FOUND_OTHER)
        return complain("--resume: %s is from a run with other settings (they stand at its "
                        "beginning); run without --resume, or with another --output",
                        p->path);
    if (kind == FOUND_VERSION)
        return complain("--resume: %s is of another results version than this program's %d: its "
                        "bits would not fit; run without --resume",
                        p->path, (int)RESULTS_VERSION);
    return kind == FOUND_GOOD || kind == FOUND_EMPTY ||
           complain("--resume: %s is damaged; run without --resume", p->path);
}

/* Whether there is something to lose: a complete run, or what is no file of this kind. */
static bool is_worth_keeping(FILE *from, const char *title) {
    char line[LINE_BYTES];
    if (!fgets(line, sizeof line, from)) return false;
    if (strcmp(line, title) != 0) return true;
    while (fgets(line, sizeof line, from))
        if (strncmp(line, COMPLETE, strlen(COMPLETE)) == 0) return true;
    return false;
}

/* What starts anew does not throw away what an interrupted one left. */
static bool keep_found(const partial *p) {
    const size_t length = strlen(p->target);
    const bool csv = length > 4 && strcmp(p->target + length - 4, ".csv") == 0;
    const char *const ending[] = {csv ? ".csv.partial" : ".partial"};
    kept k;
    char title[TITLE_BYTES];
    title_of(p->runs, title);
    if (!is_worth_keeping(p->found, title)) return true;
    bool good = keep_aside(&k, p->target, ending, 1);
    if (good && k.count > 0)
        (void)complain("what --resume would go on from is kept as %s", k.to[0]);
    kept_free(&k);
    return good;
}

/* Only one run at a time may write to an output. The lock is on the partial file, as found and as
 * written, and ends with the program. */
static bool lock(const partial *p, int file) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(file, F_SETLK, &whole) == 0) return true;
    if (errno == EACCES || errno == EAGAIN)
        return complain("another run is writing %s; expected another --output", p->target);
    return complain("cannot lock %s: %s", p->path, strerror(errno));
}

static bool cannot_write(const char *path, const char *reason) {
    return complain("cannot write %s: %s", path, reason);
}

/* Opens the partial file as it is, or makes it, and locks it. */
static bool open_found(partial *p) {
    struct stat info;
    if (!output_make_folders(p->path)) return cannot_write(p->path, strerror(errno));
    const int fd = open(p->path, O_RDWR | O_CREAT | O_NONBLOCK, 0666);
    p->found = fd >= 0 ? fdopen(fd, "r+") : NULL;
    if (!p->found || fstat(fd, &info) != 0) return cannot_write(p->path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return cannot_write(p->path, "it is no regular file");
    if (!lock(p, fd)) return false;
    p->own = info.st_size == 0;
    return true;
}

/* Starts the partial file anew: what was taken over, then whatever finishes from now on. It is
 * complete, and locked, before it takes the found one's place. */
static bool start_anew(partial *p, const char *settings) {
    const partial_runs *runs = p->runs;
    if (!output_open(&p->file, p->path) || !lock(p, fileno(p->file.stream))) return false;
    const beginning b = {runs, settings};
    print_settings(p->file.stream, &b);
    print_format(p->file.stream, &b);
    const char *reason = output_flush(p->file.stream);
    for (tt_size i = 0; !reason && i < runs->count; i++)
        if (runs->complete(runs->context, i)) reason = write_run(p, i);
    if (reason) return cannot_write(p->path, reason);
    const bool good = output_commit(&p->file);
    p->own = p->own || good;
    output_settle(&p->file);
    return good;
}

static bool has_complete(const partial_runs *runs) {
    for (tt_size i = 0; i < runs->count; i++)
        if (runs->complete(runs->context, i)) return true;
    return false;
}

static char *path_of(const char *target) {
    static const char ENDING[] = ".partial";
    size_t bytes = strlen(target) + sizeof ENDING;
    char *path = malloc(bytes);
    if (path) (void)snprintf(path, bytes, "%s%s", target, ENDING);
    return path;
}

bool partial_open(partial *p, const char *target, const char *settings, const partial_runs *runs,
                  bool resume) {
    *p = (partial){.path = path_of(target), .target = target, .runs = runs};
    if (!p->path) return complain_of_memory();
    if (!open_found(p) || !(resume ? take_over(p, settings) : keep_found(p))) return false;
    if (resume && !has_complete(runs))
        (void)complain("--resume: nothing to go on from; this starts at the beginning");
    return start_anew(p, settings);
}

bool partial_add(partial *p, tt_size i) {
    const char *reason = write_run(p, i);
    return !reason || cannot_write(p->path, reason);
}

bool partial_remove(const partial *p) {
    return !p->path || unlink(p->path) == 0 ||
           complain("cannot remove %s: %s", p->path, strerror(errno));
}

void partial_close(partial *p) {
    /* while the lock holds */
    if (p->own && !p->holds) (void)unlink(p->path);
    output_discard(&p->file);
    if (p->found) (void)fclose(p->found);
    free(p->path);
    *p = (partial){.path = NULL};
}

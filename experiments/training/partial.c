/* partial.c: what is read back is trusted only as far as its hash: whoever resumes must not build
 * on a damaged run.
 */
#include "training/partial.h"

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
#include "training/log.h"

static const char TITLE[] = "# sqrtdk stall, unfinished: complete runs in the order they ended\n";
static const char COMPLETE[] = "# complete,";

enum { LINE_BYTES = 4096 };

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_settings(FILE *to, const char *settings) {
    (void)fputs(TITLE, to);
    for (const char *line = settings; *line;) {
        int length = (int)strcspn(line, "\n");
        (void)fprintf(to, "# %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
}

static void write_format(FILE *to) {
    (void)fprintf(to, "# results_version = %d\n", (int)RESULTS_VERSION);
    log_header(to);
}

/* A complete run, with a hash of its lines; false, with errno, if it did not arrive. */
static bool write_run(FILE *to, const sweep *s, const run *c) {
    char *text = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size);
    if (!lines) return false;
    log_run(lines, s, c);
    (void)fputs(COMPLETE, lines);
    log_key(lines, c);
    (void)fprintf(lines, ",%td", c->steps);
    csv_number(lines, c->ratio);
    csv_number(lines, c->middle);
    (void)fputc(',', lines);
    bool good = fclose(lines) == 0;
    if (good) (void)fprintf(to, "%s%016" PRIx64 "\n", text, hash_text(HASH_START, text, size));
    free(text);
    return good && fflush(to) == 0 && !ferror(to);
}

/* ---- Reading back ---------------------------------------------------------------------------- */

typedef enum found_kind {
    FOUND_GOOD,    /* complete runs are in the sweep now, marked finished */
    FOUND_EMPTY,   /* the file is */
    FOUND_OTHER,   /* it is from a sweep with other settings */
    FOUND_VERSION, /* its bits are those of another results version */
    FOUND_DAMAGED  /* its beginning is cut off, or a complete run is not what was written */
} found_kind;

/* Whether the file goes on with this text. */
static found_kind compare_text(FILE *from, const char *text, size_t size, found_kind otherwise) {
    for (size_t i = 0; i < size; i++) {
        int c = fgetc(from);
        if (c == EOF) return FOUND_DAMAGED;
        if (c != (unsigned char)text[i]) return otherwise;
    }
    return FOUND_GOOD;
}

/* Compares the file's beginning with what this sweep would write. */
static found_kind compare_beginning(FILE *from, const char *settings) {
    char *text = NULL;
    size_t size = 0, settings_size = 0;
    FILE *expected = open_memstream(&text, &size);
    if (!expected) return FOUND_DAMAGED;
    write_settings(expected, settings);
    if (fflush(expected) == 0) settings_size = size;
    write_format(expected);
    found_kind kind = fclose(expected) == 0 ? FOUND_GOOD : FOUND_DAMAGED;
    int first = fgetc(from);
    if (first == EOF) kind = FOUND_EMPTY;
    (void)ungetc(first, from);
    if (kind == FOUND_GOOD) kind = compare_text(from, text, settings_size, FOUND_OTHER);
    if (kind == FOUND_GOOD)
        kind = compare_text(from, text + settings_size, size - settings_size, FOUND_VERSION);
    free(text);
    return kind;
}

static bool is_name(const char *name, const char *field, size_t length) {
    return strncmp(name, field, length) == 0 && name[length] == '\0';
}

/* The run that a line's first fields (seed, d_k, scale, optimizer, lr) name, and where they end. */
static run *named_run(const sweep *s, const char *line, const char **rest) {
    char *at, *end;
    const int64_t seed = strtoll(line, &at, 10);
    const int64_t d_k = *at == ',' ? strtoll(at + 1, &at, 10) : 0;
    if (*at != ',') return NULL;
    const char *scale = at + 1;
    const size_t length = strcspn(scale, ",");
    if (scale[length] != ',') return NULL;
    const char *name = scale + length + 1;
    const size_t name_length = strcspn(name, ",");
    if (name[name_length] != ',') return NULL;
    const double lr = strtod(name + name_length + 1, &end);
    *rest = end + (*end == ',');
    for (tt_size i = 0; *end == ',' && i < s->count; i++) {
        run *c = &s->runs[i];
        if (c->seed == seed && c->d_k == d_k && c->lr == lr &&
            is_name(c->scale->name, scale, length) &&
            is_name(c->optimizer->name, name, name_length))
            return c;
    }
    return NULL;
}

/* The last line of a run: steps taken, both ratios, and the hash of all before it. */
static bool read_end(const char *line, const char *at, uint64_t hash, run *c) {
    double steps;
    if (!log_read_number(&at, &steps) || !log_read_number(&at, &c->ratio) ||
        !log_read_number(&at, &c->middle))
        return false;
    c->steps = (tt_size)steps;
    char expected[32];
    (void)snprintf(expected, sizeof expected, "%016" PRIx64 "\n",
                   hash_text(hash, line, (size_t)(at - line)));
    return strcmp(at, expected) == 0;
}

/* One line; *hash is that of the run's lines so far. */
static bool read_line(const sweep *s, const char *line, uint64_t *hash) {
    const size_t mark = strlen(COMPLETE);
    bool complete = strncmp(line, COMPLETE, mark) == 0;
    const char *rest;
    run *c = named_run(s, complete ? line + mark : line, &rest);
    if (!c || c->finished) return false;
    if (complete) {
        c->finished = read_end(line, rest, *hash, c);
        *hash = HASH_START;
        return c->finished;
    }
    *hash = hash_text(*hash, line, strlen(line));
    if (!sweep_make_rows(s, c) || c->row_count == sweep_rows(s)) return false;
    return log_read_row(rest, &c->rows[c->row_count++]);
}

/* Whatever follows the last complete run is ignored. */
static found_kind read_found(FILE *from, const char *settings, sweep *s) {
    char line[LINE_BYTES];
    uint64_t hash = HASH_START;
    found_kind result = compare_beginning(from, settings);
    while (result == FOUND_GOOD && fgets(line, sizeof line, from)) {
        if (!strchr(line, '\n')) break; /* cut off in the middle of a line */
        if (!read_line(s, line, &hash)) result = FOUND_DAMAGED;
    }
    for (tt_size i = 0; i < s->count; i++)
        if (!s->runs[i].finished) s->runs[i].row_count = 0;
    return result;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Takes over what an interrupted sweep left. */
static bool take_over(partial *p, const char *settings, sweep *s) {
    const found_kind kind = read_found(p->found, settings, s);
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
static bool is_worth_keeping(FILE *from) {
    char line[LINE_BYTES];
    if (!fgets(line, sizeof line, from)) return false;
    if (strcmp(line, TITLE) != 0) return true;
    while (fgets(line, sizeof line, from))
        if (strncmp(line, COMPLETE, strlen(COMPLETE)) == 0) return true;
    return false;
}

/* A sweep that starts anew does not throw away what an interrupted one left. */
static bool keep_found(const partial *p) {
    const size_t length = strlen(p->target);
    const bool csv = length > 4 && strcmp(p->target + length - 4, ".csv") == 0;
    const char *const ending[] = {csv ? ".csv.partial" : ".partial"};
    kept k;
    if (!is_worth_keeping(p->found)) return true;
    bool good = keep_aside(&k, p->target, ending, 1);
    if (good && k.count > 0)
        (void)complain("an interrupted sweep's complete runs are kept as %s (--resume would have "
                       "gone on from them)",
                       k.to[0]);
    kept_free(&k);
    return good;
}

/* Only one run at a time may write to an output. The lock is on the partial file, as found and as
 * written, and ends with the program. */
static bool lock(const partial *p, FILE *file) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fileno(file), F_SETLK, &whole) == 0) return true;
    if (errno == EACCES || errno == EAGAIN)
        return complain("another run is writing %s; expected another --output", p->target);
    return complain("cannot lock %s: %s", p->path, strerror(errno));
}

static bool cannot_write(const char *path) {
    return complain("cannot write %s: %s", path, strerror(errno));
}

/* Opens the partial file as it is, or makes it, and locks it. */
static bool open_found(partial *p) {
    struct stat info;
    if (!output_make_folders(p->path)) return cannot_write(p->path);
    int fd = open(p->path, O_RDWR | O_CREAT | O_NONBLOCK, 0666);
    if (fd < 0) return cannot_write(p->path);
    p->found = fdopen(fd, "r+");
    if (!p->found || fstat(fd, &info) != 0) return cannot_write(p->path);
    if (S_ISREG(info.st_mode)) return lock(p, p->found);
    return complain("cannot write %s: it is no regular file", p->path);
}

/* Starts the partial file anew: what was taken over, then whatever finishes from now on. It is
 * complete, and locked, before it takes the found one's place. */
static bool start_anew(partial *p, const char *settings, const sweep *s) {
    if (!output_open(&p->file, p->path) || !lock(p, p->file.stream)) return false;
    write_settings(p->file.stream, settings);
    write_format(p->file.stream);
    bool good = true;
    for (tt_size i = 0; good && i < s->count; i++)
        if (s->runs[i].finished) good = write_run(p->file.stream, s, &s->runs[i]);
    if (!good || fflush(p->file.stream) != 0) return cannot_write(p->path);
    good = output_commit(&p->file);
    output_settle(&p->file);
    return good;
}

static char *path_of(const char *target) {
    static const char ENDING[] = ".partial";
    size_t bytes = strlen(target) + sizeof ENDING;
    char *path = malloc(bytes);
    if (path) (void)snprintf(path, bytes, "%s%s", target, ENDING);
    return path;
}

bool partial_open(partial *p, const char *target, const char *settings, sweep *s, bool resume) {
    *p = (partial){.path = path_of(target), .target = target, .sweep = s};
    if (!p->path) return complain("out of memory");
    return open_found(p) && (resume ? take_over(p, settings, s) : keep_found(p)) &&
           start_anew(p, settings, s);
}

bool partial_add(partial *p, const run *c) {
    return write_run(p->file.stream, p->sweep, c) || cannot_write(p->path);
}

void partial_remove(const partial *p) {
    if (p->path) (void)unlink(p->path);
}

void partial_close(partial *p) {
    output_discard(&p->file);
    if (p->found) (void)fclose(p->found);
    free(p->path);
    *p = (partial){.path = NULL};
}

#include "page/beside.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/message.h"
#include "common/output.h"

char *beside_read(const char *path) {
    FILE *from = fopen(path, "rb");
    char *text = NULL;
    size_t count = 0;
    if (!from) return NULL;
    if (getdelim(&text, &count, '\0', from) < 0) {
        free(text);
        text = NULL;
        if (!ferror(from)) errno = ENODATA;
    }
    (void)fclose(from);
    return text;
}

char *beside_text(const char *path, const char *ending) {
    char *beside = output_beside(path, ending);
    char *text = beside ? beside_read(beside) : NULL;
    if (!text) (void)complain("cannot read '%s': %s", beside ? beside : path, strerror(errno));
    free(beside);
    return text;
}

/* ---- Figures --------------------------------------------------------------------------------- */

/* Where the name starts in a path. */
static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Both as one path; the caller frees. NULL without memory. */
static char *joined(const char *front, int front_length, const char *between, const char *name,
                    int name_length, const char *ending) {
    char *out =
        malloc((size_t)front_length + strlen(between) + (size_t)name_length + strlen(ending) + 1);
    if (out)
        (void)sprintf(out, "%.*s%s%.*s%s", front_length, front, between, name_length, name, ending);
    return out;
}

char *beside_figures(const char *path) {
    return joined(path, (int)(name_of(path) - path), "figures", "", 0, "");
}

/* Whether one of the stems that a figure's name may have behind this one is that of a run. */
static bool is_of_another(const char *name, size_t stem, const char *path) {
    const int folder = (int)(name_of(path) - path);
    for (const char *at = name + stem + 1; (at = strchr(at, '_')); at++) {
        char *meta = joined(path, folder, "", name, (int)(at - name), ".meta");
        const bool there = meta && access(meta, F_OK) == 0;
        free(meta);
        if (there) return true;
    }
    return false;
}

/* Whether a name in the folder is that of a figure of the run: stem_kind.svg, or stem.svg where the
 * stem is the kind. */
static bool is_named_so(const char *name, const char *stem, const char *path) {
    static const char ENDING[] = ".svg";
    const size_t length = strlen(name), own = strlen(stem), ending = sizeof ENDING - 1;
    if (length < own + ending || strncmp(name, stem, own) != 0) return false;
    if (strcmp(name + own, ENDING) == 0) return true;
    return name[own] == '_' && strcmp(name + length - ending, ENDING) == 0 &&
           !is_of_another(name, own, path);
}

/* Whether a file is there, and not older than the CSV. */
static bool is_new(const char *figure, const char *path) {
    struct stat drawn, run;
    return stat(figure, &drawn) == 0 && stat(path, &run) == 0 && drawn.st_mtime >= run.st_mtime;
}

/* Takes over the path; false without memory. */
static bool add(figure_list *f, char *figure) {
    char **more = figure ? realloc(f->path, (size_t)(f->count + 1) * sizeof *more) : NULL;
    if (!more) {
        free(figure);
        return false;
    }
    f->path = more;
    f->path[f->count++] = figure;
    return true;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Those of a folder, if it is there. */
static bool list(figure_list *f, const char *folder_path, const char *stem, const char *path) {
    DIR *folder = opendir(folder_path);
    const struct dirent *entry;
    bool good = true;
    while (folder && good && (entry = readdir(folder))) {
        const char *name = entry->d_name;
        if (!is_named_so(name, stem, path)) continue;
        char *figure =
            joined(folder_path, (int)strlen(folder_path), "/", name, (int)strlen(name), "");
        if (figure && !is_new(figure, path))
            free(figure);
        else
            good = add(f, figure);
    }
    if (folder) (void)closedir(folder);
    return good;
}

bool figures_find(figure_list *f, const char *path) {
    char *stem = output_beside(path, ""), *figures = beside_figures(path);
    char *own = joined(path, (int)(name_of(path) - path), ".", "", 0, "");
    *f = (figure_list){NULL, 0};
    bool good = stem && figures && own && list(f, figures, name_of(stem), path);
    if (good && f->count == 0) good = list(f, own, name_of(stem), path);
    if (f->count > 1) qsort(f->path, (size_t)f->count, sizeof *f->path, by_name);
    free(stem);
    free(figures);
    free(own);
    return good || complain("out of memory");
}

void figures_free(figure_list *f) {
    for (int i = 0; i < f->count; i++) free(f->path[i]);
    free(f->path);
    *f = (figure_list){NULL, 0};
}

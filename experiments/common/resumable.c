#include "common/resumable.h"

#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/settings.h"
#include "common/stop.h"
#include "common/text.h"

static bool read_shard(const options *o, shard *out) {
    const char *text = options_text(o, "shard");
    char *end;
    *out = (shard){0, 0};
    if (!options_given(o, "shard")) return true;
    const size_t left = strspn(text, "0123456789");
    if (left > 0 && text[left] == '/' && strspn(text + left + 1, "0123456789") > 0) {
        const long index = strtol(text, NULL, 10), count = strtol(text + left + 1, &end, 10);
        if (*end == '\0' && index >= 1 && index <= count && count <= SHARDS_MOST) {
            *out = (shard){(int)index, (int)count};
            return true;
        }
    }
    return complain("--shard '%s': expected I/N, share I of N, with 1 <= I <= N <= %d", text,
                    (int)SHARDS_MOST);
}

bool resumable_option(resumable *r, const options *o) {
    r->resume = options_flag(o, "resume");
    r->quiet = options_flag(o, "quiet");
    if (!read_shard(o, &r->shard) || !results_option(o, &r->output)) return false;
    r->direct = output_is_direct(r->output);
    if (!r->direct || !(r->resume || r->shard.count > 0)) return true;
    return complain("--%s with --output '%s': expected a regular file",
                    r->resume ? "resume" : "shard", r->output);
}

/* FILE.I-of-N, or FILE where there are no shares; the caller frees. NULL without memory. */
static char *target_of(const shard *s, const char *file) {
    const size_t bytes = strlen(file) + 32;
    char *path = malloc(bytes);
    if (path && s->count > 0)
        (void)snprintf(path, bytes, "%s.%d-of-%d", file, s->index, s->count);
    else if (path)
        (void)snprintf(path, bytes, "%s", file);
    return path;
}

static bool record(resumable *r, const options *recorded, const partial_runs *runs) {
    r->options = recorded;
    r->runs = *runs;
    r->settings = settings_describe(recorded);
    return r->settings || complain_of_memory();
}

bool resumable_open(resumable *r, const options *recorded, const char *noun, partial_runs runs,
                    const char *const *endings, int files) {
    const partial_runs *all = &r->runs;
    if (!record(r, recorded, &runs)) return false;
    r->noun = noun;
    if (r->direct && !results_open(&r->results, recorded, endings, files)) return false;
    if (!r->direct && r->shard.count == 0 && !results_may_open(recorded, endings, files))
        return false;
    r->target = target_of(&r->shard, r->output);
    bool good = r->target || complain_of_memory();
    if (good && !r->direct)
        good = partial_open(&r->partial, r->target, r->settings, all, r->resume);
    for (tt_size i = 0; good && i < all->count; i++) {
        const bool own = !all->elsewhere(all->context, i);
        r->own += own;
        r->finished += own && all->complete(all->context, i);
    }
    return good;
}

bool resumable_add(resumable *r, tt_size i) {
    r->finished++;
    return r->direct || partial_add(&r->partial, i);
}

int resumable_interrupted(const resumable *r) {
    const int code = EXIT_SIGNAL + stop_signal;
    if (r->finished == 0) return message_fail(code, "interrupted; nothing is complete");
    if (r->direct)
        return message_fail(code, "interrupted; %td of %td %s were done, nothing is written",
                            r->finished, r->own, r->noun);
    return message_fail(code, "interrupted; %td of %td %s are in %s for --resume", r->finished,
                        r->own, r->noun, r->partial.path);
}

int resumable_share_done(const resumable *r) {
    const shard *s = &r->shard;
    if (r->quiet) return EXIT_OK;
    text_line(stdout, 2,
              "Share %d of %d: %td of %td %s, in %s. When all shares are there:", s->index,
              s->count, r->own, r->runs.count, r->noun, r->partial.path);
    printf("  sqrtdk merge %s %s.*-of-%d.partial\n", r->output, r->output, s->count);
    return EXIT_OK;
}

/* How many runs are in none of the files; -1 after one line. */
static tt_size read_shares(const share_files *files, const char *settings,
                           const partial_runs *runs) {
    tt_size missing = 0;
    for (int i = 0; i < files->count; i++)
        if (!partial_take(files->path[i], settings, runs)) return -1;
    for (tt_size i = 0; i < runs->count; i++) {
        if (runs->complete(runs->context, i)) continue;
        if (missing++ == 0) puts("Missing:");
        (void)fputs("  ", stdout);
        runs->name(stdout, runs->context, i);
        (void)fputc('\n', stdout);
    }
    if (missing == 0 || files->allow_missing) return missing;
    (void)complain("merge: %td of %td are in no file; run their shares with --resume, or give "
                   "--allow-missing",
                   missing, runs->count);
    return -1;
}

tt_size resumable_merge(resumable *r, const options *recorded, partial_runs runs,
                        const share_files *files) {
    return record(r, recorded, &runs) ? read_shares(files, r->settings, &r->runs) : -1;
}

void resumable_close(resumable *r) {
    results_discard(&r->results);
    partial_close(&r->partial);
    free(r->settings);
    free(r->target);
    r->settings = r->target = NULL;
}

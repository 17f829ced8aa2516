#include "inspect/factor_mask.h"

#include <stdio.h>

#include "heads/head_files.h"

/* Where query i stands among the keys: it sees none behind. */
static tt_size place(const factor_mask *m, tt_size i) {
    if (m->causal == TT_CAUSAL_NONE) return m->keys - 1;
    return m->causal == TT_CAUSAL_TOP_LEFT ? i : i + m->keys - m->queries;
}

bool factor_mask_allows(const factor_mask *m, tt_size query, tt_size key) {
    const tt_size at = place(m, query);
    return key <= at && key >= m->first && key < m->last &&
           (m->window == 0 || key + m->window > at);
}

/* Whether it hides what a weight says is visible, or shows what one says is hidden. */
static bool contradicts(const factor_mask *m, const signed char *state) {
    for (tt_size i = 0; i < m->queries; i++)
        for (tt_size j = 0; j < m->keys; j++) {
            const signed char s = state[i * m->keys + j];
            if (s != KEY_UNSURE && (s == KEY_VISIBLE) != factor_mask_allows(m, i, j)) return true;
        }
    return false;
}

/* The keys that any query sees, from the first to the last. */
static void find_range(factor_mask *m, const signed char *state) {
    m->first = m->keys;
    m->last = 0;
    for (tt_size i = 0; i < m->queries * m->keys; i++) {
        const tt_size j = i % m->keys;
        if (state[i] != KEY_VISIBLE) continue;
        if (j < m->first) m->first = j;
        if (j >= m->last) m->last = j + 1;
    }
}

static void find_window(factor_mask *m, const signed char *state) {
    m->window = 1;
    for (tt_size i = 0; i < m->queries; i++)
        for (tt_size j = 0; j < m->keys; j++)
            if (state[i * m->keys + j] == KEY_VISIBLE && place(m, i) - j >= m->window)
                m->window = place(m, i) - j + 1;
}

factor_mask factor_mask_find(const signed char *state, tt_size queries, tt_size keys) {
    factor_mask m = {.known = true, .queries = queries, .keys = keys, .last = keys};
    for (tt_size i = 0; i < queries * keys; i++) {
        m.hidden += state[i] == KEY_HIDDEN;
        m.unsure += state[i] == KEY_UNSURE;
    }
    for (int narrow = 0; narrow < 4; narrow++)
        for (int causal = TT_CAUSAL_NONE; causal <= TT_CAUSAL_BOTTOM_RIGHT; causal++) {
            factor_mask try = m;
            try.causal = (tt_causal)causal;
            if (narrow % 2) find_range(&try, state);
            if (narrow / 2 && causal == TT_CAUSAL_NONE) continue;
            if (narrow / 2) find_window(&try, state);
            if (!contradicts(&try, state)) return try;
        }
    m.own = true;
    return m;
}

bool factor_mask_equal(const factor_mask *a, const factor_mask *b) {
    return a->known == b->known && a->given == b->given && a->own == b->own &&
           a->causal == b->causal && a->window == b->window && a->first == b->first &&
           a->last == b->last;
}

const char *factor_mask_text(char text[FACTOR_MASK_BYTES], const factor_mask *m) {
    char window[48] = "", range[64] = "";
    const bool square = m->queries == m->keys && m->causal != TT_CAUSAL_NONE;
    if (m->window) (void)snprintf(window, sizeof window, ", window of %td keys", m->window);
    if (m->first > 0 || m->last < m->keys)
        (void)snprintf(range, sizeof range, ", keys %td to %td of %td only", m->first, m->last - 1,
                       m->keys);
    if (m->own)
        (void)snprintf(text, FACTOR_MASK_BYTES, "own, %td of %td weights hidden", m->hidden,
                       m->queries * m->keys);
    else
        (void)snprintf(text, FACTOR_MASK_BYTES, "%s%s%s",
                       !m->known  ? "unknown"
                       : m->given ? "as given"
                       : square   ? "causal"
                                  : mask_word((int)m->causal),
                       window, range);
    return text;
}

#include "common/quote.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTED_BYTES = 12 };

static const char PLAIN[] = "\n\t\r\\", NAMES[] = "ntr\\"; /* behind a backslash */

/* How many bytes belong to the first one, as UTF-8 has it. */
static int length_of(const unsigned char *at) {
    const int length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0xc2 ? 2 : 1;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80) return 1;
    return length;
}

/* 0 to 31, 127, and those that have a byte or two from 0x80 to 0x9f, which some terminals obey. */
static bool is_control(const unsigned char *at, int length) {
    if (length == 2 && at[0] == 0xc2) return at[1] < 0xa0;
    return length == 1 && (at[0] < ' ' || (at[0] >= 127 && at[0] < 0xa0));
}

/* The next character, quoted; moves *text behind it. */
static void next(const char **text, char out[QUOTED_BYTES]) {
    const unsigned char *at = (const unsigned char *)*text;
    const char *known = strchr(PLAIN, *at);
    const int length = length_of(at);
    *text += length;
    if (known) {
        (void)snprintf(out, QUOTED_BYTES, "\\%c", NAMES[known - PLAIN]);
    } else if (is_control(at, length)) {
        for (int i = 0; i < length; i++, out += 4)
            (void)snprintf(out, 5, "\\x%02x", (unsigned)at[i]);
    } else {
        memcpy(out, at, (size_t)length);
        out[length] = '\0';
    }
}

void quote_print(FILE *to, const char *text, size_t length) {
    char one[QUOTED_BYTES];
    for (const char *end = text + length; text < end;) {
        next(&text, one);
        (void)fputs(one, to);
    }
}

void quote_text(char *to, size_t bytes, const char *text) {
    char one[QUOTED_BYTES];
    size_t used = 0;
    for (to[0] = '\0'; *text; used += strlen(one)) {
        next(&text, one);
        if (used + strlen(one) >= bytes) return;
        memcpy(to + used, one, strlen(one) + 1);
    }
}

void quote_undo(char *text) {
    char *to = text;
    while (*text) {
        const char *known = text[0] == '\\' && text[1] ? strchr(NAMES, text[1]) : NULL;
        if (known) {
            *to++ = PLAIN[known - NAMES];
            text += 2;
        } else if (text[0] == '\\' && text[1] == 'x' && strlen(text) >= 4) {
            const char hex[] = {text[2], text[3], '\0'};
            *to++ = (char)strtol(hex, NULL, 16);
            text += 4;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
}

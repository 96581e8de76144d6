/* Text without control characters. A server may send any text; it must not break the lines of a table or move
 * the cursor of the terminal. Each control character becomes a space. */
#include "command/output/output.h"

static bool plain_is_control(char c) {
    return (unsigned char)c < ' ' || c == 0x7f;
}

void plain_replace_controls(char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (plain_is_control(text[i]))
            text[i] = ' ';
}

void plain_add_text(struct buf *out, const char *text) {
    for (; *text; text++)
        buf_add_u8(out, plain_is_control(*text) ? ' ' : (uint8_t)*text);
}

const char *plain_text(struct arena *a, const char *text) {
    for (const char *at = text; at && *at; at++) {
        if (!plain_is_control(*at))
            continue;
        char *copy = arena_strdup(a, text);
        if (copy)
            plain_replace_controls(copy, strlen(copy));
        return copy;
    }
    return text;
}

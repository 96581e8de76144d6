/* Cards: one result as lines of a title and a text. An empty text has no line. */
#include "command/output/output.h"

void card_init(struct card *d, const struct command *c, struct arena *a) {
    *d = (struct card){.rows = {.arena = a, .columns = 2, .is_card = true, .has_color = c->style.has_color}};
}

void card_add(struct card *d, const char *title, const char *text) {
    if (text && !*text)
        return;
    text = plain_text(d->rows.arena, text);
    if (d->rc == 0)
        d->rc = rows_add(&d->rows, title);
    if (d->rc == 0)
        d->rc = rows_add(&d->rows, text);
}

void card_add_words(struct card *d, const char *title, struct buf *words) {
    if (buf_ok(words))
        card_add(d, title,
                 arena_strndup(d->rows.arena, words->data ? (const char *)words->data : "", words->len));
    else
        d->rc = ERR_NO_MEMORY;
    buf_clear(words);
}

void card_add_fields(struct card *d, struct command *c, const ProtobufCMessage *m,
                     const struct card_line *lines, size_t n) {
    for (size_t i = 0; i < n; i++)
        card_add(d, lines[i].title, view_text(c, m, lines[i].path));
}

void card_add_map(struct card *d, struct command *c, const char *title, const ProtobufCMessage *m,
                  const char *path) {
    struct view_items entries = view_items(m, path);
    for (size_t i = 0; i < entries.n; i++) {
        const char *key = view_text(c, entries.v[i], "key"), *value = view_text(c, entries.v[i], "value");
        card_add(d, i ? "" : title, key && value ? arena_printf(d->rows.arena, "%s=%s", key, value) : NULL);
    }
}

int card_print(const struct card *d, struct buf *out) {
    if (d->rc == 0 && d->rows.count)
        rows_print(&d->rows, out);
    return d->rc;
}

/* Lines of a title and a text, for one thing that is shown to a person. */
#include "cal/civil.h"
#include "cal/words.h"
#include "command/schedule_show.h"

#define WORDS_BYTES_MAX (1u << 20)

void card_init(struct card *d, const struct command *c, struct arena *a) {
    *d = (struct card){.rows = {.arena = a, .columns = 2, .is_card = true, .has_color = c->style.has_color}};
}

const char *plain_text(struct arena *a, const char *text) {
    for (const char *at = text; at && *at; at++) {
        if ((unsigned char)*at >= ' ' && *at != 0x7f)
            continue;
        char *copy = arena_strdup(a, text);
        for (char *c = copy; c && *c; c++)
            if ((unsigned char)*c < ' ' || *c == 0x7f)
                *c = ' ';
        return copy;
    }
    return text;
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

void card_add_bounds(struct card *d, const struct cal_spec *s) {
    struct buf words cleanup(buf_done);
    buf_init(&words, WORDS_BYTES_MAX);
    if (s->calendar_count)
        words_zone(s, &words);
    card_add_words(d, "Zone", &words);
    if (s->start_us != CAL_NO_START)
        card_add(d, "From", utc_text(d->rows.arena, civil_div(s->start_us, USEC_PER_SEC)));
    if (s->end_us != CAL_NO_END)
        card_add(d, "Until", utc_text(d->rows.arena, civil_div(s->end_us, USEC_PER_SEC)));
    if (s->jitter_us > 0) {
        buf_add_cstr(&words, "up to ");
        words_length(s->jitter_us, &words);
        buf_add_cstr(&words, " later");
        card_add_words(d, "Jitter", &words);
    }
}

int card_print(const struct card *d, struct buf *out) {
    if (d->rc == 0 && d->rows.count)
        rows_print(&d->rows, out);
    return d->rc;
}

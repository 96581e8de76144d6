/* Prints cells in columns that are as wide as their widest cell, with two spaces between them and no
 * trailing spaces.
 *
 * On a terminal titles are bold, and words for a state have a colour. */
#include "command/output/output.h"

#define ROWS_ROOM_FIRST 256

static const struct {
    const char *word, *color;
} colors[] = {
    {"Running", "\x1b[34m"},  {"Completed", "\x1b[32m"},      {"Failed", "\x1b[31m"},
    {"TimedOut", "\x1b[31m"}, {"Canceled", "\x1b[33m"},       {"Terminated", "\x1b[31m"},
    {"Paused", "\x1b[33m"},   {"ContinuedAsNew", "\x1b[36m"},
};
static const char title_color[] = "\x1b[1m", end_color[] = "\x1b[0m";

int rows_add(struct rows *r, const char *cell) {
    if (!cell)
        return ERR_NO_MEMORY;
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : ROWS_ROOM_FIRST;
        const char **cells = arena_array(r->arena, const char *, room);
        if (!cells)
            return ERR_NO_MEMORY;
        for (size_t i = 0; i < r->count; i++)
            cells[i] = r->cells[i];
        r->cells = cells;
        r->room = room;
    }
    r->cells[r->count++] = cell;
    return 0;
}

/* The number of characters; each counts as one column. */
static size_t rows_cell_width(const char *s) {
    size_t n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static const char *rows_cell_color(const struct rows *r, size_t i) {
    if (!r->has_color)
        return NULL;
    if (i < r->titles || (r->is_card && i % r->columns == 0))
        return title_color;
    for (size_t k = 0; k < ARRAY_LEN(colors); k++)
        if (cstr_eq(colors[k].word, r->cells[i]))
            return colors[k].color;
    return NULL;
}

/* Ends a line without trailing spaces. */
static void rows_end_line(struct buf *out) {
    while (out->len && out->data[out->len - 1] == ' ')
        buf_truncate(out, out->len - 1);
    buf_add_u8(out, '\n');
}

void rows_print(const struct rows *r, struct buf *out) {
    size_t own[COLUMNS_MAX] = {0};
    size_t *widths = r->widths ? r->widths : own;
    ensure(r->columns && r->columns <= COLUMNS_MAX && r->count % r->columns == 0);
    for (size_t i = 0; i < r->count; i++)
        widths[i % r->columns] = MAX(widths[i % r->columns], rows_cell_width(r->cells[i]));
    for (size_t i = 0; i < r->count; i++) {
        bool is_last = i % r->columns == r->columns - 1;
        const char *color = rows_cell_color(r, i);
        buf_add_cstr(out, color ? color : "");
        buf_add_cstr(out, r->cells[i]);
        buf_add_cstr(out, color ? end_color : "");
        if (is_last)
            rows_end_line(out);
        else
            buf_printf(out, "%*s", (int)(widths[i % r->columns] - rows_cell_width(r->cells[i]) + 2), "");
    }
}

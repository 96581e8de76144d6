/* Tables of local data, in the formats of server responses. */
#include "command/output/output.h"

void sheet_init(struct sheet *s, struct command *c, const char *const *titles, size_t columns) {
    *s = (struct sheet){.command = c,
                        .titles = titles,
                        .columns = columns,
                        .rows = {.arena = &c->arena, .columns = columns, .has_color = c->style.has_color}};
}

int sheet_add(struct sheet *s, const char *cell) {
    return rows_add(&s->rows, cell);
}

static void sheet_add_title(struct buf *out, const char *title) {
    char name[] = {(char)(title[0] | 0x20), 0}; /* titles are words in ASCII */
    buf_printf(out, "\"%s%s\":", name, title + 1);
}

static void sheet_print_json(const struct sheet *s, struct buf *out) {
    bool is_array = s->command->format == FORMAT_JSON;
    buf_add_cstr(out, is_array ? "[" : "");
    for (size_t i = 0; i < s->rows.count; i++) {
        size_t column = i % s->columns;
        if (column == 0)
            buf_add_cstr(out, !is_array ? "{" : i ? ",\n  {" : "\n  {");
        else
            buf_add_u8(out, ',');
        sheet_add_title(out, s->titles[column]);
        opt_json_string(out, s->rows.cells[i]);
        if (column == s->columns - 1)
            buf_add_cstr(out, is_array ? "}" : "}\n");
    }
    buf_add_cstr(out, !is_array ? "" : s->rows.count ? "\n]\n" : "]\n");
}

void sheet_print(struct sheet *s, struct buf *out) {
    if (s->command->format == FORMAT_NONE)
        return;
    if (s->command->format != FORMAT_TABLE) {
        sheet_print_json(s, out);
        return;
    }
    struct rows titled = s->rows;
    titled.cells = NULL;
    titled.count = titled.room = 0;
    titled.titles = s->columns;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->columns; i++)
        rc = rows_add(&titled, s->titles[i]);
    for (size_t i = 0; rc == 0 && i < s->rows.count; i++)
        rc = rows_add(&titled, s->rows.cells[i]);
    if (rc == 0)
        rows_print(&titled, out);
}

/* One result put together from flags and several responses: a card in a table, an object in JSON. */
#include "command/output/output.h"
#include "common.pb-c.h"

void object_init(struct object *o, struct command *c) {
    *o = (struct object){.command = c};
    buf_init(&o->json, COMMAND_MEMORY_MAX);
    o->rows =
        (struct rows){.arena = &c->page, .columns = 2, .is_card = true, .has_color = c->style.has_color};
}

static void object_begin_member(struct object *o, const char *title) {
    bool is_pretty = o->command->format == FORMAT_JSON;
    buf_add_cstr(&o->json, o->json.len ? "," : "{");
    buf_add_cstr(&o->json, is_pretty ? "\n  " : "");
    char name[] = {(char)(title[0] | 0x20), 0}; /* titles are words in ASCII */
    buf_printf(&o->json, "\"%s%s\":%s", name, title + 1, is_pretty ? " " : "");
}

static void object_add_row(struct object *o, const char *title, const char *cell) {
    o->has_failed = o->has_failed || rows_add(&o->rows, title) < 0 || rows_add(&o->rows, cell) < 0;
}

void object_add_members(struct object *o, const ProtobufCMessage *m) {
    ensure(!o->json.len);
    o->has_failed = view_json(o->command, m, &o->json) < 0 || o->has_failed;
    struct str text = buf_str(&o->json);
    size_t n = text.n ? text.n - 1 : 0; /* without the closing brace */
    while (n && (text.p[n - 1] == '\n' || text.p[n - 1] == ' '))
        n--;
    buf_truncate(&o->json, n > 1 ? n : 0);
}

void object_add_text(struct object *o, const char *title, const char *text) {
    if (!text) {
        o->has_failed = true;
        return;
    }
    if (!*text)
        return;
    object_begin_member(o, title);
    opt_json_string(&o->json, text);
    object_add_row(o, title, text);
}

void object_add_json(struct object *o, const char *title, struct str json) {
    object_begin_member(o, title);
    buf_add_str(&o->json, json);
}

void object_add_number(struct object *o, const char *title, int64_t n) {
    object_begin_member(o, title);
    buf_printf(&o->json, "%lld", (long long)n);
    object_add_row(o, title, arena_printf(&o->command->page, "%lld", (long long)n));
}

/* A list of one payload is shown as that payload, a longer one as an array. */
static void object_add_payloads(struct object *o, const Common__Payloads *p, struct buf *out) {
    bool is_list = p->n_payloads != 1;
    buf_add_cstr(out, is_list ? "[" : "");
    for (size_t i = 0; i < p->n_payloads; i++) {
        buf_add_cstr(out, i ? "," : "");
        o->has_failed = view_json(o->command, &p->payloads[i]->base, out) < 0 || o->has_failed;
    }
    buf_add_cstr(out, is_list ? "]" : "");
}

void object_add_message(struct object *o, const char *title, const ProtobufCMessage *m) {
    struct buf text;
    if (!m)
        return;
    buf_init(&text, COMMAND_MEMORY_MAX);
    if (m->descriptor == &common__payloads__descriptor)
        object_add_payloads(o, (const void *)m, &text);
    else
        o->has_failed = view_json(o->command, m, &text) < 0 || o->has_failed;
    o->has_failed = o->has_failed || !buf_ok(&text);
    object_begin_member(o, title);
    for (size_t i = 0; i < text.len; i++) {
        buf_add_u8(&o->json, text.data[i]);
        if (text.data[i] == '\n') /* pretty JSON of a message: indent one level more */
            buf_add_cstr(&o->json, "  ");
        if (text.data[i] < ' ' || text.data[i] == 0x7f)
            text.data[i] = ' ';
    }
    object_add_row(o, title,
                   arena_strndup(&o->command->page, text.len ? (const char *)text.data : "", text.len));
    buf_done(&text);
}

enum command_exit object_print(struct object *o, struct buf *out) {
    bool is_pretty = o->command->format == FORMAT_JSON;
    bool ok = !o->has_failed && buf_ok(&o->json);
    if (!ok)
        command_print_error("the response is too large to show");
    else if (o->command->format == FORMAT_TABLE)
        rows_print(&o->rows, out);
    else if (o->command->format != FORMAT_NONE) {
        buf_add_str(out, buf_str(&o->json));
        buf_add_cstr(out, !o->json.len ? "{}\n" : is_pretty ? "\n}\n" : "}\n");
    }
    buf_done(&o->json);
    return ok ? COMMAND_DONE : COMMAND_REFUSED;
}

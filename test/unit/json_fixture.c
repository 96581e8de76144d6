#include "json_fixture.h"

#include "wire/encode.h"

void check_again(const struct json_case *cases, size_t count, struct json_style style) {
    for (size_t i = 0; i < count; i++) {
        const struct json_case *c = &cases[i];
        struct arena a cleanup(arena_done);
        struct buf out cleanup(buf_done);
        struct err e = {0};
        ProtobufCMessage *m;
        arena_init(&a, JSON_BUDGET);
        buf_init(&out, JSON_BUDGET);
        int rc = json_parse(c->type, str_of(c->text), style.has_shorthand, &a, &m, &e);
        test_check_str(str_of(e.text), str_of(""), __FILE__, c->line, "error");
        if (rc < 0)
            continue;
        test_check_int(json_print(&out, m, style, &e), 0, __FILE__, c->line, "json_print");
        if (buf_ok(&out))
            test_check_str(buf_str(&out), str_of(c->want ? c->want : c->text), __FILE__, c->line, "text");
    }
}

void check_refused(const struct json_case *cases, size_t count, bool has_shorthand) {
    for (size_t i = 0; i < count; i++) {
        const struct json_case *c = &cases[i];
        struct arena a cleanup(arena_done);
        struct err e = {0};
        ProtobufCMessage *m = NULL;
        arena_init(&a, JSON_BUDGET);
        int rc = json_parse(c->type, str_of(c->text), has_shorthand, &a, &m, &e);
        test_check_int(rc, ERR_INVALID, __FILE__, c->line, "json_parse");
        test_check_str(str_of(e.text), str_of(c->want), __FILE__, c->line, "text");
        test_check(m == NULL, __FILE__, c->line, "no message");
    }
}

static void add_hex(struct buf *b, struct str bytes) {
    for (size_t i = 0; i < bytes.n; i++)
        buf_printf(b, "%02x", (unsigned char)bytes.p[i]);
}

void check_packed(const struct json_case *cases, size_t count, bool has_shorthand) {
    for (size_t i = 0; i < count; i++) {
        const struct json_case *c = &cases[i];
        struct arena a cleanup(arena_done);
        struct buf bytes cleanup(buf_done), hex cleanup(buf_done);
        struct err e = {0};
        ProtobufCMessage *m;
        arena_init(&a, JSON_BUDGET);
        buf_init(&bytes, JSON_BUDGET);
        buf_init(&hex, JSON_BUDGET);
        int rc = json_parse(c->type, str_of(c->text), has_shorthand, &a, &m, &e);
        test_check_str(str_of(e.text), str_of(""), __FILE__, c->line, "error");
        if (rc < 0)
            continue;
        wire_encode(&bytes, m);
        add_hex(&hex, buf_str(&bytes));
        if (buf_ok(&bytes) && buf_ok(&hex))
            test_check_str(buf_str(&hex), str_of(c->want), __FILE__, c->line, "bytes");
    }
}

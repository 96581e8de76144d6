/* A filter for json_check.py: each line is a type, a direction and a message; the answer is one line.
 *
 *   temporal.api.common.v1.Payload print 0a00        -> the packed message as JSON
 *   temporal.api.common.v1.Payload parse {"data":""} -> the JSON as a packed message, in hexadecimal
 *
 * An answer that begins with '!' is an error. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "json/json.h"
#include "json/shape.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define LINE_BYTES_MAX (4u << 20)
#define BUDGET_BYTES ((size_t)256 << 20)

struct task {
    const ProtobufCMessageDescriptor *type;
    struct str verb;
    struct str rest;
};

static struct str take_word(struct str *line) {
    const char *space = memchr(line->p, ' ', line->n);
    struct str word = str_bytes(line->p, space ? (size_t)(space - line->p) : line->n);
    *line = space ? str_bytes(space + 1, line->n - word.n - 1) : STR("");
    return word;
}

static struct str unhex(struct arena *a, struct str hex) {
    uint8_t *bytes = arena_alloc(a, hex.n / 2);
    for (size_t i = 0; bytes && i < hex.n / 2; i++) {
        char digits[] = {hex.p[2 * i], hex.p[2 * i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return str_bytes(bytes, hex.n / 2);
}

static int print_one(const struct task *t, struct arena *a, struct buf *out, struct err *e) {
    ProtobufCMessage *m;
    int rc = wire_decode(t->type, unhex(a, t->rest), a, &m, e);
    return rc < 0 ? rc : json_print(out, m, (struct json_style){0}, e);
}

static int parse_one(const struct task *t, struct arena *a, struct buf *out, struct err *e) {
    struct buf bytes cleanup(buf_done);
    ProtobufCMessage *m;
    buf_init(&bytes, BUDGET_BYTES);
    int rc = json_parse(t->type, t->rest, JSON_PAYLOADS_FULL, a, &m, e);
    if (rc < 0)
        return rc;
    wire_encode(&bytes, m);
    for (size_t i = 0; i < bytes.len; i++)
        buf_printf(out, "%02x", bytes.data[i]);
    return 0;
}

static void answer(struct str line, struct arena *a) {
    struct buf out cleanup(buf_done);
    struct err e = {0};
    struct task t = {.type = shape_type(take_word(&line)), .verb = take_word(&line)};
    t.rest = line;
    buf_init(&out, BUDGET_BYTES);
    int rc = ERR_INVALID;
    if (!t.type)
        (void)err_set(&e, rc, "no such type");
    else
        rc = str_is(t.verb, "print") ? print_one(&t, a, &out, &e) : parse_one(&t, a, &out, &e);
    if (rc < 0)
        printf("!%s\n", e.text);
    else
        printf("%.*s\n", (int)out.len, out.len ? (const char *)out.data : "");
    fflush(stdout);
}

int main(void) {
    char *line = mem_alloc(LINE_BYTES_MAX);
    while (line && fgets(line, LINE_BYTES_MAX, stdin)) {
        struct arena a cleanup(arena_done);
        arena_init(&a, BUDGET_BYTES);
        answer(str_bytes(line, strcspn(line, "\n")), &a);
    }
    mem_free(line);
    return 0;
}

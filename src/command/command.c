/* One command, from its flags to its exit code.
 *
 * Happy path: the request is built, the call is made and its answer shown; a
 * list is asked for page by page until it ends or the limit is reached. What is
 * shown goes out after each page. A server that says no is one line on stderr
 * with its text and, where there is one, what to do about it. */
#include "command/command.h"

#include <stdio.h>

#include "command/caller.h"
#include "json/shape.h"

#define OUTPUT_BYTES_MAX (256u << 20)
#define PAGE_ITEMS_MAX 1000
#define LINE_BYTES_MAX 4096 /* of a line on stderr */

void say(const char *fmt, ...) {
    char line[LINE_BYTES_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, args); /* cut when longer */
    va_end(args);
    /* A server's words may not move the terminal's cursor. */
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
    fprintf(stderr, "rondo: %s\n", line);
}

const char *flag_text(const struct opt_args *a, enum command_flag flag) {
    return opt_text(a, (size_t)(&command_opts[flag] - a->command->opts));
}

const char *flag_named(const struct opt_args *a, const char *name) {
    for (size_t i = 0; i < a->command->opt_count; i++)
        if (streq(a->command->opts[i].name, name))
            return opt_text(a, i);
    return NULL;
}

/* Calls. */

struct asking {
    struct command *command;
    struct buf *out;
    enum command_exit exit;
    bool has_more;
};

/* The token for the next page goes from the response to the request. */
static int take_token(struct command *c, const ProtobufCMessage *response, bool *ret_has_more) {
    const ProtobufCFieldDescriptor *from = shape_field(response->descriptor, STR("next_page_token"));
    const ProtobufCFieldDescriptor *to = shape_field(c->request->descriptor, STR("next_page_token"));
    *ret_has_more = false;
    if (!from || !to || !*c->rule->items || (c->limit && c->shown >= c->limit))
        return 0;
    const ProtobufCBinaryData *token = (const void *)((const char *)response + from->offset);
    if (!token->len)
        return 0;
    uint8_t *data = arena_dup(&c->arena, token->data, token->len);
    if (!data)
        return ERR_NO_MEMORY;
    *(ProtobufCBinaryData *)(void *)((char *)c->request + to->offset) =
        (ProtobufCBinaryData){token->len, data};
    *ret_has_more = true;
    return 0;
}

static void on_reply(void *ctx, const struct client_reply *r) {
    struct asking *q = ctx;
    if (r->code != GRPC_OK) {
        q->exit = refusal_say(q->command, r->code, r->text, r->is_unseen);
        return;
    }
    int rc = view_page(q->command, r->message, q->out);
    if (rc == 0)
        rc = take_token(q->command, r->message, &q->has_more);
    q->exit = rc < 0 ? COMMAND_REFUSED : COMMAND_DONE;
    if (rc == ERR_NO_MEMORY)
        say("the answer is too large to show");
}

static bool flush(struct buf *out) {
    bool ok = buf_ok(out) && (!out->len || fwrite(out->data, 1, out->len, stdout) == out->len) &&
              fflush(stdout) == 0;
    if (!ok)
        say("cannot write the result");
    buf_clear(out);
    return ok;
}

static enum command_exit ask_pages(struct command *c, struct caller *caller, struct buf *out) {
    struct asking q = {.command = c, .out = out};
    struct client_ask ask = {.method = c->rule->call,
                             .request = c->request,
                             .timeout_us = caller->timeout_us,
                             .on_reply = on_reply,
                             .ctx = &q};
    view_begin(c, out);
    do {
        q.exit = COMMAND_REFUSED;
        q.has_more = false;
        if (client_call_wait(caller->client, &ask) < 0)
            say("the call could not be made: out of memory, or the request is too large");
        if (q.exit != COMMAND_DONE)
            return q.exit;
        if (!q.has_more)
            view_end(c, out);
        if (!flush(out))
            return COMMAND_REFUSED;
        arena_clear(&c->page);
    } while (q.has_more);
    return COMMAND_DONE;
}

enum command_exit command_ask(struct command *c, struct buf *out) {
    struct caller caller;
    enum command_exit code = caller_open(c, &caller);
    if (code != COMMAND_DONE)
        return code;
    code = ask_pages(c, &caller, out);
    caller_close(&caller);
    return code;
}

/* So that a short list does not cost a long page. */
static void limit_pages(struct command *c) {
    static const char *const sizes[] = {"page_size", "maximum_page_size"};
    const char *limit = flag_named(c->args, "limit");
    int64_t n = 0;
    if (!limit || str_to_i64(str_of(limit), &n) < 0 || n <= 0)
        return;
    c->limit = (size_t)n;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const ProtobufCFieldDescriptor *f = shape_field(c->request->descriptor, str_of(sizes[i]));
        if (f && !flag_named(c->args, "page-size"))
            *(int32_t *)(void *)((char *)c->request + f->offset) = (int32_t)MIN(n, PAGE_ITEMS_MAX);
    }
}

enum command_exit command_run(enum command_id id, const struct opt_args *a, enum command_format format) {
    struct command c = {.id = id, .rule = &command_rules[id], .args = a, .format = format};
    enum command_exit code = COMMAND_MISUSED;
    struct buf out;
    arena_init(&c.arena, COMMAND_MEMORY_MAX);
    arena_init(&c.page, COMMAND_MEMORY_MAX);
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (command_own(id)) {
        code = command_own(id)(&c, &out);
        if (code == COMMAND_DONE && !flush(&out))
            code = COMMAND_REFUSED;
    } else if (request_build(&c) == 0) {
        limit_pages(&c);
        code = command_ask(&c, &out);
    }
    buf_done(&out);
    arena_done(&c.page);
    arena_done(&c.arena);
    return code;
}

/* Runs one command, from its flags to its exit code.
 *
 * Happy path: read the files of flags, build the request, make the call, print the response. A list is
 * fetched page by page until it ends or --limit is reached; each page is printed before the next one is
 * fetched. Commands that need more than one call have a function of their own (runs.def).
 *
 * Every failure prints one line on stderr and ends the command with a nonzero exit code. */
#include "command/command.h"

#include <errno.h>
#include <stdio.h>

#include "cli/pager.h"
#include "command/connection.h"
#include "command/output/output.h"
#include "command/profile/settings.h"
#include "command/prompt.h"
#include "command/request/request.h"
#include "json/shape.h"

#define OUTPUT_BYTES_MAX (256u << 20)
#define PAGE_ITEMS_MAX 1000
#define LINE_BYTES_MAX 4096 /* of a line on stderr */

void command_print_error(const char *fmt, ...) {
    char line[LINE_BYTES_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, args); /* cut when longer */
    va_end(args);
    plain_replace_controls(line, strlen(line));
    fprintf(stderr, "rondo: %s\n", line);
}

const char *command_flag_text(const struct opt_args *a, enum command_flag flag) {
    return opt_text(a, (size_t)(&command_opts[flag] - a->command->opts));
}

/* Copies the page token from the response to the request. *ret_has_more: there is a further page, and it is
 * wanted. */
static int command_take_token(struct command *c, const ProtobufCMessage *response, bool *ret_has_more) {
    bool is_wanted = *c->rule->items && !(c->limit && c->shown >= c->limit);
    *ret_has_more = is_wanted && request_copy_page_token(c->request, response, &c->arena);
    return arena_failed(&c->arena) ? ERR_NO_MEMORY : 0;
}

bool command_flush_output(struct buf *out) {
    bool ok = buf_ok(out) && (!out->len || fwrite(out->data, 1, out->len, stdout) == out->len) &&
              fflush(stdout) == 0;
    if (!ok && errno != EPIPE) /* a pipe that the reader closed is no error */
        command_print_error("cannot write to stdout");
    buf_clear(out);
    return ok;
}

enum command_exit command_ask_pages(struct command *c, struct buf *out) {
    struct connection_ask ask = {
        .method = c->rule->call, .request = c->request, .can_time_out = c->can_time_out};
    ProtobufCMessage *response;
    bool has_more;
    view_begin(c, out);
    do {
        enum command_exit code = connection_call(c, &ask, &c->page, &response);
        if (code != COMMAND_DONE)
            return code;
        has_more = true;
        if (response && c->edit_response)
            c->edit_response(c, response);
        int rc = response ? view_page(c, response, out) : 0;
        if (rc == 0 && response)
            rc = command_take_token(c, response, &has_more);
        if (rc == 0 && !has_more && c->ask_further && !(c->limit && c->shown >= c->limit))
            has_more = c->ask_further(c, response);
        if (rc < 0) {
            if (rc == ERR_NO_MEMORY)
                command_print_error("the response is too large to show");
            return COMMAND_REFUSED;
        }
        if (!has_more)
            view_end(c, out);
        if (!command_flush_output(out))
            return COMMAND_REFUSED;
        arena_clear(&c->page);
    } while (has_more);
    return COMMAND_DONE;
}

/* Applies --limit, and asks for pages no larger than the limit. */
static void command_limit_pages(struct command *c) {
    static const char *const sizes[] = {"page_size", "maximum_page_size"};
    const char *limit = opt_named(c->args, "limit");
    int64_t n = 0;
    if (!limit || str_to_i64(str_of(limit), &n) < 0 || n <= 0)
        return;
    c->limit = (size_t)n;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const ProtobufCFieldDescriptor *f = shape_field(c->request->descriptor, str_of(sizes[i]));
        if (f && !opt_named(c->args, "page-size"))
            *(int32_t *)(void *)((char *)c->request + f->offset) = (int32_t)MIN(n, PAGE_ITEMS_MAX);
    }
}

struct run_row {
    enum command_id id;
    enum command_exit (*fn)(struct command *c, struct buf *out);
};

static const struct run_row runs[] = {
#define RUN(id, fn) {COMMAND_##id, fn},
#include "command/runs.def"
#undef RUN
};

/* Builds the request and runs the command: its own function if it has one, else one call. */
static enum command_exit command_perform(struct command *c, struct buf *out) {
    if (c->rule->call != CALL_NONE) {
        if (request_build(c) < 0)
            return COMMAND_MISUSED;
        command_limit_pages(c);
    }
    for (size_t i = 0; i < ARRAY_LEN(runs); i++)
        if (runs[i].id == c->id) {
            enum command_exit code = runs[i].fn(c, out);
            return command_flush_output(out) || code != COMMAND_DONE ? code : COMMAND_REFUSED;
        }
    /* Commands with --yes ask for confirmation first. */
    if (opt_find(c->args, "yes") && c->id != COMMAND_ATTRIBUTE_REMOVE) {
        const char *question = arena_printf(&c->arena, "%s?", c->args->command->summary);
        enum command_exit code = question ? prompt_confirm(c, question) : COMMAND_REFUSED;
        if (code != COMMAND_DONE)
            return code;
    }
    return command_ask_pages(c, out);
}

/* Only lists go through the pager. A command that follows a workflow writes to the terminal directly. */
static bool command_is_paged(const struct command *c) {
    return c->style.has_pager && c->format == FORMAT_TABLE && *c->rule->items &&
           !opt_named_flag(c->args, "follow");
}

static bool command_open(struct command *c) {
    arena_init(&c->arena, COMMAND_MEMORY_MAX);
    arena_init(&c->page, COMMAND_MEMORY_MAX);
    c->connection = connection_new();
    if (!c->connection)
        command_print_error("out of memory");
    return c->connection;
}

static void command_close(struct command *c) {
    connection_free(c->connection);
    arena_done(&c->page);
    arena_done(&c->arena);
}

enum command_exit command_run(enum command_id id, struct opt_args *a, const struct command_style *style) {
    struct command c = {
        .id = id, .rule = &command_rules[id], .args = a, .style = *style, .format = style->format};
    enum command_exit code = COMMAND_MISUSED;
    struct pager pager = {0};
    struct buf out;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (!command_open(&c)) {
        code = COMMAND_REFUSED;
    } else if (settings_load(&c) == 0) {
        if (command_is_paged(&c))
            pager_open(&pager, a->env);
        code = command_perform(&c, &out);
        if (pager.pid && ferror(stdout)) /* the user closed the pager before the end */
            code = COMMAND_DONE;
        pager_close(&pager);
    }
    buf_done(&out);
    command_close(&c);
    return code;
}

void command_complete(enum command_id id, struct opt_args *a, const struct command_style *style,
                      const struct opt *o, const char *part, struct buf *out) {
    struct command c = {.id = id, .rule = &command_rules[id], .args = a, .style = *style};
    if (command_open(&c) && settings_load(&c) == 0)
        completion_add_values(&c, o, part, out);
    command_close(&c);
}

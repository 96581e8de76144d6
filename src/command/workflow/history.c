/* `workflow fix-history-json`: reads a history file as leniently as the JSON API does, and writes it in the
 * current format. Calls no server. */
#include <stdio.h>

#include "command/request/request.h"
#include "history.pb-c.h"
#include "json/json.h"

static const struct json_style file_style = {.is_pretty = true};

static enum command_exit history_write_file(const char *path, const struct buf *text) {
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(text->data, 1, text->len, f) == text->len;
    ok = f && fclose(f) == 0 && ok;
    if (!ok)
        command_print_error("--target: cannot write %s", path);
    return ok ? COMMAND_DONE : COMMAND_REFUSED;
}

enum command_exit history_fix_run(struct command *c, struct buf *out) {
    const char *source = opt_named(c->args, "source");
    const char *target = opt_named(c->args, "target");
    ProtobufCMessage *m;
    struct str text;
    struct err e;
    if (!source) {
        command_print_error("--source is needed: --source FILE; see rondo workflow fix-history-json --help");
        return COMMAND_MISUSED;
    }
    if (input_read_file(source, JSON_TEXT_BYTES_MAX, &c->arena, &text) < 0) {
        command_print_error("--source: cannot read %s, or it is larger than 16 MiB", source);
        return COMMAND_MISUSED;
    }
    if (json_parse(&history__history__descriptor, text, false, &c->arena, &m, &e) < 0 ||
        json_print(out, m, file_style, &e) < 0) {
        command_print_error("%s: %s", source, e.text);
        return COMMAND_REFUSED;
    }
    buf_add_u8(out, '\n');
    if (!target)
        return COMMAND_DONE;
    enum command_exit code = buf_ok(out) ? history_write_file(target, out) : COMMAND_REFUSED;
    buf_clear(out);
    return code;
}

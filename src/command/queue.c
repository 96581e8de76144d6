/* `task-queue describe`: what waits, then who polls. In JSON it is the whole answer. */
#include "command/command_int.h"

static const char poller_columns[] =
    "Identity=identity|LastAccessTime=last_access_time|RatePerSecond=rate_per_second";

enum command_exit queue_describe(struct command *c, struct buf *out) {
    struct talk_ask ask = {.method = c->rule->call, .request = c->request};
    struct command_rule pollers = {c->rule->call, "pollers", poller_columns};
    ProtobufCMessage *m;
    int rc = 0;
    enum command_exit code = talk_call(c, &ask, &c->arena, &m);
    if (code != COMMAND_DONE)
        return code;
    if (c->format != FORMAT_TABLE) {
        rc = view_page(c, m, out);
    } else {
        if (!opt_named_flag(c->args, "disable-stats")) {
            rc = view_card(c, c->rule->columns, m, out);
            buf_add_u8(out, '\n');
        }
        c->rule = &pollers;
        if (rc == 0)
            rc = view_page(c, m, out);
    }
    return rc == 0 ? COMMAND_DONE : COMMAND_REFUSED;
}

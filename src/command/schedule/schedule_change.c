/* Commands that change schedules with more than one call.
 *
 * Some fields and calls exist only in Rondo. Another server would drop such a field silently, so the flag
 * is refused before anything is sent. A call that another server lacks is replaced by one that it has, or
 * an error names what is missing. */
#include "command/connection.h"
#include "command/output/output.h"
#include "command/request/request.h"
#include "command/schedule/preview.h"
#include "command/schedule/schedule_draft.h"

#define ATTEMPTS_MAX 10 /* of an update that conflicts with other clients */

/* Checks that the server is Rondo, with a call that only Rondo has. COMMAND_REFUSED when it is not. */
static enum command_exit change_check_rondo(struct command *c, const char *flag) {
    ProtobufCMessage *found;
    struct connection_ask ask = {.method = CALL_ListHolidayCalendars,
                                 .request = request_new(c, CALL_ListHolidayCalendars),
                                 .expected = GRPC_UNIMPLEMENTED};
    if (!ask.request)
        return COMMAND_REFUSED;
    enum command_exit code = connection_call(c, &ask, &c->page, &found);
    if (code == COMMAND_DONE && !found) {
        command_print_error(
            "--%s: only a Rondo server can do that, and this is another server; nothing was changed", flag);
        code = COMMAND_REFUSED;
    }
    return code;
}

static enum command_exit change_check_own_flags(struct command *c) {
    const char *flag = draft_own_flag(c);
    return flag ? change_check_rondo(c, flag) : COMMAND_DONE;
}

enum command_exit schedule_create_run(struct command *c, struct buf *out) {
    if (draft_finish(c) < 0)
        return COMMAND_MISUSED;
    struct connection_ask ask = {.method = c->rule->call, .request = c->request};
    ProtobufCMessage *response;
    enum command_exit code = change_check_own_flags(c);
    if (code == COMMAND_DONE)
        code = connection_call(c, &ask, &c->page, &response);
    return code == COMMAND_DONE ? preview_show(c, out) : code;
}

/* Updates. */

static bool change_has_flags(const struct command *c) {
    for (size_t i = 0; i < c->args->command->opt_count; i++)
        if (!cstr_eq(c->args->command->opts[i].name, "schedule-id") && opt_is_given(c->args, i))
            return true;
    return false;
}

static const Ws__DescribeScheduleResponse *change_describe_schedule(struct command *c,
                                                                    enum command_exit *ret_code) {
    ProtobufCMessage *found = NULL;
    Ws__DescribeScheduleRequest *r = (Ws__DescribeScheduleRequest *)request_new(c, CALL_DescribeSchedule);
    *ret_code = COMMAND_REFUSED;
    if (!r || !(r->schedule_id = arena_strdup(&c->arena, opt_named(c->args, "schedule-id"))))
        return NULL;
    struct connection_ask ask = {.method = CALL_DescribeSchedule, .request = &r->base};
    *ret_code = connection_call(c, &ask, &c->arena, &found);
    return (const Ws__DescribeScheduleResponse *)found;
}

/* *ret_again: another client changed the schedule in the meantime. */
static enum command_exit change_update_once(struct command *c, bool *ret_again, struct buf *out) {
    enum command_exit code;
    ProtobufCMessage *response;
    const Ws__DescribeScheduleResponse *base = change_describe_schedule(c, &code);
    if (code != COMMAND_DONE)
        return code;
    if (draft_over(c, base) < 0)
        return COMMAND_MISUSED;
    struct connection_ask ask = {
        .method = CALL_UpdateSchedule, .request = c->request, .expected = GRPC_FAILED_PRECONDITION};
    code = connection_call(c, &ask, &c->page, &response);
    *ret_again = code == COMMAND_DONE && !response;
    return code == COMMAND_DONE && response ? preview_show(c, out) : code;
}

enum command_exit schedule_update_run(struct command *c, struct buf *out) {
    bool again = true;
    if (!change_has_flags(c)) {
        command_print_error("no flag names a change; see rondo schedule update --help");
        return COMMAND_MISUSED;
    }
    enum command_exit code = change_check_own_flags(c);
    for (int i = 0; i < ATTEMPTS_MAX && again && code == COMMAND_DONE; i++)
        code = change_update_once(c, &again, out);
    if (code == COMMAND_DONE && again) {
        command_print_error(
            "other clients changed the schedule during each of %d attempts; nothing was changed, try again",
            ATTEMPTS_MAX);
        code = COMMAND_REFUSED;
    }
    return code;
}

/* Triggers. */

/* Triggers with the call that every server has, which does not report the outcome. */
static enum command_exit change_trigger_by_patch(struct command *c, struct buf *out) {
    const Rondo__TriggerScheduleRequest *asked = (const Rondo__TriggerScheduleRequest *)c->request;
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    Schedule__TriggerImmediatelyRequest trigger = SCHEDULE__TRIGGER_IMMEDIATELY_REQUEST__INIT;
    Ws__PatchScheduleRequest *r = (Ws__PatchScheduleRequest *)request_new(c, CALL_PatchSchedule);
    ProtobufCMessage *response;
    if (!r)
        return COMMAND_REFUSED;
    trigger.overlap_policy = asked->overlap_policy;
    trigger.scheduled_time = asked->scheduled_time;
    patch.trigger_immediately = &trigger;
    r->patch = &patch;
    r->schedule_id = asked->schedule_id;
    struct connection_ask ask = {.method = CALL_PatchSchedule, .request = &r->base};
    enum command_exit code = connection_call(c, &ask, &c->page, &response);
    if (code != COMMAND_DONE)
        return code;
    buf_add_cstr(out, c->format == FORMAT_JSON || c->format == FORMAT_JSONL ? "{}\n" : "");
    command_print_error("triggered; this server does not report what it started");
    return COMMAND_DONE;
}

/* The exit code for the outcome of a trigger. One that was skipped has a code of its own. */
static enum command_exit change_exit_of_fate(const Rondo__LedgerEntry *e) {
    if (!e || e->fate == LEDGER_FATE_STARTED || e->fate == LEDGER_FATE_WAITING)
        return COMMAND_DONE;
    return e->fate == LEDGER_FATE_START_FAILED ? COMMAND_REFUSED : COMMAND_SKIPPED;
}

enum command_exit schedule_trigger_run(struct command *c, struct buf *out) {
    ProtobufCMessage *response;
    struct connection_ask ask = {
        .method = CALL_TriggerSchedule, .request = c->request, .expected = GRPC_UNIMPLEMENTED};
    enum command_exit code = connection_call(c, &ask, &c->page, &response);
    if (code != COMMAND_DONE)
        return code;
    if (!response)
        return change_trigger_by_patch(c, out);
    if (view_page(c, response, out) < 0)
        return COMMAND_REFUSED;
    return change_exit_of_fate(((const Rondo__TriggerScheduleResponse *)response)->entry);
}

/* The subject of `schedule next`, `explain` and `simulate`: a spec from the command line, which needs no
 * server, or a schedule of the server, changed by flags. */
#include "command/schedule/subject.h"

#include "command/connection.h"
#include "command/request/request.h"
#include "command/schedule/schedule_draft.h"
#include "host/zoneinfo.h"

int subject_flag_time(struct command *c, const char *name, int64_t standard_us, int64_t *ret_us) {
    const char *text = opt_named(c->args, name);
    int64_t seconds;
    int32_t nanos;
    struct err e;
    *ret_us = standard_us;
    if (!text)
        return 0;
    if (when_read(c, text, &seconds, &nanos, &e) < 0) {
        command_print_error("--%s: %s; see rondo %s --help", name, e.text, c->args->command->path);
        return ERR_INVALID;
    }
    *ret_us = seconds * USEC_PER_SEC + nanos / NSEC_PER_USEC;
    return 0;
}

static enum command_exit subject_load_existing(struct command *c, const char *id) {
    ProtobufCMessage *found;
    Ws__DescribeScheduleRequest *r = (Ws__DescribeScheduleRequest *)request_new(c, CALL_DescribeSchedule);
    if (!r || !(r->schedule_id = arena_strdup(&c->arena, id)))
        return COMMAND_REFUSED;
    struct connection_ask ask = {.method = CALL_DescribeSchedule, .request = &r->base};
    enum command_exit code = connection_call(c, &ask, &c->arena, &found);
    if (code != COMMAND_DONE)
        return code;
    return draft_over(c, (const Ws__DescribeScheduleResponse *)found) < 0 ? COMMAND_MISUSED : COMMAND_DONE;
}

/* Loads the holiday calendars of the namespace when the schedule names some. */
static enum command_exit subject_load_holidays(struct command *c, struct subject *s) {
    const Rondo__ScheduleExtras *extras = s->schedule->extras;
    ProtobufCMessage *found;
    if (!extras || !extras->n_holiday_calendars)
        return COMMAND_DONE;
    struct connection_ask ask = {.method = CALL_ListHolidayCalendars,
                                 .request = request_new(c, CALL_ListHolidayCalendars)};
    if (!ask.request)
        return COMMAND_REFUSED;
    enum command_exit code = connection_call(c, &ask, &c->arena, &found);
    if (code != COMMAND_DONE)
        return code;
    s->space.n_holiday_calendars = ((Rondo__ListHolidayCalendarsResponse *)found)->n_calendars;
    s->space.holiday_calendars = ((Rondo__ListHolidayCalendarsResponse *)found)->calendars;
    return COMMAND_DONE;
}

static int subject_compile_spec(struct command *c, struct subject *s, struct err *e) {
    s->zoneinfo = zoneinfo_new(ZONEINFO_DIRECTORY);
    if (!s->zoneinfo)
        return err_std(e, ERR_NO_MEMORY);
    s->zones = zoneinfo_zones(s->zoneinfo);
    cal_spec_init(&s->spec, &c->arena, str_of(s->schedule_id));
    int rc = schedule_read_spec(s->schedule, &s->space, &s->spec, &s->own_exclusions, e);
    if (rc == 0)
        rc = cal_new(&s->spec, &s->zones, &s->cal, e);
    if (rc == 0 && s->spec.has_spread && !*s->schedule_id)
        rc = err_set(
            e, ERR_INVALID,
            "H depends on the id of the schedule: add --new-id ID, the id that the schedule will have");
    return rc;
}

static enum command_exit subject_compile_or_report(struct command *c, struct subject *s) {
    struct err e;
    int rc = subject_compile_spec(c, s, &e);
    if (rc == ERR_NO_MEMORY) {
        command_print_error("out of memory");
        return COMMAND_REFUSED;
    }
    if (rc < 0)
        command_print_error("%s; see rondo %s --help", e.text, c->args->command->path);
    return rc < 0 ? COMMAND_MISUSED : COMMAND_DONE;
}

int subject_from_draft(struct command *c, struct subject *ret) {
    struct err e;
    *ret = (struct subject){.schedule_id = opt_named(c->args, "schedule-id"), .schedule = draft_schedule(c)};
    state__namespace__init(&ret->space);
    if (subject_load_holidays(c, ret) != COMMAND_DONE)
        return ERR_INVALID;
    return subject_compile_spec(c, ret, &e);
}

enum command_exit subject_load(struct command *c, struct subject *ret) {
    const char *id = opt_named(c->args, "schedule-id"), *new_id = opt_named(c->args, "new-id");
    if (id && new_id) {
        command_print_error("give either --schedule-id or --new-id; see rondo %s --help",
                            c->args->command->path);
        return COMMAND_MISUSED;
    }
    *ret = (struct subject){.schedule_id = id ? id : new_id ? new_id : ""};
    state__namespace__init(&ret->space);
    enum command_exit code = id                    ? subject_load_existing(c, id)
                             : draft_finish(c) < 0 ? COMMAND_MISUSED
                                                   : COMMAND_DONE;
    if (code != COMMAND_DONE)
        return code;
    ret->schedule = draft_schedule(c);
    code = subject_load_holidays(c, ret);
    if (code == COMMAND_DONE)
        code = subject_compile_or_report(c, ret);
    if (code == COMMAND_DONE && !ret->spec.calendar_count && !ret->spec.interval_count && !id) {
        command_print_error(
            "no times are given: add --cron, --calendar, --interval, --rrule or --at, or --schedule-id; see "
            "rondo %s --help",
            c->args->command->path);
        code = COMMAND_MISUSED;
    }
    if (code != COMMAND_DONE)
        subject_done(ret);
    return code;
}

void subject_done(struct subject *s) {
    cal_free(s->cal);
    zoneinfo_free(s->zoneinfo);
    *s = (struct subject){0};
}

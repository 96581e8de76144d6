/* Calls about the holiday calendars of a namespace: put, list, delete.
 *
 * They are part of the namespace's state and written with it. After a change, every schedule that names the
 * calendar computes its times anew, behind the answer (refresh.c). A schedule may name a calendar that was
 * deleted: then that excludes nothing. */
#include "core/schedule/holiday.h"
#include "engine/schedule/schedule.h"
#include "wire/encode.h"

#define FIELD_CALENDARS 1

static size_t calendar_index(const State__Namespace *st, const char *name) {
    size_t i = 0;
    while (i < st->n_holiday_calendars && !cstr_eq(st->holiday_calendars[i]->name, name))
        i++;
    return i;
}

/* What schedules have to be told, once for each calendar. NULL without memory. */
static State__HolidayChange *change_of(State__Namespace *st, const char *name) {
    bool failed = false;
    for (size_t i = 0; i < st->n_holiday_changes; i++)
        if (cstr_eq(st->holiday_changes[i]->name, name))
            return st->holiday_changes[i];
    State__HolidayChange *change = pb_new(&state__holiday_change__descriptor, &failed);
    if (!change)
        return NULL;
    pb_set_string(&change->name, name, &failed);
    if (failed) {
        pb_free(change);
        return NULL;
    }
    pb_append_message(&st->n_holiday_changes, &st->holiday_changes, change, &failed);
    return failed ? NULL : change;
}

/* The change is in memory: to the disk with it. ERR_NO_MEMORY: nothing was written. */
static int keep_change(struct op *op, struct space *s, const char *name) {
    State__HolidayChange *change = change_of(s->st, name);
    if (!change)
        return op_out_of_memory(op);
    change->change = ++s->st->holiday_change; /* should that fail, it is told for nothing */
    return space_write(op->e, s) == 0 ? 0 : op_out_of_memory(op);
}

static void reply_changed(struct op *op, struct space *s, const ProtobufCMessage *resp) {
    schedules_refresh(op->e, s);
    op->wait_seq = s->group_seq;
    op_reply_durable(op, resp, (struct str){NULL, 0});
}

/* put */

static int holiday_validate_calendar(struct op *op, const struct space *s, const Rondo__HolidayCalendar *c) {
    if (!c)
        return err_set(&op->err, ERR_INVALID, "Calendar is not set on request.");
    if (cstr_is_empty(c->name))
        return err_set(&op->err, ERR_INVALID, "Calendar name is not set on request.");
    if (strlen(c->name) > ENGINE_HOLIDAY_NAME_BYTES)
        return err_set(&op->err, ERR_INVALID, "Calendar name length exceeds limit.");
    if (c->n_days + c->n_cron_strings + c->n_dates > ENGINE_HOLIDAY_DAYS)
        return err_set(&op->err, ERR_INVALID, "A holiday calendar may have at most %d days.",
                       ENGINE_HOLIDAY_DAYS);
    if (protobuf_c_message_get_packed_size(&c->base) > ENGINE_HOLIDAY_BYTES)
        return err_set(&op->err, ERR_INVALID, "A holiday calendar may have at most %d bytes.",
                       ENGINE_HOLIDAY_BYTES);
    if (calendar_index(s->st, c->name) == s->st->n_holiday_calendars &&
        s->st->n_holiday_calendars >= ENGINE_HOLIDAY_CALENDARS)
        return err_set(&op->err, ERR_PRECONDITION, "A namespace may have at most %d holiday calendars.",
                       ENGINE_HOLIDAY_CALENDARS);
    return holidays_validate(c, op->call->arena, &op->err);
}

/* In the place of the one with this name, or behind the others. */
static int holiday_put_calendar(struct op *op, struct space *s, const Rondo__HolidayCalendar *c) {
    bool failed = false;
    State__Namespace *st = s->st;
    size_t i = calendar_index(st, c->name);
    Rondo__HolidayCalendar *old = NULL, *copy = pb_clone(&c->base, &failed);
    if (copy && i < st->n_holiday_calendars) {
        old = st->holiday_calendars[i];
        st->holiday_calendars[i] = copy;
    } else if (copy) {
        pb_append_message(&st->n_holiday_calendars, &st->holiday_calendars, copy, &failed);
    }
    if (failed)
        return op_out_of_memory(op);
    int rc = keep_change(op, s, c->name);
    if (rc < 0 && old) {
        st->holiday_calendars[i] = old;
        pb_free(copy);
    } else if (rc < 0) {
        pb_remove_message(&st->n_holiday_calendars, st->holiday_calendars, i);
    } else {
        pb_free(old);
    }
    return rc;
}

void rpc_put_holiday_calendar(struct op *op) {
    static const Rondo__PutHolidayCalendarResponse resp = RONDO__PUT_HOLIDAY_CALENDAR_RESPONSE__INIT;
    const Rondo__PutHolidayCalendarRequest *req = op->req;
    struct space *s;
    int rc = op_need_space(op, req->namespace_, &s);
    if (rc == 0)
        rc = holiday_validate_calendar(op, s, req->calendar);
    if (rc == 0)
        rc = holiday_put_calendar(op, s, req->calendar);
    if (rc < 0)
        op_fail(op);
    else
        reply_changed(op, s, &resp.base);
}

/* delete */

static int remove_calendar(struct op *op, struct space *s, const char *name) {
    State__Namespace *st = s->st;
    size_t i = calendar_index(st, name), n = st->n_holiday_calendars;
    if (cstr_is_empty(name))
        return err_set(&op->err, ERR_INVALID, "Calendar name is not set on request.");
    if (i == n)
        return err_set(&op->err, ERR_NOT_FOUND, "holiday calendar \"%.200s\" not found", name);
    Rondo__HolidayCalendar *old = st->holiday_calendars[i];
    size_t behind = (n - i - 1) * sizeof(struct Rondo__HolidayCalendar *);
    memmove(st->holiday_calendars + i, st->holiday_calendars + i + 1, behind);
    st->n_holiday_calendars = n - 1;
    int rc = keep_change(op, s, name);
    if (rc == 0) {
        pb_free(old);
        return 0;
    }
    memmove(st->holiday_calendars + i + 1, st->holiday_calendars + i, behind);
    st->holiday_calendars[i] = old;
    st->n_holiday_calendars = n;
    return rc;
}

void rpc_delete_holiday_calendar(struct op *op) {
    static const Rondo__DeleteHolidayCalendarResponse resp = RONDO__DELETE_HOLIDAY_CALENDAR_RESPONSE__INIT;
    const Rondo__DeleteHolidayCalendarRequest *req = op->req;
    struct space *s;
    int rc = op_need_space(op, req->namespace_, &s);
    if (rc == 0)
        rc = remove_calendar(op, s, req->name);
    if (rc < 0)
        op_fail(op);
    else
        reply_changed(op, s, &resp.base);
}

/* list */

void rpc_list_holiday_calendars(struct op *op) {
    static const Rondo__ListHolidayCalendarsResponse empty = RONDO__LIST_HOLIDAY_CALENDARS_RESPONSE__INIT;
    const Rondo__ListHolidayCalendarsRequest *req = op->req;
    struct space *s;
    int rc = op_need_space(op, req->namespace_, &s);
    for (size_t i = 0; rc == 0 && i < s->st->n_holiday_calendars; i++)
        wire_add_message_field(&op->page, FIELD_CALENDARS, &s->st->holiday_calendars[i]->base);
    if (rc == 0 && !buf_ok(&op->page))
        rc = op_out_of_memory(op);
    if (rc < 0) {
        op_fail(op);
        return;
    }
    op->wait_seq = s->group_seq;
    op_reply_durable(op, &empty.base, buf_str(&op->page));
}

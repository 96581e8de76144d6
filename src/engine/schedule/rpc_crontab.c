/* Binding a crontab: the schedule of that name is made, or changed, or left as it is. */
#include "core/schedule/crontab.h"
#include "core/schedule/schedule.h"
#include "core/step/validate.h"
#include "engine/schedule/schedule.h"

static void reply(struct op *op, bool is_new, bool is_changed) {
    struct arena *a = op->call->arena;
    Rondo__BindCrontabResponse *r = arena_new(a, Rondo__BindCrontabResponse);
    if (r) {
        const State__Execution *st = op->run->body->st;
        rondo__bind_crontab_response__init(r);
        r->schedule_id = arena_strdup(a, st->schedule->schedule_id);
        r->is_new = is_new;
        r->is_changed = is_changed;
        r->conflict_token = schedule_token(st, a);
    }
    if (arena_failed(a)) {
        (void)op_out_of_memory(op); /* it has happened; asking again tells so */
        op_fail_durable(op);
        return;
    }
    op_reply_durable(op, &r->base, (struct str){NULL, 0});
}

/* The schedule that the binding asks for, checked; the op may be started again. */
static int prepare(struct op *op, struct space *space, const Rondo__BindCrontabRequest *req,
                   Schedule__Schedule **ret) {
    Schedule__Schedule *raw = NULL;
    int rc = 0;
    if (!op->extra)
        rc = req->binding ? crontab_schedule(req->binding, op->call->arena, &raw, &op->err)
                          : err_set(&op->err, ERR_INVALID, "Binding is not set on request.");
    if (rc == 0 && !op->extra)
        rc = validate_id(req->identity, "Identity", &op->err);
    return rc == 0 ? op_prepare_schedule(op, space, crontab_name(req->binding), raw, ret) : rc;
}

static int create(struct op *op, struct space *space, const Rondo__BindCrontabRequest *req,
                  Schedule__Schedule *schedule) {
    Ws__CreateScheduleRequest create = WS__CREATE_SCHEDULE_REQUEST__INIT;
    union {
        const char *text;
        char *field;
    } id = {.text = crontab_name(req->binding)};
    int rc = op_need_room(op);
    create.schedule_id = id.field;
    create.schedule = schedule;
    return rc == 0 ? op_create_schedule(op, space, &create) : rc;
}

static int change(struct op *op, Schedule__Schedule *schedule, bool *ret_is_changed) {
    Ws__UpdateScheduleRequest update = WS__UPDATE_SCHEDULE_REQUEST__INIT;
    const Schedule__Schedule *old = op->run->body->st->schedule->schedule;
    struct step s;
    if (!crontab_is_bound(old))
        return err_set(
            &op->err, ERR_EXISTS,
            "the schedule \"%s\" was not made by a binding; choose another name, or delete it first",
            op->run->body->st->schedule->schedule_id);
    crontab_keep(schedule, old, op->call->arena);
    if (arena_failed(op->call->arena))
        return op_out_of_memory(op);
    *ret_is_changed = !crontab_is_same(schedule, old);
    int rc = *ret_is_changed ? op_need_room(op) : 0;
    if (rc < 0 || !*ret_is_changed)
        return rc;
    update.schedule = schedule;
    op_step_begin(op, &s);
    return op_step_end(op, &s, schedule_update(&s, &update), STEP_DURABLE);
}

void rpc_bind_crontab(struct op *op) {
    const Rondo__BindCrontabRequest *req = op->req;
    Schedule__Schedule *schedule = NULL;
    struct space *space;
    bool is_changed = false;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = prepare(op, space, req, &schedule);
    if (rc == 0)
        rc = op_need_schedule(op, space, crontab_name(req->binding));
    bool is_new = rc == ERR_NOT_FOUND && schedule;
    if (is_new)
        rc = create(op, space, req, schedule);
    else if (rc == 0)
        rc = change(op, schedule, &is_changed);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0)
        op_fail_durable(op);
    else
        reply(op, is_new, is_changed);
}

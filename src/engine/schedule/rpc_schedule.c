/* Calls about one schedule: create, describe, update, patch, delete, and our own trigger and backfills.
 *
 * The happy path is that of every other call: find the schedule's run, let core step it, answer when that is
 * durable. Lists of schedules are in visibility_ops.c, what reads the ledger in ledger_ops.c; what a schedule
 * starts goes by letters (letters.c). */
#include "engine/schedule/schedule.h"

#include "core/search/attributes.h"
#include "core/schedule/holiday.h"
#include "core/schedule/schedule.h"
#include "core/step/validate.h"
#include "engine/runtime/copy.h"
#include "engine/workflow/start.h"
#include "wire/guard.h"

/* What every call that changes a schedule does at its end. */
static void schedule_end_change(struct op *op, int rc, const ProtobufCMessage *resp) {
    if (rc == ERR_WAIT)
        return;
    if (rc < 0)
        op_fail_durable(op);
    else
        op_reply_durable(op, resp, (struct str){NULL, 0});
}

static int schedule_find(struct op *op, const char *namespace_name, const char *schedule_id,
                struct space **ret_space) {
    int rc = op_need_space(op, namespace_name, ret_space);
    return rc == 0 ? op_need_schedule(op, *ret_space, schedule_id) : rc;
}

static int check_caller(struct op *op, const char *identity, const char *request_id) {
    int rc = validate_id(identity, "Identity", &op->err);
    if (rc == 0)
        rc = validate_id(request_id, "RequestId", &op->err);
    return rc == 0 ? op_need_room(op) : rc;
}

int op_prepare_schedule(struct op *op, struct space *space, const char *schedule_id,
                        const Schedule__Schedule *given, Schedule__Schedule **ret) {
    static const Schedule__Schedule nothing = SCHEDULE__SCHEDULE__INIT;
    struct arena *a = op->call->arena;
    if (op->extra) { /* the op was started again */
        *ret = op->extra;
        return 0;
    }
    Schedule__Schedule *copy = message_copy(a, given ? &given->base : &nothing.base);
    if (!copy)
        return op_out_of_memory(op);
    int rc = schedule_prepare(a, space->st, op->e->cfg.zones, schedule_id, copy, &op->err);
    if (rc == 0)
        rc = op_check_blob(op, &copy->base);
    if (rc == 0)
        *ret = op->extra = copy;
    return rc;
}

static int schedule_check_attributes(struct op *op, struct space *space, const Common__SearchAttributes *attributes,
                            const Common__Memo *memo) {
    int rc = attributes_validate(space->st, attributes, &op->err);
    return rc == 0 ? op_check_blob(op, (const ProtobufCMessage *)memo) : rc;
}

/* Create */

static void fail_existing(struct op *op, const char *schedule_id) {
    (void)err_set(&op->err, ERR_ALREADY_STARTED, "schedule \"%s\" is already registered", schedule_id);
    run_name_in_error(op->run->body->st, &op->err);
    op_fail_durable(op);
}

static int validate_create(struct op *op, const Ws__CreateScheduleRequest *req, struct space *space) {
    int rc = schedule_id_validate(op, req->schedule_id);
    if (rc == 0)
        rc = check_caller(op, req->identity, req->request_id);
    if (rc == 0 && req->initial_patch)
        rc = schedule_validate_patch(req->initial_patch, &op->err);
    return rc == 0 ? schedule_check_attributes(op, space, req->search_attributes, req->memo) : rc;
}

int op_create_schedule(struct op *op, struct space *space, const Ws__CreateScheduleRequest *req) {
    struct engine *e = op->e;
    const char *previous;
    int rc = op_last_schedule_run(op, space, req->schedule_id, &previous);
    if (rc == 0)
        rc = op_need_birth(op, space, NULL);
    if (rc < 0)
        return rc;
    struct uuid_text run_id = uuid_format(uuid_timed(&e->rng, e->now.wall));
    struct schedule_birth birth = {space->st->id, run_id.s, req->request_id, previous};
    struct run *run = NULL;
    struct step s;
    bool failed = false;
    State__Execution *st = pb_new(&state__execution__descriptor, &failed);
    if (!st)
        return op_out_of_memory(op);
    step_begin(e, space, st, op->call->arena, &op->err, &s);
    rc = schedule_create(&s, &birth, req);
    if (rc == 0)
        rc = run_settle(&s);
    if (rc == 0 && (rc = run_keep_new(e, space, &s, &run)) < 0)
        err_std(&op->err, rc);
    pb_free(s.st);
    step_done(&s);
    if (rc == 0)
        op_pin(op, run);
    return rc;
}

static void reply_created(struct op *op) {
    Ws__CreateScheduleResponse *r = arena_new(op->call->arena, Ws__CreateScheduleResponse);
    if (r) {
        ws__create_schedule_response__init(r);
        r->conflict_token = schedule_token(op->run->body->st, op->call->arena);
    }
    if (arena_failed(op->call->arena)) {
        (void)op_out_of_memory(op); /* it has happened; asking again with the same request id tells so */
        op_fail_durable(op);
        return;
    }
    op_reply_durable(op, &r->base, (struct str){NULL, 0});
}

void rpc_create_schedule(struct op *op) {
    const Ws__CreateScheduleRequest *req = op->req;
    Ws__CreateScheduleRequest prepared = *req;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0 && !op->extra)
        rc = validate_create(op, req, space);
    if (rc == 0)
        rc = op_need_request_id(op, req->request_id);
    if (rc == 0)
        prepared.request_id = op->request_id;
    if (rc == 0)
        rc = op_prepare_schedule(op, space, req->schedule_id, req->schedule, &prepared.schedule);
    if (rc == 0)
        rc = op_need_schedule(op, space, req->schedule_id);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0 && !cstr_eq(op->run->body->st->start_request_id, op->request_id)) {
        fail_existing(op, req->schedule_id);
        return;
    }
    if (rc == ERR_NOT_FOUND)
        rc = op_create_schedule(op, space, &prepared);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0)
        op_fail(op);
    else
        reply_created(op);
}

/* Describe */

static void *schedule_copy_or_null(struct arena *a, const void *m) {
    return m ? message_copy(a, m) : NULL;
}

void rpc_describe_schedule(struct op *op) {
    const Ws__DescribeScheduleRequest *req = op->req;
    struct arena *a = op->call->arena;
    struct space *space;
    int rc = schedule_find(op, req->namespace_, req->schedule_id, &space);
    if (rc == ERR_WAIT)
        return;
    Ws__DescribeScheduleResponse *r = rc == 0 ? arena_new(a, Ws__DescribeScheduleResponse) : NULL;
    if (r) {
        const State__Execution *st = op->run->body->st;
        ws__describe_schedule_response__init(r);
        r->schedule = schedule_shown(st, a);
        r->info = schedule_info(st, a);
        if (r->info)
            holidays_show_missing(st->schedule->schedule->extras, space->st, r->info, a);
        r->memo = schedule_copy_or_null(a, st->memo);
        r->search_attributes = schedule_copy_or_null(a, st->search_attributes);
        r->conflict_token = schedule_token(st, a);
    }
    if (rc == 0 && arena_failed(a))
        rc = op_out_of_memory(op);
    schedule_end_change(op, rc, r ? &r->base : NULL);
}

/* Many searches: some in each turn. */
void rpc_list_schedule_matching_times(struct op *op) {
    const Ws__ListScheduleMatchingTimesRequest *req = op->req;
    Ws__ListScheduleMatchingTimesResponse *r = op->extra;
    struct space *space;
    int rc = schedule_find(op, req->namespace_, req->schedule_id, &space);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0)
        rc = schedule_matching_times(op->run->body->st, space->st, op->e->cfg.zones, req, op->call->arena, &r,
                                     &op->err);
    op->extra = r;
    if (rc == ERR_WAIT)
        op_go_on_later(op);
    else
        schedule_end_change(op, rc, r ? &r->base : NULL);
}

/* Changes */

static int prepare_update(struct op *op, struct space *space, const Ws__UpdateScheduleRequest *req,
                          Schedule__Schedule **ret) {
    const Schedule__Schedule *meant =
        req->schedule ? schedule_keep_zone(op->run->body->st, req->schedule, op->call->arena) : NULL;
    if (req->schedule && !meant)
        return op_out_of_memory(op);
    return op_prepare_schedule(op, space, req->schedule_id, meant, ret);
}

void rpc_update_schedule(struct op *op) {
    static const Ws__UpdateScheduleResponse resp = WS__UPDATE_SCHEDULE_RESPONSE__INIT;
    const Ws__UpdateScheduleRequest *req = op->req;
    Ws__UpdateScheduleRequest prepared = *req;
    struct space *space;
    struct step s;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = check_caller(op, req->identity, req->request_id);
    if (rc == 0)
        rc = schedule_id_validate(op, req->schedule_id);
    if (rc == 0)
        rc = schedule_check_attributes(op, space, req->search_attributes, req->memo);
    if (rc == 0)
        rc = op_need_schedule(op, space, req->schedule_id);
    if (rc == 0)
        rc = prepare_update(op, space, req, &prepared.schedule);
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, schedule_update(&s, &prepared), STEP_DURABLE);
    }
    schedule_end_change(op, rc, &resp.base);
}

void rpc_patch_schedule(struct op *op) {
    static const Ws__PatchScheduleResponse resp = WS__PATCH_SCHEDULE_RESPONSE__INIT;
    const Ws__PatchScheduleRequest *req = op->req;
    struct space *space;
    struct step s;
    int rc = check_caller(op, req->identity, req->request_id);
    if (rc == 0 && !req->patch)
        rc = err_set(&op->err, ERR_INVALID, "Patch is not set on request.");
    if (rc == 0)
        rc = schedule_validate_patch(req->patch, &op->err);
    if (rc == 0)
        rc = schedule_find(op, req->namespace_, req->schedule_id, &space);
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, schedule_patch(&s, req), STEP_DURABLE);
    }
    schedule_end_change(op, rc, &resp.base);
}

void rpc_delete_schedule(struct op *op) {
    static const Ws__DeleteScheduleResponse resp = WS__DELETE_SCHEDULE_RESPONSE__INIT;
    const Ws__DeleteScheduleRequest *req = op->req;
    struct space *space;
    struct step s;
    int rc = check_caller(op, req->identity, "");
    if (rc == 0)
        rc = schedule_find(op, req->namespace_, req->schedule_id, &space);
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, schedule_end(&s, WORKFLOW_EXECUTION_STATUS_TERMINATED), STEP_DURABLE);
    }
    schedule_end_change(op, rc, &resp.base);
}

/* Trigger: the answer waits until the action was started, or something else became of it. */

static void reply_triggered(struct op *op, const ProtobufCBinaryData *entry) {
    struct arena *a = op->call->arena;
    Rondo__TriggerScheduleResponse *r = arena_new(a, Rondo__TriggerScheduleResponse);
    ProtobufCMessage *m = NULL;
    if (!r || wire_decode(&rondo__ledger_entry__descriptor, pb_bytes(entry), a, &m, NULL) < 0) {
        (void)op_out_of_memory(op);
        op_fail_durable(op);
        return;
    }
    rondo__trigger_schedule_response__init(r);
    r->entry = (Rondo__LedgerEntry *)m;
    op_reply_durable(op, &r->base, (struct str){NULL, 0});
}

/* What the schedule says about it is kept: so many others may come that the schedule forgets the request. */
static int note_triggered(struct op *op) {
    const State__ScheduleRequest *known = schedule_request_find(op->run->body->st, op->request_id);
    struct arena *a = op->call->arena;
    if (!known)
        return 0;
    ProtobufCBinaryData *copy = arena_new(a, ProtobufCBinaryData);
    if (!copy)
        return op_out_of_memory(op);
    copy->len = known->ledger_entry.len;
    copy->data = arena_dup(a, known->ledger_entry.data, copy->len);
    op->extra = copy;
    return copy->data || !copy->len ? 0 : op_out_of_memory(op);
}

/* The caller's time is up: what is known so far is the answer. */
static void trigger_expired(struct op *op) {
    if (note_triggered(op) < 0)
        op_fail_durable(op);
    else
        reply_triggered(op, op->extra);
}

static void go_triggered(struct op *op) {
    const State__Execution *st = op->run->body->st;
    const State__ScheduleRequest *known = schedule_request_find(st, op->request_id);
    if (!run_is_open(st)) {
        err_set(&op->err, ERR_NOT_FOUND, "the schedule was deleted before the action could start");
        op_fail_durable(op);
    } else if (note_triggered(op) < 0) {
        op_fail_durable(op);
    } else if (known && schedule_is_deciding(st, known)) {
        op->go = go_triggered;
        op_park(op, &op->run->body->readers,
                op_deadline(op, op->e->long_poll_us, ENGINE_WAIT_MARGIN_MS * USEC_PER_MS), trigger_expired);
    } else {
        reply_triggered(op, op->extra);
    }
}

void rpc_trigger_schedule(struct op *op) {
    const Rondo__TriggerScheduleRequest *req = op->req;
    Rondo__TriggerScheduleRequest with_id = *req;
    struct space *space;
    struct step s;
    int rc = check_caller(op, req->identity, req->request_id);
    if (rc == 0)
        rc = schedule_validate_trigger(req->overlap_policy, req->scheduled_time, &op->err);
    if (rc == 0)
        rc = op_need_request_id(op, req->request_id);
    if (rc == 0)
        rc = schedule_find(op, req->namespace_, req->schedule_id, &space);
    if (rc == ERR_WAIT)
        return;
    with_id.request_id = op->request_id;
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, schedule_trigger(&s, &with_id), STEP_DURABLE);
    }
    if (rc == 0)
        rc = note_triggered(op); /* it has happened; asking again with the same request id tells so */
    if (rc < 0)
        op_fail_durable(op);
    else
        op_continue_durable(op, go_triggered);
}

/* Backfills */

void rpc_list_backfills(struct op *op) {
    const Rondo__ListBackfillsRequest *req = op->req;
    struct arena *a = op->call->arena;
    struct space *space;
    int rc = schedule_find(op, req->namespace_, req->schedule_id, &space);
    if (rc == ERR_WAIT)
        return;
    Rondo__ListBackfillsResponse *r = rc == 0 ? arena_new(a, Rondo__ListBackfillsResponse) : NULL;
    const Schedule__ScheduleInfo *info = r ? schedule_info(op->run->body->st, a) : NULL;
    if (info) {
        rondo__list_backfills_response__init(r);
        r->backfills = info->backfills;
        r->n_backfills = info->n_backfills;
    }
    if (rc == 0 && arena_failed(a))
        rc = op_out_of_memory(op);
    schedule_end_change(op, rc, r ? &r->base : NULL);
}

void rpc_cancel_backfill(struct op *op) {
    static const Rondo__CancelBackfillResponse resp = RONDO__CANCEL_BACKFILL_RESPONSE__INIT;
    const Rondo__CancelBackfillRequest *req = op->req;
    struct space *space;
    struct step s;
    int rc = check_caller(op, req->identity, "");
    if (rc == 0)
        rc = schedule_find(op, req->namespace_, req->schedule_id, &space);
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, schedule_cancel_backfill(&s, req->backfill_id), STEP_DURABLE);
    }
    schedule_end_change(op, rc, &resp.base);
}

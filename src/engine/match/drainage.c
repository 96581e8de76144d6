/* Versions that get no new work: when the last open run that is pinned to one has closed, it is drained.
 *
 * What was changed before is on disk when the store is asked "how many?", and the answer counts only if no
 * run was bound to the version meanwhile. Runs whose first task is on its way to a worker of the version are
 * not in it yet; for them the first look waits a while. */
#include "core/version/versioning.h"
#include "engine/runtime/question.h"

/* A version, by value: it may be gone when the answer comes. */
struct drainage_key {
    struct uuid namespace_id;
    int64_t since_us;
    uint64_t pin_count; /* of its deployment, when the question was asked */
    char deployment[VERSION_PART_BYTES + 1];
    char build_id[VERSION_PART_BYTES + 1];
};

struct drainage_answer {
    struct answer answer;
    int64_t count;
};

static void drainage_count_row(struct op *op, const struct row *row) {
    ((struct drainage_answer *)op->extra)->count += row->count;
}

static const struct predicate *is_text(struct arena *a, const char *name, const char *text) {
    struct predicate *p = arena_new(a, struct predicate);
    struct value *v = arena_new(a, struct value);
    char *copy = arena_strdup(a, text);
    if (!p || !v || !copy)
        return NULL;
    *v = value_text(str_of(copy));
    *p = (struct predicate){.kind = PREDICATE_EQUAL, .name = str_of(name), .values = v, .count = 1};
    return p;
}

static const struct predicate *drainage_both(struct arena *a, const struct predicate *left,
                                             const struct predicate *right) {
    struct predicate *p = arena_new(a, struct predicate);
    if (!p)
        return NULL;
    *p = (struct predicate){.kind = PREDICATE_AND, .left = left, .right = right};
    return p;
}

/* Open runs that are pinned to the version. */
static const struct predicate *drainage_question(struct arena *a, const struct drainage_key *k) {
    struct version v = {k->deployment, k->build_id};
    const char *text = version_text(a, v, VERSION_DELIMITER, "");
    const char *pinned = versioning_behavior_name(VERSIONING_BEHAVIOR_PINNED);
    const struct predicate *where =
        drainage_both(a, is_text(a, "TemporalWorkerDeploymentVersion", text ? text : ""),
                      drainage_both(a, is_text(a, "TemporalWorkflowVersioningBehavior", pinned),
                                    is_text(a, "ExecutionStatus", "Running")));
    return arena_failed(a) ? NULL : where;
}

static int drainage_ask(struct op *op, const struct drainage_key *k, struct drainage_answer *answer) {
    struct page_read *q = question_new(op);
    if (!q)
        return ERR_NO_MEMORY;
    const struct predicate *where = drainage_question(&q->arena, k);
    if (!where) {
        page_read_free(q);
        return op_out_of_memory(op);
    }
    q->read = (struct read){.kind = READ_VISIBILITY_COUNT, .namespace_id = k->namespace_id, .where = where};
    return op_ask(op, q, &answer->answer, drainage_count_row);
}

static void drainage_settle(struct op *op, const struct drainage_key *k, bool has_runs) {
    struct space *space = space_by_id(op->e, k->namespace_id);
    struct deployment *d = space ? deployment_find(op->e, space, k->deployment) : NULL;
    const State__DeploymentVersion *v = d ? deployment_version(d->st, k->build_id) : NULL;
    struct deployment_edit ed;
    if (!v || v->drainage_changed_us != k->since_us || d->pin_count != k->pin_count)
        return; /* it was given work meanwhile: it drains anew, or is looked at again */
    if (has_runs) { /* when it was looked at last is not worth a commit */
        struct deployment_step s = {.st = d->st, .now = op->e->now.wall};
        deployment_drained(&s, k->build_id, true);
    } else if (deployment_edit_begin(op, space, k->deployment, false, &ed) == 0) {
        deployment_drained(&ed.step, k->build_id, false);
        if (deployment_edit_end(op, &ed, 0) < 0)
            return; /* no memory: it is looked at again */
    }
}

static void go_ask(struct op *op) {
    const struct drainage_key *k = op->req;
    struct drainage_answer *answer = op->extra;
    if (!answer)
        op->extra = answer = arena_new(op->call->arena, struct drainage_answer);
    int rc = !answer ? op_out_of_memory(op) : answer->answer.is_here ? 0 : drainage_ask(op, k, answer);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0 && answer->answer.rc == 0)
        drainage_settle(op, k, answer->count > 0);
    op_reply(op, NULL, (struct str){NULL, 0});
}

static void go_check(struct op *op) {
    op->wait_seq = group_last_change(op->e);
    op_continue_durable(op, go_ask);
}

static void check_version(struct engine *e, const struct deployment *d, const State__DeploymentVersion *v) {
    struct drainage_key k = {
        .namespace_id = d->space->id, .since_us = v->drainage_changed_us, .pin_count = d->pin_count};
    if (strlen(d->st->name) >= sizeof(k.deployment) || strlen(v->build_id) >= sizeof(k.build_id))
        return;
    memcpy(k.deployment, d->st->name, strlen(d->st->name));
    memcpy(k.build_id, v->build_id, strlen(v->build_id));
    errand_start(e, go_check, &k, sizeof(k));
}

/* What has drained for an hour will not be done in the next ten seconds: the longer it takes, the rarer are
 * the looks, but each is late by a small part of it only. */
static int64_t look_again_us(const struct engine *e, const State__DeploymentVersion *v) {
    int64_t part_us = (e->now.wall.us - v->drainage_changed_us) / 16;
    return MIN(MAX(part_us, ENGINE_DRAINAGE_MS * USEC_PER_MS), ENGINE_DRAINAGE_MAX_MS * USEC_PER_MS);
}

/* An answer that is there at once gives the deployment a new state; each turn looks at the newest. Returns
 * when to look again. */
static int64_t sweep_deployment(struct engine *e, struct deployment *d) {
    int64_t wait_us = CLOCK_NEVER;
    for (size_t i = 0; i < d->st->n_versions; i++) {
        const State__DeploymentVersion *v = d->st->versions[i];
        if (v->drainage_status != VERSION_DRAINAGE_STATUS_DRAINING)
            continue;
        wait_us = MIN(wait_us, look_again_us(e, v));
        if (usec_add(v->drainage_changed_us, ENGINE_DRAINAGE_MS * USEC_PER_MS) <= e->now.wall.us)
            check_version(e, d, v);
    }
    return wait_us;
}

static void expect_in(struct engine *e, int64_t wait_us) {
    if (wait_us != CLOCK_NEVER)
        e->next_drainage_us = MIN(e->next_drainage_us, usec_add(e->now.mono.us, wait_us));
}

void drainage_sweep(struct engine *e) {
    struct deployment *d;
    int64_t wait_us = CLOCK_NEVER;
    if (e->now.mono.us < e->next_drainage_us)
        return;
    e->next_drainage_us = CLOCK_NEVER;
    for (size_t i = 0; (d = map_next(&e->deployments, &i));)
        wait_us = MIN(wait_us, sweep_deployment(e, d));
    expect_in(e, wait_us);
}

void drainage_expect(struct engine *e) {
    expect_in(e, ENGINE_DRAINAGE_MS * USEC_PER_MS);
}

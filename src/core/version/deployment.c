/* The worker deployment: its versions come from polls, its routing from requests.
 *
 * Happy path: a poll registers a version (inactive), someone makes it current, a later version takes
 * its place, and it drains until no open run is bound to it. */
#include "core/version/deployment.h"

#include "core/step/limits.h"
#include "core/step/pb.h"
#include "names.h"

State__DeploymentVersion *deployment_version(const State__Deployment *st, const char *build_id) {
    for (size_t i = 0; i < st->n_versions; i++)
        if (cstr_eq(st->versions[i]->build_id, build_id))
            return st->versions[i];
    return NULL;
}

bool deployment_has_queue(const State__DeploymentVersion *v, const char *queue, E__TaskQueueType type) {
    for (size_t i = 0; v && i < v->n_queues; i++)
        if (v->queues[i]->type == (int32_t)type && cstr_eq(v->queues[i]->name, queue))
            return true;
    return false;
}

/* Each change has a token of its own, also two in one microsecond. */
static void new_token(struct deployment_step *d) {
    d->st->conflict_token = MAX(d->now.us, d->st->conflict_token + 1);
}

void deployment_token(const State__Deployment *st, uint8_t ret[8]) {
    for (int i = 0; i < 8; i++)
        ret[i] = (uint8_t)((uint64_t)st->conflict_token >> (56 - 8 * i));
}

static int check_token(struct deployment_step *d, struct str given) {
    uint8_t mine[8];
    deployment_token(d->st, mine);
    if (given.n == 0 || str_eq(given, str_bytes(mine, sizeof(mine))))
        return 0;
    return err_set(d->err, ERR_PRECONDITION, "conflict token mismatch");
}

static int deployment_check_manager(struct deployment_step *d, const char *identity) {
    const char *manager = d->st->manager_identity;
    if (cstr_is_empty(manager) || cstr_eq(manager, identity))
        return 0;
    return err_set(
        d->err, ERR_PRECONDITION,
        "ManagerIdentity '%.200s' is set and is not your identity '%.200s': become the manager, or "
        "unset it first",
        manager, identity);
}

static int no_version(struct deployment_step *d, const char *build_id) {
    return err_set(d->err, ERR_NOT_FOUND, "build ID '%.200s' not found in Worker Deployment '%.200s'",
                   build_id, d->st->name);
}

void deployment_begin(struct deployment_step *d, const char *name, const char *identity,
                      const char *request_id) {
    pb_set_string(&d->st->name, name, &d->failed);
    pb_set_string(&d->st->modifier_identity, identity, &d->failed);
    pb_set_string(&d->st->create_request_id, request_id, &d->failed);
    d->st->created_us = d->now.us;
    new_token(d);
}

/* Versions */

bool deployment_is_full(const State__Deployment *st) {
    return st->n_versions >= LIMIT_DEPLOYMENT_VERSIONS;
}

static bool is_routed(const State__Deployment *st, const State__DeploymentVersion *v) {
    return cstr_eq(st->current_build_id, v->build_id) ||
           (st->is_ramping && cstr_eq(st->ramping_build_id, v->build_id));
}

size_t deployment_spare_version(const State__Deployment *st,
                                bool (*has_pollers)(void *ctx, const State__DeploymentVersion *v),
                                void *ctx) {
    for (size_t i = 0; i < st->n_versions; i++) {
        const State__DeploymentVersion *v = st->versions[i];
        if (!is_routed(st, v) && v->drainage_status != VERSION_DRAINAGE_STATUS_DRAINING &&
            !has_pollers(ctx, v))
            return i;
    }
    return SIZE_MAX;
}

static int add_version(struct deployment_step *d, const char *build_id,
                       E__WorkerDeploymentVersionStatus status, State__DeploymentVersion **ret) {
    if (deployment_is_full(d->st)) {
        int rc =
            err_set(d->err, ERR_FULL, "Worker Deployment '%.200s' has its maximum of %d versions, all in use",
                    d->st->name, LIMIT_DEPLOYMENT_VERSIONS);
        if (d->err)
            d->err->cause = RESOURCE_EXHAUSTED_CAUSE_WORKER_DEPLOYMENT_LIMITS;
        return rc;
    }
    State__DeploymentVersion *v = pb_new(&state__deployment_version__descriptor, &d->failed);
    if (!v)
        return err_std(d->err, ERR_NO_MEMORY);
    pb_set_string(&v->build_id, build_id, &d->failed);
    v->created_us = d->now.us;
    v->status = (int32_t)status;
    pb_append_message(&d->st->n_versions, &d->st->versions, v, &d->failed);
    *ret = deployment_version(d->st, build_id);
    return *ret ? 0 : err_std(d->err, ERR_NO_MEMORY);
}

static int add_queue(struct deployment_step *d, State__DeploymentVersion *v, const char *queue,
                     E__TaskQueueType type) {
    if (v->n_queues >= LIMIT_VERSION_QUEUES) {
        int rc = err_set(d->err, ERR_FULL,
                         "version '%.200s' of Worker Deployment '%.200s' has its maximum of %d "
                         "task queues",
                         v->build_id, d->st->name, LIMIT_VERSION_QUEUES);
        if (d->err)
            d->err->cause = RESOURCE_EXHAUSTED_CAUSE_WORKER_DEPLOYMENT_LIMITS;
        return rc;
    }
    State__DeploymentQueue *q = pb_new(&state__deployment_queue__descriptor, &d->failed);
    if (!q)
        return err_std(d->err, ERR_NO_MEMORY);
    pb_set_string(&q->name, queue, &d->failed);
    q->type = (int32_t)type;
    pb_append_message(&v->n_queues, &v->queues, q, &d->failed);
    return 0;
}

int deployment_register(struct deployment_step *d, const char *build_id, const char *queue,
                        E__TaskQueueType type, bool *ret_changed) {
    State__DeploymentVersion *v = deployment_version(d->st, build_id);
    *ret_changed = !v || !deployment_has_queue(v, queue, type);
    if (!*ret_changed)
        return 0;
    int rc = v ? 0 : add_version(d, build_id, WORKER_DEPLOYMENT_VERSION_STATUS_INACTIVE, &v);
    if (rc < 0)
        return rc;
    if (v->status == WORKER_DEPLOYMENT_VERSION_STATUS_CREATED)
        v->status = WORKER_DEPLOYMENT_VERSION_STATUS_INACTIVE; /* a worker has been seen */
    return add_queue(d, v, queue, type);
}

int deployment_create_version(struct deployment_step *d, const char *build_id, const char *identity,
                              const char *request_id, bool *ret_changed) {
    State__DeploymentVersion *v = deployment_version(d->st, build_id);
    *ret_changed = !v;
    if (v && cstr_eq(v->create_request_id, request_id))
        return 0;
    if (v)
        return err_set(d->err, ERR_EXISTS, "Worker Deployment Version '%.200s:%.200s' already exists",
                       d->st->name, build_id);
    int rc = add_version(d, build_id, WORKER_DEPLOYMENT_VERSION_STATUS_CREATED, &v);
    if (rc < 0)
        return rc;
    pb_set_string(&v->modifier_identity, identity, &d->failed);
    pb_set_string(&v->create_request_id, request_id, &d->failed);
    return 0;
}

/* Routing */

static void deployment_activate_version(struct deployment_step *d, State__DeploymentVersion *v) {
    if (!v->first_activated_us)
        v->first_activated_us = d->now.us;
    v->last_deactivated_us = 0;
    v->drainage_status = VERSION_DRAINAGE_STATUS_UNSPECIFIED;
    v->drainage_changed_us = v->drainage_checked_us = 0;
}

static void deployment_drain_version(struct deployment_step *d, State__DeploymentVersion *v) {
    v->status = WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING;
    v->drainage_status = VERSION_DRAINAGE_STATUS_DRAINING;
    v->drainage_changed_us = v->drainage_checked_us = d->now.us;
}

/* What the routing says now, in the words of each version. */
static void deployment_settle_version(struct deployment_step *d, State__DeploymentVersion *v) {
    const State__Deployment *st = d->st;
    bool was_active = v->current_since_us || v->ramping_since_us;
    if (cstr_eq(st->current_build_id, v->build_id)) {
        if (v->current_since_us)
            return;
        v->status = WORKER_DEPLOYMENT_VERSION_STATUS_CURRENT;
        v->current_since_us = v->last_current_us = v->routing_changed_us = d->now.us;
        v->ramping_since_us = 0;
        deployment_activate_version(d, v);
    } else if (is_routed(st, v)) {
        v->status = WORKER_DEPLOYMENT_VERSION_STATUS_RAMPING;
        v->current_since_us = 0;
        v->ramping_since_us = st->ramping_changed_us;
        v->routing_changed_us = st->percentage_changed_us;
        deployment_activate_version(d, v);
    } else if (was_active) {
        v->current_since_us = v->ramping_since_us = 0;
        v->routing_changed_us = v->last_deactivated_us = d->now.us;
        deployment_drain_version(d, v);
    }
}

static void deployment_settle_versions(struct deployment_step *d, const char *identity) {
    d->st->revision++;
    for (size_t i = 0; i < d->st->n_versions; i++)
        deployment_settle_version(d, d->st->versions[i]);
    pb_set_string(&d->st->modifier_identity, identity, &d->failed);
    new_token(d);
}

static bool is_unknown(const State__Deployment *st, const struct deployment_change *c) {
    return !c->is_unset && !cstr_is_empty(c->build_id) && !deployment_version(st, c->build_id);
}

/* May this caller route to this version at all? One that nobody has polled for is made, when the
 * caller says that it may be. */
static int admit_change(struct deployment_step *d, const struct deployment_change *c) {
    State__DeploymentVersion *v;
    if (is_unknown(d->st, c) && !c->allows_no_pollers)
        return no_version(d, c->build_id);
    int rc = deployment_check_manager(d, c->identity);
    if (rc < 0 || !is_unknown(d->st, c))
        return rc;
    rc = version_validate_build_id(c->build_id, d->err);
    return rc == 0 ? add_version(d, c->build_id, WORKER_DEPLOYMENT_VERSION_STATUS_INACTIVE, &v) : rc;
}

static int check_queues(struct deployment_step *d, const struct deployment_change *c) {
    if (c->ignores_missing_queues || !c->lacks_queues || cstr_is_empty(c->build_id) ||
        cstr_is_empty(d->st->current_build_id))
        return 0;
    return err_set(d->err, ERR_PRECONDITION,
                   "version '%.200s:%.200s' has no workers for a task queue of the current version that has "
                   "work: its tasks would go to workers without a version",
                   d->st->name, c->build_id);
}

int deployment_set_current(struct deployment_step *d, struct deployment_change *c) {
    State__Deployment *st = d->st;
    bool is_current = cstr_eq(st->current_build_id, c->build_id);
    c->previous_build_id = arena_strdup(c->arena, st->current_build_id);
    c->is_same = is_current && cstr_eq(st->modifier_identity, c->identity);
    if (c->is_same)
        return 0;
    int rc = check_token(d, c->conflict_token);
    if (rc == 0)
        rc = admit_change(d, c);
    if (rc == 0 && !is_current)
        rc = check_queues(d, c);
    if (rc < 0)
        return rc;
    if (!is_current) {
        pb_set_string(&st->current_build_id, c->build_id, &d->failed);
        st->current_changed_us = d->now.us;
        if (st->is_ramping && cstr_eq(st->ramping_build_id, c->build_id)) { /* it has reached the top */
            st->is_ramping = false;
            st->ramping_percentage = 0;
            pb_set_string(&st->ramping_build_id, NULL, &d->failed);
            st->ramping_changed_us = st->percentage_changed_us = d->now.us;
        }
        deployment_settle_versions(d, c->identity);
    } else {
        pb_set_string(&st->modifier_identity, c->identity, &d->failed);
        new_token(d);
    }
    return 0;
}

static void put_ramp(struct deployment_step *d, const struct deployment_change *c, bool is_other_version) {
    State__Deployment *st = d->st;
    st->is_ramping = !c->is_unset;
    st->ramping_percentage = c->is_unset ? 0 : c->percentage;
    pb_set_string(&st->ramping_build_id, c->is_unset ? NULL : c->build_id, &d->failed);
    if (is_other_version)
        st->ramping_changed_us = d->now.us;
    st->percentage_changed_us = d->now.us;
}

int deployment_set_ramping(struct deployment_step *d, struct deployment_change *c) {
    State__Deployment *st = d->st;
    bool is_there =
        st->is_ramping != c->is_unset && cstr_eq(st->ramping_build_id, c->is_unset ? "" : c->build_id);
    bool is_ramp_same = is_there && st->ramping_percentage == (c->is_unset ? 0 : c->percentage);
    c->had_ramp = st->is_ramping;
    c->previous_build_id = arena_strdup(c->arena, st->ramping_build_id);
    c->previous_percentage = st->ramping_percentage;
    c->is_same = is_ramp_same && cstr_eq(st->modifier_identity, c->identity);
    if (c->is_same)
        return 0;
    int rc = check_token(d, c->conflict_token);
    if (rc == 0 && !c->is_unset && cstr_eq(st->current_build_id, c->build_id))
        rc = err_set(d->err, ERR_PRECONDITION, "the version to ramp to, '%.200s', is the current version",
                     cstr_is_empty(c->build_id) ? VERSION_UNVERSIONED_TEXT : c->build_id);
    if (rc == 0)
        rc = admit_change(d, c);
    if (rc == 0 && !c->is_unset && !is_there)
        rc = check_queues(d, c);
    if (rc < 0)
        return rc;
    if (!is_ramp_same) {
        put_ramp(d, c, !is_there);
        deployment_settle_versions(d, c->identity);
    } else {
        pb_set_string(&st->modifier_identity, c->identity, &d->failed);
        new_token(d);
    }
    return 0;
}

int deployment_set_manager(struct deployment_step *d, const char *manager, const char *identity,
                           struct str conflict_token) {
    State__Deployment *st = d->st;
    if (cstr_eq(st->manager_identity, manager) && cstr_eq(st->modifier_identity, identity))
        return 0;
    int rc = check_token(d, conflict_token);
    if (rc < 0)
        return rc;
    pb_set_string(&st->manager_identity, manager, &d->failed);
    pb_set_string(&st->modifier_identity, identity, &d->failed);
    new_token(d);
    return 0;
}

/* Removing */

int deployment_delete_version(struct deployment_step *d, const struct deployment_removal *r) {
    State__Deployment *st = d->st;
    const State__DeploymentVersion *v = deployment_version(st, r->build_id);
    if (!v)
        return 0;
    if (is_routed(st, v))
        return err_set(d->err, ERR_PRECONDITION,
                       "version '%.200s:%.200s' is current or ramping and cannot be deleted", st->name,
                       r->build_id);
    int rc = deployment_check_manager(d, r->identity);
    if (rc < 0)
        return rc;
    if (!r->skips_drainage && v->drainage_status == VERSION_DRAINAGE_STATUS_DRAINING)
        return err_set(d->err, ERR_PRECONDITION, "version '%.200s:%.200s' is draining and cannot be deleted",
                       st->name, r->build_id);
    if (r->has_pollers)
        return err_set(d->err, ERR_PRECONDITION, "version '%.200s:%.200s' has pollers and cannot be deleted",
                       st->name, r->build_id);
    pb_remove_item(&st->n_versions, st->versions, v);
    pb_set_string(&st->modifier_identity, r->identity, &d->failed);
    return 0;
}

/* Metadata */

static void put_metadata(struct deployment_step *d, State__DeploymentVersion *v, const char *key,
                         const Common__Payload *value) {
    for (size_t i = 0; i < v->n_metadata; i++) {
        if (cstr_eq(v->metadata[i]->key, key)) {
            pb_remove_message(&v->n_metadata, v->metadata, i);
            break;
        }
    }
    if (!value)
        return;
    State__DeploymentVersion__MetadataEntry *m =
        pb_new(&state__deployment_version__metadata_entry__descriptor, &d->failed);
    if (!m)
        return;
    pb_set_string(&m->key, key, &d->failed);
    pb_set_message(&m->value, value, &d->failed);
    pb_append_message(&v->n_metadata, &v->metadata, m, &d->failed);
}

int deployment_update_metadata(struct deployment_step *d, const char *build_id,
                               const Ws__UpdateWorkerDeploymentVersionMetadataRequest *req) {
    static const Common__Payload empty = COMMON__PAYLOAD__INIT;
    State__DeploymentVersion *v = deployment_version(d->st, build_id);
    if (!v)
        return no_version(d, build_id);
    for (size_t i = 0; i < req->n_upsert_entries; i++) {
        const Common__Payload *value = req->upsert_entries[i]->value;
        put_metadata(d, v, req->upsert_entries[i]->key, value ? value : &empty);
    }
    for (size_t i = 0; i < req->n_remove_entries; i++)
        put_metadata(d, v, req->remove_entries[i], NULL);
    size_t bytes = 0;
    for (size_t i = 0; i < v->n_metadata; i++)
        bytes += protobuf_c_message_get_packed_size(&v->metadata[i]->base);
    if (v->n_metadata > LIMIT_VERSION_METADATA || bytes > LIMIT_VERSION_METADATA_BYTES)
        return err_set(d->err, ERR_INVALID,
                       "a version may have at most %d metadata entries, of %d bytes together",
                       LIMIT_VERSION_METADATA, LIMIT_VERSION_METADATA_BYTES);
    pb_set_string(&v->modifier_identity, req->identity, &d->failed);
    return 0;
}

/* Drainage */

bool deployment_reactivate(struct deployment_step *d, const char *build_id) {
    State__DeploymentVersion *v = deployment_version(d->st, build_id);
    if (!v || (v->status != WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED &&
               v->status != WORKER_DEPLOYMENT_VERSION_STATUS_INACTIVE))
        return false;
    deployment_drain_version(d, v);
    return true;
}

void deployment_drained(struct deployment_step *d, const char *build_id, bool has_runs) {
    State__DeploymentVersion *v = deployment_version(d->st, build_id);
    if (!v || v->drainage_status != VERSION_DRAINAGE_STATUS_DRAINING)
        return;
    v->drainage_checked_us = d->now.us;
    if (!has_runs) {
        v->status = WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED;
        v->drainage_status = VERSION_DRAINAGE_STATUS_DRAINED;
        v->drainage_changed_us = d->now.us;
    }
}

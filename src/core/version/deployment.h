/* All changes of a worker deployment, as pure steps.
 *
 * A step changes `st` in place and returns 0, or ERR_* with err filled; after an error, or when
 * `failed` is set, the caller throws the changed state away. */
#pragma once

#include "base/clock.h"
#include "core/version/version.h"
#include "state.pb-c.h"
#include "workflowservice.pb-c.h"

struct deployment_step {
    State__Deployment *st;
    struct wall now;
    struct err *err;
    bool failed; /* memory ran out somewhere */
};

State__DeploymentVersion *deployment_version(const State__Deployment *st, const char *build_id);
bool deployment_has_queue(const State__DeploymentVersion *v, const char *queue, E__TaskQueueType type);

/* A new deployment: st is a fresh message. */
void deployment_begin(struct deployment_step *d, const char *name, const char *identity,
                      const char *request_id);

/* Whether making a version needs room first, and which version could go: not in use, not draining.
 * `has_pollers` tells what only the engine knows. Index into st->versions, or SIZE_MAX. */
bool deployment_is_full(const State__Deployment *st);
size_t deployment_spare_version(const State__Deployment *st,
                                bool (*has_pollers)(void *ctx, const State__DeploymentVersion *v), void *ctx);

/* A worker of this version polls the queue. *ret_changed: not seen before. */
int deployment_register(struct deployment_step *d, const char *build_id, const char *queue,
                        E__TaskQueueType type, bool *ret_changed) must_check;
int deployment_create_version(struct deployment_step *d, const char *build_id, const char *identity,
                              const char *request_id, bool *ret_changed) must_check;

/* A change of the version that gets the work of unbound runs. */
struct deployment_change {
    const char *build_id; /* "": workers without a version */
    bool is_unset; /* no ramp at all */
    float percentage;
    const char *identity;
    struct str conflict_token; /* empty: not checked */
    bool allows_no_pollers; /* an unknown version is made */
    bool ignores_missing_queues;
    bool lacks_queues; /* the version misses a queue that the current one has work in */
    /* Out: what was before. */
    bool is_same; /* nothing had to change */
    bool had_ramp;
    const char *previous_build_id; /* in the arena */
    float previous_percentage;
    struct arena *arena;
};
int deployment_set_current(struct deployment_step *d, struct deployment_change *c) must_check;
int deployment_set_ramping(struct deployment_step *d, struct deployment_change *c) must_check;
int deployment_set_manager(struct deployment_step *d, const char *manager, const char *identity,
                           struct str conflict_token) must_check;

struct deployment_removal {
    const char *build_id;
    const char *identity;
    bool skips_drainage;
    bool has_pollers;
};
int deployment_delete_version(struct deployment_step *d, const struct deployment_removal *r) must_check;
int deployment_update_metadata(struct deployment_step *d, const char *build_id,
                               const Ws__UpdateWorkerDeploymentVersionMetadataRequest *req) must_check;

/* Drainage */

/* A run was bound to this version, so a drained or inactive version drains again. False: no change. */
bool deployment_reactivate(struct deployment_step *d, const char *build_id);
/* Records the result of a search for open runs that are bound to the version. */
void deployment_drained(struct deployment_step *d, const char *build_id, bool has_runs);

/* 8 bytes, as clients get it. */
void deployment_token(const State__Deployment *st, uint8_t ret[8]);

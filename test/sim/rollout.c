/* A change is sent once; then the deployment is described until that is answered. What was acknowledged must
 * be seen, what was refused must not, and what nobody knows may be either. From then on, until the next
 * change is sent, it is known where work goes. */
#include "rollout.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "history_rules.h"
#include "names.h"
#include "override.h"
#include "request.h"
#include "rpc.h"

#define CALL_TIMEOUT_US (10 * USEC_PER_SEC)
#define THINK_US (3 * USEC_PER_SEC)

struct route {
    char current[ROLLOUT_BUILD_MAX];
    char ramping[ROLLOUT_BUILD_MAX];
};

struct rollout {
    struct world *w;
    struct happening act;
    struct rpc *rpc;
    bool is_resting;
    bool is_changing; /* a change was sent, and its outcome is not known */
    bool is_ramp; /* what is changed */
    float percentage;
    int32_t outcome; /* enum rpc_outcome of the change */
    struct route route; /* as it was last described */
    struct route wanted; /* after the change */
    int64_t settled_wall_us; /* since when route holds for sure */
};

bool rollout_covers(const struct world *w, const char *namespace_name) {
    return w->profile.has_versions && cstr_eq(namespace_name, ROLLOUT_SPACE);
}

bool rollout_has(const struct world *w, const char *workflow_id) {
    return w->profile.has_versions && str_starts(str_of(workflow_id), STR(ROLLOUT_SPACE "/"));
}

Deployment__WorkerDeploymentOptions *rollout_options(struct arena *a, const char *build_id) {
    if (!build_id[0])
        return NULL;
    Deployment__WorkerDeploymentOptions *o =
        MAKE(a, Deployment__WorkerDeploymentOptions, deployment__worker_deployment_options__init);
    o->deployment_name = make_text(a, ROLLOUT_DEPLOYMENT);
    o->build_id = make_text(a, "%s", build_id);
    o->worker_versioning_mode = WORKER_VERSIONING_MODE_VERSIONED;
    return o;
}

E__VersioningBehavior rollout_behavior(const char *workflow_id) {
    return workflow_id[strlen(workflow_id) - 1] % 2 ? VERSIONING_BEHAVIOR_AUTO_UPGRADE
                                                    : VERSIONING_BEHAVIOR_PINNED;
}

/* the client */

static void describe_answered(struct rpc *r);

static void rollout_describe(struct rollout *o) {
    struct rpc *r = o->rpc = rpc_new(o->w, RPC_describe_worker_deployment, o, describe_answered);
    Ws__DescribeWorkerDeploymentRequest *q =
        MAKE(&r->arena, Ws__DescribeWorkerDeploymentRequest, ws__describe_worker_deployment_request__init);
    q->namespace_ = make_text(&r->arena, ROLLOUT_SPACE);
    q->deployment_name = make_text(&r->arena, ROLLOUT_DEPLOYMENT);
    rpc_send(r, q, CALL_TIMEOUT_US);
}

static void change_answered(struct rpc *r) {
    struct rollout *o = r->owner;
    o->rpc = NULL;
    o->outcome = (int32_t)r->outcome;
    if (r->outcome == RPC_OK)
        o->w->tally.versions++;
    rollout_describe(o);
}

/* Which build is not this one. */
static void other_build(const char *build, char *ret) {
    snprintf(ret, ROLLOUT_BUILD_MAX, "%s", cstr_eq(build, "b0") ? "b1" : "b0");
}

static void choose_change(struct rollout *o) {
    struct rng *r = &o->w->rng;
    o->wanted = o->route;
    o->is_ramp = o->route.current[0] && rng_chance(r, 2);
    o->percentage = 0;
    if (!o->is_ramp) {
        snprintf(o->wanted.current, sizeof(o->wanted.current), "b%u", (unsigned)rng_below(r, ROLLOUT_BUILDS));
        if (cstr_eq(o->wanted.current, o->wanted.ramping))
            o->wanted.ramping[0] = '\0'; /* it has arrived */
    } else if (o->route.ramping[0] && rng_chance(r, 2)) {
        o->wanted.ramping[0] = '\0';
    } else {
        other_build(o->route.current, o->wanted.ramping);
        o->percentage = (float)(1 + rng_below(r, 99));
    }
}

static void send_change(struct rollout *o) {
    struct rpc *r = o->rpc = rpc_new(o->w, RPC_set_worker_deployment_current_version, o, change_answered);
    struct arena *a = &r->arena;
    const void *request;
    if (o->is_ramp) {
        Ws__SetWorkerDeploymentRampingVersionRequest *q =
            MAKE(a, Ws__SetWorkerDeploymentRampingVersionRequest,
                 ws__set_worker_deployment_ramping_version_request__init);
        r->kind = RPC_set_worker_deployment_ramping_version;
        q->namespace_ = make_text(a, ROLLOUT_SPACE);
        q->deployment_name = make_text(a, ROLLOUT_DEPLOYMENT);
        q->build_id = make_text(a, "%s", o->wanted.ramping);
        q->percentage = o->percentage;
        q->ignore_missing_task_queues = true;
        request = q;
    } else {
        Ws__SetWorkerDeploymentCurrentVersionRequest *q =
            MAKE(a, Ws__SetWorkerDeploymentCurrentVersionRequest,
                 ws__set_worker_deployment_current_version_request__init);
        q->namespace_ = make_text(a, ROLLOUT_SPACE);
        q->deployment_name = make_text(a, ROLLOUT_DEPLOYMENT);
        q->build_id = make_text(a, "%s", o->wanted.current);
        q->ignore_missing_task_queues = true;
        request = q;
    }
    o->is_changing = true;
    rpc_send(r, request, CALL_TIMEOUT_US);
}

static bool route_eq(const struct route *a, const struct route *b) {
    return cstr_eq(a->current, b->current) && cstr_eq(a->ramping, b->ramping);
}

static struct route route_shown(const Ws__DescribeWorkerDeploymentResponse *m) {
    const Deployment__RoutingConfig *c =
        m->worker_deployment_info ? m->worker_deployment_info->routing_config : NULL;
    struct route shown = {{0}, {0}};
    if (c && c->current_deployment_version)
        snprintf(shown.current, sizeof(shown.current), "%s", c->current_deployment_version->build_id);
    if (c && c->ramping_deployment_version)
        snprintf(shown.ramping, sizeof(shown.ramping), "%s", c->ramping_deployment_version->build_id);
    return shown;
}

/* G8: what was acknowledged holds, what was refused does not. */
static void check_routing_kept(struct rollout *o, const struct route *shown) {
    bool may_be_old = !o->is_changing || o->outcome != RPC_OK;
    bool may_be_new = o->is_changing && o->outcome != RPC_FAILED;
    if ((may_be_old && route_eq(shown, &o->route)) || (may_be_new && route_eq(shown, &o->wanted)))
        return;
    world_fail(o->w, "routing_kept",
               "current=%s ramping=%s, it was %s %s, and %s %s was asked for (outcome %d)", shown->current,
               shown->ramping, o->route.current, o->route.ramping, o->wanted.current, o->wanted.ramping,
               (int)o->outcome);
}

static void describe_answered(struct rpc *r) {
    struct rollout *o = r->owner;
    o->rpc = NULL;
    if (r->outcome == RPC_OK) {
        struct route shown = route_shown((const void *)r->response);
        check_routing_kept(o, &shown);
        o->route = shown;
        o->is_changing = false;
        o->settled_wall_us = o->w->now.wall.us;
    }
    /* Before a worker has said its version, there is no such deployment. */
    bool is_unborn = r->outcome == RPC_FAILED && r->err.code == ERR_NOT_FOUND && !o->route.current[0];
    if (r->outcome == RPC_FAILED && !is_unborn && r->err.code != ERR_BUSY)
        world_fail(o->w, "routing_kept", "%s: %s: %s", rpc_name(r->kind), err_name(r->err.code), r->err.text);
    bool is_known = r->outcome == RPC_OK && o->route.current[0];
    world_at(o->w, &o->act, is_known ? world_leisure(o->w, THINK_US) : world_delay(o->w, 0, USEC_PER_SEC));
}

static void rollout_act(struct world *w unused_arg, struct happening *h) {
    struct rollout *o = container_of(h, struct rollout, act);
    if (o->is_changing) {
        rollout_describe(o); /* the last answer was lost */
        return;
    }
    if (o->is_resting && o->route.current[0])
        return;
    choose_change(o);
    send_change(o);
}

struct rollout *rollout_new(struct world *w) {
    struct rollout *o = mem_zalloc(sizeof(*o));
    ensure(o);
    o->w = w;
    o->act.run = rollout_act;
    if (w->profile.has_versions)
        world_at(w, &o->act, world_delay(w, 0, 2 * USEC_PER_SEC));
    return o;
}

void rollout_free(struct world *w) {
    rpc_drop(w->rollout->rpc);
    world_not(w, &w->rollout->act);
    mem_free(w->rollout);
}

void rollout_rest(struct world *w) {
    w->rollout->is_resting = true;
    world_hurry(w, &w->rollout->act);
}

bool rollout_is_done(const struct world *w) {
    const struct rollout *o = w->rollout;
    return !w->profile.has_versions || (o->route.current[0] && !o->is_changing && !o->rpc);
}

/* runs */

void rollout_note_start(struct run_model *run, const History__HistoryEvent *e) {
    const History__WorkflowExecutionStartedEventAttributes *a =
        e->workflow_execution_started_event_attributes;
    override_note_start(run, a->versioning_override);
    run->inherits_route = a->inherited_pinned_version || a->inherited_auto_upgrade_info;
    if (a->inherited_pinned_version)
        snprintf(run->pinned_build, sizeof(run->pinned_build), "%s", a->inherited_pinned_version->build_id);
}

/* The only version that may work for the run; "": none is named. */
static const char *pin_of(const struct run_model *run) {
    const char *build_id = override_build(run);
    return build_id ? build_id : run->pinned_build;
}

/* A pinned run stays with its version, for as long as its workers say so, and nobody who comes before them
 * says otherwise. */
static void check_pinned_stays(struct world *w, const struct run_model *run, const char *build_id,
                               int64_t event_id) {
    if (pin_of(run)[0] && !cstr_eq(pin_of(run), build_id))
        world_fail(w, override_build(run) ? "override_obeyed" : "pinned_stays",
                   "run=%s is pinned to %s, task %" PRId64 " goes to %s", run->run_id, pin_of(run), event_id,
                   build_id);
}

void rollout_note_completion(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    const History__WorkflowTaskCompletedEventAttributes *a = e->workflow_task_completed_event_attributes;
    const char *build_id = a->deployment_version ? a->deployment_version->build_id : "";
    if (!w->profile.has_versions)
        return;
    check_pinned_stays(w, run, build_id, a->started_event_id);
    bool is_pinned = a->versioning_behavior == VERSIONING_BEHAVIOR_PINNED; /* whatever it has inherited */
    snprintf(run->pinned_build, sizeof(run->pinned_build), "%s", is_pinned ? build_id : "");
    run->inherits_route = false;
    override_note_completion(run, build_id);
}

/* All other work goes to the current version, or to the one that is ramped up. */
static void check_route_taken(struct world *w, const struct run_model *run, const char *build_id,
                              const Ws__PollWorkflowTaskQueueResponse *m) {
    const struct rollout *o = w->rollout;
    bool is_known = !o->is_changing && o->settled_wall_us && !world_clock_jumped(w) &&
                    event_time_us(m->started_time) > o->settled_wall_us &&
                    (int64_t)run->event_count >= m->started_event_id - 1;
    if (!is_known || pin_of(run)[0] || run->is_override_doubtful || run->inherits_route)
        return;
    if (!cstr_eq(build_id, o->route.current) && !cstr_eq(build_id, o->route.ramping))
        world_fail(w, "route_taken", "run=%s task %" PRId64 " goes to %s, current is %s, ramping %s",
                   run->run_id, m->started_event_id, build_id, o->route.current, o->route.ramping);
}

void rollout_check_task(struct world *w, const struct run_model *run,
                        const Deployment__WorkerDeploymentOptions *worker,
                        const Ws__PollWorkflowTaskQueueResponse *m) {
    if (!worker)
        return;
    if ((int64_t)run->event_count >= m->started_event_id - 1) /* what was asked for before is known */
        check_pinned_stays(w, run, worker->build_id, m->started_event_id);
    check_route_taken(w, run, worker->build_id, m);
}

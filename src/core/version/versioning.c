/* Where a run belongs, and how it moves. */
#include "core/version/versioning.h"

#include "core/activity/activity.h"
#include "core/run/task.h"

static State__Versioning *versioning_get_state(struct step *s) {
    if (!s->st->versioning)
        s->st->versioning = pb_new(&state__versioning__descriptor, &s->failed);
    return s->st->versioning;
}

/* What holds */

static bool is_one_time(const Workflow__VersioningOverride *o) {
    return o && o->override_case == WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_ONE_TIME;
}

static bool is_pin(const Workflow__VersioningOverride *o) {
    return o && o->override_case == WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_PINNED;
}

struct version versioning_override_target(const Workflow__VersioningOverride *o) {
    if (is_pin(o))
        return version_of(o->pinned->version);
    return is_one_time(o) ? version_of(o->one_time->target_deployment_version) : (struct version){0};
}

bool versioning_is_moving(const State__Execution *st) {
    return st->versioning && st->versioning->is_moving;
}

E__VersioningBehavior versioning_shown_behavior(const State__Execution *st) {
    const State__Versioning *v = st->versioning;
    if (!v)
        return VERSIONING_BEHAVIOR_UNSPECIFIED;
    if (v->override)
        return is_pin(v->override) || is_one_time(v->override) ? VERSIONING_BEHAVIOR_PINNED
                                                               : VERSIONING_BEHAVIOR_AUTO_UPGRADE;
    return (E__VersioningBehavior)v->behavior;
}

struct version versioning_shown_version(const State__Execution *st) {
    const State__Versioning *v = st->versioning;
    struct version target = v ? versioning_override_target(v->override) : (struct version){0};
    if (!v || !version_is_none(target))
        return target;
    return version_of(v->version);
}

E__VersioningBehavior versioning_behavior(const State__Execution *st) {
    return versioning_is_moving(st) ? VERSIONING_BEHAVIOR_AUTO_UPGRADE : versioning_shown_behavior(st);
}

struct version versioning_version(const State__Execution *st) {
    if (versioning_is_moving(st))
        return version_of(st->versioning->moving_to);
    if (versioning_shown_behavior(st) == VERSIONING_BEHAVIOR_UNSPECIFIED)
        return (struct version){0};
    return versioning_shown_version(st);
}

bool versioning_stays(const State__Execution *st, struct version worker) {
    return !versioning_is_moving(st) &&
           (!versioning_is_pinned(st) || version_eq(versioning_version(st), worker));
}

bool versioning_wants_ramp(const State__Execution *st) {
    return st->versioning && !st->last_started_event_id &&
           st->versioning->initial_behavior == CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_USE_RAMPING_VERSION;
}

const char *versioning_behavior_name(E__VersioningBehavior b) {
    switch ((int)b) {
    case VERSIONING_BEHAVIOR_PINNED:
        return "Pinned";
    case VERSIONING_BEHAVIOR_AUTO_UPGRADE:
        return "AutoUpgrade";
    default:
        return "";
    }
}

/* The beginning */

void versioning_begin(struct step *s, const struct run_birth *b, const Workflow__VersioningOverride *o) {
    if (!o && !b->inherited_pin && !b->inherited_upgrade)
        return;
    State__Versioning *v = versioning_get_state(s);
    if (!v)
        return;
    pb_set_message(&v->override, o, &s->failed);
    if (b->inherited_pin) {
        pb_set_message(&v->version, b->inherited_pin, &s->failed);
        v->behavior = VERSIONING_BEHAVIOR_PINNED;
        v->is_pin_inherited = true;
    } else if (b->inherited_upgrade) {
        pb_set_message(&v->version, b->inherited_upgrade->source_deployment_version, &s->failed);
        v->behavior = VERSIONING_BEHAVIOR_AUTO_UPGRADE;
        v->revision = b->inherited_upgrade->source_deployment_revision_number;
        v->initial_behavior = (int32_t)b->inherited_upgrade->continue_as_new_initial_versioning_behavior;
    }
    if (b->declined && b->inherited_pin) {
        v->declined = pb_new(&state__version_notice__descriptor, &s->failed);
        if (!v->declined)
            return;
        pb_set_message(&v->declined->version, b->declined->deployment_version, &s->failed);
        v->declined->revision = b->declined->revision_number;
    }
    pb_set_string(&s->st->worker_deployment_name, versioning_version(s->st).deployment, &s->failed);
}

/* A worker takes a task */

static void begin_move(struct step *s, struct version to, int64_t revision) {
    State__Versioning *v = versioning_get_state(s);
    if (!v)
        return;
    v->is_moving = true;
    version_set(&v->moving_to, to, &s->failed);
    v->revision = revision;
    pb_set_string(&s->st->sticky_queue, NULL, &s->failed);
    if (s->st->task)
        s->st->task->is_sticky = false;
}

static void put_notice(struct step *s, State__VersionNotice **field, struct version v, int64_t revision) {
    pb_free(*field);
    *field = pb_new(&state__version_notice__descriptor, &s->failed);
    if (!*field)
        return;
    version_set(&(*field)->version, v, &s->failed);
    (*field)->revision = revision;
}

static void drop_notices(struct step *s, State__Versioning *v) {
    pb_set_message(&v->notified, NULL, &s->failed);
    pb_set_message(&v->declined, NULL, &s->failed);
}

/* A pinned run is told when new work goes to another version, so that it can continue as new there;
 * but not again of one that the run before it was told of and did not take. */
static void versioning_note_target(struct step *s, const struct task_pick *pick) {
    State__Versioning *v = s->st->versioning;
    if (!v)
        return;
    int64_t notified = v->notified ? v->notified->revision : 0;
    int64_t declined = v->declined ? v->declined->revision : 0;
    int64_t revision = pick->has_target ? pick->target_revision : -1;
    if (v->override)
        drop_notices(s, v);
    if (v->override || !versioning_is_pinned(s->st) || revision < MAX(notified, declined))
        return;
    if (version_eq(versioning_version(s->st), pick->target)) {
        drop_notices(s, v);
    } else if (!v->declined || revision > v->declined->revision) {
        put_notice(s, &v->notified, pick->target, revision);
        pb_set_message(&v->declined, NULL, &s->failed);
    }
}

int versioning_take_task(struct step *s, const struct task_pick *pick) {
    State__Execution *st = s->st;
    bool is_pinned = versioning_is_pinned(st);
    struct version mine = versioning_version(st);
    if (!pick->from_sticky && pick->is_bound != is_pinned)
        return err_set(s->err, ERR_NOT_FOUND, "Workflow task is for other workers.");
    if (is_pinned && !version_eq(pick->version, mine))
        return err_set(s->err, ERR_NOT_FOUND, "Workflow task is for another version.");
    versioning_note_target(s, pick);
    st->task->is_target_changed = is_pinned && st->versioning->notified;
    if (!is_pinned && !st->task->is_speculative && !version_eq(pick->version, mine))
        begin_move(s, pick->version, pick->target_revision);
    return 0;
}

int versioning_take_activity(struct step *s, int64_t scheduled_event_id, const struct version_pick *pick,
                             bool *ret_moved) {
    State__Execution *st = s->st;
    State__Activity *a = activity_find(st, scheduled_event_id);
    *ret_moved = false;
    if (!a || versioning_is_moving(st)) /* when the run has arrived its activities are offered anew */
        return err_set(s->err, ERR_NOT_FOUND, "The activity is gone, or its run is moving.");
    if (pick->is_bound && !(versioning_is_pinned(st) && version_eq(pick->version, versioning_version(st))))
        return err_set(s->err, ERR_NOT_FOUND, "The activity is for another version.");
    if (!versioning_is_pinned(st) && !version_eq(pick->version, versioning_version(st)) &&
        version_eq(pick->version, pick->workflow_target)) {
        begin_move(s, pick->version, pick->revision);
        if (st->task)
            task_offer_again(s);
        else
            task_schedule(s);
        *ret_moved = true;
        return 0;
    }
    version_set(&a->last_version, pick->version, &s->failed);
    return 0;
}

/* A worker completes a task */

int versioning_check_completion(const Ws__RespondWorkflowTaskCompletedRequest *req, struct err *err) {
    if (req->versioning_behavior != VERSIONING_BEHAVIOR_UNSPECIFIED &&
        version_is_none(version_of_options(req->deployment_options)))
        return err_set(err, ERR_INVALID,
                       "Only a worker whose deployment options ask for versioning may set a versioning "
                       "behavior.");
    return version_validate_options(req->deployment_options, err);
}

/* Those that wait in a queue may wait in the wrong one. */
static void offer_activities(struct step *s) {
    for (size_t i = 0; i < s->st->n_activities; i++) {
        State__Activity *a = s->st->activities[i];
        if (!a->is_offered || a->started_us)
            continue;
        a->stamp++;
        step_effect(s, EFFECT_ACTIVITY_TASK, a->scheduled_event_id);
    }
}

static bool versioning_end_move(struct step *s, struct version at) {
    State__Versioning *v = s->st->versioning;
    if (!v || !v->is_moving || !version_eq(version_of(v->moving_to), at))
        return false;
    v->is_moving = false;
    pb_set_message(&v->moving_to, NULL, &s->failed);
    return true;
}

void versioning_complete(struct step *s, const History__WorkflowTaskCompletedEventAttributes *a) {
    State__Execution *st = s->st;
    struct version by = version_of(a->deployment_version);
    pb_set_message(&st->worker_version, a->worker_version, &s->failed);
    pb_set_string(&st->worker_deployment_name, a->worker_deployment_name, &s->failed);
    bool has_arrived = versioning_end_move(s, by);
    E__VersioningBehavior behavior_before = versioning_behavior(st);
    State__Versioning *v = a->versioning_behavior ? versioning_get_state(s) : st->versioning;
    bool is_elsewhere = v && !version_eq(versioning_version(st), by);
    if (v) {
        v->behavior = (int32_t)a->versioning_behavior;
        version_set(&v->version, a->versioning_behavior ? by : (struct version){0}, &s->failed);
        if (is_one_time(v->override) && version_eq(versioning_override_target(v->override), by))
            pb_set_message(&v->override, NULL, &s->failed);
    }
    if (has_arrived || is_elsewhere || versioning_behavior(st) != behavior_before)
        offer_activities(s);
    versioning_show(s, a->worker_version, by);
}

/* Overrides */

static int check_pin(const Deployment__WorkerDeploymentVersion *m, struct err *err) {
    if (!m)
        return err_set(err, ERR_INVALID, "The versioning override names no version.");
    return version_validate(version_of(m), err);
}

static int check_old_form(const Workflow__VersioningOverride *o, struct err *err) {
    bool has_version = o->deployment || !cstr_is_empty(o->pinned_version);
    switch ((int)o->behavior) {
    case VERSIONING_BEHAVIOR_PINNED:
        if (!has_version)
            return err_set(err, ERR_INVALID, "The versioning override is pinned but names no version.");
        if (o->deployment)
            return version_validate((struct version){o->deployment->series_name, o->deployment->build_id},
                                    err);
        return version_validate_text(o->pinned_version, err);
    case VERSIONING_BEHAVIOR_AUTO_UPGRADE:
        if (has_version)
            return err_set(err, ERR_INVALID, "The versioning override names a version but is not pinned.");
        return 0;
    default:
        return err_set(err, ERR_INVALID, "The versioning override has no known behavior.");
    }
}

int versioning_check_override(const Workflow__VersioningOverride *o, struct err *err) {
    if (!o)
        return 0;
    switch ((int)o->override_case) {
    case WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_AUTO_UPGRADE:
        return o->auto_upgrade ? 0 : err_set(err, ERR_INVALID, "The auto-upgrade override must be true.");
    case WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_PINNED:
        if (!o->pinned->behavior)
            return err_set(err, ERR_INVALID, "The pinned versioning override has no behavior.");
        return check_pin(o->pinned->version, err);
    case WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_ONE_TIME:
        return check_pin(o->one_time->target_deployment_version, err);
    default:
        return check_old_form(o, err);
    }
}

static Workflow__VersioningOverride *pin_of(struct arena *a, struct version v) {
    Workflow__VersioningOverride *n = arena_new(a, Workflow__VersioningOverride);
    Workflow__VersioningOverride__PinnedOverride *p =
        arena_new(a, Workflow__VersioningOverride__PinnedOverride);
    if (!n || !p)
        return NULL;
    workflow__versioning_override__init(n);
    workflow__versioning_override__pinned_override__init(p);
    p->behavior = WORKFLOW__VERSIONING_OVERRIDE__PINNED_OVERRIDE_BEHAVIOR__PINNED_OVERRIDE_BEHAVIOR_PINNED;
    p->version = version_message(a, v);
    n->override_case = WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_PINNED;
    n->pinned = p;
    return p->version ? n : NULL;
}

static Workflow__VersioningOverride *from_old_form(struct arena *a, const Workflow__VersioningOverride *o) {
    struct version v;
    if (o->behavior == VERSIONING_BEHAVIOR_PINNED && o->deployment)
        return pin_of(a, (struct version){o->deployment->series_name, o->deployment->build_id});
    if (o->behavior == VERSIONING_BEHAVIOR_PINNED)
        return version_parse(a, o->pinned_version, &v, NULL) == 0 ? pin_of(a, v) : NULL;
    Workflow__VersioningOverride *n = arena_new(a, Workflow__VersioningOverride);
    if (!n)
        return NULL;
    workflow__versioning_override__init(n);
    n->override_case = WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_AUTO_UPGRADE;
    n->auto_upgrade = true;
    return n;
}

Workflow__VersioningOverride *versioning_override(struct arena *a, const Workflow__VersioningOverride *o) {
    if (!o)
        return NULL;
    if (is_pin(o))
        return pin_of(a, version_of(o->pinned->version));
    if (o->override_case == WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE__NOT_SET)
        return from_old_form(a, o);
    Workflow__VersioningOverride *n = arena_dup(a, o, sizeof(*o));
    if (!n)
        return NULL;
    n->behavior = VERSIONING_BEHAVIOR_UNSPECIFIED;
    n->deployment = NULL;
    n->pinned_version = (char *)(uintptr_t)protobuf_c_empty_string;
    return n;
}

int versioning_check_served(struct step *s, const Workflow__VersioningOverride *o, const char *queue) {
    struct version v = versioning_override_target(o);
    const struct version_book *book = s->ctx.versions;
    if (version_is_none(v) || (book && book->has_queue(book, v.deployment, v.build_id, queue)))
        return 0;
    return err_set(s->err, ERR_PRECONDITION,
                   "Pinned version '%.200s:%.200s' is not present in task queue '%.200s' of type 'Workflow'",
                   v.deployment, v.build_id, queue);
}

void versioning_put_override(struct step *s, const Workflow__VersioningOverride *o) {
    State__Execution *st = s->st;
    E__VersioningBehavior behavior_before = versioning_behavior(st);
    struct version before = versioning_version(st);
    struct version kept = {arena_strdup(s->arena, before.deployment ? before.deployment : ""),
                           arena_strdup(s->arena, before.build_id ? before.build_id : "")};
    State__Versioning *v = o ? versioning_get_state(s) : st->versioning;
    if (!v)
        return;
    pb_set_message(&v->override, o, &s->failed);
    struct version target = versioning_override_target(v->override);
    if (!o)
        target = version_of(v->version);
    if (!o || !version_is_none(target))
        pb_set_string(&st->worker_deployment_name, target.deployment, &s->failed);
    /* Whoever was to get it: the override decides. A move hides what comes after it from the comparison. */
    bool is_stopped = v->is_moving && versioning_shown_behavior(st) == VERSIONING_BEHAVIOR_PINNED;
    if (is_stopped || versioning_behavior(st) != behavior_before ||
        !version_eq(versioning_version(st), kept)) {
        v->is_moving = false;
        pb_set_message(&v->moving_to, NULL, &s->failed);
        pb_set_string(&st->sticky_queue, NULL, &s->failed);
        versioning_show(s, NULL, (struct version){0});
        task_offer_again(s);
    }
    offer_activities(s);
}

/* What the next run takes over */

static bool is_served(const struct version_book *book, struct version v, const char *own_queue,
                      const char *queue) {
    return cstr_eq(queue, own_queue) || (book && book->has_queue(book, v.deployment, v.build_id, queue));
}

static Deployment__WorkerDeploymentVersion versioning_version_message(struct version v) {
    Deployment__WorkerDeploymentVersion m = DEPLOYMENT__WORKER_DEPLOYMENT_VERSION__INIT;
    m.deployment_name = (char *)(uintptr_t)v.deployment;
    m.build_id = (char *)(uintptr_t)v.build_id;
    return m;
}

static void leave_pin(struct version_legacy *l, struct version v) {
    l->pin_space = versioning_version_message(v);
    l->pin = &l->pin_space;
}

/* A run that was never routed by a deployment has no revision, and leaves nothing to upgrade from. */
static void leave_upgrade(struct version_legacy *l, const State__Execution *st, struct version v,
                          int32_t initial) {
    if (version_is_none(v) || !st->versioning->revision)
        return;
    l->source_space = versioning_version_message(v);
    deployment__inherited_auto_upgrade_info__init(&l->upgrade_space);
    l->upgrade_space.source_deployment_version = &l->source_space;
    l->upgrade_space.source_deployment_revision_number = st->versioning->revision;
    l->upgrade_space.continue_as_new_initial_versioning_behavior =
        (E__ContinueAsNewVersioningBehavior)initial;
    l->upgrade = &l->upgrade_space;
}

static void leave_declined(struct version_legacy *l, const State__Versioning *v) {
    const State__VersionNotice *n = v->notified ? v->notified : v->declined;
    if (!n)
        return;
    l->declined_space = versioning_version_message(version_of(n->version));
    history__declined_target_version_upgrade__init(&l->declined_upgrade_space);
    l->declined_upgrade_space.deployment_version =
        version_is_none(version_of(n->version)) ? NULL : &l->declined_space;
    l->declined_upgrade_space.revision_number = n->revision;
    l->declined = &l->declined_upgrade_space;
}

void versioning_bequeath_continued(const struct step *s, const char *queue,
                                   E__ContinueAsNewVersioningBehavior initial, struct version_legacy *ret) {
    const State__Execution *st = s->st;
    const State__Versioning *v = st->versioning;
    E__VersioningBehavior behavior = versioning_behavior(st);
    struct version mine = versioning_version(st);
    *ret = (struct version_legacy){0};
    if (!v)
        return;
    bool is_same_home = is_served(s->ctx.versions, mine, st->task_queue, queue);
    if (is_pin(v->override) && is_same_home)
        ret->override = v->override;
    if (!is_same_home)
        return;
    if (behavior == VERSIONING_BEHAVIOR_PINNED && !initial) {
        leave_pin(ret, mine);
        leave_declined(ret, v);
    } else if (behavior != VERSIONING_BEHAVIOR_UNSPECIFIED) {
        leave_upgrade(ret, st, mine, (int32_t)initial);
    }
}

void versioning_bequeath_retried(const struct step *s, E__ContinueAsNewInitiator initiator,
                                 struct version_legacy *ret) {
    const State__Execution *st = s->st;
    const State__Versioning *v = st->versioning;
    *ret = (struct version_legacy){0};
    if (!v)
        return;
    if (is_pin(v->override))
        ret->override = v->override;
    if (initiator != CONTINUE_AS_NEW_INITIATOR_RETRY)
        return; /* what runs by a schedule begins each time with the version of the day */
    E__VersioningBehavior behavior = versioning_behavior(st);
    if (behavior == VERSIONING_BEHAVIOR_PINNED && v->is_pin_inherited) {
        leave_pin(ret, versioning_version(st));
        leave_declined(ret, v);
    } else if (behavior == VERSIONING_BEHAVIOR_AUTO_UPGRADE) {
        leave_upgrade(ret, st, versioning_version(st), v->initial_behavior);
    }
}

void versioning_bequeath_child(const State__Execution *parent, const struct version_book *book,
                               const char *queue, struct version_legacy *ret) {
    const State__Versioning *v = parent->versioning;
    struct version mine = versioning_version(parent);
    *ret = (struct version_legacy){0};
    if (!v || !is_served(book, mine, parent->task_queue, queue))
        return;
    if (is_pin(v->override) || is_one_time(v->override))
        ret->override = v->override;
    if (versioning_is_pinned(parent))
        leave_pin(ret, mine);
    else if (versioning_behavior(parent) == VERSIONING_BEHAVIOR_AUTO_UPGRADE)
        leave_upgrade(ret, parent, mine, CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_UNSPECIFIED);
}

void versioning_inherit(struct run_birth *b, Ws__StartWorkflowExecutionRequest *req,
                        const struct version_legacy *l) {
    b->inherited_pin = l->pin;
    b->inherited_upgrade = l->upgrade;
    b->declined = l->declined;
    if (l->override)
        req->versioning_override = l->override;
}

/* Pause, unpause and reset.
 *
 * An activity that no worker has is moved at once: it is offered, or no longer.
 * One that is with a worker keeps its attempt; what was asked is noted beside it,
 * shown in the answers to its heartbeats, and takes hold when the attempt ends.
 * Each offer that replaces another gets a new stamp, so that entries which are
 * still in some queue lead nowhere. */
#include "core/activity/activity_control.h"

#include "core/activity/activity_int.h"
#include "core/run/pause.h"
#include "core/run/run.h"

static bool activity_is_chosen(const struct activity_choice *c, const State__Activity *a) {
    if (c->is_all)
        return true;
    return c->id ? cstr_eq(c->id, a->activity_id) : cstr_eq(c->type, a->activity_type);
}

State__Activity *activity_next(const State__Execution *st, const struct activity_choice *c, size_t *index) {
    while (*index < st->n_activities) {
        State__Activity *a = st->activities[(*index)++];
        if (activity_is_chosen(c, a))
            return a;
    }
    return NULL;
}

static size_t count_paused(const State__Execution *st) {
    size_t count = 0;
    for (size_t i = 0; i < st->n_activities; i++)
        count += st->activities[i]->is_paused;
    return count;
}

int activity_change_chosen(struct step *s, const struct activity_choice *c, activity_change *fn,
                           const void *how) {
    size_t i = 0, count = 0, paused = count_paused(s->st);
    if (!run_is_open(s->st))
        return err_std(s->err, ERR_CLOSED);
    for (State__Activity *a; (a = activity_next(s->st, c, &i)); count++) {
        int rc = fn(s, a, how);
        if (rc < 0)
            return rc;
    }
    if (count == 0)
        return err_set(s->err, ERR_NOT_FOUND,
                       "Can't find pending activity with such ID. Invalid activityID or activity already "
                       "completed");
    if (count_paused(s->st) != paused)
        pause_show(s); /* once for all of them */
    return 0;
}

/* pause */

static int pause_one(struct step *s, State__Activity *a, const void *how) {
    const struct activity_pause *p = how;
    if (a->is_paused && cstr_eq(a->pause_request_id, p->request_id))
        return 0;
    if (a->is_paused)
        return err_set(s->err, ERR_PRECONDITION, "activity is already paused");
    a->is_paused = true;
    a->paused_us = s->now.us;
    pb_set_string(&a->pause_identity, p->identity, &s->failed);
    pb_set_string(&a->pause_reason, p->reason, &s->failed);
    pb_set_string(&a->pause_request_id, p->request_id, &s->failed);
    if (!a->started_us)
        a->is_offered = false;
    return 0;
}

int activity_pause(struct step *s, const struct activity_choice *c, const struct activity_pause *p) {
    return activity_change_chosen(s, c, pause_one, p);
}

/* unpause */

static void clear_pause(struct step *s, State__Activity *a) {
    a->is_paused = false;
    a->paused_us = 0;
    pb_set_string(&a->pause_identity, NULL, &s->failed);
    pb_set_string(&a->pause_reason, NULL, &s->failed);
    pb_set_string(&a->pause_request_id, NULL, &s->failed);
}

/* The jitter spreads what was released together. */
static void offer_anew(struct step *s, State__Activity *a, int64_t jitter_us) {
    int64_t wait = jitter_us > 0 ? (int64_t)rng_below(s->rng, (uint64_t)jitter_us) : 0;
    a->stamp++;
    activity_offer_at(s, a, usec_add(s->now.us, wait));
}

static int unpause_one(struct step *s, State__Activity *a, const void *how) {
    const struct activity_unpause *u = how;
    if (!a->is_paused)
        return 0;
    clear_pause(s, a);
    if (u->resets_heartbeat)
        activity_forget_heartbeat(s, a);
    if (a->started_us) {
        a->counts_anew |= u->resets_attempts;
        return 0;
    }
    if (u->resets_attempts)
        a->attempt = 1;
    offer_anew(s, a, u->jitter_us);
    return 0;
}

int activity_unpause(struct step *s, const struct activity_choice *c, const struct activity_unpause *u) {
    return activity_change_chosen(s, c, unpause_one, u);
}

/* reset */

static void reset_running(State__Activity *a, const struct activity_reset *r) {
    a->is_reset = true;
    a->counts_anew = true;
    a->forgets_heartbeat |= r->resets_heartbeat;
}

static int reset_one(struct step *s, State__Activity *a, const void *how) {
    const struct activity_reset *r = how;
    if (r->restores_options)
        activity_put_back_options(s, a);
    if (a->is_paused && !r->keeps_paused)
        clear_pause(s, a);
    if (a->started_us) {
        reset_running(a, r);
        return 0;
    }
    a->attempt = 1;
    if (r->resets_heartbeat)
        activity_forget_heartbeat(s, a);
    if (a->is_paused)
        a->stamp++; /* its first attempt was there before */
    else
        offer_anew(s, a, r->jitter_us);
    return 0;
}

int activity_reset(struct step *s, const struct activity_choice *c, const struct activity_reset *r) {
    return activity_change_chosen(s, c, reset_one, r);
}

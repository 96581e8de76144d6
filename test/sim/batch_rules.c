/* What a batch job has done shows in the histories of its targets: a signal with its id, an override with its
 * id as the identity, a copy whose reset has its id as the reason. */
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "batcher_int.h"
#include "history_rules.h"
#include "names.h"

/* jobs and what they have done */

static struct job *find_job(const struct world *w, const char *id) {
    for (unsigned i = 0; i < BATCHER_COUNT; i++)
        for (struct job *job = w->batchers[i].jobs; job; job = job->next)
            if (cstr_eq(job->id, id))
                return job;
    return NULL;
}

static bool is_holder(const struct job *job, const struct run_model *run) {
    for (size_t i = 0; i < job->holder_count; i++)
        if (job->holders[i] == run)
            return true;
    return false;
}

static void add_holder(struct job *job, struct run_model *run) {
    job->holders = model_grow(job->holders, job->holder_count, &job->holder_cap, sizeof(run));
    job->holders[job->holder_count++] = run;
}

bool batchers_note_signal(struct world *w, struct run_model *run, const char *id,
                          const History__HistoryEvent *e) {
    if (strncmp(id, "batch-", 6) != 0)
        return false;
    struct job *job = find_job(w, id);
    if (!job || job->kind != JOB_SIGNAL) {
        world_fail(w, "batch_once", "run=%s holds signal '%s', which nobody sent", run->run_id, id);
        return true;
    }
    if (run->is_copy)
        return true; /* a reset takes signals along, and the job may come to the copy, too */
    if (is_holder(job, run))
        world_fail(w, "batch_once", "run=%s event=%" PRId64 " repeats the signal of job=%s", run->run_id,
                   e->event_id, id);
    add_holder(job, run);
    job->late_count += job->stopped_wall_us && event_wall_us(e) > job->stopped_wall_us;
    return true;
}

/* An override by a job. It leaves an event once; a reset may do it again in the copy. */
bool batchers_note_options(struct world *w, struct run_model *run, const char *id,
                           struct override_choice *ret_asked) {
    struct job *job = find_job(w, id);
    if (!job || job->kind != JOB_OVERRIDE)
        return false;
    *ret_asked = job->override;
    if (is_holder(job, run) && !run->is_copy)
        world_fail(w, "batch_once", "run=%s has the override of job=%s twice", run->run_id, id);
    if (!is_holder(job, run))
        add_holder(job, run);
    return true;
}

/* resets */

struct request_model *batch_reset_of(struct world *w, struct job *job, struct run_model *base) {
    for (size_t i = 0; i < job->reset_count; i++)
        if (job->resets[i]->base == base)
            return job->resets[i];
    struct request_model *request = model_request(w, base->workflow_id, "reset");
    request->base = base;
    request->has_any_base = job->by_query;
    request->unheard_calls = 1; /* nobody says which runs a job has made */
    request->reset_event_id = 1; /* which it is, the server knows */
    request->drops_signals = job->drops_signals;
    request->sent_us = w->now.mono.us;
    job->resets = model_grow(job->resets, job->reset_count, &job->reset_cap, sizeof(request));
    job->resets[job->reset_count++] = request;
    return request;
}

/* Each run is copied once, and what the job has made itself is none of its targets. */
static void check_reset_once(struct world *w, const struct job *job, const struct run_model *copy,
                             const struct run_model *base) {
    for (size_t i = 0; i < job->holder_count; i++) {
        if (job->holders[i] == base)
            world_fail(w, "batch_once", "job=%s made run=%s, and reset it to run=%s", job->id, base->run_id,
                       copy->run_id);
        if (job->holders[i]->reset_from == base)
            world_fail(w, "batch_once", "job=%s reset run=%s to run=%s and to run=%s", job->id, base->run_id,
                       job->holders[i]->run_id, copy->run_id);
    }
}

struct request_model *batchers_note_reset(struct world *w, const char *id, struct run_model *copy,
                                          struct run_model *base) {
    struct job *job = find_job(w, id);
    if (!job || job->kind != JOB_RESET)
        return NULL;
    if (!is_holder(job, copy)) {
        check_reset_once(w, job, copy, base);
        add_holder(job, copy);
        w->tally.resets++;
    }
    return batch_reset_of(w, job, base);
}

/* Which reset of the job a run had to make way for: its own, or that of another of its workflow id. Of a job
 * that goes by a query none may be known yet. */
const struct request_model *batchers_reset_that_ended(struct world *w, const char *id,
                                                      struct run_model *run) {
    struct job *job = find_job(w, id);
    const struct request_model *found = NULL;
    for (size_t i = 0; job && i < job->reset_count; i++) {
        const struct request_model *request = job->resets[i];
        if (request->base == run)
            return request;
        if (cstr_eq(request->workflow_id, run->workflow_id) && (!found || request != run->reset_request))
            found = request;
    }
    if (!found && job && job->kind == JOB_RESET && job->by_query)
        found = batch_reset_of(w, job, run);
    return found;
}

static bool was_copied(const struct job *job, const struct run_model *run) {
    for (size_t i = 0; i < job->holder_count; i++)
        if (job->holders[i]->reset_from == run)
            return true;
    return false;
}

/* Whether a copy may have gone before anybody read of which run it was one. */
static bool may_lack_copy(const struct world *w, const struct job *job, const struct run_model *base) {
    const struct run_model *run = map_get(&w->model.latest, str_of(base->workflow_id));
    for (; run; run = run->older)
        if (run->is_deleted && run->delete_sent_wall_us >= job->sent_wall_us)
            return true;
    return false;
}

/* A run that had completed a task when the job began can be reset, whether it is open or not. A query leaves
 * out what a reset has ended since. */
static void check_reset_target(struct world *w, const struct job *job, const struct run_model *run) {
    bool could_be = run->completed_wall_us && run->completed_wall_us < job->sent_wall_us &&
                    !(job->by_query && run->ended_by_reset && run->close_wall_us >= job->sent_wall_us);
    if (could_be && !run->is_deleted && !run->is_copy && !was_copied(job, run) && !may_lack_copy(w, job, run))
        world_fail(w, "batch_whole", "job=%s has not reset run=%s workflow=%s", job->id, run->run_id,
                   run->workflow_id);
}

/* A run that was there when the job began, and still open when it was over, is one that it came to. */
static void check_target(struct world *w, const struct job *job, const struct run_model *run) {
    if (job->kind == JOB_RESET) {
        check_reset_target(w, job, run);
        return;
    }
    if (job->kind == JOB_OVERRIDE && job->failures > 0)
        return; /* it is not known whose these are */
    bool was_there = run->event_count > 0 && run->start_wall_us < job->sent_wall_us &&
                     (!run->close_type || run->close_wall_us > job->ended_wall_us);
    if (!was_there || run->is_deleted || run->is_copy)
        return;
    bool leaves_event = job->kind == JOB_SIGNAL || job->kind == JOB_OVERRIDE;
    bool is_done = leaves_event              ? is_holder(job, run)
                   : job->kind == JOB_CANCEL ? run->cancel_recorded
                                             : false; /* it would be closed, or gone */
    if (!is_done)
        world_fail(w, "batch_whole", "job=%s has left out run=%s workflow=%s", job->id, run->run_id,
                   run->workflow_id);
}

static void check_job(struct world *w, const struct batcher *b, const struct job *job) {
    if (job->late_count > 1) /* one may have been under way */
        world_fail(w, "batch_stopped", "job=%s did %zu targets after it was stopped", job->id,
                   job->late_count);
    if (job->state != BATCH_OPERATION_STATE_COMPLETED)
        return;
    for (size_t i = 0; i < job->target_count; i++)
        check_target(w, job, job->targets[i]);
    for (size_t i = 0; job->by_query && i < w->model.run_count; i++)
        if (job->workflow_id[0] ? cstr_eq(w->model.in_order[i]->workflow_id, job->workflow_id)
                                : batcher_knows(b, w->model.in_order[i]))
            check_target(w, job, w->model.in_order[i]);
}

void batchers_check_all(struct world *w) {
    if (world_clock_jumped(w))
        return;
    for (unsigned i = 0; i < BATCHER_COUNT; i++)
        for (const struct job *job = w->batchers[i].jobs; job; job = job->next)
            check_job(w, &w->batchers[i], job);
}

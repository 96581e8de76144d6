/* Reset points.
 *
 * A point says which run and which event. A later run of the chain takes the points over with its first event
 * and adds none for a build that has one, so a reset to a build finds its first task in the whole chain. A
 * point of a run that has closed expires with the retention of the namespace, when the run itself is removed.
 */
#include "core/reset/reset_points.h"

#include "core/version/versioning.h"

static const char *reset_points_build_of(const History__WorkflowTaskCompletedEventAttributes *a) {
    if (a->deployment_version)
        return a->deployment_version->build_id;
    return a->worker_version ? a->worker_version->build_id : "";
}

static bool reset_points_has_build(const Workflow__ResetPoints *points, const char *checksum,
                                   const char *build_id) {
    for (size_t i = 0; points && i < points->n_points; i++)
        if (cstr_eq(points->points[i]->binary_checksum, checksum) &&
            cstr_eq(points->points[i]->build_id, build_id))
            return true;
    return false;
}

static void reset_points_set_time(Google__Protobuf__Timestamp **field, int64_t us, bool *failed) {
    Google__Protobuf__Timestamp t = pb_timestamp(us);
    pb_set_message(field, &t, failed);
}

/* Takes over the point. The oldest make room. */
static void reset_points_append(struct step *s, Workflow__ResetPointInfo *point) {
    Workflow__ResetPoints *points = s->st->reset_points;
    if (!points)
        points = s->st->reset_points = pb_new(&workflow__reset_points__descriptor, &s->failed);
    if (!points || !point) {
        pb_free(point);
        return;
    }
    pb_append_message(&points->n_points, &points->points, point, &s->failed);
    while ((int64_t)points->n_points > step_limit(s, SETTABLE_RESET_POINTS))
        pb_remove_message(&points->n_points, points->points, 0);
}

void reset_points_add(struct step *s, const History__WorkflowTaskCompletedEventAttributes *a,
                      int64_t event_id) {
    const State__Execution *st = s->st;
    const char *build_id = reset_points_build_of(a);
    if (strlen(build_id) > LIMIT_ID_BYTES || strlen(a->binary_checksum) > LIMIT_ID_BYTES ||
        reset_points_has_build(st->reset_points, a->binary_checksum, build_id))
        return;
    Workflow__ResetPointInfo *p = pb_new(&workflow__reset_point_info__descriptor, &s->failed);
    if (!p)
        return;
    pb_set_string(&p->binary_checksum, a->binary_checksum, &s->failed);
    pb_set_string(&p->build_id, build_id, &s->failed);
    pb_set_string(&p->run_id, st->run_id, &s->failed);
    p->first_workflow_task_completed_id = event_id;
    reset_points_set_time(&p->create_time, s->now.us, &s->failed);
    p->resettable = !st->n_children && !st->n_externals;
    reset_points_append(s, p);
    if (!cstr_is_empty(a->binary_checksum))
        versioning_show_checksums(s);
}

void reset_points_inherit(struct step *s, const Workflow__ResetPoints *before, const char *before_run_id,
                          int64_t start_us) {
    int64_t retention_us = s->ctx.space ? s->ctx.space->retention_us : 0;
    for (size_t i = 0; before && i < before->n_points; i++) {
        const Workflow__ResetPointInfo *old = before->points[i];
        if (old->expire_time && pb_timestamp_us(old->expire_time) < start_us)
            continue;
        Workflow__ResetPointInfo *p = pb_clone(&old->base, &s->failed);
        if (p && cstr_eq(p->run_id, before_run_id))
            reset_points_set_time(&p->expire_time, usec_add(start_us, retention_us), &s->failed);
        reset_points_append(s, p);
    }
}

void reset_points_rename(struct step *s, const char *run_id) {
    const Workflow__ResetPoints *points = s->st->reset_points;
    for (size_t i = 0; points && i < points->n_points; i++)
        if (cstr_eq(points->points[i]->run_id, s->st->run_id))
            pb_set_string(&points->points[i]->run_id, run_id, &s->failed);
}

/* A worker that just completed a task has room for an activity that it scheduled
 * itself, and may have it without a trip through the queue. It does when it asked
 * for that, when the activity is for the workflow's own queue, and when no later
 * command cancelled it. The entry that scheduling put on its way to the queue
 * finds it started and is dropped. */
#include "core/run/eager.h"

#include "base/uuid.h"
#include "core/activity/activity.h"
#include "core/run/pause.h"
#include "core/version/versioning.h"

static bool is_eager(const struct step *s, const Command__Command *cmd) {
    if (cmd->attributes_case != COMMAND__COMMAND__ATTRIBUTES_SCHEDULE_ACTIVITY_TASK_COMMAND_ATTRIBUTES)
        return false;
    const Command__ScheduleActivityTaskCommandAttributes *in = cmd->schedule_activity_task_command_attributes;
    return in->request_eager_execution && (!in->task_queue || cstr_is_empty(in->task_queue->name) ||
                                           cstr_eq(in->task_queue->name, s->st->task_queue));
}

int eager_start(struct step *s, const Ws__RespondWorkflowTaskCompletedRequest *req,
                int64_t completed_event_id, struct completion *out) {
    if ((s->limits && s->limits->is_eager_activity_off) || run_is_paused(s->st) ||
        !versioning_stays(s->st, version_of_options(req->deployment_options)))
        return 0;
    out->eager = arena_array(s->arena, int64_t, req->n_commands);
    if (req->n_commands && !out->eager)
        return err_std(s->err, ERR_NO_MEMORY);
    for (size_t i = 0; i < req->n_commands; i++) {
        if (!is_eager(s, req->commands[i]))
            continue;
        const State__Activity *a =
            activity_find_id(s->st, req->commands[i]->schedule_activity_task_command_attributes->activity_id);
        if (!a || a->started_us)
            continue;
        ensure(a->scheduled_event_id > completed_event_id); /* an id is used once at a time */
        struct uuid_text request_id = uuid_format(uuid_random(s->rng));
        int rc = activity_start(s, a->scheduled_event_id, a->stamp, req->identity, request_id.s);
        if (rc < 0)
            return rc;
        out->eager[out->eager_count++] = a->scheduled_event_id;
    }
    return 0;
}

/* One list after the other, page by page. A call whose outcome is unknown begins its list again. */
#include "survey.h"

#include <inttypes.h>

#include "auditor.h"
#include "base/mem.h"
#include "names.h"
#include "request.h"
#include "rpc.h"

#define LIST_TIMEOUT_US (10 * USEC_PER_SEC)
#define LATER_US (30 * USEC_PER_SEC)
#define EMPTY_TRIES_MAX 1000
#define RETENTION_PASSED_US (SERVER_RETENTION_US + INT64_C(3) * 24 * 3600 * USEC_PER_SEC)

enum survey_phase { SURVEY_IDLE, SURVEY_ROWS, SURVEY_EMPTY, SURVEY_DONE };

struct survey {
    struct world *w;
    enum survey_phase phase;
    unsigned space;
    size_t rows;
    size_t known; /* of them: by the model, not deleted */
    unsigned tries;
    bool has_met; /* a run that nobody had heard of */
    struct rpc *rpc;
    struct happening next;
};

static const char *const spaces[] = {"default", "other"};

static int32_t status_of(int32_t close_type) {
    switch (close_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
        return WORKFLOW_EXECUTION_STATUS_COMPLETED;
    case EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
        return WORKFLOW_EXECUTION_STATUS_FAILED;
    case EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
        return WORKFLOW_EXECUTION_STATUS_TIMED_OUT;
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
        return WORKFLOW_EXECUTION_STATUS_CANCELED;
    case EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
        return WORKFLOW_EXECUTION_STATUS_TERMINATED;
    case EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        return WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW;
    default:
        return WORKFLOW_EXECUTION_STATUS_RUNNING;
    }
}

/* A row says what the history of its run says. A run that nobody ever heard of may be listed too: its start
 * was not acknowledged, and no worker had its tasks before it was ended. Then its history is read like all
 * others, since a signal that was acknowledged, or a letter of another run, may be there. */
static void check_row(struct survey *s, const Workflow__WorkflowExecutionInfo *row) {
    const struct run_model *run = model_find(&s->w->model, row->execution->run_id);
    if (!run && row->status == WORKFLOW_EXECUTION_STATUS_RUNNING)
        world_fail(s->w, "everything_ends", "run=%s workflow=%s is open, and nobody has heard of it",
                   row->execution->run_id, row->execution->workflow_id);
    if (!run) {
        model_meet_in(&s->w->model, spaces[s->space], row->execution->run_id, row->execution->workflow_id);
        s->has_met = true;
        return;
    }
    s->known += !run->is_deleted;
    if (run->delete_acked_us)
        world_fail(s->w, "deleted_stays_gone", "run=%s is listed", row->execution->run_id);
    else if (!run->is_deleted && ((int32_t)row->status != status_of(run->close_type) ||
                                  row->history_length != (int64_t)run->event_count))
        world_fail(s->w, "lists_agree",
                   "run=%s is listed with status %d and %" PRId64 " events, it has type=%" PRId32 " and %zu",
                   run->run_id, (int)row->status, row->history_length, run->close_type, run->event_count);
}

static void check_rows(struct survey *s) {
    size_t wanted = 0;
    size_t n = strlen(spaces[s->space]);
    for (size_t i = 0; i < s->w->model.run_count; i++) {
        const struct run_model *run = s->w->model.in_order[i];
        wanted += !run->is_deleted && strncmp(run->workflow_id, spaces[s->space], n) == 0;
    }
    if (s->known != wanted)
        world_fail(s->w, "lists_agree", "namespace %s lists %zu runs, %zu are there", spaces[s->space],
                   s->known, wanted);
}

static void survey_again(struct survey *s, int64_t delay_us) {
    world_at(s->w, &s->next, delay_us);
}

static void survey_list(struct survey *s, ProtobufCBinaryData token);

/* A list has ended. */
static void survey_go_on(struct survey *s) {
    struct world *w = s->w;
    bool waits = s->phase == SURVEY_EMPTY && s->rows > 0;
    if (s->phase == SURVEY_ROWS && !s->has_met)
        check_rows(s);
    if (waits && ++s->tries > EMPTY_TRIES_MAX)
        world_fail(w, "retention", "namespace %s keeps %zu runs", spaces[s->space], s->rows);
    if (!waits && ++s->space == ARRAY_LEN(spaces)) {
        s->space = 0;
        if (s->has_met) { /* once more, when it has been read */
            s->has_met = false;
            s->phase = SURVEY_IDLE;
            s->rows = s->known = 0;
            auditor_reopen(w);
            return;
        }
        s->phase++;
        if (s->phase == SURVEY_EMPTY) {
            auditor_check_all(w);
            w->now.wall.us += RETENTION_PASSED_US;
        }
    }
    s->rows = s->known = 0;
    if (s->phase != SURVEY_DONE)
        survey_again(s, waits ? LATER_US : 0);
}

static void survey_listed(struct rpc *r) {
    struct survey *s = r->owner;
    const Ws__ListWorkflowExecutionsResponse *m = (const void *)r->response;
    s->rpc = NULL;
    if (r->outcome != RPC_OK) {
        s->rows = s->known = 0;
        survey_again(s, USEC_PER_SEC);
        return;
    }
    for (size_t i = 0; i < m->n_executions && s->phase == SURVEY_ROWS; i++)
        check_row(s, m->executions[i]);
    if (s->phase == SURVEY_EMPTY && s->tries > 0)
        for (size_t i = 0; i < m->n_executions; i++)
            trace_note(s->w, "still listed: run=%s workflow=%s", m->executions[i]->execution->run_id,
                       m->executions[i]->execution->workflow_id);
    s->rows += m->n_executions;
    if (m->next_page_token.len > 0)
        survey_list(s, m->next_page_token);
    else
        survey_go_on(s);
}

static void survey_list(struct survey *s, ProtobufCBinaryData token) {
    struct rpc *r = s->rpc = rpc_new(s->w, RPC_list_workflows, s, survey_listed);
    Ws__ListWorkflowExecutionsRequest *q =
        MAKE(&r->arena, Ws__ListWorkflowExecutionsRequest, ws__list_workflow_executions_request__init);
    q->namespace_ = make_text(&r->arena, "%s", spaces[s->space]);
    q->page_size = 1 + (int32_t)rng_below(&s->w->rng, 200);
    q->next_page_token = make_bytes(&r->arena, token);
    rpc_send(r, q, LIST_TIMEOUT_US);
}

static void survey_next(struct world *w unused_arg, struct happening *h) {
    survey_list(container_of(h, struct survey, next), (ProtobufCBinaryData){0});
}

struct survey *survey_new(struct world *w) {
    struct survey *s = mem_zalloc(sizeof(*s));
    ensure(s);
    s->w = w;
    s->next.run = survey_next;
    return s;
}

void survey_free(struct world *w) {
    rpc_drop(w->survey->rpc);
    world_not(w, &w->survey->next);
    mem_free(w->survey);
}

bool survey_is_done(struct world *w) {
    struct survey *s = w->survey;
    if (s->phase == SURVEY_IDLE) {
        s->phase = SURVEY_ROWS;
        survey_again(s, 0);
    }
    return s->phase == SURVEY_DONE;
}

/* A reading is a chain of calls. A call whose outcome is unknown is made again, from the beginning of the
 * chain; a read changes nothing, so it may be repeated at will. */
#include "reader.h"

#include <inttypes.h>

#include "base/mem.h"
#include "checker.h"
#include "history_rules.h"
#include "names.h"
#include "request.h"
#include "rpc.h"

#define READ_TIMEOUT_US (10 * USEC_PER_SEC)
#define LONG_POLL_TIMEOUT_US (30 * USEC_PER_SEC)
#define TAIL_PAGES_MAX 8
#define WAKE_LATE_MAX_US (3 * USEC_PER_SEC)

static void reading_describe(struct reading *g);
static void reading_page(struct reading *g, ProtobufCBinaryData token);
static void reading_page_back(struct reading *g, ProtobufCBinaryData token);

static void reading_begin(struct world *w, struct happening *h) {
    struct reading *g = container_of(h, struct reading, again);
    g->began_us = w->now.mono.us;
    if (g->kind == READING_DESCRIBE || g->kind == READING_AUDIT)
        reading_describe(g);
    else if (g->kind == READING_REVERSE)
        reading_page_back(g, (ProtobufCBinaryData){0});
    else
        reading_page(g, (ProtobufCBinaryData){0});
}

struct reading *reading_new(struct world *w, struct run_model *run, enum reading_kind kind, unsigned tries,
                            void *owner, void (*done)(struct reading *g)) {
    struct reading *g = mem_zalloc(sizeof(*g));
    ensure(g);
    *g =
        (struct reading){.w = w, .run = run, .kind = kind, .tries_left = tries, .owner = owner, .done = done};
    g->again.run = reading_begin;
    world_at(w, &g->again, 0);
    return g;
}

static void reading_free(struct reading *g) {
    world_not(g->w, &g->again);
    mem_free(g);
}

void reading_drop(struct reading *g) {
    if (!g)
        return;
    rpc_drop(g->rpc);
    reading_free(g);
}

static void reading_end(struct reading *g) {
    if (g->place)
        *g->place = NULL;
    g->done(g);
    reading_free(g);
}

/* True when the chain may go on with this answer. */
static bool reading_goes_on(struct reading *g, const struct rpc *r) {
    g->rpc = NULL;
    if (r->outcome == RPC_OK)
        return true;
    if (r->outcome == RPC_UNKNOWN && g->tries_left-- > 0)
        world_at(g->w, &g->again, world_delay(g->w, USEC_PER_MS, USEC_PER_SEC));
    else
        reading_end(g);
    return false;
}

static void reading_described(struct rpc *r) {
    struct reading *g = r->owner;
    if (!reading_goes_on(g, r))
        return;
    const Ws__DescribeWorkflowExecutionResponse *m = (const void *)r->response;
    g->is_settled =
        !m->pending_workflow_task || m->pending_workflow_task->state != PENDING_WORKFLOW_TASK_STATE_STARTED;
    if (g->kind == READING_AUDIT) {
        reading_page(g, (ProtobufCBinaryData){0});
        return;
    }
    g->is_complete = true;
    reading_end(g);
}

static void reading_describe(struct reading *g) {
    struct rpc *r = g->rpc = rpc_new(g->w, RPC_describe_workflow, g, reading_described);
    Ws__DescribeWorkflowExecutionRequest *q =
        MAKE(&r->arena, Ws__DescribeWorkflowExecutionRequest, ws__describe_workflow_execution_request__init);
    q->namespace_ = make_namespace(&r->arena, g->run->workflow_id);
    q->execution = make_execution(&r->arena, g->run->workflow_id, g->run->run_id);
    r->subject.run = g->run;
    rpc_send(r, q, READ_TIMEOUT_US);
}

/* G5: a later read never shows less. G2: a run that was replaced under its workflow id is closed. */
static void check_history_read(struct reading *g) {
    struct world *w = g->w;
    size_t seen = (size_t)(g->next_id - 1);
    if (seen < g->known_events)
        world_fail(w, "history_never_shrinks", "run=%s shows %zu events, %zu were known", g->run->run_id,
                   seen, g->known_events);
    if (g->was_superseded && !g->run->close_type)
        world_fail(w, "one_open_run_per_id", "run=%s is open, but workflow=%s has a newer run",
                   g->run->run_id, g->run->workflow_id);
}

static void reading_finish(struct reading *g) {
    g->is_complete = true;
    if (g->kind == READING_HISTORY || g->kind == READING_AUDIT || g->kind == READING_TAIL)
        check_history_read(g);
    if (g->kind == READING_TAIL && !g->run->close_type)
        world_fail(g->w, "tail_ends_with_close", "run=%s is open after %" PRId64 " events", g->run->run_id,
                   g->next_id - 1);
    if (g->kind == READING_AUDIT && !g->w->failure.is_set)
        checker_promises(g->w, g->run, g->began_us, g->is_settled);
    reading_end(g);
}

static void reading_count_page(struct reading *g, const Ws__GetWorkflowExecutionHistoryResponse *m) {
    size_t count = m->history ? m->history->n_events : 0;
    for (size_t i = 0; i < count; i++, g->next_id++)
        if (m->history->events[i]->event_id != g->next_id)
            world_fail(g->w, "history_contiguous",
                       "run=%s page has event %" PRId64 " where %" PRId64 " belongs", g->run->run_id,
                       m->history->events[i]->event_id, g->next_id);
}

/* G7: who waits for an event hears of it when it happens, not when the wait is over. */
static void check_long_poll_wakes(struct reading *g, int64_t sent_us,
                                  const Ws__GetWorkflowExecutionHistoryResponse *m) {
    struct world *w = g->w;
    if (!m->history || m->history->n_events == 0) {
        g->empty_sent_us = sent_us;
        g->empty_back_us = w->now.mono.us;
        return;
    }
    const History__HistoryEvent *last = m->history->events[m->history->n_events - 1];
    if (!w->is_calm || !event_closes_run((int32_t)last->event_type))
        return; /* clocks may have jumped; other events may be written later than they happened */
    int64_t wall_ahead_us = w->now.wall.us - w->now.mono.us;
    int64_t happened_us =
        last->event_time->seconds * USEC_PER_SEC + last->event_time->nanos / NSEC_PER_USEC - wall_ahead_us;
    bool is_late = happened_us > sent_us && w->now.mono.us - happened_us > WAKE_LATE_MAX_US;
    bool was_missed = happened_us > g->empty_sent_us && g->empty_back_us - happened_us > WAKE_LATE_MAX_US;
    bool is_before_calm = happened_us < w->calm_us; /* the disk may have held it up */
    if ((is_late || was_missed) && !is_before_calm)
        world_fail(w, "long_poll_wakes", "run=%s event=%" PRId64 " is told %" PRId64 " us late",
                   g->run->run_id, last->event_id, w->now.mono.us - happened_us);
}

static void reading_got_page(struct rpc *r) {
    struct reading *g = r->owner;
    if (!reading_goes_on(g, r))
        return;
    const Ws__GetWorkflowExecutionHistoryResponse *m = (const void *)r->response;
    if (g->kind == READING_CLOSE || g->kind == READING_TAIL)
        check_long_poll_wakes(g, r->sent_us, m);
    if (g->kind != READING_CLOSE)
        reading_count_page(g, m);
    if (m->next_page_token.len == 0)
        reading_finish(g);
    else if ((g->kind == READING_TAIL || g->kind == READING_CLOSE) && g->pages_left-- == 0)
        reading_end(g);
    else
        reading_page(g, m->next_page_token);
}

static void reading_page(struct reading *g, ProtobufCBinaryData token) {
    struct world *w = g->w;
    struct rpc *r = g->rpc = rpc_new(w, RPC_get_history, g, reading_got_page);
    Ws__GetWorkflowExecutionHistoryRequest *q = MAKE(&r->arena, Ws__GetWorkflowExecutionHistoryRequest,
                                                     ws__get_workflow_execution_history_request__init);
    q->namespace_ = make_namespace(&r->arena, g->run->workflow_id);
    q->execution = make_execution(&r->arena, g->run->workflow_id, g->run->run_id);
    q->next_page_token = make_bytes(&r->arena, token);
    bool is_close = g->kind == READING_CLOSE;
    q->history_event_filter_type =
        is_close ? HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT : HISTORY_EVENT_FILTER_TYPE_ALL_EVENT;
    q->wait_new_event = is_close || g->kind == READING_TAIL;
    q->maximum_page_size = rng_chance(&w->rng, 2) ? 0 : 1 + (int32_t)rng_below(&w->rng, 20);
    r->subject.run = g->run;
    if (token.len == 0) {
        g->known_events = MAX(g->run->event_count, (size_t)g->run->length_told);
        g->was_superseded = g->run->superseded;
        g->next_id = 1;
        g->pages_left = TAIL_PAGES_MAX;
        g->empty_sent_us = g->empty_back_us = 0;
    }
    bool has_deadline = !q->wait_new_event || rng_chance(&w->rng, 2);
    rpc_send(r, q, !has_deadline ? CLOCK_NEVER : q->wait_new_event ? LONG_POLL_TIMEOUT_US : READ_TIMEOUT_US);
}

/* G5: from the end the history is the same, down to its first event. */
static void reading_count_page_back(struct reading *g,
                                    const Ws__GetWorkflowExecutionHistoryReverseResponse *m) {
    size_t count = m->history ? m->history->n_events : 0;
    if (g->next_id == 0 && count > 0) {
        g->next_id = m->history->events[0]->event_id;
        if (g->next_id < (int64_t)g->known_events)
            world_fail(g->w, "history_never_shrinks", "run=%s ends with %" PRId64 ", %zu were known",
                       g->run->run_id, g->next_id, g->known_events);
    }
    for (size_t i = 0; i < count; i++, g->next_id--)
        if (m->history->events[i]->event_id != g->next_id)
            world_fail(g->w, "history_contiguous",
                       "run=%s has event %" PRId64 " where %" PRId64 " belongs, backwards", g->run->run_id,
                       m->history->events[i]->event_id, g->next_id);
    if (m->next_page_token.len == 0 && g->next_id != 0)
        world_fail(g->w, "history_contiguous", "run=%s ends at %" PRId64 ", backwards", g->run->run_id,
                   g->next_id + 1);
}

static void reading_got_page_back(struct rpc *r) {
    struct reading *g = r->owner;
    if (!reading_goes_on(g, r))
        return;
    const Ws__GetWorkflowExecutionHistoryReverseResponse *m = (const void *)r->response;
    reading_count_page_back(g, m);
    if (m->next_page_token.len > 0 && !g->w->failure.is_set)
        reading_page_back(g, m->next_page_token);
    else
        reading_end(g);
}

static void reading_page_back(struct reading *g, ProtobufCBinaryData token) {
    struct rpc *r = g->rpc = rpc_new(g->w, RPC_get_history_reverse, g, reading_got_page_back);
    Ws__GetWorkflowExecutionHistoryReverseRequest *q =
        MAKE(&r->arena, Ws__GetWorkflowExecutionHistoryReverseRequest,
             ws__get_workflow_execution_history_reverse_request__init);
    q->namespace_ = make_namespace(&r->arena, g->run->workflow_id);
    q->execution = make_execution(&r->arena, g->run->workflow_id, g->run->run_id);
    q->next_page_token = make_bytes(&r->arena, token);
    q->maximum_page_size = rng_chance(&g->w->rng, 2) ? 0 : 1 + (int32_t)rng_below(&g->w->rng, 20);
    r->subject.run = g->run;
    if (token.len == 0) {
        g->known_events = MAX(g->run->event_count, (size_t)g->run->length_told);
        g->next_id = 0;
    }
    rpc_send(r, q, READ_TIMEOUT_US);
}

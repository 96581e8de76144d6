/* Letters in a tray, each of which is answered after a while. What was lost on the way back has arrived. */
#include "callback.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "family.h"
#include "names.h"

struct letter {
    struct callback_desk *desk;
    struct callback_send *send;
    struct request_model *request;
    struct happening answer;
    struct list link;
};

struct callback_desk {
    struct world *w;
    struct list letters;
};

static void letter_free(struct letter *l) {
    world_not(l->desk->w, &l->answer);
    list_remove(&l->link);
    mem_free(l);
}

static void answer(struct world *w, struct happening *h) {
    struct letter *l = container_of(h, struct letter, answer);
    static const int statuses[] = {200, 200, 200, 500, 0};
    int status = w->is_calm ? 200 : statuses[rng_below(&w->rng, ARRAY_LEN(statuses))];
    struct callback_send *send = l->send;
    trace_note(w, "callback of %s is answered with %d", l->request->id, status);
    if (status == 200) {
        l->request->callback_ok_epoch = w->server.epoch;
        w->tally.callbacks++;
    }
    letter_free(l);
    engine_callback_sent(send, status, status ? "" : "the connection was lost");
}

static void note_state(struct world *w, struct request_model *request, const struct callback_request *r) {
    for (size_t i = 0; i < r->header_count; i++)
        if (cstr_eq(r->headers[i].name, "nexus-operation-state"))
            snprintf(request->callback_state, sizeof(request->callback_state), "%s", r->headers[i].value);
    if (!request->callback_state[0])
        world_fail(w, "callback_truth", "the callback of %s does not say how it ended", request->id);
}

void callbacks_receive(void *ctx, struct callback_send *send) {
    struct world *w = ctx;
    if (w->server.is_dying)
        return;
    const char *slash = strrchr(send->request->url, '/');
    struct request_model *request = model_find_request(&w->model, str_of(slash + 1));
    ensure(request);
    trace_note(w, "callback of %s arrives", request->id);
    /* A crash may have come before the server could write that it had arrived; a copy that a reset made comes
     * to an end of its own; and so does another run of the same request, when the first was deleted. */
    bool is_other = model_was_reset(&w->model, request->workflow_id) || request->is_repeated ||
                    (request->run && model_may_be_forgotten(&w->model, request->run));
    if (request->callback_ok_epoch == w->server.epoch && !is_other)
        world_fail(w, "callback_once", "the callback of %s, workflow=%s run=%s, is sent again", request->id,
                   request->workflow_id, request->run ? request->run->run_id : "");
    note_state(w, request, send->request);
    struct letter *l = mem_zalloc(sizeof(*l));
    ensure(l);
    *l = (struct letter){.desk = w->callbacks, .send = send, .request = request};
    l->answer.run = answer;
    list_append(&w->callbacks->letters, &l->link);
    world_at(w, &l->answer, world_delay(w, 0, 2 * USEC_PER_SEC));
}

struct callback_desk *callbacks_new(struct world *w) {
    struct callback_desk *d = mem_zalloc(sizeof(*d));
    ensure(d);
    d->w = w;
    list_init(&d->letters);
    return d;
}

void callbacks_drop(struct world *w) {
    while (!list_empty(&w->callbacks->letters))
        letter_free(container_of(w->callbacks->letters.next, struct letter, link));
}

void callbacks_done(struct world *w) {
    callbacks_drop(w);
    mem_free(w->callbacks);
}

static const char *state_of(int32_t close_type) {
    switch (close_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
        return "succeeded";
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
        return "canceled";
    default:
        return "failed";
    }
}

void callbacks_check_all(struct world *w) {
    const struct request_model *request;
    for (size_t i = 0; (request = map_next(&w->model.requests, &i));) {
        const struct run_model *first = request->has_callback ? request->run : NULL;
        if (!first || !first->request || request->is_repeated ||
            model_was_reset(&w->model, request->workflow_id) || model_may_be_forgotten(&w->model, first))
            continue;
        const struct run_model *last = family_last_of_chain(first);
        if (!last->close_type)
            continue;
        if (!request->callback_ok_epoch)
            world_fail(w, "callback_sent", "run=%s has ended, but nobody told so to the callback of %s",
                       last->run_id, request->id);
        else if (!cstr_eq(request->callback_state, state_of(last->close_type)))
            world_fail(w, "callback_truth", "the callback of %s heard '%s', run=%s closed with %" PRId32,
                       request->id, request->callback_state, last->run_id, last->close_type);
    }
}

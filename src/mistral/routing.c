/* Finds the task queue of a workflow.
 *
 * A queue that the client names is used as it is. Otherwise the queue of the
 * workflow's last 100 runs is used; if these ran on several queues, the one
 * that workers poll now. A workflow without runs uses the only queue that
 * workers poll. If several queues remain, the answer is 409 and lists them;
 * if none remains, it is 404. */
#include "mistral/routing.h"

#include "mistral/condition.h"
#include "rondo.pb-c.h"
#include "workflowservice.pb-c.h"

#define LOOK_BACK 100 /* runs of the workflow */
#define HTTP_NOT_FOUND 404
#define HTTP_CONFLICT 409

static Rondo__ListTaskQueuesRequest *routing_queues_request(struct dialog *x) {
    Rondo__ListTaskQueuesRequest *q =
        dialog_new_message(&x->arena, &rondo__list_task_queues_request__descriptor);
    if (q)
        q->namespace_ = dialog_namespace(x);
    return q;
}

void routing_ask_queues(struct dialog *x, dialog_step *next) {
    Rondo__ListTaskQueuesRequest *q = routing_queues_request(x);
    dialog_ask(x, q ? &q->base : NULL, next);
}

static void routing_ask_polled_queues(struct dialog *x, dialog_step *next) {
    Rondo__ListTaskQueuesRequest *q = routing_queues_request(x);
    if (q)
        q->only_polled = true;
    dialog_ask(x, q ? &q->base : NULL, next);
}

static bool routing_has_name(char *const *names, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (cstr_eq(names[i], name))
            return true;
    return false;
}

/* The queues of recent runs, and the queues that workers poll now. */
struct routing_search {
    char *ran[LOOK_BACK];
    size_t ran_count;
    const Rondo__ListTaskQueuesResponse *polled;
};

static bool routing_is_polled(const struct routing_search *s, const char *name) {
    for (size_t i = 0; i < s->polled->n_task_queues; i++)
        if (cstr_eq(s->polled->task_queues[i]->name, name))
            return true;
    return false;
}

static void routing_choose_queue(struct dialog *x, const char *queue) {
    x->routing->queue = str_of(queue);
    x->routing->found(x);
}

static void routing_refuse_choice(struct dialog *x, char *const *names, size_t n) {
    struct buf text cleanup(buf_done);
    buf_init(&text, ERR_TEXT_MAX / 2);
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", names[i]);
    struct str shown = buf_str(&text);
    dialog_refuse(x, HTTP_CONFLICT, "Workflow %.*s has more than one deployment; name one of them: %.*s%s",
                  (int)MIN(x->routing->workflow.n, 100), x->routing->workflow.p, (int)shown.n, shown.p,
                  buf_ok(&text) ? "" : "...");
}

static void routing_on_polled(struct dialog *x) {
    struct routing_search *s = x->search;
    char *live[LOOK_BACK];
    size_t n = 0;
    s->polled = dialog_answer(x);
    for (size_t i = 0; i < s->ran_count; i++)
        if (routing_is_polled(s, s->ran[i]))
            live[n++] = s->ran[i];
    if (s->ran_count == 0)
        for (size_t i = 0; n < LOOK_BACK && i < s->polled->n_task_queues; i++)
            live[n++] = s->polled->task_queues[i]->name;
    if (n == 1)
        routing_choose_queue(x, live[0]);
    else if (n == 0 && s->ran_count == 1)
        routing_choose_queue(x, s->ran[0]);
    else if (n > 1)
        routing_refuse_choice(x, live, n);
    else if (s->ran_count > 1)
        routing_refuse_choice(x, s->ran, s->ran_count);
    else
        dialog_refuse(x, HTTP_NOT_FOUND,
                      "No deployment is known to run workflow %.*s: start a worker, or name a deployment",
                      (int)MIN(x->routing->workflow.n, 200), x->routing->workflow.p);
}

static void routing_on_runs(struct dialog *x) {
    const Ws__ListWorkflowExecutionsResponse *r = dialog_answer(x);
    struct routing_search *s = x->search;
    for (size_t i = 0; i < r->n_executions && s->ran_count < LOOK_BACK; i++)
        if (!routing_has_name(s->ran, s->ran_count, r->executions[i]->task_queue))
            s->ran[s->ran_count++] = r->executions[i]->task_queue;
    routing_ask_polled_queues(x, routing_on_polled);
}

char *routing_registration_id(struct arena *a, const char *workflow, const char *queue) {
    return arena_printf(a, "%s@%s", workflow, queue);
}

static void routing_on_registrations(struct dialog *x) {
    const Rondo__ListTaskQueuesResponse *r = dialog_answer(x);
    for (size_t i = 0; i < r->n_task_queues; i++) {
        const Rondo__TaskQueueUse *use = r->task_queues[i];
        for (size_t k = 0; k < use->n_workflow_types; k++) {
            const char *id = routing_registration_id(&x->arena, use->workflow_types[k], use->name);
            if (!id || !str_is(x->routing->registration, id))
                continue;
            x->routing->workflow = str_of(use->workflow_types[k]);
            routing_choose_queue(x, use->name);
            return;
        }
    }
    dialog_refuse(x, HTTP_NOT_FOUND, "There is no workflow registration %.*s",
                  (int)MIN(x->routing->registration.n, 200), x->routing->registration.p);
}

void routing_find(struct dialog *x, struct routing *r) {
    x->routing = r;
    if (r && r->registration.n) {
        routing_ask_queues(x, routing_on_registrations);
        return;
    }
    if (r && r->queue.n) {
        r->found(x);
        return;
    }
    struct buf query cleanup(buf_done);
    condition_init(&query);
    if (r)
        condition_add_equal(&query, "WorkflowType", r->workflow);
    Ws__ListWorkflowExecutionsRequest *q =
        dialog_new_message(&x->arena, &ws__list_workflow_executions_request__descriptor);
    x->search = arena_new(&x->arena, struct routing_search);
    if (!q || !x->search || !r || !buf_ok(&query)) {
        dialog_out_of_memory(x);
        return;
    }
    q->namespace_ = dialog_copy_text(&x->arena, str_of(x->namespace));
    q->page_size = LOOK_BACK;
    q->query = dialog_copy_text(&x->arena, buf_str(&query));
    dialog_ask(x, &q->base, routing_on_runs);
}

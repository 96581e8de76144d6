/* Which task queues there are, who polls them, and which workflows ran on them.
 *
 * Queues with pollers are in memory. The others, and the types of workflows,
 * are asked of the store, queue by queue: runs on each queue are counted, then
 * their types, then one run is read for its time. All answers together are
 * bounded; past the bound the rest is left out. */
#include <stdlib.h>

#include "base/map.h"
#include "core/search/filter.h"
#include "core/step/pb.h"
#include "engine/runtime/question.h"
#include "engine/workflow/response.h"

enum stage { STAGE_QUEUES, STAGE_TYPES, STAGE_TIME, STAGE_DONE };

struct listing {
    struct uuid namespace_id; /* the namespace itself may be removed on the way */
    struct filter filter; /* all workflows */
    struct answer answer;
    enum stage stage;
    size_t at; /* the queue that is looked at */
    Rondo__ListTaskQueuesResponse *r;
};

static int queue_use_by_name(const void *a, const void *b) {
    const Rondo__TaskQueueUse *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void queue_list_sort(Rondo__ListTaskQueuesResponse *r) {
    if (r->n_task_queues)
        qsort(r->task_queues, r->n_task_queues, sizeof(*r->task_queues), queue_use_by_name);
}

static Rondo__TaskQueueUse *queue_list_add(struct op *op, Rondo__ListTaskQueuesResponse *r, struct str name) {
    struct arena *a = op->call->arena;
    Rondo__TaskQueueUse *use = pb_arena_new(&rondo__task_queue_use__descriptor, a);
    if (!use)
        return NULL;
    use->name = arena_strndup(a, name.p, name.n);
    if (!use->name)
        return NULL;
    return r->task_queues[r->n_task_queues++] = use;
}

/* Those in memory. */

static Rondo__TaskQueueVisitor *find_visitor(const Rondo__TaskQueueUse *use, const char *identity) {
    for (size_t i = 0; i < use->n_pollers; i++)
        if (cstr_eq(use->pollers[i]->identity, identity))
            return use->pollers[i];
    return NULL;
}

/* Workers of several versions poll several queues, which are one to the user. */
static void add_visitors(struct op *op, const struct queue *q, Rondo__TaskQueueUse *use) {
    struct arena *a = op->call->arena;
    size_t room = use->n_pollers + q->visitor_count;
    Rondo__TaskQueueVisitor **all = arena_array(a, Rondo__TaskQueueVisitor *, room ? room : 1);
    for (size_t i = 0; all && i < use->n_pollers; i++)
        all[i] = use->pollers[i];
    use->pollers = all;
    for (size_t i = 0; all && i < q->visitor_count; i++) {
        const struct visitor *v = &q->visitors[i];
        if (op->e->now.wall.us - v->last_us > ENGINE_VISITOR_MS * USEC_PER_MS ||
            find_visitor(use, v->identity))
            continue;
        Rondo__TaskQueueVisitor *p = pb_arena_new(&rondo__task_queue_visitor__descriptor, a);
        if (!p)
            return;
        p->identity = arena_strdup(a, v->identity);
        p->first_access_time = response_time(a, v->first_us);
        p->last_access_time = response_time(a, v->last_us);
        use->pollers[use->n_pollers++] = p;
    }
}

static void add_polled(struct op *op, const struct space *space, struct listing *l) {
    struct queue *q;
    for (size_t i = 0; (q = map_next(&op->e->queues, &i));) {
        if (q->space != space || q->is_activity || q->is_sticky || q->base != q)
            continue;
        bool is_polled = queue_has_visitor(op->e, q);
        list_for(&q->versions, n) is_polled |=
            queue_has_visitor(op->e, container_of(n, struct queue, version_link));
        Rondo__TaskQueueUse *use = is_polled ? queue_list_add(op, l->r, str_of(q->name)) : NULL;
        if (!use)
            continue;
        add_visitors(op, q, use);
        list_for(&q->versions, n) add_visitors(op, container_of(n, struct queue, version_link), use);
    }
    /* Cut by name, so that the order in the map decides nothing. */
    queue_list_sort(l->r);
    l->r->n_task_queues = MIN(l->r->n_task_queues, (size_t)ENGINE_LISTED_QUEUES);
}

/* Those of the store. */

static Rondo__TaskQueueUse *queue_list_find(const Rondo__ListTaskQueuesResponse *r, struct str name) {
    for (size_t i = 0; i < r->n_task_queues; i++)
        if (str_is(name, r->task_queues[i]->name))
            return r->task_queues[i];
    return NULL;
}

static void queue_list_add_type(struct arena *a, Rondo__TaskQueueUse *use, struct str name) {
    if (!use->workflow_types)
        use->workflow_types = arena_array(a, char *, ENGINE_LISTED_TYPES);
    if (use->workflow_types && use->n_workflow_types < ENGINE_LISTED_TYPES)
        use->workflow_types[use->n_workflow_types++] = arena_strndup(a, name.p, name.n);
}

static void queue_list_row(struct op *op, const struct row *row) {
    struct listing *l = op->extra;
    struct arena *a = op->call->arena;
    Rondo__TaskQueueUse *use = l->stage == STAGE_QUEUES ? NULL : l->r->task_queues[l->at];
    if (l->stage == STAGE_QUEUES && row->name.n && l->r->n_task_queues < ENGINE_LISTED_QUEUES &&
        !queue_list_find(l->r, row->name))
        (void)queue_list_add(op, l->r, row->name); /* without memory the arena remembers it */
    else if (l->stage == STAGE_TYPES && row->name.n)
        queue_list_add_type(a, use, row->name);
    else if (l->stage == STAGE_TIME)
        use->last_start_time = response_time(a, row->start_us);
}

static int queue_list_ask(struct op *op, struct listing *l) {
    struct page_read *q = question_new(op);
    if (!q)
        return ERR_NO_MEMORY;
    struct arena *a = op->call->arena;
    const struct predicate *asked = l->filter.where;
    if (l->stage != STAGE_QUEUES) {
        struct value name = value_text(str_of(l->r->task_queues[l->at]->name));
        asked = filter_and(a, asked, filter_test(a, PREDICATE_EQUAL, "TaskQueue", &name));
    }
    const struct predicate *where = predicate_copy(&q->arena, asked);
    if (!where) {
        page_read_free(q);
        return op_out_of_memory(op);
    }
    q->read = (struct read){.kind = l->stage == STAGE_TIME ? READ_VISIBILITY : READ_VISIBILITY_COUNT,
                            .namespace_id = l->namespace_id,
                            .where = where,
                            .limit = 1};
    if (l->stage != STAGE_TIME)
        q->read.group_by = l->stage == STAGE_QUEUES ? STR("TaskQueue") : STR("WorkflowType");
    return op_ask(op, q, &l->answer, queue_list_row);
}

static void move_on(struct listing *l) {
    l->answer.is_here = false;
    if (l->stage == STAGE_TYPES) {
        l->stage = STAGE_TIME;
        return;
    }
    l->at = l->stage == STAGE_QUEUES ? 0 : l->at + 1;
    l->stage = l->at < l->r->n_task_queues ? STAGE_TYPES : STAGE_DONE;
}

static void go_queue_list_read(struct op *op) {
    struct listing *l = op->extra;
    int rc = 0;
    while (rc == 0 && l->stage != STAGE_DONE) {
        rc = l->answer.is_here ? 0 : queue_list_ask(op, l);
        if (rc == ERR_WAIT)
            return;
        if (rc == 0 && l->answer.rc < 0)
            rc = err_std(&op->err, l->answer.rc);
        if (rc == 0)
            move_on(l);
    }
    if (rc == 0 && arena_failed(op->call->arena))
        rc = op_out_of_memory(op);
    if (rc < 0) {
        op_fail(op);
        return;
    }
    queue_list_sort(l->r);
    op_reply(op, &l->r->base, (struct str){NULL, 0});
}

void rpc_list_task_queues(struct op *op) {
    const Rondo__ListTaskQueuesRequest *req = op->req;
    struct arena *a = op->call->arena;
    struct listing *l = arena_new(a, struct listing);
    Rondo__ListTaskQueuesResponse *r = pb_arena_new(&rondo__list_task_queues_response__descriptor, a);
    struct space *space;
    int rc = l && r ? op_need_space(op, req->namespace_, &space) : op_out_of_memory(op);
    if (rc == 0) {
        r->task_queues =
            arena_array(a, Rondo__TaskQueueUse *, ENGINE_LISTED_QUEUES + map_count(&op->e->queues));
        *l = (struct listing){
            .namespace_id = space->id, .r = r, .stage = req->only_polled ? STAGE_DONE : STAGE_QUEUES};
        op->extra = l;
        rc = r->task_queues ? filter_parse(a, space->st, FILTER_WORKFLOWS, STR(""), &l->filter, &op->err)
                            : op_out_of_memory(op);
    }
    if (rc < 0) {
        op_fail(op);
        return;
    }
    add_polled(op, space, l);
    op->wait_seq = group_last_change(op->e);
    op_continue_durable(op, go_queue_list_read);
}

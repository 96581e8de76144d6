/* DescribeTaskQueue by versions of workers: for each version that was asked for and each type of tasks who
 * polls and what waits, and whether workflows could still reach the version.
 *
 * A version is "deployment:build"; the text without a delimiter is a build of no deployment, for which
 * nothing ever waits here. "" stands for workers without a version. What is not asked for by name is left out
 * where it has no queue.
 *
 * Whether a workflow can reach a version is asked of the store, when what was changed before is on disk: new
 * work goes there or some waits there or an open workflow belongs to it, else a closed one, else none. */
#include "core/search/filter.h"
#include "engine/runtime/question.h"
#include "engine/match/queue_describe.h"

typedef Ws__DescribeTaskQueueResponse__VersionsInfoEntry VersionEntry;
typedef Taskqueue__TaskQueueVersionInfo__TypesInfoEntry TypeEntry;

#define TYPES_MAX 3

struct described {
    struct version version;
    const char *build; /* of no deployment; NULL otherwise */
    bool is_named; /* the request names it */
    VersionEntry *entry;
};

struct versions {
    struct space *space;
    struct uuid namespace_id; /* the namespace itself may be removed on the way */
    E__TaskQueueType types[TYPES_MAX];
    size_t type_count;
    struct described *list;
    size_t count;
    Ws__DescribeTaskQueueResponse *r;
    /* reachability: which one is asked about */
    size_t at;
    bool is_closed; /* closed workflows; the open ones were asked about */
    bool is_found;
    struct answer answer;
};

/* Which versions */

static struct queue *base_of(struct op *op, struct versions *all, E__TaskQueueType type) {
    const Ws__DescribeTaskQueueRequest *req = op->req;
    return described_queue(op, all->space, type, req->task_queue->name);
}

static size_t queues_beside(struct op *op, struct versions *all) {
    size_t n = 0;
    for (size_t i = 0; i < all->type_count; i++) {
        struct queue *base = base_of(op, all, all->types[i]);
        if (base)
            list_for(&base->versions, v) n++;
    }
    return n;
}

static void described_add_version(struct op *op, struct versions *all, struct described d, const char *key) {
    for (size_t i = 0; i < all->count; i++) {
        if (!cstr_eq(all->list[i].entry->key, key))
            continue;
        all->list[i].is_named |= d.is_named;
        return;
    }
    struct arena *a = op->call->arena;
    d.entry = arena_new(a, VersionEntry);
    Taskqueue__TaskQueueVersionInfo *info = arena_new(a, Taskqueue__TaskQueueVersionInfo);
    if (!d.entry || !info)
        return;
    ws__describe_task_queue_response__versions_info_entry__init(d.entry);
    taskqueue__task_queue_version_info__init(info);
    info->types_info = arena_array(a, TypeEntry *, TYPES_MAX);
    d.entry->key = arena_strdup(a, key);
    d.entry->value = info;
    if (arena_failed(a))
        return;
    all->list[all->count++] = d;
    all->r->versions_info[all->r->n_versions_info++] = d.entry;
}

static void add_unversioned(struct op *op, struct versions *all) {
    described_add_version(op, all, (struct described){.is_named = true}, "");
}

/* Those of the queues that are in memory. With a text only the one that it names, by either delimiter. */
static bool add_present(struct op *op, struct versions *all, const char *text) {
    struct arena *a = op->call->arena;
    bool is_there = false;
    for (size_t i = 0; i < all->type_count; i++) {
        struct queue *base = base_of(op, all, all->types[i]);
        if (!base)
            continue;
        list_for(&base->versions, n) {
            const struct queue *q = container_of(n, struct queue, version_link);
            const char *key = version_text(a, q->version, VERSION_DELIMITER, "");
            const char *old = version_text(a, q->version, VERSION_OLD_DELIMITER, "");
            if (!key || !old || (text && !cstr_eq(text, key) && !cstr_eq(text, old)))
                continue;
            struct version v = {arena_strdup(a, q->version.deployment), arena_strdup(a, q->version.build_id)};
            described_add_version(op, all, (struct described){.version = v, .is_named = text != NULL}, key);
            is_there = true;
        }
    }
    return is_there;
}

static void add_named(struct op *op, struct versions *all, const char *text) {
    struct err ignored; /* a text that is no version is a build */
    struct described d = {.is_named = true};
    if (cstr_is_empty(text))
        add_unversioned(op, all);
    else if (!add_present(op, all, text)) {
        if (!strchr(text, VERSION_DELIMITER) ||
            version_parse(op->call->arena, text, &d.version, &ignored) < 0)
            d = (struct described){.is_named = true, .build = text};
        described_add_version(op, all, d, text);
    }
}

static int choose_versions(struct op *op, struct versions *all) {
    const Ws__DescribeTaskQueueRequest *req = op->req;
    const Taskqueue__TaskQueueVersionSelection *asked = req->versions;
    size_t room = queues_beside(op, all) + (asked ? asked->n_build_ids : 0) + 1;
    all->list = arena_array(op->call->arena, struct described, room);
    all->r->versions_info = arena_array(op->call->arena, VersionEntry *, room);
    if (!all->list || !all->r->versions_info)
        return op_out_of_memory(op);
    if (!asked || asked->unversioned || asked->all_active)
        add_unversioned(op, all);
    for (size_t i = 0; asked && i < asked->n_build_ids; i++)
        add_named(op, all, asked->build_ids[i]);
    if (asked && asked->all_active)
        (void)add_present(op, all, NULL);
    return arena_failed(op->call->arena) ? op_out_of_memory(op) : 0;
}

static int choose_types(struct op *op, struct versions *all) {
    static const E__TaskQueueType usual[] = {TASK_QUEUE_TYPE_WORKFLOW, TASK_QUEUE_TYPE_ACTIVITY};
    const Ws__DescribeTaskQueueRequest *req = op->req;
    size_t n = req->n_task_queue_types ? req->n_task_queue_types : ARRAY_LEN(usual);
    const E__TaskQueueType *asked = req->n_task_queue_types ? req->task_queue_types : usual;
    for (size_t i = 0; i < n; i++) {
        bool is_known = false;
        if (asked[i] < TASK_QUEUE_TYPE_WORKFLOW || asked[i] > TASK_QUEUE_TYPE_NEXUS)
            return err_set(&op->err, ERR_INVALID, "TaskQueueTypes[%zu] is not set to a type of tasks.", i);
        for (size_t k = 0; k < all->type_count; k++)
            is_known |= all->types[k] == asked[i];
        if (!is_known)
            all->types[all->type_count++] = asked[i];
    }
    return 0;
}

/* What is known in memory */

static struct queue *queue_of(struct op *op, struct versions *all, const struct described *d,
                              E__TaskQueueType type) {
    struct queue *base = base_of(op, all, type);
    if (!base || d->build)
        return NULL;
    return version_is_none(d->version) ? base : queue_find_version(op->e, base, d->version);
}

static void describe_type(struct op *op, struct versions *all, const struct described *d,
                          E__TaskQueueType type) {
    const Ws__DescribeTaskQueueRequest *req = op->req;
    struct arena *a = op->call->arena;
    struct queue *q = queue_of(op, all, d, type);
    if (!q && !d->is_named)
        return;
    TypeEntry *entry = arena_new(a, TypeEntry);
    Taskqueue__TaskQueueTypeInfo *info = arena_new(a, Taskqueue__TaskQueueTypeInfo);
    if (!entry || !info)
        return;
    taskqueue__task_queue_version_info__types_info_entry__init(entry);
    taskqueue__task_queue_type_info__init(info);
    if (q && req->report_pollers) {
        info->pollers = arena_array(a, Taskqueue__PollerInfo *, MAX(q->visitor_count, 1));
        queue_add_pollers(op, q, &info->n_pollers, info->pollers);
    }
    if (req->report_stats)
        info->stats = stats_of_version(op, d->build ? NULL : base_of(op, all, type), d->version, 0);
    entry->key = (int32_t)type;
    entry->value = info;
    d->entry->value->types_info[d->entry->value->n_types_info++] = entry;
}

/* Reachability */

static bool gets_new_work(struct op *op, struct versions *all, const struct described *d) {
    const Ws__DescribeTaskQueueRequest *req = op->req;
    if (d->build)
        return false;
    if (version_is_none(d->version)) /* where work goes unless someone says otherwise */
        return true;
    for (int is_activity = 0; is_activity < 2; is_activity++) {
        const struct route *route = described_route(op, all->space, is_activity, req->task_queue->name);
        struct queue *q =
            queue_of(op, all, d, is_activity ? TASK_QUEUE_TYPE_ACTIVITY : TASK_QUEUE_TYPE_WORKFLOW);
        if (route && (version_eq(route->current, d->version) ||
                      (route->is_ramping && version_eq(route->ramping, d->version))))
            return true;
        if (q && q->task_count)
            return true;
    }
    return false;
}

static void found_one(struct op *op, const struct row *row unused_arg) {
    ((struct versions *)op->extra)->is_found = true;
}

/* Workflows of this queue that belong to the version. */
static const struct predicate *version_member_filter(struct op *op, const struct versions *all) {
    const Ws__DescribeTaskQueueRequest *req = op->req;
    const struct described *d = &all->list[all->at];
    struct arena *a = op->call->arena;
    struct value queue = value_text(str_of(req->task_queue->name)), running = value_text(STR("Running"));
    struct value member = value_text(
        str_of(d->build ? arena_printf(a, "%s:%s", all->is_closed ? "versioned" : "assigned", d->build)
                        : d->entry->key));
    const char *by = d->build ? "BuildIds" : "TemporalWorkerDeploymentVersion";
    const struct predicate *is_open = filter_test(a, PREDICATE_EQUAL, "ExecutionStatus", &running);
    if (arena_failed(a))
        return NULL;
    return filter_and(a, filter_test(a, PREDICATE_EQUAL, "TaskQueue", &queue),
                      filter_and(a, filter_test(a, PREDICATE_EQUAL, by, &member),
                                 all->is_closed ? filter_not(a, is_open) : is_open));
}

static int ask_version(struct op *op, struct versions *all) {
    struct page_read *q = question_new(op);
    if (!q)
        return ERR_NO_MEMORY;
    const struct predicate *asked = version_member_filter(op, all);
    const struct predicate *where = asked ? predicate_copy(&q->arena, asked) : NULL;
    if (!where) {
        page_read_free(q);
        return op_out_of_memory(op);
    }
    q->read =
        (struct read){.kind = READ_VISIBILITY, .namespace_id = all->namespace_id, .where = where, .limit = 1};
    all->is_found = false;
    return op_ask(op, q, &all->answer, found_one);
}

static void settle_reachability(struct versions *all) {
    Taskqueue__TaskQueueVersionInfo *info = all->list[all->at].entry->value;
    all->answer.is_here = false;
    if (!all->is_found && !all->is_closed) {
        all->is_closed = true;
        return;
    }
    info->task_reachability = !all->is_found   ? BUILD_ID_TASK_REACHABILITY_UNREACHABLE
                              : all->is_closed ? BUILD_ID_TASK_REACHABILITY_CLOSED_WORKFLOWS_ONLY
                                               : BUILD_ID_TASK_REACHABILITY_REACHABLE;
    all->is_closed = false;
    all->at++;
}

static void go_reach(struct op *op) {
    struct versions *all = op->extra;
    int rc = 0;
    while (rc == 0 && all->at < all->count) {
        if (all->list[all->at].entry->value->task_reachability) {
            all->at++;
            continue;
        }
        rc = all->answer.is_here ? 0 : ask_version(op, all);
        if (rc == ERR_WAIT)
            return;
        if (rc == 0 && all->answer.rc < 0)
            rc = err_std(&op->err, all->answer.rc);
        if (rc == 0)
            settle_reachability(all);
    }
    if (rc < 0)
        op_fail(op);
    else
        op_reply(op, &all->r->base, (struct str){NULL, 0});
}

/* The call */

static void describe_each(struct op *op, struct versions *all) {
    const Ws__DescribeTaskQueueRequest *req = op->req;
    for (size_t i = 0; i < all->count; i++) {
        for (size_t k = 0; k < all->type_count; k++)
            describe_type(op, all, &all->list[i], all->types[k]);
        if (req->report_task_reachability && gets_new_work(op, all, &all->list[i]))
            all->list[i].entry->value->task_reachability = BUILD_ID_TASK_REACHABILITY_REACHABLE;
    }
}

void describe_versions(struct op *op, struct space *space, Ws__DescribeTaskQueueResponse *r) {
    const Ws__DescribeTaskQueueRequest *req = op->req;
    struct versions *all = arena_new(op->call->arena, struct versions);
    int rc = all ? 0 : op_out_of_memory(op);
    if (rc == 0) {
        *all = (struct versions){.space = space, .namespace_id = space->id, .r = r};
        rc = choose_types(op, all);
    }
    if (rc == 0)
        rc = choose_versions(op, all);
    if (rc == 0) {
        describe_each(op, all);
        rc = arena_failed(op->call->arena) ? op_out_of_memory(op) : 0;
    }
    if (rc < 0) {
        op_fail(op);
        return;
    }
    op->wait_seq = MAX(op->wait_seq, op->e->deployments_seq);
    if (!req->report_task_reachability) {
        op_reply_durable(op, &r->base, (struct str){NULL, 0});
        return;
    }
    op->extra = all;
    op->wait_seq = group_last_change(op->e);
    op_continue_durable(op, go_reach);
}

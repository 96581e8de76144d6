/* Values that shells complete: ids and names that the server knows, words of enums, time zones, names in
 * files.
 *
 * Happy path: find the flag in the table below, call its list with the connection flags of the line being
 * typed, and print the words that begin with the typed part. A server that does not respond within one
 * second adds no words. */
#include "command/connection.h"
#include "command/output/output.h"
#include "command/profile/settings.h"
#include "command/request/request.h"
#include "host/zoneinfo.h"
#include "json/shape.h"

#define ANSWER_US (1000 * 1000)
#define PAGES_MAX 4
#define PAGE_ITEMS 250
#define WORDS_MAX 200

/* Where the values of a flag come from: the call that lists them, and in each item the fields of word and
 * description. */
struct completion_source {
    const char *flag;
    const char *
        field; /* the source counts only for flags whose field ends with this; "" for all flags of the name */
    enum client_method call;
    const char *items, *word, *what;
    const char *behind; /* appended to the word: "=" for KEY=VALUE */
};

static const struct completion_source sources[] = {
    {"workflow-id", "", CALL_ListWorkflowExecutions, "executions", "execution.workflow_id", "type.name", ""},
    {"run-id", "", CALL_ListWorkflowExecutions, "executions", "execution.run_id", "status", ""},
    {"type", "workflow_type.name", CALL_ListWorkflowExecutions, "executions", "type.name", "", ""},
    {"task-queue", "", CALL_ListWorkflowExecutions, "executions", "task_queue", "", ""},
    {"schedule-id", "", CALL_ListSchedules, "schedules", "schedule_id", "info.workflow_type.name", ""},
    {"namespace", "", CALL_ListNamespaces, "namespaces", "namespace_info.name", "namespace_info.description",
     ""},
    {"search-attribute", "", CALL_ListSearchAttributes, "custom_attributes", "key", "value", "="},
    {"schedule-search-attribute", "", CALL_ListSearchAttributes, "custom_attributes", "key", "value", "="},
    {"name", "search_attributes", CALL_ListSearchAttributes, "custom_attributes", "key", "value", ""},
    {"holiday-calendar", "", CALL_ListHolidayCalendars, "calendars", "name", "description", ""},
    {"name", "calendar.name", CALL_ListHolidayCalendars, "calendars", "name", "description", ""},
    {"job-id", "", CALL_ListBatchOperations, "operation_info", "job_id", "state", ""},
    {"deployment-name", "", CALL_ListWorkerDeployments, "worker_deployments", "name", "", ""},
    {"name", "deployment_name", CALL_ListWorkerDeployments, "worker_deployments", "name", "", ""},
    {"versioning-override-deployment-name", "", CALL_ListWorkerDeployments, "worker_deployments", "name", "",
     ""},
    {"build-id", "build_id", CALL_DescribeWorkerDeployment, "worker_deployment_info.version_summaries",
     "deployment_version.build_id", "status", ""},
    {"worker-instance-key", "", CALL_ListWorkers, "workers", "worker_instance_key", "worker_identity", ""},
    {"activity-id", "", CALL_DescribeWorkflowExecution, "pending_activities", "activity_id",
     "activity_type.name", ""},
    {"backfill-id", "", CALL_ListBackfills, "backfills", "id", "overlap_policy", ""},
};

/* Fields of those calls that other flags of the line fill. The call needs them. */
static const struct {
    const char *flag, *field;
    enum client_method call;
} request_fields[] = {
    {"workflow-id", "execution.workflow_id", CALL_DescribeWorkflowExecution},
    {"schedule-id", "schedule_id", CALL_ListBackfills},
    {"deployment-name", "deployment_name", CALL_DescribeWorkerDeployment},
};

/* Words of flags that fill no field. */
static const struct {
    const char *flag, *words;
} plain_words[] = {
    {"reapply-exclude", "All|Signal|Update|Nexus|Cancel"},
    {"reapply-type", "All|Signal|None"},
};

struct completion {
    struct command *command;
    const char *part;
    struct buf *out;
    size_t count;
};

/* Whether the word has been added already. */
static bool completion_has_word(const struct completion *f, const char *word) {
    struct str all = buf_str(f->out), w = str_of(word);
    for (size_t at = 0; at < all.n;) {
        const char *end = memchr(all.p + at, '\n', all.n - at);
        if (all.n - at > w.n && memcmp(all.p + at, w.p, w.n) == 0 && all.p[at + w.n] == '\t')
            return true;
        at = end ? (size_t)(end - all.p) + 1 : all.n;
    }
    return false;
}

static void completion_add_word(struct completion *f, const char *word, const char *what) {
    if (cstr_is_empty(word) || f->count == WORDS_MAX || strncmp(word, f->part, strlen(f->part)) != 0 ||
        strpbrk(word, "\t\n") || completion_has_word(f, word))
        return;
    f->count++;
    buf_printf(f->out, "%s\t%.*s\n", word, (int)strcspn(what, "\t\n"), what);
}

static void completion_add_words(struct completion *f, const char *words, const char *what) {
    while (*words) {
        size_t n = strcspn(words, "|");
        const char *word = arena_strndup(&f->command->arena, words, n);
        if (word)
            completion_add_word(f, word, what);
        words += n + (words[n] == '|');
    }
}

/* Lists. */

/* Filters a long list by the typed part. Text with quotes or backslashes cannot stand in a filter and is
 * not used. */
static int completion_filter_workflows(struct completion *f, const struct completion_source *o,
                                       ProtobufCMessage *q, struct err *e) {
    struct command *c = f->command;
    const char *id = opt_named(c->args, "workflow-id"), *query = NULL;
    if (cstr_eq(o->flag, "run-id") && id && !strpbrk(id, "'\\"))
        query = arena_printf(&c->arena, "WorkflowId = '%s'", id);
    else if (cstr_eq(o->flag, "workflow-id") && *f->part && !strpbrk(f->part, "'\\"))
        query = arena_printf(&c->arena, "WorkflowId STARTS_WITH '%s'", f->part);
    return query ? request_set(q, "query", FORM_PLAIN, query, &c->arena, e) : 0;
}

static ProtobufCMessage *completion_make_request(struct completion *f, const struct completion_source *o) {
    struct command *c = f->command;
    ProtobufCMessage *q = request_new(c, o->call);
    struct err e;
    if (!q || (o->call == CALL_ListWorkflowExecutions && completion_filter_workflows(f, o, q, &e) < 0))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(request_fields); i++) {
        const char *text = opt_named(c->args, request_fields[i].flag);
        if (request_fields[i].call != o->call)
            continue;
        if (!text || request_set(q, request_fields[i].field, FORM_PLAIN, text, &c->arena, &e) < 0)
            return NULL;
    }
    static const char *const sizes[] = {"page_size", "maximum_page_size"};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const ProtobufCFieldDescriptor *size = shape_field(q->descriptor, str_of(sizes[i]));
        if (size)
            *(int32_t *)(void *)((char *)q + size->offset) = PAGE_ITEMS;
    }
    return q;
}

static void completion_add_items(struct completion *f, const struct completion_source *o,
                                 const ProtobufCMessage *m) {
    struct command *c = f->command;
    struct view_items items = view_items(m, o->items);
    for (size_t i = 0; i < items.n; i++) {
        const char *word = view_text(c, items.v[i], o->word);
        const char *what = *o->what ? view_text(c, items.v[i], o->what) : "";
        word = word && *o->behind ? arena_printf(&c->page, "%s%s", word, o->behind) : word;
        if (word && what)
            completion_add_word(f, word, what);
    }
}

static void completion_ask_list(struct completion *f, const struct completion_source *o) {
    struct command *c = f->command;
    ProtobufCMessage *response, *q = completion_make_request(f, o);
    bool has_more = q != NULL;
    for (int i = 0; has_more && i < PAGES_MAX && f->count < WORDS_MAX; i++) {
        struct connection_ask ask = {.method = o->call, .request = q, .timeout_us = ANSWER_US};
        if (connection_call(c, &ask, &c->page, &response) != COMMAND_DONE)
            return;
        completion_add_items(f, o, response);
        has_more = request_copy_page_token(q, response, &c->arena);
        arena_clear(&c->page);
    }
}

/* Words. */

static void completion_add_enum(struct completion *f, const struct opt *o, const ProtobufCEnumDescriptor *d) {
    for (unsigned i = 0; i < d->n_values; i++) {
        const char *word = view_enum(f->command, d, d->values[i].value);
        if (word)
            completion_add_word(f, word, o->arg);
    }
}

static void completion_add_zones(struct completion *f) {
    const char *name;
    completion_add_word(f, "local", "the zone of this machine");
    completion_add_word(f, "UTC", "");
    for (size_t i = 0; *f->part && (name = zoneinfo_builtin_name(i)); i++)
        completion_add_word(f, name, "");
}

static void completion_add_profiles(struct completion *f, enum settings_kind kind) {
    struct profiles found;
    if (settings_read(f->command, kind, &found) < 0)
        return;
    for (size_t i = 0; i < found.count; i++)
        completion_add_word(f, found.entries[i].profile,
                            kind == SETTINGS_ENV ? "an environment" : "a profile");
}

static bool completion_ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && cstr_eq(text + n - m, end);
}

/* The field that the flag fills; "" for shared flags and flags that code reads. */
static const char *completion_field_of(const struct command *c, const struct opt *o) {
    const struct opt *own = c->args->command->opts;
    return o >= own && o < own + c->args->command->opt_count ? flag_rules[o - command_opts].field : "";
}

void completion_add_values(struct command *c, const struct opt *o, const char *part, struct buf *out) {
    struct completion f = {.command = c, .part = part, .out = out};
    const char *field = completion_field_of(c, o);
    const ProtobufCFieldDescriptor *leaf =
        *field && c->rule->call != CALL_NONE ? request_leaf(request_type(c->rule->call), field) : NULL;
    if (leaf && leaf->type == PROTOBUF_C_TYPE_ENUM)
        completion_add_enum(&f, o, leaf->descriptor);
    else if (leaf && request_is_timestamp(leaf))
        completion_add_words(&f, "now|today|yesterday|tomorrow|-1h|+1h", "a time");
    for (size_t i = 0; i < ARRAY_LEN(plain_words); i++)
        if (cstr_eq(plain_words[i].flag, o->name))
            completion_add_words(&f, plain_words[i].words, o->arg);
    if (cstr_eq(o->name, "time-zone") || cstr_eq(o->name, "also-in"))
        completion_add_zones(&f);
    if (cstr_eq(o->name, "profile") || cstr_eq(o->name, "env"))
        completion_add_profiles(&f, cstr_eq(o->name, "env") ? SETTINGS_ENV : SETTINGS_CONFIG);
    for (size_t i = 0; c->rule->call != CALL_NONE && i < ARRAY_LEN(sources); i++)
        if (cstr_eq(sources[i].flag, o->name) && completion_ends_with(field, sources[i].field)) {
            completion_ask_list(&f, &sources[i]);
            return;
        }
}

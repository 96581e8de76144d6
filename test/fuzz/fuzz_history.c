/* Bytes as page tokens, of histories and of lists.
 *
 * The world has a closed run, an open one and a schedule; what is on its disk is made once, and reading must
 * not change it. An input chooses a call and the size of a page, then for each page the token: as it was
 * given, given with bytes of it changed, or bytes of the input's own. A page that is answered holds events of
 * the run in their order; followed as they were given, the pages are all of the history and end. */
#include "fuzz.h"
#include "wire/encode.h"
#include "world.h"

#define INPUT_BYTES_MAX 1024
#define ROUNDS_MAX 24
#define TOKEN_BYTES_MAX 4096
#define SIGNALS 5

enum pages {
    PAGES_FORWARD,
    PAGES_BACKWARD,
    PAGES_LIST,
    PAGES_SCAN,
    PAGES_SCHEDULES,
    PAGES_LEDGER,
    PAGES_COUNT
};

static const char *const methods[PAGES_COUNT] = {
    [PAGES_FORWARD] = "GetWorkflowExecutionHistory",
    [PAGES_BACKWARD] = "GetWorkflowExecutionHistoryReverse",
    [PAGES_LIST] = "ListWorkflowExecutions",
    [PAGES_SCAN] = "ScanWorkflowExecutions",
    [PAGES_SCHEDULES] = "ListSchedules",
    [PAGES_LEDGER] = "ListScheduleLedger",
};

struct input {
    const uint8_t *p, *end;
};

static struct mem_disk *prepared;
static uint64_t prepared_hash;

static uint8_t take_byte(struct input *in) {
    return in->p < in->end ? *in->p++ : 0;
}

static char *text_of(const char *s) {
    return (char *)(uintptr_t)s;
}

/* what there is to read */

static void start(struct world *w, const char *workflow_id) {
    Ws__StartWorkflowExecutionRequest r = WS__START_WORKFLOW_EXECUTION_REQUEST__INIT;
    Common__WorkflowType type = COMMON__WORKFLOW_TYPE__INIT;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    type.name = text_of("Type");
    queue.name = text_of("queue");
    r.namespace_ = text_of("default");
    r.workflow_id = text_of(workflow_id);
    r.request_id = text_of("request");
    r.workflow_type = &type;
    r.task_queue = &queue;
    ensure(world_send(w, "StartWorkflowExecution", &r.base)->code == 0);
}

static void send_signal(struct world *w) {
    Ws__SignalWorkflowExecutionRequest r = WS__SIGNAL_WORKFLOW_EXECUTION_REQUEST__INIT;
    Common__WorkflowExecution execution = COMMON__WORKFLOW_EXECUTION__INIT;
    execution.workflow_id = text_of("wf");
    r.namespace_ = text_of("default");
    r.workflow_execution = &execution;
    r.signal_name = text_of("signal");
    ensure(world_send(w, "SignalWorkflowExecution", &r.base)->code == 0);
}

static void terminate(struct world *w) {
    Ws__TerminateWorkflowExecutionRequest r = WS__TERMINATE_WORKFLOW_EXECUTION_REQUEST__INIT;
    Common__WorkflowExecution execution = COMMON__WORKFLOW_EXECUTION__INIT;
    execution.workflow_id = text_of("wf");
    r.namespace_ = text_of("default");
    r.workflow_execution = &execution;
    ensure(world_send(w, "TerminateWorkflowExecution", &r.base)->code == 0);
}

static void make_schedule(struct world *w) {
    Ws__CreateScheduleRequest r = WS__CREATE_SCHEDULE_REQUEST__INIT;
    Schedule__Schedule schedule = SCHEDULE__SCHEDULE__INIT;
    Schedule__ScheduleSpec spec = SCHEDULE__SCHEDULE_SPEC__INIT;
    Schedule__ScheduleAction action = SCHEDULE__SCHEDULE_ACTION__INIT;
    Workflow__NewWorkflowExecutionInfo info = WORKFLOW__NEW_WORKFLOW_EXECUTION_INFO__INIT;
    Common__WorkflowType type = COMMON__WORKFLOW_TYPE__INIT;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    char *cron[] = {text_of("0 0 1 1 *")};
    type.name = text_of("Type");
    queue.name = text_of("queue");
    info.workflow_id = text_of("action");
    info.workflow_type = &type;
    info.task_queue = &queue;
    action.action_case = SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW;
    action.start_workflow = &info;
    spec.cron_string = cron;
    spec.n_cron_string = 1;
    schedule.spec = &spec;
    schedule.action = &action;
    r.namespace_ = text_of("default");
    r.schedule_id = text_of("schedule");
    r.schedule = &schedule;
    r.request_id = text_of("request");
    ensure(world_send(w, "CreateSchedule", &r.base)->code == 0);
}

static struct mem_disk *prepare(void) {
    struct world w;
    world_open(&w);
    start(&w, "wf");
    for (int i = 0; i < SIGNALS; i++)
        send_signal(&w);
    terminate(&w);
    start(&w, "open");
    make_schedule(&w);
    struct mem_disk *disk = take(&w.disk);
    world_close(&w);
    return disk;
}

/* reading it */

static void add_text(struct buf *b, uint32_t field, const char *text) {
    wire_add_bytes_field(b, field, str_of(text));
}

static void add_number(struct buf *b, uint32_t field, uint64_t n) {
    wire_add_varint(b, field << 3);
    wire_add_varint(b, n);
}

static void make_request(struct buf *b, enum pages what, uint8_t page_size, struct str token) {
    static const struct {
        uint8_t size, token; /* fields */
    } fields[PAGES_COUNT] = {{3, 4}, {3, 4}, {2, 3}, {2, 3}, {2, 3}, {6, 7}};
    struct buf execution cleanup(buf_done);
    buf_init(&execution, TOKEN_BYTES_MAX);
    add_text(b, 1, "default");
    if (what == PAGES_FORWARD || what == PAGES_BACKWARD) {
        add_text(&execution, 1, page_size & 128 ? "open" : "wf");
        wire_add_bytes_field(b, 2, buf_str(&execution));
    }
    if (what == PAGES_LEDGER)
        add_text(b, 2, "schedule");
    add_number(b, fields[what].size, page_size & 127);
    if (token.n)
        wire_add_bytes_field(b, fields[what].token, token);
}

static const History__History *history_of(const struct ask *a, enum pages what) {
    if (what == PAGES_FORWARD)
        return ((const Ws__GetWorkflowExecutionHistoryResponse *)(const void *)a->answer)->history;
    if (what == PAGES_BACKWARD)
        return ((const Ws__GetWorkflowExecutionHistoryReverseResponse *)(const void *)a->answer)->history;
    return NULL;
}

/* Events follow each other, in the order that was asked for. */
static size_t check_page(const struct ask *a, enum pages what) {
    const History__History *h = history_of(a, what);
    int64_t step = what == PAGES_FORWARD ? 1 : -1;
    for (size_t i = 1; h && i < h->n_events; i++)
        ensure(h->events[i]->event_id == h->events[i - 1]->event_id + step);
    return h ? h->n_events : 0;
}

static struct str token_of(const struct ask *a) {
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(a->answer->descriptor, "next_page_token");
    const ProtobufCBinaryData *token = (const void *)((const char *)a->answer + f->offset);
    return str_bytes(token->data, token->len);
}

/* Changes the token as the input says; false when it goes on as it was given. */
static bool change_token(struct buf *token, struct input *in) {
    uint8_t how = take_byte(in);
    if (how % 4 == 0)
        return false;
    if (how % 4 == 3) {
        size_t n = take_byte(in);
        n = MIN(n, (size_t)(in->end - in->p));
        buf_clear(token);
        buf_add(token, in->p, n);
        in->p += n;
        return true;
    }
    for (uint8_t i = 0; i < how % 4 && token->len; i++) {
        size_t at = take_byte(in) % token->len;
        token->data[at] ^= take_byte(in);
    }
    return true;
}

static void read_pages(struct world *w, struct input *in) {
    enum pages what = take_byte(in) % PAGES_COUNT;
    uint8_t page_size = take_byte(in);
    struct buf token cleanup(buf_done), request cleanup(buf_done);
    bool is_own = false; /* a token was changed */
    size_t events = 0;
    buf_init(&token, TOKEN_BYTES_MAX);
    buf_init(&request, TOKEN_BYTES_MAX);
    for (int page = 0; page < ROUNDS_MAX; page++) {
        is_own |= change_token(&token, in);
        buf_clear(&request);
        make_request(&request, what, page_size, buf_str(&token));
        struct ask *a = world_ask(w, world_method(methods[what]), buf_str(&request));
        ensure(!a || a->is_done);
        ensure(is_own || (a && a->code == 0));
        if (!a || a->code < 0)
            return;
        events += check_page(a, what);
        buf_clear(&token);
        buf_add_str(&token, token_of(a));
        ask_free(a);
        if (!token.len)
            break;
    }
    ensure(is_own || (token.len == 0 && (what > PAGES_BACKWARD || events >= 2)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, data + size};
    struct world w;
    if (size == 0 || size > INPUT_BYTES_MAX)
        return 0;
    if (!prepared) {
        prepared = prepare();
        prepared_hash = mem_disk_hash(prepared);
    }
    world_open_on(&w, prepared);
    read_pages(&w, &in);
    (void)take(&w.disk);
    world_close(&w);
    ensure(mem_disk_hash(prepared) == prepared_hash);
    return 0;
}

/* Calls over gRPC, HTTP and Mistral's dialect have the same beginning and the same end.
 *
 * Each test makes the same calls over all three. A protocol that did not go through ingress would not be
 * counted, or counted twice, or not be logged with its origin, or keep the tasks of answers that it could not
 * deliver. The store is manual: a test says when a start is durable, and so when its answer is made. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fault.h"
#include "engine/counters.h"
#include "engine_fixture.h"
#include "host/loop.h"
#include "net/h2.h"
#include "net/http1.h"
#include "serve/bridge.h"
#include "serve/dispatch.h"
#include "serve/http.h"
#include "wire/encode.h"
#include "wire/grpc.h"

#define WAIT_US (5 * USEC_PER_SEC) /* until a wait counts as failed */
#define FAULTS_MAX 500 /* more than the allocations of one answer */
#define LARGE_INPUT 65300 /* bytes; its request fits into the first window of a stream, the answer does not  \
                           */

#define START "/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution"
#define DESCRIBE "/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace"
#define HISTORY "/temporal.api.workflowservice.v1.WorkflowService/GetWorkflowExecutionHistory"

struct doors {
    struct rig rig;
    struct log log;
    struct loop *loop;
    struct timer *guard;
    bool is_late;
    bool (*is_done)(struct doors *d); /* ends doors_turn_until() */
    struct ingress ingress;
    struct h2_server *h2;
    struct http http;
    struct http1_server *http1;
    struct mistral_server mistral;
    /* the call under way */
    struct arena arena;
    int fd; /* of gRPC or HTTP */
    struct call asker; /* of Mistral */
    void *started;
    int asker_ends;
    int ids; /* given to workflows */
    char workflow_id[32];
};

static void doors_on_guard(void *ctx) {
    struct doors *d = ctx;
    d->is_late = true;
    loop_stop(d->loop);
}

static void doors_on_turn(void *ctx) {
    struct doors *d = ctx;
    api_sweep(&d->http.api);
    while (mem_store_pending_reads(d->rig.store) > 0)
        mem_store_answer(d->rig.store, 0, 0);
    engine_flush(d->rig.engine);
    if (d->is_done(d))
        loop_stop(d->loop);
}

static void doors_open(struct doors *d) {
    struct err e;
    *d = (struct doors){.fd = -1};
    rig_init_manual(&d->rig);
    log_init(&d->log, memfd_create("log", MFD_CLOEXEC), LOG_DEBUG, LOG_TEXT, host_wall);
    ensure(loop_new(&d->loop) == 0 && timer_new(d->loop, doors_on_guard, d, &d->guard) == 0);
    loop_on_turn(d->loop, doors_on_turn, d);
    ensure(ingress_init(&d->ingress, &d->log, "memory", 1) == 0);
    d->ingress.context.engine = d->rig.engine;
    d->ingress.loop = d->loop;
    d->mistral = bridge_server(&d->ingress);
    api_init(&d->http.api, &d->ingress);
    mistral_init(&d->http.mistral, &d->mistral, NULL, 1);
    d->http.engine = d->rig.engine;
    struct h2_handler grpc = dispatch_handler(&d->ingress);
    struct http1_handler http = http_handler(&d->http);
    ensure(h2_server_new(d->loop, "127.0.0.1:0", &grpc, &d->log, &d->h2, &e) == 0);
    ensure(http1_server_new(d->loop, "127.0.0.1", 0, &http, &d->http1, &e) == 0);
    d->http.bound = (struct address){.host = "127.0.0.1", .port = http1_server_port(d->http1)};
}

static void doors_end_call(struct doors *d) {
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
    arena_done(&d->arena);
}

static void doors_close(struct doors *d) {
    rig_stop(&d->rig);
    doors_end_call(d);
    d->ingress.context.engine = NULL;
    h2_server_free(d->h2);
    http1_server_free(d->http1);
    api_sweep(&d->http.api);
    ingress_done(&d->ingress);
    timer_free(d->guard);
    loop_free(d->loop);
    close(d->log.fd);
    rig_done(&d->rig);
}

static bool doors_turn_until(struct doors *d, bool (*is_done)(struct doors *)) {
    d->is_late = false;
    timer_set(d->guard, WAIT_US);
    d->is_done = is_done;
    CHECK_INT(loop_run(d->loop), 0);
    timer_clear(d->guard);
    return CHECK(!d->is_late);
}

/* What was counted. */

static const struct method_traffic *traffic_of(const struct doors *d, const char *path) {
    const struct method *m;
    struct err e;
    ensure(methods_find(&d->ingress.methods, str_of(path), &m, &e) == 0);
    return &d->ingress.traffic.methods[method_index(m)];
}

static uint64_t ends_of(const struct doors *d, const char *path) {
    uint64_t all = 0;
    for (size_t i = 0; i < TRAFFIC_CODES; i++)
        all += traffic_of(d, path)->ends[i];
    return all;
}

/* A client. */

static void client_send(struct doors *d, uint16_t port, struct str bytes) {
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    d->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ensure(connect(d->fd, (struct sockaddr *)&to, sizeof(to)) == 0);
    while (bytes.n) {
        ssize_t n = send(d->fd, bytes.p, MIN(bytes.n, (size_t)16384), MSG_NOSIGNAL | MSG_DONTWAIT);
        ensure(n > 0); /* the socket's buffer takes it all */
        bytes = str_bytes(bytes.p + n, bytes.n - (size_t)n);
    }
}

static void add_frame(struct buf *b, uint8_t type, uint8_t flags, uint8_t stream, struct str payload) {
    const uint8_t head[] = {(uint8_t)(payload.n >> 16),
                            (uint8_t)(payload.n >> 8),
                            (uint8_t)payload.n,
                            type,
                            flags,
                            0,
                            0,
                            0,
                            stream};
    buf_add(b, head, sizeof(head));
    buf_add_str(b, payload);
}

static void add_header(struct buf *b, const char *name, const char *value) {
    buf_add_u8(b, 0); /* literal, not indexed, with a new name; lengths below 127 */
    buf_add_u8(b, (uint8_t)strlen(name));
    buf_add_cstr(b, name);
    buf_add_u8(b, (uint8_t)strlen(value));
    buf_add_cstr(b, value);
}

/* One call on a new connection, which grants the server no more than HTTP/2's first window of 65,535 bytes.
 */
static void grpc_send(struct doors *d, const char *path, const ProtobufCMessage *request) {
    struct buf all cleanup(buf_done), headers cleanup(buf_done), body cleanup(buf_done);
    buf_init(&all, 1u << 20);
    buf_init(&headers, 4096);
    buf_init(&body, 1u << 20);
    add_header(&headers, ":method", "POST");
    add_header(&headers, ":scheme", "http");
    add_header(&headers, ":path", path);
    add_header(&headers, ":authority", "test");
    add_header(&headers, "content-type", "application/grpc");
    size_t begin = grpc_frame_begin(&body);
    wire_encode(&body, request);
    ensure(grpc_frame_end(&body, begin, false) == 0);
    buf_add_cstr(&all, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    add_frame(&all, 4, 0, 0, STR("")); /* SETTINGS */
    add_frame(&all, 1, 4, 1, buf_str(&headers)); /* HEADERS, complete */
    for (struct str left = buf_str(&body); left.n;) {
        size_t n = MIN(left.n, (size_t)16384);
        add_frame(&all, 0, n == left.n, 1, str_bytes(left.p, n)); /* DATA, the last with END_STREAM */
        left = str_bytes(left.p + n, left.n - n);
    }
    ensure(buf_ok(&all));
    client_send(d, h2_server_port(d->h2), buf_str(&all));
}

static void http_send(struct doors *d, const char *verb, const char *path, const char *json) {
    struct buf all cleanup(buf_done);
    buf_init(&all, 4096);
    buf_printf(&all, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s", verb, path,
               strlen(json), json);
    client_send(d, http1_server_port(d->http1), buf_str(&all));
}

static void asker_on_reply(struct call *c, const ProtobufCMessage *m, struct str tail) {
    struct doors *d = container_of(c, struct doors, asker);
    CHECK(m != NULL && tail.n == 0);
    d->asker_ends++;
}

static void asker_on_fail(struct call *c, const struct err *e unused_arg) {
    container_of(c, struct doors, asker)->asker_ends++;
}

static void mistral_send(struct doors *d, const ProtobufCMessage *request) {
    static const struct call_ops ops = {asker_on_reply, asker_on_fail};
    d->asker = (struct call){.ops = &ops, .arena = &d->arena, .deadline = {CLOCK_NEVER}};
    d->asker_ends = 0;
    d->started = d->mistral.start(d->mistral.ctx, &d->asker, request);
}

static void send_describe(struct doors *d, enum ingress_origin origin) {
    Ws__DescribeNamespaceRequest q = WS__DESCRIBE_NAMESPACE_REQUEST__INIT;
    doors_end_call(d);
    arena_init(&d->arena, 1u << 20);
    q.namespace_ = make_text(&d->arena, "default");
    switch (origin) {
    case INGRESS_GRPC:
        grpc_send(d, DESCRIBE, &q.base);
        break;
    case INGRESS_HTTP:
        http_send(d, "GET", "/api/v1/namespaces/default", "");
        break;
    case INGRESS_MISTRAL:
        mistral_send(d, &q.base);
        break;
    }
}

/* A start whose answer brings the first task. */
static void send_eager_start(struct doors *d, enum ingress_origin origin, size_t input_bytes) {
    Ws__StartWorkflowExecutionRequest *q;
    char path[128];
    doors_end_call(d);
    arena_init(&d->arena, 4u << 20);
    q = MAKE(&d->arena, Ws__StartWorkflowExecutionRequest, ws__start_workflow_execution_request__init);
    q->workflow_type = MAKE(&d->arena, Common__WorkflowType, common__workflow_type__init);
    (void)snprintf(d->workflow_id, sizeof(d->workflow_id), "w%d", ++d->ids);
    q->workflow_type->name = make_text(&d->arena, "type");
    q->namespace_ = make_text(&d->arena, "default");
    q->workflow_id = d->workflow_id;
    q->request_id = d->workflow_id;
    q->task_queue = make_queue(&d->arena, d->workflow_id);
    q->request_eager_execution = true;
    if (input_bytes)
        q->input = make_payloads(&d->arena, make_long_text(&d->arena, input_bytes));
    switch (origin) {
    case INGRESS_GRPC:
        grpc_send(d, START, &q->base);
        break;
    case INGRESS_HTTP: {
        char json[256];
        (void)snprintf(path, sizeof(path), "/api/v1/namespaces/default/workflows/%s", d->workflow_id);
        (void)snprintf(json, sizeof(json),
                       "{\"workflowType\":{\"name\":\"type\"},\"taskQueue\":{\"name\":\"%s\"},"
                       "\"requestEagerExecution\":true}",
                       d->workflow_id);
        http_send(d, "POST", path, json);
        break;
    }
    case INGRESS_MISTRAL:
        mistral_send(d, &q->base);
        break;
    }
}

/* Waits for the next event of a run. */
static void send_long_poll(struct doors *d, enum ingress_origin origin, const char *workflow_id) {
    Ws__GetWorkflowExecutionHistoryRequest *q;
    char path[128];
    doors_end_call(d);
    arena_init(&d->arena, 1u << 20);
    q = MAKE(&d->arena, Ws__GetWorkflowExecutionHistoryRequest,
             ws__get_workflow_execution_history_request__init);
    q->namespace_ = make_text(&d->arena, "default");
    q->execution = make_execution(&d->arena, workflow_id, "");
    q->wait_new_event = true;
    q->history_event_filter_type = HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    switch (origin) {
    case INGRESS_GRPC:
        grpc_send(d, HISTORY, &q->base);
        break;
    case INGRESS_HTTP:
        (void)snprintf(path, sizeof(path),
                       "/api/v1/namespaces/default/workflows/%s/history?waitNewEvent=true&"
                       "historyEventFilterType=HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT",
                       workflow_id);
        http_send(d, "GET", path, "");
        break;
    case INGRESS_MISTRAL:
        mistral_send(d, &q->base);
        break;
    }
}

static const enum ingress_origin origins[] = {INGRESS_GRPC, INGRESS_HTTP, INGRESS_MISTRAL};

static bool is_commit_pending(struct doors *d) {
    return mem_store_pending_commits(d->rig.store) > 0;
}

static bool is_described(struct doors *d) {
    return ends_of(d, DESCRIBE) > 0;
}

static size_t log_count(struct doors *d, const char *text) {
    char lines[1 << 16];
    ssize_t n = pread(d->log.fd, lines, sizeof(lines) - 1, 0);
    size_t count = 0;
    ensure(n >= 0);
    lines[n] = 0;
    for (const char *at = lines; (at = strstr(at, text)); at++)
        count++;
    return count;
}

TEST(each_protocol_counts_and_logs_a_call_once) {
    static const char *const names[] = {"origin=grpc", "origin=http", "origin=mistral"};
    for (size_t i = 0; i < ARRAY_LEN(origins); i++) {
        struct doors d;
        doors_open(&d);
        send_describe(&d, origins[i]);
        doors_turn_until(&d, is_described);
        CHECK_INT(ends_of(&d, DESCRIBE), 1);
        CHECK_INT(traffic_of(&d, DESCRIBE)->ends[GRPC_OK], 1);
        CHECK_INT(histogram_count(&traffic_of(&d, DESCRIBE)->us), 1);
        CHECK_INT(log_count(&d, "request_done"), 1);
        for (size_t k = 0; k < ARRAY_LEN(names); k++)
            CHECK_INT(log_count(&d, names[k]), k == i);
        doors_close(&d);
    }
}

static bool is_poll_parked(struct doors *d) {
    struct engine_state state;
    engine_look(d->rig.engine, d->rig.now, &state);
    return state.parked_calls > 0;
}

static bool is_poll_over(struct doors *d) {
    return ends_of(d, HISTORY) > 0;
}

TEST(each_protocol_counts_a_caller_that_left_once) {
    for (size_t i = 0; i < ARRAY_LEN(origins); i++) {
        struct doors d;
        struct ask a = {0};
        doors_open(&d);
        rig_start(&d.rig, &a, "run");
        rig_settle(&d.rig);
        CHECK_OK(&a);
        send_long_poll(&d, origins[i], "run");
        if (doors_turn_until(&d, is_poll_parked)) {
            CHECK_INT(ends_of(&d, HISTORY), 0);
            if (origins[i] == INGRESS_MISTRAL)
                d.mistral.cancel(d.mistral.ctx, d.started);
            else
                doors_end_call(&d);
            if (origins[i] == INGRESS_HTTP) /* only what it is sent shows that an HTTP/1.1 peer is gone */
                http1_server_free(take(&d.http1));
            doors_turn_until(&d, is_poll_over);
            CHECK_INT(ends_of(&d, HISTORY), 1);
            CHECK_INT(traffic_of(&d, HISTORY)->ends[GRPC_CANCELLED], 1);
            CHECK(!is_poll_parked(&d));
        }
        doors_close(&d);
        ask_done(&a);
    }
}

/* The task of the start is there for a worker. */
static bool is_offered(struct doors *d) {
    struct ask a = {0};
    rig_settle(&d->rig);
    rig_poll(&d->rig, &a, d->workflow_id);
    rig_settle(&d->rig);
    bool is_found = a.is_done && ask_token(&a).n > 0;
    ask_cancel(&d->rig, &a);
    ask_done(&a);
    return is_found;
}

/* The n-th allocation fails from the moment when the start is durable. Returns whether there were so many. */
static bool commit_with_fault(struct doors *d, uint64_t nth) {
    fault_arm_alloc(nth);
    mem_store_commit_one(d->rig.store);
    bool has_fired = fault_fired();
    fault_disarm();
    return has_fired;
}

/* One start over this protocol. Returns false when the fault did not fire; adds to *returned when the task
 * went back. */
static bool start_with_fault(enum ingress_origin origin, uint64_t nth, size_t *returned) {
    struct doors d;
    bool has_fired = false;
    doors_open(&d);
    send_eager_start(&d, origin, 0);
    if (doors_turn_until(&d, is_commit_pending)) {
        has_fired = commit_with_fault(&d, nth);
        bool is_failed = traffic_of(&d, START)->ends[GRPC_OK] == 0;
        bool is_lost = !list_empty(&d.ingress.lost_tasks);
        CHECK_INT(ends_of(&d, START), 1);
        CHECK(has_fired || !is_failed);
        CHECK_INT(is_lost, is_failed);
        ingress_flush_lost(&d.ingress);
        if (is_lost)
            CHECK(is_offered(&d));
        *returned += is_lost;
    }
    doors_close(&d);
    return has_fired;
}

TEST(each_protocol_returns_the_task_of_an_answer_without_memory) {
    for (size_t i = 0; i < ARRAY_LEN(origins); i++) {
        size_t returned = 0;
        uint64_t nth = 1;
        while (start_with_fault(origins[i], nth, &returned) && nth < FAULTS_MAX)
            nth++;
        CHECK(nth < FAULTS_MAX);
        CHECK(returned > 0);
    }
}

static bool is_task_lost(struct doors *d) {
    return !list_empty(&d->ingress.lost_tasks);
}

TEST(grpc_returns_the_task_of_an_answer_that_was_not_read) {
    struct doors d;
    doors_open(&d);
    send_eager_start(&d, INGRESS_GRPC, LARGE_INPUT);
    if (doors_turn_until(&d, is_commit_pending)) {
        mem_store_commit_one(d.rig.store);
        CHECK_INT(traffic_of(&d, START)->ends[GRPC_OK], 1);
        CHECK(!is_task_lost(&d));
        doors_end_call(&d);
        doors_turn_until(&d, is_task_lost);
        ingress_flush_lost(&d.ingress);
        CHECK(is_offered(&d));
        CHECK_INT(ends_of(&d, START), 1);
    }
    doors_close(&d);
}

TEST(a_stopping_server_takes_only_grpc) {
    for (size_t i = 0; i < ARRAY_LEN(origins); i++) {
        const struct method *m;
        struct doors d;
        struct err e;
        doors_open(&d);
        CHECK_INT(ingress_find(&d.ingress, origins[i], STR(DESCRIBE), &m, &e), 0);
        ingress_drain(&d.ingress);
        int want = origins[i] == INGRESS_GRPC ? 0 : ERR_UNAVAILABLE;
        CHECK_INT(ingress_find(&d.ingress, origins[i], STR(DESCRIBE), &m, &e), want);
        d.ingress.context.engine = NULL;
        CHECK_INT(ingress_find(&d.ingress, origins[i], STR(DESCRIBE), &m, &e), ERR_UNAVAILABLE);
        doors_close(&d);
    }
}

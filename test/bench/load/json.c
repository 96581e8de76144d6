/* Calls as JSON over HTTP/1.1, beside the same calls over gRPC in the same run.
 *
 * HTTP/1.1 has one call under way on a connection, so there are as many connections as calls; they are kept.
 */
#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cases.h"
#include "flow.h"
#include "requests.h"

#define START_BODY                                                                                           \
    "{\"workflowType\":{\"name\":\"%s\"},\"taskQueue\":{\"name\":\"%s\"},\"requestId\":\"start-%s-%zu\","    \
    "\"input\":[%s]}"

struct lane {
    struct evhttp_connection *connection;
    struct flow *flow;
    size_t i; /* the operation under way */
};

struct lanes {
    char host[64];
    int port;
    size_t count;
    struct lane *all;
    struct lane **free; /* those without an operation */
    size_t free_count;
};

static void lanes_open(struct lanes *l, struct bench *b, size_t count) {
    *l = (struct lanes){.count = count};
    if (sscanf(b->subject.http, "%63[^:]:%d", l->host, &l->port) != 2)
        die("no HTTP address: %s", b->subject.http);
    l->all = mem_zalloc(count * sizeof(*l->all));
    l->free = mem_zalloc(count * sizeof(*l->free));
    ensure(l->all && l->free);
    for (size_t i = 0; i < count; i++) {
        l->all[i].connection =
            evhttp_connection_base_new(loop_base(b->loop), NULL, l->host, (unsigned short)l->port);
        ensure(l->all[i].connection);
        l->free[l->free_count++] = &l->all[i];
    }
}

static void lanes_close(struct lanes *l) {
    for (size_t i = 0; i < l->count; i++)
        evhttp_connection_free(l->all[i].connection);
    mem_free(l->all);
    mem_free(l->free);
}

static void on_answer(struct evhttp_request *req, void *ctx) {
    struct lane *lane = ctx;
    struct lanes *l = lane->flow->owner;
    int status = req ? evhttp_request_get_response_code(req) : 0;
    if (status != HTTP_OK)
        die("HTTP answers %d", status);
    l->free[l->free_count++] = lane;
    flow_end(lane->flow, lane->i);
}

static void ask(struct flow *f, size_t i, enum evhttp_cmd_type verb, const char *path, const char *body) {
    struct lanes *l = f->owner;
    struct lane *lane = l->free[--l->free_count];
    struct evhttp_request *req = evhttp_request_new(on_answer, lane);
    ensure(req);
    lane->flow = f;
    lane->i = i;
    struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
    ensure(evhttp_add_header(headers, "Host", f->bench->subject.http) == 0);
    ensure(evhttp_add_header(headers, "Connection", "keep-alive") == 0);
    if (body)
        ensure(evbuffer_add(evhttp_request_get_output_buffer(req), body, strlen(body)) == 0);
    ensure(evhttp_make_request(lane->connection, req, verb, path) == 0);
}

static void begin_json_info(struct flow *f, size_t i) {
    ask(f, i, EVHTTP_REQ_GET, "/api/v1/system-info", NULL);
}

static void begin_json_start(struct flow *f, size_t i) {
    char path[128], body[1024];
    (void)snprintf(path, sizeof(path), "/api/v1/namespaces/default/workflows/%s-%zu", f->type, i);
    (void)snprintf(body, sizeof(body), START_BODY, f->type, QUEUE_NAME, f->type, i, INPUT_TEXT);
    ask(f, i, EVHTTP_REQ_POST, path, body);
}

static void run_lanes(struct bench *b, const char *name, size_t total, size_t width, const char *type,
                      void (*begin)(struct flow *f, size_t i)) {
    struct lanes l;
    struct flow f;
    struct meter m;
    lanes_open(&l, b, width);
    flow_init(&f, b, total, width, begin);
    f.type = type;
    f.owner = &l;
    meter_begin(&m, b);
    flow_run(&f);
    table_print(b->table, meter_end(&m, b, name, width, total, &f.latency));
    flow_done(&f);
    lanes_close(&l);
}

void case_json(struct bench *b) {
    size_t calls = scaled(b, 40000), starts = scaled(b, 20000);
    bench_open(b);
    run_flow(b, "GetSystemInfo, gRPC", calls, b->width, NULL, begin_system_info);
    run_lanes(b, "GetSystemInfo, JSON", calls, b->width, NULL, begin_json_info);
    run_flow(b, "start, gRPC", starts, b->width, "binary", begin_start);
    run_lanes(b, "start, JSON", starts, b->width, "text", begin_json_start);
    check_count(b, "WorkflowType='binary'", starts);
    check_count(b, "WorkflowType='text'", starts);
    bench_close(b);
}

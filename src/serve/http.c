/* Paths of the HTTP/1.1 listener.
 *
 * /healthz says that the process lives, /readyz that it takes work,
 * /metrics is for Prometheus, /namespaces is a page for people, src/mistral has
 * Mistral's dialect and api.c Temporal's HTTP API. Other paths get a JSON error with the number of
 * a gRPC code and a text. Apart from the two probes a request must come under a host that is ours, and
 * from no page of another site that was not invited. */
#include "serve/http.h"

#include "engine/engine.h"
#include "host/loop.h"
#include "serve/ingress.h"
#include "serve/metrics.h"
#include "serve/origin.h"
#include "serve/page.h"
#include "wire/grpc.h"

#define HTTP_FORBIDDEN 403
#define HTTP_NOT_FOUND 404
#define HTTP_NOT_ALLOWED 405
#define HTTP_UNAVAILABLE 503

static void http_answer(struct http1_response *resp, int status, const char *json) {
    resp->status = status;
    buf_add_cstr(&resp->body, json);
    buf_add_u8(&resp->body, '\n');
}

static void http_answer_error(struct http1_response *resp, int status, enum grpc_code code,
                              const char *message) {
    resp->status = status;
    buf_printf(&resp->body, "{\"code\":%d,\"message\":\"%s\"}\n", (int)code, message);
}

static bool http_is_read(const struct http1_request *q) {
    return str_is(q->method, "GET") || str_is(q->method, "HEAD");
}

static void http_refuse_method(struct http1_response *resp) {
    resp->allow = "GET, HEAD";
    http_answer_error(resp, HTTP_NOT_ALLOWED, GRPC_UNIMPLEMENTED, "This path takes GET.");
}

static void http_on_probe(const struct http1_request *q, struct http1_response *resp, int status,
                          const char *json) {
    if (http_is_read(q))
        http_answer(resp, status, json);
    else
        http_refuse_method(resp);
}

static void http_on_namespaces(const struct http *h, const struct http1_request *q,
                               struct http1_response *resp) {
    if (!http_is_read(q)) {
        http_refuse_method(resp);
        return;
    }
    resp->content_type = "text/html; charset=utf-8";
    if (page_namespaces(h->engine, &resp->body) == 0)
        return;
    resp->content_type = "application/json";
    buf_clear(&resp->body);
    http_answer_error(resp, HTTP_UNAVAILABLE, GRPC_UNAVAILABLE, "The namespaces cannot be listed now.");
}

static void http_on_metrics(const struct http *h, const struct http1_request *q,
                            struct http1_response *resp) {
    if (!http_is_read(q)) {
        http_refuse_method(resp);
        return;
    }
    struct scrape s = {.traffic = &h->api.ingress->traffic,
                       .budget = h->budget,
                       .resident_bytes = host_resident_bytes(),
                       .uptime_us = host_now().mono.us - h->begin.us};
    engine_counters(h->engine, &s.engine);
    resp->content_type = METRICS_CONTENT_TYPE;
    metrics_print(&s, &resp->body);
    if (buf_ok(&resp->body))
        return;
    resp->content_type = "application/json";
    buf_clear(&resp->body);
    http_answer_error(resp, HTTP_UNAVAILABLE, GRPC_UNAVAILABLE, "There is no memory for the metrics now.");
}

/* Answers instead of the path: a page that may not call, or a browser that asks whether one may. */
static bool http_on_origin(const struct http *h, const struct http1_request *q, struct http1_response *resp) {
    switch (origin_judge(h->origins, q)) {
    case ORIGIN_NONE:
        return false;
    case ORIGIN_INVITED:
        if (origin_invite(q))
            return origin_preflight(q, resp);
        http_answer_error(resp, HTTP_UNAVAILABLE, GRPC_UNAVAILABLE, "There is no memory for this now.");
        return true;
    case ORIGIN_FOREIGN:
        break;
    }
    http_answer_error(
        resp, HTTP_FORBIDDEN, GRPC_PERMISSION_DENIED,
        "Pages of other sites may not call this server, unless it was started with --cors-origin.");
    return true;
}

/* The settings that the pages of Temporal's Web UI read: everything is enabled, without sign-in. The
 * version is that of the first Web UI that was tried. */
static const char ui_settings[] =
    "{\"Auth\":{\"Enabled\":false,\"Options\":null,\"RedirectToProvider\":false},\"DefaultNamespace\":"
    "\"default\","
    "\"ShowTemporalSystemNamespace\":false,\"NavCollapsedByDefault\":false,\"FeedbackURL\":\"\","
    "\"DisableNewsFetch\":true,\"Codec\":{\"Endpoint\":\"\",\"PassAccessToken\":false,"
    "\"IncludeCredentials\":false,\"DefaultErrorMessage\":\"\",\"DefaultErrorLink\":\"\"},"
    "\"Version\":\"2.53.0\",\"DisableWriteActions\":false,\"WorkflowTerminateDisabled\":false,"
    "\"WorkflowCancelDisabled\":false,\"WorkflowSignalDisabled\":false,\"WorkflowUpdateDisabled\":false,"
    "\"WorkflowResetDisabled\":false,\"WorkflowPauseDisabled\":false,\"BatchActionsDisabled\":false,"
    "\"StartWorkflowDisabled\":false,\"HideWorkflowQueryErrors\":false,"
    "\"RefreshWorkflowCountsDisabled\":false,\"ActivityCommandsDisabled\":false}";

static void http_on_request(void *ctx, const struct http1_request *q, struct http1_response *resp) {
    struct http *h = ctx;
    if (str_is(q->path, "/healthz"))
        http_on_probe(q, resp, 200, "{\"status\":\"ok\"}");
    else if (str_is(q->path, "/readyz") && h->is_draining)
        http_on_probe(q, resp, HTTP_UNAVAILABLE, "{\"status\":\"draining\"}");
    else if (str_is(q->path, "/readyz"))
        http_on_probe(q, resp, 200, "{\"status\":\"ready\"}");
    else if (!address_takes_host(&h->bound, q->host))
        http_answer_error(resp, HTTP_FORBIDDEN, GRPC_PERMISSION_DENIED,
                          "The Host header names neither this address nor localhost.");
    else if (http_on_origin(h, q, resp))
        return;
    else if (str_is(q->path, "/namespaces"))
        http_on_namespaces(h, q, resp);
    else if (str_is(q->path, "/metrics"))
        http_on_metrics(h, q, resp);
    else if (str_is(q->path, "/api/v1/settings"))
        http_on_probe(q, resp, 200, ui_settings);
    else if (!mistral_request(&h->mistral, q, resp) && !api_request(&h->api, q, resp))
        http_answer_error(resp, HTTP_NOT_FOUND, GRPC_NOT_FOUND, "There is nothing at this path.");
}

struct http1_handler http_handler(struct http *h) {
    return (struct http1_handler){http_on_request, h};
}

/* Information about the server itself: system, cluster, health. Answered at once.
 *
 * Texts are copied into the call's arena, because the generated structs have
 * no const; without memory for one there is no answer. */
#include "engine/call.h"
#include "engine/engine.h"
#include "health.pb-c.h"
#include "operatorservice.pb-c.h"
#include "serve/ingress.h"
#include "serve/methods.h"
#include "workflowservice.pb-c.h"

/* The release of Temporal whose API this is. Clients compare it with the release that brought what they want
 * to use; our own version would tell them nothing. */
#define API_VERSION "1.32.0"
#define WORKFLOW_SERVICE "temporal.api.workflowservice.v1.WorkflowService"
#define OPERATOR_SERVICE "temporal.api.operatorservice.v1.OperatorService"

/* The features that clients may use. SDKs read these before they use one. */
static const Ws__GetSystemInfoResponse__Capabilities capabilities = {
    .base = PROTOBUF_C_MESSAGE_INIT(&ws__get_system_info_response__capabilities__descriptor),
    .signal_and_query_header = true,
    .internal_error_differentiation = true,
    .activity_failure_include_heartbeat = true,
    .encoded_failure_attributes = true,
    .build_id_based_versioning = true,
    .sdk_metadata = true,
    .count_group_by_execution_status = true,
    .upsert_memo = true,
    .eager_workflow_start = true,
    .supports_schedules = true,
    .prefix_search = true,
    /* Not implemented yet, so not claimed: */
    .nexus = false,
};

static void system_reply(struct call *c, const ProtobufCMessage *m) {
    struct err e;
    if (!arena_failed(c->arena)) {
        call_reply(c, m);
        return;
    }
    (void)err_std(&e, ERR_NO_MEMORY);
    call_fail(c, &e);
}

void method_get_system_info(struct method_context *d unused_arg, struct call *c,
                            const ProtobufCMessage *req unused_arg) {
    Ws__GetSystemInfoResponse r;
    ws__get_system_info_response__init(&r);
    Ws__GetSystemInfoResponse__Capabilities caps = capabilities;
    r.server_version = arena_strdup(c->arena, API_VERSION);
    r.capabilities = &caps;
    system_reply(c, &r.base);
}

void method_get_cluster_info(struct method_context *d, struct call *c, const ProtobufCMessage *req unused_arg) {
    Ws__GetClusterInfoResponse r;
    Version__VersionInfo versions = VERSION__VERSION_INFO__INIT;
    Version__ReleaseInfo self = VERSION__RELEASE_INFO__INIT;
    ws__get_cluster_info_response__init(&r);
    self.version = arena_strdup(c->arena, RONDO_VERSION);
    self.notes = arena_strdup(c->arena, "Rondo");
    versions.current = &self;
    r.version_info = &versions;
    r.server_version = arena_strdup(c->arena, API_VERSION);
    r.cluster_name = arena_strdup(c->arena, ENGINE_CLUSTER_NAME);
    r.history_shard_count = 1;
    r.persistence_store = arena_strdup(c->arena, d->store_name);
    r.visibility_store = arena_strdup(c->arena, d->store_name);
    r.initial_failover_version = 1;
    r.failover_version_increment = 10;
    system_reply(c, &r.base);
}

/* One: this server. A page behind it is empty. */
void method_list_clusters(struct method_context *d unused_arg, struct call *c, const ProtobufCMessage *req) {
    Ops__ListClustersResponse r;
    Ops__ClusterMetadata self, *all[] = {&self};
    ops__list_clusters_response__init(&r);
    ops__cluster_metadata__init(&self);
    self.cluster_name = arena_strdup(c->arena, ENGINE_CLUSTER_NAME);
    self.initial_failover_version = 1;
    self.history_shard_count = 1;
    self.is_connection_enabled = true;
    r.clusters = all;
    r.n_clusters = ((const Ops__ListClustersRequest *)req)->next_page_token.len ? 0 : ARRAY_LEN(all);
    system_reply(c, &r.base);
}

/* There are none, and none can be made. */
void method_list_nexus_endpoints(struct method_context *d unused_arg, struct call *c,
                                 const ProtobufCMessage *req unused_arg) {
    Ops__ListNexusEndpointsResponse r = OPS__LIST_NEXUS_ENDPOINTS_RESPONSE__INIT;
    call_reply(c, &r.base);
}

static bool system_is_known_service(const ProtobufCMessage *req) {
    const char *service = ((const Health__HealthCheckRequest *)req)->service;
    return cstr_is_empty(service) || cstr_eq(service, WORKFLOW_SERVICE) || cstr_eq(service, OPERATOR_SERVICE);
}

static Health__HealthCheckResponse system_health(const struct method_context *d, const ProtobufCMessage *req) {
    Health__HealthCheckResponse r = HEALTH__HEALTH_CHECK_RESPONSE__INIT;
    r.status = !system_is_known_service(req) ? HEALTH__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN
               : d->is_draining              ? HEALTH__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
                                             : HEALTH__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING;
    return r;
}

void method_health_check(struct method_context *d, struct call *c, const ProtobufCMessage *req) {
    if (!system_is_known_service(req)) {
        struct err e;
        (void)err_set(&e, ERR_NOT_FOUND, "unknown service");
        call_fail(c, &e);
        return;
    }
    Health__HealthCheckResponse r = system_health(d, req);
    call_reply(c, &r.base);
}

/* The last word of a watch: the process is going away. */
static void system_end_watch(struct call *c) {
    struct err e;
    (void)err_std(&e, ERR_UNAVAILABLE);
    call_fail(c, &e);
}

static void system_report_drain(struct call *c) {
    Health__HealthCheckResponse r = HEALTH__HEALTH_CHECK_RESPONSE__INIT;
    r.status = HEALTH__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING;
    if (ingress_send_part(c, &r.base))
        system_end_watch(c);
}

/* A service that is not known is said to be so, and stays it. */
void method_health_watch(struct method_context *d, struct call *c, const ProtobufCMessage *req) {
    Health__HealthCheckResponse r = system_health(d, req);
    if (!ingress_send_part(c, &r.base))
        return;
    if (d->is_draining)
        system_end_watch(c);
    else
        ingress_watch(c, system_is_known_service(req) ? system_report_drain : system_end_watch);
}

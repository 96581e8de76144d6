/* The table of methods, and the way from a path to its row.
 *
 * Every row of wire/methods.def becomes a struct method. The type of its handler
 * says whether the engine answers or the server itself.
 *
 * A path that leads nowhere is ERR_UNIMPLEMENTED; the texts are those of other
 * gRPC servers, because clients look into them. */
#include "serve/methods.h"

#include "engine/engine.h"
#include "health.pb-c.h"
#include "operatorservice.pb-c.h"
#include "reflection.pb-c.h"
#include "rondo.pb-c.h"
#include "serve/dispatch.h"
#include "wire/grpc.h"
#include "wire/services.h"
#include "workflowservice.pb-c.h"

#define BYTES_MESSAGE GRPC_MESSAGE_BYTES_MAX
#define BYTES_NAME (8u << 10) /* less than net lets a stream send at a time */
#define NAME_SHOWN_MAX 200 /* of a path in an error text */

#define NOT_YET NULL

static const struct method method_table[] = {
#define RPC(service_, name_, type_, kind_, access_, bytes_max_, handler_)                                    \
    {                                                                                                        \
        .path = "/" SERVICE_##service_ "/" #name_,                                                           \
        .name = #name_,                                                                                      \
        .kind = METHOD_##kind_,                                                                              \
        .access = METHOD_##access_,                                                                          \
        .request_bytes_max = BYTES_##bytes_max_,                                                             \
        .request = &type_##_request__descriptor,                                                             \
        .response = &type_##_response__descriptor,                                                           \
        .rpc = _Generic((handler_), rpc_fn *                                                                 \
                        : (handler_), default                                                                \
                        : NULL),                                                                             \
        .fn = _Generic((handler_), method_fn *                                                               \
                       : (handler_), default                                                                 \
                       : NULL),                                                                              \
    },
#define RPC_DUPLEX(...) RPC(__VA_ARGS__)
#include "wire/methods.def"
#undef RPC_DUPLEX
#undef RPC
};

const char *const method_services[] = {
    SERVICE_HEALTH, SERVICE_REFLECTION, SERVICE_REFLECTION_ALPHA, SERVICE_SCHEDULE,
    SERVICE_QUEUE,  SERVICE_OPERATOR,   SERVICE_WORKFLOW,         NULL,
};

const struct method *method_at(size_t i) {
    return i < ARRAY_LEN(method_table) ? &method_table[i] : NULL;
}

size_t method_index(const struct method *m) {
    return (size_t)(m - method_table);
}

bool method_is_implemented(const struct method *m) {
    return m->rpc || m->fn;
}

void method_run(const struct method *m, struct method_context *d, struct call *c, const ProtobufCMessage *req) {
    if (m->rpc)
        engine_call(d->engine, c, m->rpc, req);
    else
        m->fn(d, c, req);
}

int methods_init(struct methods *m, uint64_t seed) {
    map_init(&m->by_path, ARRAY_LEN(method_table), seed);
    for (size_t i = 0; i < ARRAY_LEN(method_table); i++) {
        /* The map hands values back as they were given; the rows are only read through it. */
        union {
            const struct method *row;
            void *value;
        } entry = {.row = &method_table[i]};
        int rc = map_put(&m->by_path, str_of(method_table[i].path), entry.value);
        if (rc < 0) {
            methods_done(m);
            return rc;
        }
    }
    return 0;
}

void methods_done(struct methods *m) {
    map_done(&m->by_path);
}

static int not_found(struct str path, struct err *reterr) {
    const char *slash = path.n > 1 && path.p[0] == '/' ? memchr(path.p + 1, '/', path.n - 1) : NULL;
    if (!slash)
        return err_set(reterr, ERR_UNIMPLEMENTED, "malformed method name: \"%.*s\"",
                       (int)MIN(path.n, NAME_SHOWN_MAX), path.p ? path.p : "");
    struct str service = str_bytes(path.p + 1, (size_t)(slash - path.p - 1));
    struct str name = str_bytes(slash + 1, path.n - service.n - 2);
    for (const char *const *each = method_services; *each; each++)
        if (str_is(service, *each))
            return err_set(reterr, ERR_UNIMPLEMENTED, "unknown method %.*s for service %s",
                           (int)MIN(name.n, NAME_SHOWN_MAX), name.p, *each);
    return err_set(reterr, ERR_UNIMPLEMENTED, "unknown service %.*s", (int)MIN(service.n, NAME_SHOWN_MAX),
                   service.p);
}

int methods_find(const struct methods *m, struct str path, const struct method **ret, struct err *reterr) {
    const struct method *found = map_get(&m->by_path, path);
    if (!found)
        return not_found(path, reterr);
    if (!method_is_implemented(found))
        return err_set(reterr, ERR_UNIMPLEMENTED, "method %s is not implemented by this server yet",
                       found->name);
    *ret = found;
    return 0;
}

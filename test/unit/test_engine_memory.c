/* Changes for which there is no memory: whoever asked may ask again, and until then nothing has changed. */
#include <stdio.h>

#include "base/fault.h"
#include "engine_fixture.h"

static const char *description(struct rig *r, struct ask *a, const char *name) {
    struct arena *m = ask_begin(r, a);
    Ws__DescribeNamespaceRequest *req =
        MAKE(m, Ws__DescribeNamespaceRequest, ws__describe_namespace_request__init);
    req->namespace_ = make_text(m, name);
    RIG_SEND(r, a, describe_namespace, req);
    const Ws__DescribeNamespaceResponse *d = a->response;
    return d ? d->namespace_info->description : "none";
}

static const void *ask_update(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__UpdateNamespaceRequest *req = MAKE(m, Ws__UpdateNamespaceRequest, ws__update_namespace_request__init);
    req->namespace_ = make_text(m, "default");
    req->update_info = MAKE(m, Namespace__UpdateNamespaceInfo, namespace__update_namespace_info__init);
    req->update_info->description = make_text(m, "new");
    req->update_info->owner_email = make_text(m, "me@example.com");
    return req;
}

static void call_update(struct engine *e, struct call *c, const void *req) {
    engine_call(e, c, rpc_update_namespace, req);
}

static const void *ask_register(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__RegisterNamespaceRequest *req =
        MAKE(m, Ws__RegisterNamespaceRequest, ws__register_namespace_request__init);
    req->namespace_ = make_text(m, "second");
    req->description = make_text(m, "new");
    req->workflow_execution_retention_period = make_duration(m, 86400 * USEC_PER_SEC);
    return req;
}

static void call_register(struct engine *e, struct call *c, const void *req) {
    engine_call(e, c, rpc_register_namespace, req);
}

struct change {
    const char *name;
    const void *(*ask)(struct rig *r, struct ask *a); /* begins the call, and makes its request */
    void (*call)(struct engine *e, struct call *c, const void *req);
    const char *space; /* the namespace that it is about */
    const char *before, *after; /* its description; "none": it is not there */
};

/* Nothing else shares the fate of what could not be written. */
static void check_start(struct rig *r) {
    cleanup(ask_done) struct ask a = {0};
    rig_start(r, &a, "wf");
    CHECK_OK(&a);
}

/* False when the call makes fewer allocations. */
static bool fails_without(const struct change *c, unsigned nth) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    const void *req = c->ask(&r, &a);
    fault_arm_alloc(nth);
    c->call(r.engine, ask_call(&a), req);
    bool has_fired = fault_fired();
    fault_disarm();
    rig_turn(&r);
    if (!has_fired) {
        CHECK_OK(&a);
        return false;
    }
    CHECK_INT(a.err.code, ERR_NO_MEMORY);
    CHECK_STR(description(&r, &a, c->space), c->before);
    check_start(&r);
    req = c->ask(&r, &a);
    c->call(r.engine, ask_call(&a), req);
    rig_turn(&r);
    CHECK_OK(&a);
    rig_restart(&r);
    CHECK_STR(description(&r, &a, c->space), c->after);
    return true;
}

TEST(a_namespace_that_cannot_be_written_stays_as_it_was) {
    static const struct change changes[] = {
        {"update", ask_update, call_update, "default", "", "new"},
        {"register", ask_register, call_register, "second", "none", "new"},
    };
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        uint64_t failures = test_failures();
        unsigned nth = 1;
        while (fails_without(&changes[i], nth))
            nth++;
        CHECK(nth > 10);
        if (test_failures() > failures)
            printf("# %s\n", changes[i].name);
    }
}

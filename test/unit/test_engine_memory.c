/* Changes for which there is no memory: whoever asked may ask again, and until then nothing has changed. */
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

static Ws__UpdateNamespaceRequest *ask_update(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__UpdateNamespaceRequest *req = MAKE(m, Ws__UpdateNamespaceRequest, ws__update_namespace_request__init);
    req->namespace_ = make_text(m, "default");
    req->update_info = MAKE(m, Namespace__UpdateNamespaceInfo, namespace__update_namespace_info__init);
    req->update_info->description = make_text(m, "new");
    req->update_info->owner_email = make_text(m, "me@example.com");
    return req;
}

static Ws__RegisterNamespaceRequest *ask_register(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__RegisterNamespaceRequest *req =
        MAKE(m, Ws__RegisterNamespaceRequest, ws__register_namespace_request__init);
    req->namespace_ = make_text(m, "second");
    req->description = make_text(m, "new");
    req->workflow_execution_retention_period = make_duration(m, 86400 * USEC_PER_SEC);
    return req;
}

/* Nothing else shares the fate of what could not be written. */
static void check_start(struct rig *r) {
    cleanup(ask_done) struct ask a = {0};
    rig_start(r, &a, "wf");
    CHECK_OK(&a);
}

/* False when the call makes fewer allocations. */
static bool update_fails(unsigned nth) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__UpdateNamespaceRequest *req = ask_update(&r, &a);
    fault_arm_alloc(nth);
    engine_update_namespace(r.engine, ask_call(&a), req);
    bool has_fired = fault_fired();
    fault_disarm();
    rig_turn(&r);
    if (!has_fired) {
        CHECK_OK(&a);
        return false;
    }
    CHECK_INT(a.err.code, ERR_NO_MEMORY);
    CHECK_STR(description(&r, &a, "default"), "");
    check_start(&r);
    RIG_SEND(&r, &a, update_namespace, ask_update(&r, &a));
    CHECK_OK(&a);
    rig_restart(&r);
    CHECK_STR(description(&r, &a, "default"), "new");
    return true;
}

TEST(a_namespace_that_cannot_be_changed_stays_as_it_was) {
    unsigned nth = 1;
    while (update_fails(nth))
        nth++;
    CHECK(nth > 10);
}

static bool register_fails(unsigned nth) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__RegisterNamespaceRequest *req = ask_register(&r, &a);
    fault_arm_alloc(nth);
    engine_register_namespace(r.engine, ask_call(&a), req);
    bool has_fired = fault_fired();
    fault_disarm();
    rig_turn(&r);
    if (!has_fired) {
        CHECK_OK(&a);
        return false;
    }
    CHECK_INT(a.err.code, ERR_NO_MEMORY);
    CHECK_STR(description(&r, &a, "second"), "none");
    check_start(&r);
    RIG_SEND(&r, &a, register_namespace, ask_register(&r, &a));
    CHECK_OK(&a);
    rig_restart(&r);
    CHECK_STR(description(&r, &a, "second"), "new");
    return true;
}

TEST(a_namespace_that_cannot_be_made_is_not_there) {
    unsigned nth = 1;
    while (register_fails(nth))
        nth++;
    CHECK(nth > 10);
}

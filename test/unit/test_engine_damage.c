/* Rows of the store that are damaged: the server says so and ends; it neither answers from them nor aborts.
 */
#include "base/buf.h"
#include "engine_fixture.h"

#define BATCH_BYTES_MAX (1u << 20)

static void on_durable(struct batch *b unused_arg) {}

static void on_namespace(struct read *r, const struct row *row) {
    if (str_is(row->name, "default"))
        *(struct uuid *)r->owner = row->namespace_id;
}

static void on_done(struct read *r unused_arg, int rc) {
    CHECK_INT(rc, 0);
}

static struct uuid default_id(struct rig *r) {
    struct uuid id = {{0}};
    struct read read = {.kind = READ_NAMESPACES, .row = on_namespace, .done = on_done, .owner = &id};
    store_read(r->store, &read);
    return id;
}

static void commit(struct rig *r, struct write write) {
    struct batch b;
    batch_init(&b, BATCH_BYTES_MAX);
    b.done = on_durable;
    struct write *w = batch_add(&b, write.kind);
    ensure(w);
    write.next = w->next;
    *w = write;
    store_commit(r->store, &b);
    batch_done(&b);
}

/* A row of the kind, with these bytes in place of what was packed. */
static void put_row(struct rig *r, enum write_kind kind, const char *run_id, struct str bytes) {
    struct uuid run = {{0}};
    CHECK(!run_id || uuid_parse(str_of(run_id), &run) == 0);
    commit(r, (struct write){.kind = kind,
                             .namespace_id = default_id(r),
                             .run_id = run,
                             .workflow_id = STR("wf"),
                             .name = kind == WRITE_NAMESPACE ? STR("default") : STR("deployment"),
                             .body = bytes,
                             .due_us = CLOCK_NEVER,
                             .close_us = CLOCK_NEVER,
                             .first_event_id = 1,
                             .last_event_id = 5});
}

static void on_state(struct read *r, const struct row *row) {
    buf_add_str(r->owner, row->body);
}

/* The run as it was, with another history: rows of one are only ever added. */
static void replace_history(struct rig *r, const char *run_id, struct str events) {
    struct buf state cleanup(buf_done);
    struct uuid run;
    buf_init(&state, BATCH_BYTES_MAX);
    CHECK_INT(uuid_parse(str_of(run_id), &run), 0);
    struct read read = {.kind = READ_EXECUTION,
                        .namespace_id = default_id(r),
                        .run_id = run,
                        .row = on_state,
                        .done = on_done,
                        .owner = &state};
    store_read(r->store, &read);
    put_row(r, WRITE_EXECUTION_GONE, run_id, STR(""));
    put_row(r, WRITE_EXECUTION, run_id, buf_str(&state));
    put_row(r, WRITE_CURRENT, run_id, STR(""));
    put_row(r, WRITE_HISTORY, run_id, events);
}

static void start(struct rig *r, char run_id[static 64]) {
    cleanup(ask_done) struct ask a = {0};
    rig_start(r, &a, "wf");
    CHECK_OK(&a);
    const Ws__StartWorkflowExecutionResponse *started = a.response;
    memcpy(run_id, started->run_id, strlen(started->run_id) + 1);
}

TEST(a_run_that_cannot_be_decoded_ends_the_server) {
    char run_id[64];
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start(&r, run_id);
    put_row(&r, WRITE_EXECUTION, run_id, STR("\x0a\xff"));
    rig_restart(&r);
    CHECK_INT(r.fatal_count, 0);
    rig_describe(&r, &a, "wf");
    CHECK(!a.is_done); /* nobody knows what the answer is */
    CHECK_INT(r.fatal_count, 1);
    rig_stop(&r);
    CHECK(a.is_done);
    CHECK_INT(a.err.code, ERR_UNAVAILABLE);
}

/* A server on a file with a closed run, five events long, whose history is this. */
static void begin_on_history(struct rig *r, struct str bytes) {
    char run_id[64];
    cleanup(ask_done) struct ask a = {0}, p = {0};
    rig_init(r);
    start(r, run_id);
    rig_poll(r, &p, "queue");
    rig_finish(r, &a, &p);
    replace_history(r, run_id, bytes);
    rig_restart(r);
}

static void read_damaged_history(struct str bytes) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    begin_on_history(&r, bytes);
    rig_history(&r, &a, "wf");
    CHECK(!a.is_done); /* in no case the part that could be read */
    CHECK_INT(r.fatal_count, 1);
    rig_stop(&r);
    CHECK_INT(a.err.code, ERR_UNAVAILABLE);
}

TEST(events_that_cannot_be_told_apart_end_the_server) {
    read_damaged_history(STR("\x0a\xff"));
}

TEST(events_that_are_fewer_than_their_row_says_end_the_server) {
    read_damaged_history(STR(""));
}

/* Five events that have their ids and types, and nothing of what these need. */
TEST(a_reset_over_events_without_attributes_is_refused) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    begin_on_history(&r, STR("\x0a\x04\x08\x01\x18\x01\x0a\x04\x08\x02\x18\x05\x0a\x04\x08\x03\x18\x06"
                             "\x0a\x04\x08\x04\x18\x07\x0a\x04\x08\x05\x18\x02"));
    struct arena *m = ask_begin(&r, &a);
    Ws__ResetWorkflowExecutionRequest *req =
        MAKE(m, Ws__ResetWorkflowExecutionRequest, ws__reset_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, "wf", "");
    req->workflow_task_finish_event_id = 4;
    RIG_SEND(&r, &a, reset_workflow, req);
    CHECK_FAILS(&a, ERR_DAMAGED, "An event of this history cannot be read: the data file is damaged.");
    CHECK_INT(r.fatal_count, 0); /* the others are served */
}

static void boot_on(enum write_kind kind) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    put_row(&r, kind, NULL, STR("\x0a\xff"));
    rig_restart(&r);
    CHECK(!r.is_ready);
}

TEST(a_namespace_that_cannot_be_decoded_is_no_start) {
    boot_on(WRITE_NAMESPACE);
}

TEST(a_deployment_that_cannot_be_decoded_is_no_start) {
    boot_on(WRITE_DEPLOYMENT);
}

/* The worker deployment as a machine: versions, routing, who may change it, draining. */
#include <stdio.h>

#include "core/version/deployment.h"
#include "core/step/limits.h"
#include "core/step/pb.h"
#include "harness.h"
#include "names.h"

#define T0 (INT64_C(1700000000) * USEC_PER_SEC)
#define NO_TOKEN ((struct str){NULL, 0})

struct rig {
    struct arena arena;
    struct err err;
    struct deployment_step d;
};

static void rig_init(struct rig *r) {
    *r = (struct rig){0};
    arena_init(&r->arena, 1 << 20);
    r->d.err = &r->err;
    r->d.now.us = T0;
    r->d.st = pb_new(&state__deployment__descriptor, &r->d.failed);
    if (r->d.st)
        deployment_begin(&r->d, "web", "maker", "request");
}

static void rig_done(struct rig *r) {
    pb_free(r->d.st);
    arena_done(&r->arena);
}

static int poll(struct rig *r, const char *build_id, const char *queue) {
    bool changed;
    r->d.now.us += USEC_PER_SEC;
    return deployment_register(&r->d, build_id, queue, TASK_QUEUE_TYPE_WORKFLOW, &changed);
}

static struct deployment_change change(struct rig *r, const char *build_id) {
    r->d.now.us += USEC_PER_SEC;
    return (struct deployment_change){.build_id = build_id, .identity = "me", .arena = &r->arena};
}

static int set_current(struct rig *r, const char *build_id) {
    struct deployment_change c = change(r, build_id);
    return deployment_set_current(&r->d, &c);
}

static int set_ramp(struct rig *r, const char *build_id, float percentage) {
    struct deployment_change c = change(r, build_id);
    c.percentage = percentage;
    c.is_unset = cstr_is_empty(build_id) && percentage == 0;
    return deployment_set_ramping(&r->d, &c);
}

static E__WorkerDeploymentVersionStatus status(const struct rig *r, const char *build_id) {
    const State__DeploymentVersion *v = r->d.st ? deployment_version(r->d.st, build_id) : NULL;
    return v ? (E__WorkerDeploymentVersionStatus)v->status : WORKER_DEPLOYMENT_VERSION_STATUS_UNSPECIFIED;
}

TEST(deployment_polls_make_versions_and_queues_once) {
    cleanup(rig_done) struct rig r;
    bool changed = false;
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(deployment_register(&r.d, "1", "a", TASK_QUEUE_TYPE_WORKFLOW, &changed), 0);
    CHECK(changed);
    CHECK_INT(deployment_register(&r.d, "1", "a", TASK_QUEUE_TYPE_WORKFLOW, &changed), 0);
    CHECK(!changed);
    CHECK_INT(deployment_register(&r.d, "1", "a", TASK_QUEUE_TYPE_ACTIVITY, &changed), 0);
    CHECK(changed);
    CHECK_INT(poll(&r, "2", "a"), 0);
    REQUIRE(r.d.st->n_versions == 2);
    CHECK_INT(r.d.st->versions[0]->n_queues, 2);
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_INACTIVE);
    CHECK_INT(r.d.st->revision, 0); /* nobody has routed anything */
}

TEST(deployment_a_version_goes_through_its_states) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(poll(&r, "1", "a"), 0);
    CHECK_INT(poll(&r, "2", "a"), 0);
    CHECK_INT(set_ramp(&r, "1", 5), 0);
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_RAMPING);
    int64_t ramped_us = r.d.now.us;
    CHECK_INT(set_current(&r, "1"), 0);
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_CURRENT);
    CHECK(!r.d.st->is_ramping); /* it reached the top */
    CHECK_INT(set_ramp(&r, "2", 10), 0);
    CHECK_INT(set_ramp(&r, "2", 20), 0);
    const State__DeploymentVersion *two = deployment_version(r.d.st, "2");
    REQUIRE(two);
    CHECK_INT(two->ramping_since_us, r.d.now.us - USEC_PER_SEC); /* not since the percentage changed */
    CHECK_INT(two->routing_changed_us, r.d.now.us);
    CHECK_INT(set_current(&r, "2"), 0);
    const State__DeploymentVersion *one = deployment_version(r.d.st, "1");
    REQUIRE(one);
    CHECK_INT(one->status, WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING);
    CHECK_INT(one->drainage_status, VERSION_DRAINAGE_STATUS_DRAINING);
    CHECK_INT(one->last_deactivated_us, r.d.now.us);
    CHECK_INT(one->first_activated_us, ramped_us);
    CHECK_INT(one->current_since_us, 0);
    r.d.now.us += USEC_PER_SEC;
    deployment_drained(&r.d, "1", true);
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING);
    CHECK_INT(one->drainage_checked_us, r.d.now.us);
    deployment_drained(&r.d, "1", false);
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED);
    CHECK(deployment_reactivate(&r.d, "1"));
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING);
    CHECK(!deployment_reactivate(&r.d, "2")); /* it has work anyway */
    CHECK_INT(set_current(&r, "1"), 0); /* back again: as if it had never drained */
    one = deployment_version(r.d.st, "1");
    REQUIRE(one);
    CHECK_INT(one->drainage_status, VERSION_DRAINAGE_STATUS_UNSPECIFIED);
    CHECK_INT(one->last_deactivated_us, 0);
    CHECK_INT(r.d.st->revision, 6);
}

TEST(deployment_current_can_be_taken_back) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(poll(&r, "1", "a"), 0);
    CHECK_INT(set_current(&r, "1"), 0);
    CHECK_INT(set_current(&r, ""), 0);
    CHECK_STR(r.d.st->current_build_id, "");
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING);
}

TEST(deployment_ramps_to_workers_without_a_version) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(poll(&r, "1", "a"), 0);
    CHECK_INT(set_ramp(&r, "", 5), ERR_PRECONDITION); /* they have everything already */
    CHECK_INT(set_current(&r, "1"), 0);
    CHECK_INT(set_ramp(&r, "", 5), 0);
    CHECK(r.d.st->is_ramping);
    CHECK_STR(r.d.st->ramping_build_id, "");
    CHECK_INT(set_ramp(&r, "", 0), 0);
    CHECK(!r.d.st->is_ramping);
    CHECK_INT(set_ramp(&r, "1", 5), ERR_PRECONDITION);
    CHECK_STR(r.err.text, "the version to ramp to, '1', is the current version");
}

TEST(deployment_change_needs_the_token_of_the_last) {
    cleanup(rig_done) struct rig r;
    uint8_t token[8], later[8];
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(poll(&r, "1", "a"), 0);
    deployment_token(r.d.st, token);
    struct deployment_change c = change(&r, "1");
    c.conflict_token = str_bytes(token, sizeof(token));
    CHECK_INT(deployment_set_current(&r.d, &c), 0);
    deployment_token(r.d.st, later);
    CHECK(memcmp(token, later, sizeof(token)) != 0);
    c.build_id = "";
    CHECK_INT(deployment_set_current(&r.d, &c), ERR_PRECONDITION);
    CHECK_STR(r.err.text, "conflict token mismatch");
    CHECK_STR(r.d.st->current_build_id, "1");
    CHECK_INT(deployment_set_manager(&r.d, "boss", "me", c.conflict_token), ERR_PRECONDITION);
    c.build_id = "1"; /* what is so already needs no token */
    CHECK_INT(deployment_set_current(&r.d, &c), 0);
    CHECK(c.is_same);
}

TEST(deployment_manager_keeps_others_out) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(poll(&r, "1", "a"), 0);
    CHECK_INT(deployment_set_manager(&r.d, "boss", "boss", NO_TOKEN), 0);
    CHECK_INT(set_current(&r, "1"), ERR_PRECONDITION);
    CHECK_INT(set_ramp(&r, "1", 1), ERR_PRECONDITION);
    struct deployment_removal gone = {.build_id = "1", .identity = "me"};
    CHECK_INT(deployment_delete_version(&r.d, &gone), ERR_PRECONDITION);
    struct deployment_change c = change(&r, "1");
    c.identity = "boss";
    CHECK_INT(deployment_set_current(&r.d, &c), 0);
    CHECK_INT(deployment_set_manager(&r.d, "", "me", NO_TOKEN), 0);
    CHECK_INT(set_current(&r, ""), 0);
}

TEST(deployment_unknown_version_is_refused_or_made) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(set_current(&r, "9"), ERR_NOT_FOUND);
    CHECK_STR(r.err.text, "build ID '9' not found in Worker Deployment 'web'");
    CHECK_INT(set_ramp(&r, "9", 1), ERR_NOT_FOUND);
    struct deployment_change c = change(&r, "9");
    c.allows_no_pollers = true;
    CHECK_INT(deployment_set_current(&r.d, &c), 0);
    CHECK_INT(status(&r, "9"), WORKER_DEPLOYMENT_VERSION_STATUS_CURRENT);
    c = change(&r, "__9");
    c.allows_no_pollers = true;
    CHECK_INT(deployment_set_current(&r.d, &c), ERR_INVALID);
}

TEST(deployment_version_without_workers_for_a_busy_queue_is_refused) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(poll(&r, "1", "a"), 0);
    CHECK_INT(poll(&r, "2", "b"), 0);
    CHECK_INT(set_current(&r, "1"), 0);
    struct deployment_change c = change(&r, "2");
    c.lacks_queues = true;
    CHECK_INT(deployment_set_current(&r.d, &c), ERR_PRECONDITION);
    c.percentage = 1;
    CHECK_INT(deployment_set_ramping(&r.d, &c), ERR_PRECONDITION);
    c.ignores_missing_queues = true;
    CHECK_INT(deployment_set_ramping(&r.d, &c), 0);
    CHECK_INT(deployment_set_current(&r.d, &c), 0);
}

TEST(deployment_versions_in_use_stay) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(poll(&r, "1", "a"), 0);
    CHECK_INT(poll(&r, "2", "a"), 0);
    CHECK_INT(set_current(&r, "1"), 0);
    struct deployment_removal gone = {.build_id = "1", .identity = "me"};
    CHECK_INT(deployment_delete_version(&r.d, &gone), ERR_PRECONDITION);
    CHECK_STR(r.err.text, "version 'web:1' is current or ramping and cannot be deleted");
    CHECK_INT(set_current(&r, "2"), 0);
    CHECK_INT(deployment_delete_version(&r.d, &gone), ERR_PRECONDITION);
    CHECK_STR(r.err.text, "version 'web:1' is draining and cannot be deleted");
    gone.skips_drainage = gone.has_pollers = true;
    CHECK_INT(deployment_delete_version(&r.d, &gone), ERR_PRECONDITION);
    CHECK_STR(r.err.text, "version 'web:1' has pollers and cannot be deleted");
    gone.has_pollers = false;
    CHECK_INT(deployment_delete_version(&r.d, &gone), 0);
    CHECK_INT(r.d.st->n_versions, 1);
    CHECK_INT(deployment_delete_version(&r.d, &gone), 0); /* again: it is gone */
}

static bool nobody_polls(void *ctx unused_arg, const State__DeploymentVersion *v) {
    return cstr_eq(v->build_id, "1"); /* but the second */
}

static bool everybody_polls(void *ctx unused_arg, const State__DeploymentVersion *v unused_arg) {
    return true;
}

TEST(deployment_old_versions_make_room) {
    cleanup(rig_done) struct rig r;
    char build[16];
    rig_init(&r);
    REQUIRE(r.d.st);
    for (int i = 0; i < LIMIT_DEPLOYMENT_VERSIONS; i++) {
        (void)snprintf(build, sizeof(build), "%d", i);
        CHECK_INT(poll(&r, build, "a"), 0);
    }
    CHECK(deployment_is_full(r.d.st));
    CHECK_INT(poll(&r, "more", "a"), ERR_FULL);
    CHECK_INT(r.err.cause, RESOURCE_EXHAUSTED_CAUSE_WORKER_DEPLOYMENT_LIMITS);
    r.d.err = NULL; /* a poll whose caller wants no text */
    CHECK_INT(poll(&r, "more", "a"), ERR_FULL);
    CHECK_INT(set_current(&r, "0"), 0);
    CHECK_INT(deployment_spare_version(r.d.st, nobody_polls, NULL), 2); /* 0 is current, 1 is polled for */
    CHECK_INT(set_current(&r, "2"), 0);
    CHECK_INT(set_current(&r, "3"), 0); /* 0 and 2 have work left */
    CHECK_INT(deployment_spare_version(r.d.st, nobody_polls, NULL), 4);
    CHECK_INT(deployment_spare_version(r.d.st, everybody_polls, NULL), SIZE_MAX);
}

TEST(deployment_queues_of_a_version_are_limited) {
    cleanup(rig_done) struct rig r;
    char queue[16];
    rig_init(&r);
    REQUIRE(r.d.st);
    for (int i = 0; i < LIMIT_VERSION_QUEUES; i++) {
        (void)snprintf(queue, sizeof(queue), "%d", i);
        CHECK_INT(poll(&r, "1", queue), 0);
    }
    CHECK_INT(poll(&r, "1", "more"), ERR_FULL);
    CHECK_INT(r.err.cause, RESOURCE_EXHAUSTED_CAUSE_WORKER_DEPLOYMENT_LIMITS);
    r.d.err = NULL;
    CHECK_INT(poll(&r, "1", "more"), ERR_FULL);
}

TEST(deployment_version_is_created_before_its_workers_come) {
    cleanup(rig_done) struct rig r;
    bool changed = false;
    char build[16];
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(deployment_create_version(&r.d, "new", "me", "request", &changed), 0);
    CHECK(changed);
    CHECK_INT(status(&r, "new"), WORKER_DEPLOYMENT_VERSION_STATUS_CREATED);
    CHECK_INT(deployment_create_version(&r.d, "new", "me", "request", &changed), 0);
    CHECK(!changed);
    CHECK_INT(deployment_create_version(&r.d, "new", "me", "other", &changed), ERR_EXISTS);
    CHECK_STR(r.err.text, "Worker Deployment Version 'web:new' already exists");
    CHECK_INT(poll(&r, "new", "a"), 0);
    CHECK_INT(status(&r, "new"), WORKER_DEPLOYMENT_VERSION_STATUS_INACTIVE);
    for (int i = 1; i < LIMIT_DEPLOYMENT_VERSIONS; i++) {
        (void)snprintf(build, sizeof(build), "%d", i);
        CHECK_INT(poll(&r, build, "a"), 0);
    }
    CHECK_INT(deployment_create_version(&r.d, "more", "me", "third", &changed), ERR_FULL);
}

/* The first version that is routed to has no queues to make up for; neither have workers without one. */
TEST(deployment_queues_that_may_be_missing) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(poll(&r, "1", "a"), 0);
    struct deployment_change c = change(&r, "1");
    c.lacks_queues = true;
    CHECK_INT(deployment_set_current(&r.d, &c), 0);
    c = change(&r, "");
    c.lacks_queues = true;
    CHECK_INT(deployment_set_current(&r.d, &c), 0);
}

/* What was asked for by the same one before changes nothing, not even the token. */
TEST(deployment_changes_that_are_none) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(poll(&r, "1", "a"), 0);
    CHECK_INT(deployment_set_manager(&r.d, "boss", "me", NO_TOKEN), 0);
    CHECK_INT(deployment_set_manager(&r.d, "boss", "me", STR("no such token")), 0);
    CHECK_INT(deployment_set_manager(&r.d, "boss", "other", STR("no such token")), ERR_PRECONDITION);
    struct deployment_change c = change(&r, "1");
    c.conflict_token = STR("no such token");
    CHECK_INT(deployment_set_ramping(&r.d, &c), ERR_PRECONDITION);
    CHECK_INT(deployment_set_manager(&r.d, "", "me", NO_TOKEN), 0);
    CHECK_INT(set_current(&r, "1"), 0);
    int64_t revision = r.d.st->revision;
    c = change(&r, "1");
    CHECK_INT(deployment_set_current(&r.d, &c), 0);
    CHECK(c.is_same);
    c.identity = "other"; /* nothing new, and somebody else's word for it */
    CHECK_INT(deployment_set_current(&r.d, &c), 0);
    CHECK(!c.is_same);
    CHECK_STR(r.d.st->modifier_identity, "other");
    CHECK_INT(r.d.st->revision, revision);
    deployment_drained(&r.d, "1", false); /* it is current */
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_CURRENT);
    CHECK(!deployment_reactivate(&r.d, "nobody"));
    deployment_drained(&r.d, "nobody", false);
    CHECK_INT(r.d.st->n_versions, 1);
}

TEST(deployment_metadata_is_merged) {
    cleanup(rig_done) struct rig r;
    Common__Payload payload = COMMON__PAYLOAD__INIT;
    Ws__UpdateWorkerDeploymentVersionMetadataRequest__UpsertEntriesEntry
        one = WS__UPDATE_WORKER_DEPLOYMENT_VERSION_METADATA_REQUEST__UPSERT_ENTRIES_ENTRY__INIT,
        two = WS__UPDATE_WORKER_DEPLOYMENT_VERSION_METADATA_REQUEST__UPSERT_ENTRIES_ENTRY__INIT,
        *entries[] = {&one, &two};
    Ws__UpdateWorkerDeploymentVersionMetadataRequest req =
        WS__UPDATE_WORKER_DEPLOYMENT_VERSION_METADATA_REQUEST__INIT;
    char first[] = "first", second[] = "second", bytes[] = "x";
    char *removed[] = {first};
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(deployment_update_metadata(&r.d, "1", &req), ERR_NOT_FOUND);
    CHECK_INT(poll(&r, "1", "a"), 0);
    payload.data = (ProtobufCBinaryData){1, (uint8_t *)bytes};
    one.key = first;
    two.key = second;
    one.value = two.value = &payload;
    req.upsert_entries = entries;
    req.n_upsert_entries = 2;
    CHECK_INT(deployment_update_metadata(&r.d, "1", &req), 0);
    CHECK_INT(deployment_update_metadata(&r.d, "1", &req), 0);
    const State__DeploymentVersion *v = deployment_version(r.d.st, "1");
    REQUIRE(v);
    CHECK_INT(v->n_metadata, 2);
    struct arena big;
    arena_init(&big, 1 << 20);
    payload.data =
        (ProtobufCBinaryData){LIMIT_VERSION_METADATA_BYTES, arena_zalloc(&big, LIMIT_VERSION_METADATA_BYTES)};
    if (payload.data.data)
        CHECK_INT(deployment_update_metadata(&r.d, "1", &req),
                  ERR_INVALID); /* the caller drops the state then */
    payload.data = (ProtobufCBinaryData){1, (uint8_t *)bytes};
    CHECK_INT(deployment_update_metadata(&r.d, "1", &req), 0);
    arena_done(&big);
    one.value = NULL; /* an entry without a value is kept, empty */
    CHECK_INT(deployment_update_metadata(&r.d, "1", &req), 0);
    CHECK_INT(v->n_metadata, 2);
    req.n_upsert_entries = 0;
    req.remove_entries = removed;
    req.n_remove_entries = 1;
    CHECK_INT(deployment_update_metadata(&r.d, "1", &req), 0);
    REQUIRE(v->n_metadata == 1);
    CHECK_STR(v->metadata[0]->key, "second");
}

TEST(version_texts_are_read_with_either_delimiter) {
    static const struct {
        const char *text, *deployment, *build_id;
    } good[] = {{"web.1", "web", "1"},
                {"web:1", "web", "1"},
                {"web:1.2:3", "web", "1.2:3"},
                {"web.1:2", "web", "1:2"},
                {VERSION_UNVERSIONED_TEXT, "", ""}};
    static const char *const bad[] = {"web", ".1", "web.", "", ":"};
    struct arena a;
    struct err err;
    struct version v;
    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        if (!CHECK_INT(version_parse(&a, good[i].text, &v, &err), 0))
            continue;
        CHECK_STR(v.deployment ? v.deployment : "", good[i].deployment);
        CHECK_STR(v.build_id ? v.build_id : "", good[i].build_id);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_INT(version_parse(&a, bad[i], &v, &err), ERR_INVALID);
    arena_done(&a);
}

TEST(version_names_have_rules) {
    struct err err;
    char longest[VERSION_PART_BYTES + 2];
    memset(longest, 'x', sizeof(longest));
    longest[VERSION_PART_BYTES + 1] = 0;
    CHECK_INT(version_validate((struct version){"web", "1.0:a"}, &err), 0);
    CHECK_INT(version_validate((struct version){"w.b", "1"}, &err), ERR_INVALID);
    CHECK_INT(version_validate((struct version){"w:b", "1"}, &err), ERR_INVALID);
    CHECK_INT(version_validate((struct version){"__w", "1"}, &err), ERR_INVALID);
    CHECK_INT(version_validate((struct version){"web", ""}, &err), ERR_INVALID);
    CHECK_INT(version_validate((struct version){"web", longest}, &err), ERR_INVALID);
    longest[VERSION_PART_BYTES] = 0;
    CHECK_INT(version_validate((struct version){"web", longest}, &err), 0);
}

TEST(version_ramp_places_are_spread) {
    int low = 0;
    char id[32];
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(id, sizeof(id), "workflow-%d", i);
        double place = version_ramp_place(id);
        CHECK(place >= 0 && place < 100);
        low += place < 10;
    }
    CHECK(low > 850 && low < 1150);
    CHECK(version_ramp_place("a") == version_ramp_place("a"));
}

TEST(deployment_metadata_entries_are_limited) {
    cleanup(rig_done) struct rig r;
    Ws__UpdateWorkerDeploymentVersionMetadataRequest__UpsertEntriesEntry
        one = WS__UPDATE_WORKER_DEPLOYMENT_VERSION_METADATA_REQUEST__UPSERT_ENTRIES_ENTRY__INIT,
        *entries[] = {&one};
    Ws__UpdateWorkerDeploymentVersionMetadataRequest req =
        WS__UPDATE_WORKER_DEPLOYMENT_VERSION_METADATA_REQUEST__INIT;
    char key[16];
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(poll(&r, "1", "a"), 0);
    one.key = key;
    req.upsert_entries = entries;
    req.n_upsert_entries = 1;
    for (int i = 0; i <= LIMIT_VERSION_METADATA; i++) {
        (void)snprintf(key, sizeof(key), "%d", i);
        CHECK_INT(deployment_update_metadata(&r.d, "1", &req), i < LIMIT_VERSION_METADATA ? 0 : ERR_INVALID);
    }
}

TEST(deployment_ramps_that_are_the_same) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    REQUIRE(r.d.st);
    CHECK_INT(poll(&r, "1", "a"), 0);
    CHECK_INT(poll(&r, "2", "a"), 0);
    CHECK_INT(poll(&r, "3", "a"), 0);
    struct deployment_change none = change(&r, "");
    none.is_unset = true;
    none.identity = "maker";
    CHECK_INT(deployment_set_ramping(&r.d, &none), 0); /* there is none */
    CHECK(none.is_same);
    CHECK_INT(set_ramp(&r, "2", 10), 0);
    struct deployment_change c = change(&r, "2");
    c.percentage = 10;
    CHECK_INT(deployment_set_ramping(&r.d, &c), 0);
    CHECK(c.is_same);
    c.identity = "other";
    CHECK_INT(deployment_set_ramping(&r.d, &c), 0);
    CHECK(!c.is_same);
    CHECK_STR(r.d.st->modifier_identity, "other");
    CHECK_INT(set_ramp(&r, "3", 10), 0); /* another version at the same percentage */
    CHECK_STR(r.d.st->ramping_build_id, "3");
    CHECK_INT(set_current(&r, "1"), 0); /* not the one that ramps */
    CHECK(r.d.st->is_ramping);
}

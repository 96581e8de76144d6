/* The table of methods: every row complete and found by its path; the texts for what is not there. */
#include "harness.h"

#include <stdio.h>

#include "serve/methods.h"
#include "wire/grpc.h"

#define WORKFLOW "temporal.api.workflowservice.v1.WorkflowService"

TEST(methods_every_row_is_complete_and_found) {
    struct methods m;
    REQUIRE(methods_init(&m, 1) == 0);
    size_t implemented = 0, count = 0;
    for (const struct method *row; (row = method_at(count)); count++) {
        const struct method *found = NULL;
        struct err e;
        int rc = methods_find(&m, str_of(row->path), &found, &e);
        CHECK(row->request && row->response);
        CHECK_INT(row->request_bytes_max, row->kind == METHOD_DUPLEX ? 8u << 10 : GRPC_MESSAGE_BYTES_MAX);
        CHECK_STR(strrchr(row->path, '/') + 1, row->name);
        if (method_is_implemented(row)) {
            implemented++;
            CHECK_INT(rc, 0);
            CHECK(found == row);
        } else {
            CHECK_INT(rc, ERR_UNIMPLEMENTED);
            CHECK(strstr(e.text, row->name) != NULL);
            CHECK(strstr(e.text, "not implemented by this server yet") != NULL);
        }
    }
    CHECK_INT(count, 123 + 12 + 2 + 10 + 1 + 2);
    CHECK(implemented >= 22);
    methods_done(&m);
}

TEST(methods_request_and_response_belong_to_the_name) {
    for (size_t i = 0; method_at(i); i++) {
        const struct method *row = method_at(i);
        if (strstr(row->path, "/grpc."))
            continue; /* their messages are not named after their methods */
        char want[128];
        (void)snprintf(want, sizeof(want), "%sRequest", row->name);
        CHECK_STR(row->request->short_name, want);
        (void)snprintf(want, sizeof(want), "%sResponse", row->name);
        CHECK_STR(row->response->short_name, want);
    }
}

TEST(methods_polls_are_marked) {
    struct methods m;
    struct err e;
    REQUIRE(methods_init(&m, 2) == 0);
    const struct method *found = NULL;
    CHECK_INT(methods_find(&m, STR("/" WORKFLOW "/PollWorkflowTaskQueue"), &found, &e), 0);
    CHECK(found && found->kind == METHOD_POLL);
    CHECK_INT(methods_find(&m, STR("/" WORKFLOW "/GetSystemInfo"), &found, &e), 0);
    CHECK(found && found->kind == METHOD_UNARY);
    methods_done(&m);
}

static void check_text(const struct methods *m, struct str path, const char *want) {
    struct err e = {0};
    const struct method *found = NULL;
    CHECK_INT(methods_find(m, path, &found, &e), ERR_UNIMPLEMENTED);
    CHECK(found == NULL);
    CHECK_STR(e.text, want);
}

TEST(methods_unknown_paths_are_named) {
    struct methods m;
    REQUIRE(methods_init(&m, 3) == 0);
    check_text(&m, STR("/" WORKFLOW "/Nope"), "unknown method Nope for service " WORKFLOW);
    check_text(&m, STR("/" WORKFLOW "/"), "unknown method  for service " WORKFLOW);
    check_text(&m, STR("/rondo.api.v1.ScheduleService/Nope"),
               "unknown method Nope for service rondo.api.v1.ScheduleService");
    check_text(&m, STR("/some.Service/Get"), "unknown service some.Service");
    check_text(&m, STR("//"), "unknown service ");
    check_text(&m, STR("/x"), "malformed method name: \"/x\"");
    check_text(&m, STR("no/slash/first"), "malformed method name: \"no/slash/first\"");
    check_text(&m, STR("/"), "malformed method name: \"/\"");
    check_text(&m, (struct str){NULL, 0}, "malformed method name: \"\"");
    methods_done(&m);
}

TEST(methods_long_names_are_cut) {
    struct methods m;
    struct err e;
    const struct method *found;
    char path[4000];
    REQUIRE(methods_init(&m, 4) == 0);
    memset(path, 'a', sizeof(path));
    path[0] = path[2000] = '/';
    CHECK_INT(methods_find(&m, str_bytes(path, sizeof(path)), &found, &e), ERR_UNIMPLEMENTED);
    CHECK_INT(strlen(e.text), strlen("unknown service ") + 200);
    methods_done(&m);
}

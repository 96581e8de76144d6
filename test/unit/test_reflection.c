/* What the binary knows of proto/: each file whole with all that it imports, and each service, method and
 * message in its file. */
#include "harness.h"

#include <stdio.h>

#include "serve/methods.h"
#include "serve/reflection.h"

#define ROOM (4u << 20)

TEST(reflected_files_are_whole) {
    size_t count = 0;
    for (const struct reflected_file *f; (f = reflection_at(count)); count++) {
        cleanup(arena_done) struct arena a;
        arena_init(&a, ROOM);
        struct str plain = reflection_unpack(f, &a);
        CHECK_INT(plain.n, f->bytes);
        CHECK(reflection_by_name(f->name) == f);
        CHECK(!strstr(f->name, "protobuf-c"));
        CHECK(plain.p && !memmem(plain.p, plain.n, "protobuf-c", 10));
    }
    CHECK(count > 20);
    CHECK(!reflection_by_name("nothing.proto"));
    CHECK(!reflection_by_name(""));
}

TEST(reflected_files_have_their_imports) {
    cleanup(arena_done) struct arena a;
    arena_init(&a, ROOM);
    const struct reflected_file *f = reflection_by_name("namespace.proto"), *next;
    REQUIRE(f);
    struct str plain = reflection_unpack(f, &a);
    char names[200] = "";
    for (size_t at = 0; (next = reflection_next_import(plain, &at));)
        (void)snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s ", next->name);
    CHECK_STR(names, "google/protobuf/duration.proto google/protobuf/timestamp.proto enums.proto ");
}

static const char *file_of(const char *symbol) {
    cleanup(arena_done) struct arena a;
    arena_init(&a, ROOM);
    const struct reflected_file *f = reflection_by_symbol(symbol, &a);
    return f ? f->name : "";
}

TEST(reflected_symbols_have_their_file) {
    static const struct {
        const char *symbol, *file;
    } cases[] = {
        {"temporal.api.workflowservice.v1.WorkflowService", "workflowservice.proto"},
        {"temporal.api.workflowservice.v1.WorkflowService.GetSystemInfo", "workflowservice.proto"},
        {"temporal.api.workflowservice.v1.GetSystemInfoResponse.Capabilities", "workflowservice.proto"},
        {"temporal.api.workflowservice.v1.GetSystemInfoResponse.Capabilities.nexus", "workflowservice.proto"},
        {"temporal.api.enums.v1.EventType", "enums.proto"},
        {"google.protobuf.Duration", "google/protobuf/duration.proto"},
        {"grpc.reflection.v1.ServerReflectionRequest.message_request", "reflection.proto"},
        {"grpc.reflection.v1alpha.ServerReflection", "reflection_alpha.proto"},
        {"rondo.api.v1.ScheduleService", "rondo.proto"},
        {"temporal.api.workflowservice.v1", ""},
        {"temporal.api.workflowservice.v1.", ""},
        {"temporal.api.workflowservice.v1.WorkflowServic", ""},
        {"temporal.api.workflowservice.v1.WorkflowService.", ""},
        {"temporal.api.workflowservice.v1.WorkflowService.GetSystemInfo.x", ""},
        {"WorkflowService", ""},
        {".", ""},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(file_of(cases[i].symbol), cases[i].file);
}

TEST(reflected_is_every_method) {
    for (const char *const *each = method_services; *each; each++)
        test_check(*file_of(*each), __FILE__, __LINE__, *each);
    const struct method *m;
    for (size_t i = 0; (m = method_at(i)); i++) {
        char symbol[300];
        (void)snprintf(symbol, sizeof(symbol), "%s", m->path + 1);
        *strchr(symbol, '/') = '.';
        test_check(*file_of(symbol), __FILE__, __LINE__, symbol);
        test_check(*file_of(m->request->name), __FILE__, __LINE__, m->request->name);
    }
}

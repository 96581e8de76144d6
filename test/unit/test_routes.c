/* The table of HTTP paths: each row can be reached, sets fields that exist, and shares its URL with no other.
 */
#include "serve/routes.h"

#include "base/buf.h"
#include "harness.h"
#include "json/json.h"
#include "net/path.h"
#include "net/query.h"

#define BUDGET ((size_t)1 << 20)

static struct str verb_name(enum route_verb verb) {
    switch (verb) {
    case ROUTE_GET:
        return STR("GET");
    case ROUTE_POST:
        return STR("POST");
    case ROUTE_DELETE:
        return STR("DELETE");
    }
    return STR("");
}

/* The path with each variable replaced by a segment that no row spells out. */
static void make_url(const struct route *r, struct buf *url) {
    bool is_variable = false;
    for (const char *c = r->path; *c; c++) {
        if (*c == '{')
            buf_add_cstr(url, "some%20one");
        is_variable = *c == '{' || (is_variable && *c != '}');
        if (!is_variable && *c != '}')
            buf_add_u8(url, (uint8_t)*c);
    }
}

TEST(routes_lead_to_their_own_row) {
    const struct route *r;
    size_t count = 0;
    for (; (r = route_at(count)); count++) {
        struct buf url cleanup(buf_done);
        unsigned verbs;
        buf_init(&url, BUDGET);
        make_url(r, &url);
        if (!buf_ok(&url))
            continue;
        test_check(route_find(verb_name(r->verb), buf_str(&url), &verbs) == r, __FILE__, __LINE__, r->path);
        test_check(verbs & r->verb, __FILE__, __LINE__, r->path);
        test_check(r->has_body == (r->verb == ROUTE_POST), __FILE__, __LINE__, r->path);
    }
    CHECK(count > 200);
}

/* A task in an answer would have to be handed back when its peer goes away; only gRPC does that. */
TEST(routes_lead_to_no_poll_for_tasks) {
    const struct route *r;
    for (size_t i = 0; (r = route_at(i)); i++) {
        const struct method *m = method_at(r->method);
        test_check(m->kind == METHOD_UNARY || m->kind == METHOD_WAIT, __FILE__, __LINE__, m->name);
    }
}

TEST(routes_variables_are_fields_of_the_request) {
    const struct route *r;
    for (size_t i = 0; (r = route_at(i)); i++) {
        struct arena a cleanup(arena_done);
        struct err e = {0};
        ProtobufCMessage *m;
        arena_init(&a, BUDGET);
        if (json_parse(method_at(r->method)->request, STR("{}"), JSON_PAYLOADS_FULL, &a, &m, &e) < 0)
            continue;
        struct str path = str_of(r->path), url = path, name, value;
        while (path_next_variable(&path, &url, &name, &value)) {
            test_check_int(json_set(m, name, STR("7"), JSON_SET_OVER, &a, &e), 0, __FILE__, __LINE__,
                           r->path);
            test_check_str(str_of(e.text), STR(""), __FILE__, __LINE__, r->path);
        }
    }
}

TEST(routes_take_whole_paths_only) {
    static const char *const paths[] = {"",
                                        "/",
                                        "/api/v1",
                                        "/api/v1/namespaces/",
                                        "/api/v1/namespaces/d/",
                                        "/api/v1/namespaces//workflows",
                                        "/api/v1/namespaces/d/workflow",
                                        "/api/v1/namespaces/d/workflows/",
                                        "//api/v1/namespaces",
                                        "/api/v1/namespaces/d/workflows/w/history/",
                                        "api/v1/namespaces",
                                        "/API/v1/namespaces"};
    unsigned verbs;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        test_check(!route_find(STR("GET"), str_of(paths[i]), &verbs), __FILE__, __LINE__, paths[i]);
        test_check_int(verbs, 0, __FILE__, __LINE__, paths[i]);
    }
}

TEST(routes_tell_which_verbs_a_path_takes) {
    unsigned verbs;
    struct str schedule = STR("/api/v1/namespaces/d/schedules/s");
    CHECK(!route_find(STR("PUT"), schedule, &verbs));
    CHECK_INT(verbs, ROUTE_GET | ROUTE_POST | ROUTE_DELETE);
    const struct route *get = route_find(STR("GET"), schedule, &verbs);
    CHECK(get && get == route_find(STR("HEAD"), schedule, &verbs));
    CHECK(get && cstr_eq(method_at(get->method)->name, "DescribeSchedule"));
}

TEST(routes_variables_come_in_order) {
    struct str path = STR("/n/{namespace}/w/{execution.workflow_id}/x"), url = STR("/n/a%2Fb/w/c/x"), name,
               value;
    CHECK(path_next_variable(&path, &url, &name, &value));
    CHECK_SLICE(name, STR("namespace"));
    CHECK_SLICE(value, STR("a%2Fb"));
    CHECK(path_next_variable(&path, &url, &name, &value));
    CHECK_SLICE(name, STR("execution.workflow_id"));
    CHECK_SLICE(value, STR("c"));
    CHECK(!path_next_variable(&path, &url, &name, &value));
}

TEST(query_is_split_then_decoded) {
    struct str query = STR("&a=1&&b=x%26y%3Dz+w&c&=d&e=f=g"), name, value;
    static const struct {
        const char *name, *value;
    } want[] = {{"a", "1"}, {"b", "x%26y%3Dz+w"}, {"c", ""}, {"", "d"}, {"e", "f=g"}};
    CHECK(query_has(query, "c") && query_has(query, "a") && !query_has(query, "x"));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        CHECK(query_next(&query, &name, &value));
        CHECK_SLICE(name, str_of(want[i].name));
        CHECK_SLICE(value, str_of(want[i].value));
    }
    CHECK(!query_next(&query, &name, &value));
}

TEST(query_percent_is_decoded_or_refused) {
    static const struct {
        const char *text, *in_query, *in_path; /* NULL: refused */
    } cases[] = {{"", "", ""},
                 {"a+b%20c", "a b c", "a+b c"},
                 {"%C3%a9", "\xc3\xa9", "\xc3\xa9"},
                 {"%2", NULL, NULL},
                 {"%", NULL, NULL},
                 {"a%zz", NULL, NULL},
                 {"x%4", NULL, NULL},
                 {"%41%", NULL, NULL},
                 {"%41", "A", "A"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a cleanup(arena_done);
        struct str got;
        arena_init(&a, BUDGET);
        const char *wants[] = {cases[i].in_path, cases[i].in_query};
        for (int is_query = 0; is_query < 2; is_query++) {
            const char *want = wants[is_query];
            int rc = query_decode(&a, str_of(cases[i].text), is_query, &got, NULL);
            test_check_int(rc, want ? 0 : ERR_INVALID, __FILE__, __LINE__, cases[i].text);
            if (rc == 0)
                CHECK_SLICE(got, str_of(want));
        }
    }
}

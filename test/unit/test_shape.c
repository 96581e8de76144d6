/* Bodies and queries of Mistral's dialect by the table of their fields: values land where they belong, and
 * all that is wrong is told, each with its place. */
#include "mistral/shape.h"

#include <stdio.h>

#include "harness.h"
#include "json/reader.h"
#include "mistral/condition.h"

#define BUDGET ((size_t)8 << 20)

struct rig {
    struct arena arena;
    struct complaints c;
};

static void rig_init(struct rig *r) {
    arena_init(&r->arena, BUDGET);
    complaints_init(&r->c, &r->arena);
}

static void rig_done(struct rig *r) {
    complaints_done(&r->c);
    arena_done(&r->arena);
}

static bool is_text(struct field_value v, const char *text) {
    return v.is_given && str_is(v.text, text);
}

TEST(shape_values_land_in_their_fields) {
    struct rig r cleanup(rig_done);
    rig_init(&r);
    const struct record *all = shape_read(
        &r.c, &shape_schedule_request,
        STR("{\"workflow_identifier\":\"w\\u00e9\",\"deployment_name\":null,\"schedule\":{\"input\": {\"a\" "
            ": 1},"
            "\"cron_expressions\":[\"x\",\"y\"],\"start_at\":\"2026-01-01T00:00:00.5+01:00\",\"end_at\":null,"
            "\"jitter\":\"P1DT2H\",\"max_executions\":4,\"calendars\":[{\"hour\":[{\"start\":9}]},{}],"
            "\"policy\":{\"pause_on_failure\":true}}}"),
        STR("body"));
    REQUIRE(all && r.c.count == 0);
    CHECK(is_text(all->v[schedule_request_workflow_identifier], "w\303\251"));
    CHECK(!all->v[schedule_request_deployment_name].is_given);
    const struct field_value *v = all->v[schedule_request_schedule].records[0]->v;
    CHECK(is_text(v[definition_input], "{\"a\" : 1}"));
    REQUIRE(v[definition_cron_expressions].count == 2 && v[definition_calendars].count == 2);
    CHECK(str_is(v[definition_cron_expressions].texts[1], "y"));
    CHECK_INT(v[definition_start_at].whole, 1767222000);
    CHECK_INT(v[definition_start_at].nanos, 500000000);
    CHECK(v[definition_end_at].is_given && v[definition_end_at].is_null);
    CHECK_INT(v[definition_jitter].whole, 26 * 3600 * USEC_PER_SEC);
    CHECK_INT(v[definition_max_executions].whole, 4);
    CHECK_INT(v[definition_calendars].records[0]->v[calendar_hour].records[0]->v[range_start].whole, 9);
    CHECK(v[definition_policy].records[0]->v[policy_pause_on_failure].truth);
    CHECK(!v[definition_time_zone_name].is_given);
}

/* Where and what, in the order in which it was found: "body.a.0 missing; body.b int_type". */
static void list_text(const struct complaints *c, struct buf *out) {
    const char *at = (const char *)c->list.data, *end = at + c->list.len;
    while (at < end && (at = memmem(at, (size_t)(end - at), "\"loc\":[", 7))) {
        const char *close = memchr(at, ']', (size_t)(end - at));
        if (out->len)
            buf_add_cstr(out, "; ");
        for (at += 7; at < close; at++)
            if (*at != '"')
                buf_add_u8(out, (uint8_t)(*at == ',' ? '.' : *at));
        const char *type = memmem(at, (size_t)(end - at), "\"type\":\"", 8);
        type += 8;
        const char *quote = memchr(type, '"', (size_t)(end - type));
        buf_printf(out, " %.*s", (int)(quote - type), type);
        at = quote;
    }
    buf_add_u8(out, 0);
}

static void check_list(int line, const struct complaints *c, const char *want) {
    struct buf got cleanup(buf_done);
    buf_init(&got, BUDGET);
    list_text(c, &got);
    if (!buf_ok(&got) || !got.data)
        return;
    test_check(cstr_eq((const char *)got.data, want), __FILE__, line, (const char *)got.data);
}

TEST(shape_every_mistake_has_its_place) {
    static const struct {
        int line;
        const struct shape *shape;
        const char *text, *want;
    } cases[] = {
        {__LINE__, &shape_pause_request, "", ""},
        {__LINE__, &shape_pause_request, " {\"note\":null} ", ""},
        {__LINE__, &shape_pause_request, "{\"note\":1}", "body.note string_type"},
        {__LINE__, &shape_pause_request, "{\"note\":\"\\u0000\"}", "body.note value_error"},
        {__LINE__, &shape_pause_request, "{\"note\":\"a\",\"note\":\"b\"}", "body.note value_error"},
        {__LINE__, &shape_pause_request, "{\"no\":{\"deep\":[1]}}", "body.no extra_forbidden"},
        {__LINE__, &shape_pause_request, "null", "body model_attributes_type"},
        {__LINE__, &shape_pause_request, "{\"note\":\"a\"", "body.11 json_invalid"},
        {__LINE__, &shape_pause_request, "{\"note\":\"a\"}x", "body.12 json_invalid"},
        {__LINE__, &shape_pause_request, "\xff", "body json_invalid"},
        {__LINE__, &shape_trigger_request, "{\"overlap\":0}", "body.overlap greater_than_equal"},
        {__LINE__, &shape_trigger_request, "{\"overlap\":7}", "body.overlap less_than_equal"},
        {__LINE__, &shape_trigger_request, "{\"overlap\":2.5}", "body.overlap int_from_float"},
        {__LINE__, &shape_trigger_request, "{\"overlap\":2e0}", ""},
        {__LINE__, &shape_trigger_request, "{\"overlap\":1e99}", "body.overlap int_from_float"},
        {__LINE__, &shape_many_request, "{\"execution_ids\":[]}", "body.execution_ids too_short"},
        {__LINE__, &shape_many_request, "{\"execution_ids\":[1,\"a\",null]}",
         "body.execution_ids.0 string_type; body.execution_ids.2 string_type"},
        {__LINE__, &shape_reset_request, "{\"exclude_signals\":1}",
         "body.exclude_signals bool_type; body.event_id missing"},
        {__LINE__, &shape_execution_request, "{\"timeout_seconds\":-1}",
         "body.timeout_seconds less_than_equal"},
        {__LINE__, &shape_execution_request, "{\"timeout_seconds\":\"1\"}",
         "body.timeout_seconds float_type"},
        {__LINE__, &shape_interval, "{\"every\":\"PT0S\",\"offset\":\"P1Y\"}",
         "body.every greater_than_equal; body.offset time_delta_parsing"},
        {__LINE__, &shape_interval, "{\"every\":\"P99999999999999999D\"}", "body.every time_delta_parsing"},
        {__LINE__, &shape_partial,
         "{\"start_at\":\"2026-01-01T00:00:00\",\"end_at\":\"2026-01-01T00:00:00.25\"}", ""},
        {__LINE__, &shape_partial, "{\"start_at\":\"2026-01-01T00:00:00\\u0000x\",\"end_at\":\"\"}",
         "body.start_at datetime_parsing; body.end_at datetime_parsing"},
        {__LINE__, &shape_partial, "{\"start_at\":\"2026-01-01\",\"end_at\":\"2026-01-01T00:00:00ZZ\"}",
         "body.start_at datetime_parsing; body.end_at datetime_parsing"},
        {__LINE__, &shape_calendar, "{\"hour\":[{\"start\":1},{\"end\":2},3]}",
         "body.hour.1.start missing; body.hour.2 model_attributes_type"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r cleanup(rig_done);
        rig_init(&r);
        const struct record *all = shape_read(&r.c, cases[i].shape, str_of(cases[i].text), STR("body"));
        CHECK(all || r.c.count > 0);
        check_list(cases[i].line, &r.c, cases[i].want);
    }
}

TEST(shape_queries) {
    static const struct {
        int line;
        const char *text, *want;
    } cases[] = {
        {__LINE__, "", ""},
        {__LINE__, "page_size=5&status=RUNNING&status=FAILED&search=", ""},
        {__LINE__, "page_size=0", "query.page_size greater_than_equal"},
        {__LINE__, "page_size=five&page_size=5", "query.page_size int_parsing"},
        {__LINE__, "order=asc&order=desc", "query.order value_error"},
        {__LINE__, "status=Running&order=up", "query.status enum; query.order enum"},
        {__LINE__, "user_id=me&workflow_tags=a&x=1",
         "query.user_id unsupported; query.workflow_tags unsupported; query.x extra_forbidden"},
        {__LINE__, "start_time_after=now&include_internal=2",
         "query.start_time_after datetime_parsing; query.include_internal bool_parsing"},
        {__LINE__, "search=%zz", "query.search value_error"},
        {__LINE__, "search=%ff", "query.search value_error"},
        {__LINE__, "search_key=a:1&search_key=b:2&search_key=c:3&search_key=d:4",
         "query.search_key too_long"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r cleanup(rig_done);
        rig_init(&r);
        const struct record *all = shape_read_query(&r.c, &shape_runs_query, str_of(cases[i].text));
        CHECK(all || r.c.count > 0);
        check_list(cases[i].line, &r.c, cases[i].want);
        if (i == 1 && all) {
            CHECK_INT(all->v[runs_query_page_size].whole, 5);
            CHECK_INT(all->v[runs_query_status].count, 2);
            CHECK(!all->v[runs_query_search].is_given);
        }
    }
}

/* The answer to a body full of mistakes is no larger than one that can be read. */
TEST(shape_complaints_are_bounded) {
    struct rig r cleanup(rig_done);
    struct buf text cleanup(buf_done);
    rig_init(&r);
    buf_init(&text, BUDGET);
    buf_add_cstr(&text, "{");
    for (int i = 0; i < 3 * COMPLAINTS_MAX; i++)
        buf_printf(&text, "%s\"%0500d\":1", i ? "," : "", i);
    buf_add_cstr(&text, "}");
    REQUIRE(buf_ok(&text));
    (void)shape_read(&r.c, &shape_pause_request, buf_str(&text), STR("body"));
    CHECK(r.c.count > 0 && r.c.list.len <= 64u << 10);
}

TEST(shape_what_is_nested_too_deep_is_refused) {
    struct rig r cleanup(rig_done);
    struct buf text cleanup(buf_done);
    rig_init(&r);
    buf_init(&text, BUDGET);
    buf_add_cstr(&text, "{\"name\":\"n\",\"input\":");
    for (int i = 0; i < 2 * JSON_DEPTH_MAX; i++)
        buf_add_cstr(&text, "[");
    REQUIRE(buf_ok(&text));
    (void)shape_read(&r.c, &shape_invocation, buf_str(&text), STR("body"));
    CHECK(r.c.count > 0);
}

TEST(query_texts_quote_what_they_are_given) {
    static const char *const names[] = {"A", "B"};
    const struct str values[] = {STR("x"), STR("y'z")};
    struct buf q cleanup(buf_done);
    condition_init(&q);
    condition_add_equal(&q, "Name", STR("it's \\ \"odd\""));
    condition_add_in(&q, "Status", values, ARRAY_LEN(values));
    condition_add_any_name(&q, names, ARRAY_LEN(names), "STARTS_WITH", STR("p"));
    condition_add_text(&q, "C IS NULL");
    buf_add_u8(&q, 0);
    REQUIRE(buf_ok(&q));
    CHECK_STR((const char *)q.data, "Name = 'it\\'s \\\\ \"odd\"' AND Status IN ('x', 'y\\'z') AND "
                                    "(A STARTS_WITH 'p' OR B STARTS_WITH 'p') AND C IS NULL");
}

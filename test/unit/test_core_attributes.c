/* Search attributes: which names and values are taken, and how many of them. */
#include "core/search/attributes.h"

#include <stdio.h>

#include "core_fixture.h"
#include "message_text.h"

#define BUDGET ((size_t)4 << 20)

static const struct {
    const char *name;
    E__IndexedValueType type;
} defined[] = {
    {"Text", INDEXED_VALUE_TYPE_TEXT},         {"Keyword", INDEXED_VALUE_TYPE_KEYWORD},
    {"Int", INDEXED_VALUE_TYPE_INT},           {"Double", INDEXED_VALUE_TYPE_DOUBLE},
    {"Bool", INDEXED_VALUE_TYPE_BOOL},         {"Datetime", INDEXED_VALUE_TYPE_DATETIME},
    {"List", INDEXED_VALUE_TYPE_KEYWORD_LIST},
};

struct space {
    State__Namespace ns;
    State__SearchAttribute own[ARRAY_LEN(defined)], *list[ARRAY_LEN(defined)];
};

static void space_init(struct space *s) {
    state__namespace__init(&s->ns);
    s->ns.name = (char *)(uintptr_t) "space";
    for (size_t i = 0; i < ARRAY_LEN(defined); i++) {
        state__search_attribute__init(&s->own[i]);
        s->own[i].name = (char *)(uintptr_t)defined[i].name;
        s->own[i].type = (int32_t)defined[i].type;
        s->list[i] = &s->own[i];
    }
    s->ns.search_attributes = s->list;
    s->ns.n_search_attributes = ARRAY_LEN(defined);
}

static Common__SearchAttributes *attributes_of(struct arena *a, const char *text) {
    return message_of(a, &common__search_attributes__descriptor, text);
}

TEST(attribute_values_by_type) {
    static const struct {
        const char *name, *value;
        bool is_taken;
    } cases[] = {
        {"Keyword", "'x'", true},
        {"Keyword", "['x']", true}, /* as older clients send it */
        {"Keyword", "[ 'x' ]", true},
        {"Keyword", "5", false},
        {"Keyword", "{'a':'x'}", false},
        {"Text", "'two words'", true},
        {"Text", "true", false},
        {"Int", "-5", true},
        {"Int", "[7]", true},
        {"Int", "5.5", false},
        {"Int", "'5'", false},
        {"Int", "true", false},
        {"Double", "5", true},
        {"Double", "-5.5e-3", true},
        {"Double", "'5.5'", false},
        {"Bool", "true", true},
        {"Bool", "false", true},
        {"Bool", "0", false},
        {"Datetime", "'2026-11-15T08:00:00Z'", true},
        {"Datetime", "'2026-11-15T08:00:00.25+01:00'", true},
        {"Datetime", "'2026-11-15'", false},
        {"Datetime", "'2026-11-15 08:00:00Z'", false},
        {"Datetime", "'2026-11-1xT08:00:00Z'", false},
        {"Datetime", "'2026-11-1+T08:00:00Z'", false},
        {"Datetime", "1700000000", false},
        {"Datetime", "'2026-02-29T00:00:00Z'", false}, /* days that no calendar has */
        {"Datetime", "'2026-02-30T00:00:00Z'", false},
        {"Datetime", "'2024-02-29T00:00:00Z'", true},
        {"Datetime", "'2026-13-01T00:00:00Z'", false},
        {"Datetime", "'2026-11-15T25:00:00Z'", false},
        {"Datetime", "'2026-11-15T08:00:00Zulu'", false},
        {"Datetime", "['2026-02-30T00:00:00Z']", false},
        {"Double", "1e999", false}, /* no double */
        {"Double", "-1e999", false},
        {"Double", "1e308", true},
        {"Int", "9223372036854775807", true},
        {"Int", "9223372036854775808", false}, /* 2^63 */
        {"Int", "-9223372036854775808", true},
        {"Int", "-9223372036854775809", false},
        {"List", "['a', 1]", false},
        {"List", "[ 'a' , 'b' ]", true},
        {"List", "['a','b']", true},
        {"List", "'a'", true},
        {"List", "5", false},
        {"List", "{'a':'b'}", false},
        {"Keyword", "null", true}, /* removes it */
        {"Keyword", "[]", true},
        {"BuildIds", "['a']", true},
        {"TemporalSchedulePaused", "true", true},
    };
    struct space space;
    space_init(&space);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(arena_done) struct arena a;
        char text[128];
        struct err err = {0};
        arena_init(&a, BUDGET);
        (void)snprintf(text, sizeof(text), "{'indexedFields':{'%s':%s}}", cases[i].name, cases[i].value);
        const Common__SearchAttributes *attributes = attributes_of(&a, text);
        REQUIRE(attributes);
        if (!CHECK_INT(attributes_validate(&space.ns, attributes, &err), cases[i].is_taken ? 0 : ERR_INVALID))
            printf("# %s\n", text);
    }
}

/* Data that is no JSON, or half of it. */
TEST(attribute_values_of_odd_bytes) {
    static const struct {
        const char *name, *data;
        bool is_taken;
    } cases[] = {
        {"Keyword", "  'x'\n", true}, {"Keyword", "'x", false},   {"Keyword", "'", false},
        {"Keyword", "x'", false},     {"Keyword", "['x'", false}, {"Keyword", "   ", false},
        {"List", "['x'", false},      {"List", "[", false},       {"Int", "", false},
        {"Int", "-", false},          {"Int", "5-", false},       {"Int", "/", false},
        {"Double", "1x", false},
    };
    struct space space;
    space_init(&space);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(arena_done) struct arena a;
        cleanup(buf_done) struct buf data;
        char text[64];
        struct err err = {0};
        arena_init(&a, BUDGET);
        buf_init(&data, sizeof(text));
        message_spell(&data, cases[i].data);
        (void)snprintf(text, sizeof(text), "{'indexedFields':{'%s':'?'}}", cases[i].name);
        Common__SearchAttributes *attributes = attributes_of(&a, text);
        REQUIRE(attributes && buf_ok(&data));
        attributes->indexed_fields[0]->value->data = (ProtobufCBinaryData){data.len, data.data};
        if (!CHECK_INT(attributes_validate(&space.ns, attributes, &err), cases[i].is_taken ? 0 : ERR_INVALID))
            printf("# %s %s\n", cases[i].name, cases[i].data);
    }
}

TEST(attribute_names) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{'indexedFields':{'WorkflowId':'x'}}", "WorkflowId attribute can't be set in SearchAttributes"},
        {"{'indexedFields':{'Nowhere':'x'}}",
         "Namespace space has no mapping defined for search attribute Nowhere"},
        {"{'indexedFields':{'Int':'x'}}", "invalid value for search attribute Int of type Int"},
    };
    struct space space;
    space_init(&space);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(arena_done) struct arena a;
        struct err err = {0};
        arena_init(&a, BUDGET);
        const Common__SearchAttributes *attributes = attributes_of(&a, cases[i].text);
        REQUIRE(attributes);
        CHECK_INT(attributes_validate(&space.ns, attributes, &err), ERR_INVALID);
        CHECK_STR(err.text, cases[i].want);
    }
    cleanup(arena_done) struct arena a;
    struct err err = {0};
    arena_init(&a, BUDGET);
    const Common__SearchAttributes *attributes = attributes_of(&a, "{'indexedFields':{'Int':1}}");
    REQUIRE(attributes);
    CHECK_INT(attributes_validate(NULL, attributes, &err), ERR_INVALID);
    CHECK_STR(err.text, "Namespace  has no mapping defined for search attribute Int");
}

TEST(attributes_that_are_too_much) {
    static const struct {
        enum settable limit;
        int64_t value;
        const char *want;
    } cases[] = {
        {SETTABLE_ATTRIBUTES, 2, ""},
        {SETTABLE_ATTRIBUTES, 1, "number of search attributes 2 exceeds limit 1"},
        {SETTABLE_ATTRIBUTE_BYTES, 6, ""},
        {SETTABLE_ATTRIBUTE_BYTES, 5, "search attribute Keyword value size 6 exceeds size limit 5"},
        {SETTABLE_ATTRIBUTES_BYTES, 17, ""},
        {SETTABLE_ATTRIBUTES_BYTES, 16, "total size of search attributes 17 exceeds size limit 16"},
    };
    cleanup(arena_done) struct arena a;
    arena_init(&a, BUDGET);
    Common__SearchAttributes *attributes =
        attributes_of(&a, "{'indexedFields':{'Keyword':'four','List':''}}");
    REQUIRE(attributes);
    attributes->indexed_fields[1]->value = NULL;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct core_limits limits = {0};
        struct err err = {0};
        limits.values[cases[i].limit] = cases[i].value;
        CHECK_INT(attributes_check_size(&limits, attributes, &err), *cases[i].want ? ERR_INVALID : 0);
        CHECK_STR(err.text, cases[i].want);
    }
    CHECK_INT(attributes_check_size(NULL, NULL, NULL), 0);
}

/* A run must not end for what the server itself has written there. */
TEST(attributes_of_a_run_are_counted_without_those_of_the_server) {
    cleanup(arena_done) struct arena a;
    struct core_limits limits = {0};
    arena_init(&a, BUDGET);
    Common__SearchAttributes *attributes =
        attributes_of(&a, "{'indexedFields':{'Keyword':'four','BuildIds':['long enough'],'TemporalPauseInfo':"
                          "['long enough'],'TemporalWorkerDeployment':'long enough'}}");
    REQUIRE(attributes);
    limits.values[SETTABLE_ATTRIBUTES] = 1;
    limits.values[SETTABLE_ATTRIBUTE_BYTES] = 6;
    limits.values[SETTABLE_ATTRIBUTES_BYTES] = 13;
    CHECK_INT(attributes_check_total(&limits, attributes, NULL), 0);
    CHECK_INT(attributes_check_size(&limits, attributes, NULL), ERR_INVALID);
    limits.values[SETTABLE_ATTRIBUTE_BYTES] = 5;
    CHECK_INT(attributes_check_total(&limits, attributes, NULL), ERR_INVALID);
}

TEST(attribute_tables) {
    size_t n = 0;
    while (attribute_built_in_at(n))
        CHECK(attribute_is_built_in(attribute_built_in_at(n++)->name));
    CHECK(n > 20);
    CHECK_STR(attribute_type_name(INDEXED_VALUE_TYPE_KEYWORD_LIST), "KeywordList");
    CHECK_STR(attribute_type_name(INDEXED_VALUE_TYPE_UNSPECIFIED), "");
    CHECK_STR(attribute_type_name((E__IndexedValueType)99), "");
}

/* A payload says its type; one that says it already, or has no value, is left as it is. */
TEST(attribute_types_are_added) {
    cleanup(core_done) struct core f;
    struct space space;
    space_init(&space);
    core_init(&f);
    f.ctx.namespace_name = "space";
    f.ctx.space = &space.ns;
    f.start.search_attributes = attributes_of(
        &f.arena, "{'indexedFields':{'Int':1,'Keyword':null,'Text':{'metadata':{'type':'VGV4dA=='},"
                  "'data':'IngiCg=='}}}");
    REQUIRE(f.start.search_attributes);
    f.start.search_attributes->indexed_fields[1]->value = NULL;
    CHECK_INT(core_start(&f), 0);
    REQUIRE(f.st && f.st->search_attributes);
    for (size_t i = 0; i < f.st->search_attributes->n_indexed_fields; i++) {
        const Common__SearchAttributes__IndexedFieldsEntry *e = f.st->search_attributes->indexed_fields[i];
        size_t types = 0;
        for (size_t k = 0; e->value && k < e->value->n_metadata; k++)
            types += cstr_eq(e->value->metadata[k]->key, "type");
        CHECK_INT(types, e->value ? 1 : 0);
    }
}

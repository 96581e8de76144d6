/* The filter language: a line of each table is a query and the tree that it means, or the error.
 *
 * Trees are written with the operator first: (and (= City 'Rome') (not (has Year))). The part that hides
 * system workflows, which ends every tree that does not name it, is cut off. */
#include "core/search/filter.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "core/search/filter_value.h"
#include "core/schedule/instant.h"
#include "harness.h"

#define HIDDEN " (not (has TemporalNamespaceDivision)))"
#define TEXT_MAX 4096

struct line {
    int at;
    const char *query;
    const char *want;
};

#define LINE(query, want)                                                                                    \
    { __LINE__, query, want }

static const struct {
    const char *name;
    E__IndexedValueType type;
} attributes[] = {
    {"City", INDEXED_VALUE_TYPE_KEYWORD},  {"Year", INDEXED_VALUE_TYPE_INT},
    {"Score", INDEXED_VALUE_TYPE_DOUBLE},  {"Urgent", INDEXED_VALUE_TYPE_BOOL},
    {"Born", INDEXED_VALUE_TYPE_DATETIME}, {"Tags", INDEXED_VALUE_TYPE_KEYWORD_LIST},
    {"Notes", INDEXED_VALUE_TYPE_TEXT},    {"and", INDEXED_VALUE_TYPE_KEYWORD},
    {"no.2-b", INDEXED_VALUE_TYPE_INT},    {"\xc3\xa9t\xc3\xa9", INDEXED_VALUE_TYPE_INT},
};

static void write_value(struct buf *b, const struct value *v) {
    if (v->kind == VALUE_INT)
        buf_printf(b, " %" PRId64, v->number);
    else if (v->kind == VALUE_REAL)
        buf_printf(b, " %g", v->real);
    else
        buf_printf(b, " '%.*s'", (int)v->text.n, v->text.n ? v->text.p : "");
}

static void write_tree(struct buf *b, const struct predicate *p) {
    static const char *const names[] = {"and", "or", "not", "=", "<", "<=", ">", ">=", "starts", "has"};
    buf_printf(b, "(%s", names[p->kind]);
    if (p->name.n)
        buf_printf(b, " %.*s", (int)p->name.n, p->name.p);
    for (size_t i = 0; i < p->count; i++)
        write_value(b, &p->values[i]);
    for (int i = 0; i < 2; i++) {
        const struct predicate *child = i ? p->right : p->left;
        if (!child)
            continue;
        buf_add_cstr(b, " ");
        write_tree(b, child);
    }
    buf_add_cstr(b, ")");
}

/* "(and TREE (not (has TemporalNamespaceDivision)))" -> TREE */
static void cut_hidden(struct buf *b) {
    static const char alone[] = "(not (has TemporalNamespaceDivision))";
    size_t n = sizeof(HIDDEN) - 1;
    if (str_is(buf_str(b), alone)) {
        buf_clear(b);
    } else if (b->len > n && memcmp(b->data + b->len - n, HIDDEN, n) == 0) {
        buf_truncate(b, b->len - n);
        buf_drop_front(b, sizeof("(and ") - 1);
    }
}

static void parse_to_text(enum filter_subject subject, const char *query, struct buf *text) {
    State__SearchAttribute own[ARRAY_LEN(attributes)], *list[ARRAY_LEN(attributes)];
    State__Namespace ns = STATE__NAMESPACE__INIT;
    struct arena a cleanup(arena_done);
    struct filter f;
    struct err e = {0};
    for (size_t i = 0; i < ARRAY_LEN(attributes); i++) {
        state__search_attribute__init(&own[i]);
        own[i].name = (char *)(uintptr_t)attributes[i].name;
        own[i].type = (int32_t)attributes[i].type;
        list[i] = &own[i];
    }
    ns.search_attributes = list;
    ns.n_search_attributes = ARRAY_LEN(list);
    arena_init(&a, (size_t)1 << 20);
    if (filter_parse(&a, &ns, subject, str_of(query), &f, &e) < 0) {
        CHECK(e.code < 0);
        buf_add_cstr(text, e.text);
        text->failed |= e.code == ERR_NO_MEMORY; /* torture: no more than that was said */
        return;
    }
    CHECK_INT(e.code, 0);
    write_tree(text, f.where);
    cut_hidden(text);
    if (f.is_grouped)
        buf_add_cstr(text, " grouped");
}

static void check_lines_about(enum filter_subject subject, const struct line *lines, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct buf text cleanup(buf_done);
        buf_init(&text, TEXT_MAX);
        parse_to_text(subject, lines[i].query, &text);
        buf_add_u8(&text, 0);
        if (!buf_ok(&text))
            continue; /* torture */
        if (!CHECK_STR((const char *)text.data, lines[i].want))
            printf("# line %d: %s\n", lines[i].at, lines[i].query);
    }
}

static void check_lines(const struct line *lines, size_t count) {
    check_lines_about(FILTER_WORKFLOWS, lines, count);
}

TEST(queries_become_trees) {
    static const struct line lines[] = {
        LINE("", ""),
        LINE("  \n\t", ""),
        LINE("City = 'Rome'", "(= City 'Rome')"),
        LINE("City=\"Rome\"", "(= City 'Rome')"),
        LINE("City = 'L''Aquila'", "(= City 'L'Aquila')"),
        LINE("City = 'L\\'Aquila'", "(= City 'L'Aquila')"),
        LINE("`City` = 'Rome'", "(= City 'Rome')"),
        LINE("`and` = 'x' AND City = 'y'", "(and (= and 'x') (= City 'y'))"),
        LINE("City != 'Rome'", "(not (= City 'Rome'))"),
        LINE("City <> 'Rome'", "(not (= City 'Rome'))"),
        LINE("City < 'a'", "(< City 'a')"),
        LINE("City <= 'a'", "(<= City 'a')"),
        LINE("City > 'a'", "(> City 'a')"),
        LINE("City >= 'a'", "(>= City 'a')"),
        LINE("City IN ('a', 'b','c')", "(= City 'a' 'b' 'c')"),
        LINE("City not in ('a')", "(not (= City 'a'))"),
        LINE("City BETWEEN 'a' AND 'b'", "(and (>= City 'a') (<= City 'b'))"),
        LINE("City NOT BETWEEN 'a' AND 'b'", "(not (and (>= City 'a') (<= City 'b')))"),
        LINE("City STARTS_WITH 'a'", "(starts City 'a')"),
        LINE("City not starts_with ''", "(not (starts City ''))"),
        LINE("City IS NULL", "(not (has City))"),
        LINE("City is not null", "(has City)"),
        LINE("City = 'a' OR City = 'b' AND Year = 1", "(or (= City 'a') (and (= City 'b') (= Year 1)))"),
        LINE("(City = 'a' OR City = 'b') AND Year = 1", "(and (or (= City 'a') (= City 'b')) (= Year 1))"),
        LINE("NOT City = 'a' AND Year = 1", "(and (not (= City 'a')) (= Year 1))"),
        LINE("NOT (City = 'a' AND Year = 1)", "(not (and (= City 'a') (= Year 1)))"),
        LINE("not not Year = 1", "(not (not (= Year 1)))"),
        LINE("Year BETWEEN 1 AND 2 AND City = 'a'", "(and (and (>= Year 1) (<= Year 2)) (= City 'a'))"),
        LINE("WorkflowId = 'w' group by ExecutionStatus", "(= WorkflowId 'w') grouped"),
        LINE("GROUP BY ExecutionStatus", " grouped"),
    };
    check_lines(lines, ARRAY_LEN(lines));
}

TEST(values_take_the_type_of_their_name) {
    static const struct line lines[] = {
        LINE("Year = -9223372036854775808", "(= Year -9223372036854775808)"),
        LINE("Year = '12'", "(= Year 12)"),
        LINE("Year = +5", "(= Year 5)"),
        LINE("Score = 2", "(= Score 2)"),
        LINE("Score > -1.5e3", "(> Score -1500)"),
        LINE("Urgent = true", "(= Urgent 1)"),
        LINE("Urgent != FALSE", "(not (= Urgent 0))"),
        LINE("Urgent = 'true'", "(= Urgent 1)"),
        LINE("Born = 1700000000000000000", "(= Born 1700000000000000000)"),
        LINE("Born = '1970-01-01T00:00:01Z'", "(= Born 1000000000)"),
        LINE("Born = '1970-01-01T01:00:00.5+01:00'", "(= Born 500000000)"),
        LINE("Born < '9999-12-31T23:59:59Z'", "(< Born 9223372036854775807)"),
        LINE("Born > '0001-01-01T00:00:00Z'", "(> Born -9223372036854775808)"),
        LINE("Tags = 'a'", "(= Tags 'a')"),
        LINE("Tags IN ('a', 'b')", "(= Tags 'a' 'b')"),
        LINE("Notes = 'The quick, brown_fox'", "(= Notes 'the' 'quick' 'brown_fox')"),
        LINE("Notes != '...'", "(not (= Notes))"),
        LINE("ExecutionStatus = 'Running'", "(= ExecutionStatus 'Running')"),
        LINE("ExecutionStatus = 6", "(= ExecutionStatus 'ContinuedAsNew')"),
        LINE("ExecutionStatus = 'WORKFLOW_EXECUTION_STATUS_TIMED_OUT'", "(= ExecutionStatus 'TimedOut')"),
        LINE("ExecutionStatus IN ('failed', 5)", "(= ExecutionStatus 'Failed' 'Terminated')"),
        LINE("ExecutionStatus != 'Completed'", "(= ExecutionStatus 'Running' 'Failed' 'Canceled' "
                                               "'Terminated' 'ContinuedAsNew' 'TimedOut' 'Paused')"),
        LINE("NOT NOT ExecutionStatus NOT IN (1, 3, 4, 5, 6, 7, 8)", "(= ExecutionStatus 'Completed')"),
        LINE("ExecutionStatus NOT IN (1, 2, 3, 4, 5, 6, 7, 8)", "(= ExecutionStatus)"),
        LINE("NOT (ExecutionStatus = 1 AND Year = 1)",
             "(not (and (= ExecutionStatus 'Running') (= Year 1)))"),
        LINE("ExecutionDuration > '1h30m'", "(> ExecutionDuration 5400000000000)"),
        LINE("ExecutionDuration > '01:30:00'", "(> ExecutionDuration 5400000000000)"),
        LINE("ExecutionDuration > 17", "(> ExecutionDuration 17)"),
    };
    check_lines(lines, ARRAY_LEN(lines));
}

TEST(words_are_cut_in_the_right_place) {
    static const struct line lines[] = {
        LINE("Year\r=\r1", "(= Year 1)"),
        LINE("no.2-b=1", "(= no.2-b 1)"),
        LINE("\xc3\xa9t\xc3\xa9=1", "(= \xc3\xa9t\xc3\xa9 1)"),
        LINE("Score = .5", "(= Score 0.5)"),
        LINE("Score = 1E+3", "(= Score 1000)"),
        LINE("Score = 1e-1", "(= Score 0.1)"),
        LINE("Score IN (1,-1)", "(= Score 1 -1)"),
        LINE("City = 'a\\nb\\tc\\rd\\\\e'", "(= City 'a\nb\tc\rd\\e')"),
        LINE("City = 'a\\0b'", "(= City 'a')"),
        LINE("`no.2\\-b` = 1", "invalid query: invalid expression: column name 'no.2\\-b' is not a valid "
                               "search attribute, at column 1"),
        LINE("Score = 1+1", "invalid query: malformed SQL query: expected AND, OR or the end at column 10, "
                            "found '+1'"),
        LINE("Score = 1-1", "invalid query: malformed SQL query: expected AND, OR or the end at column 10, "
                            "found '-1'"),
        LINE("Score = 1+x", "invalid query: malformed SQL query: unexpected character at column 10"),
        LINE("{Score = 1", "invalid query: malformed SQL query: unexpected character at column 1"),
        LINE("Score = .x", "invalid query: malformed SQL query: unexpected character at column 9"),
        LINE("Score = 1 AND ;", "invalid query: malformed SQL query: unexpected character at column 15"),
        LINE("Notes = 'Caf\xc3\xa9 2 {curly}'", "(= Notes 'caf\xc3\xa9' '2' 'curly')"),
        LINE("Notes = ''", "(= Notes)"),
    };
    check_lines(lines, ARRAY_LEN(lines));
}

#define NO_SCHEDULE                                                                                          \
    "(and (not (= TemporalNamespaceDivision 'TemporalScheduler')) "                                          \
    "(not (= TemporalNamespaceDivision 'TemporalBatcher')))"
#define OPEN_SCHEDULE "(and (= TemporalNamespaceDivision 'TemporalScheduler') (not (has CloseTime)))"
#define CANNOT "invalid query: cannot filter on "

TEST(schedules_have_names_of_their_own) {
    static const struct line lines[] = {
        LINE("", OPEN_SCHEDULE),
        LINE("ScheduleId = 's'", "(and (= ScheduleId 's') " OPEN_SCHEDULE ")"),
        LINE("SchedulePaused = true", "(and (= TemporalSchedulePaused 1) " OPEN_SCHEDULE ")"),
        LINE("ScheduleRunningWorkflowCount > 2",
             "(and (> ScheduleRunningWorkflowCount 2) " OPEN_SCHEDULE ")"),
        LINE("City = 'Rome'", "(and (= City 'Rome') " OPEN_SCHEDULE ")"),
        LINE("WorkflowId = 'x'", CANNOT "'WorkflowId' in a list of schedules, at column 1"),
        LINE("Year = 1 AND ExecutionStatus = 'Running'",
             CANNOT "'ExecutionStatus' in a list of schedules, at column 14"),
        LINE("TemporalNamespaceDivision IS NULL",
             CANNOT "'TemporalNamespaceDivision' in a list of schedules, at column 1"),
        LINE("GROUP BY City",
             "invalid query: operation is not supported: 'GROUP BY' clause is only supported "
             "for ExecutionStatus, at column 10"),
        LINE("Nowhere = 1",
             "invalid query: invalid expression: column name 'Nowhere' is not a valid search attribute, "
             "at column 1"),
    };
    check_lines_about(FILTER_SCHEDULES, lines, ARRAY_LEN(lines));
}

TEST(names_are_those_of_the_namespace) {
    static const struct line lines[] = {
        LINE("ScheduledById = 's'", "(= TemporalScheduledById 's')"),
        LINE("TemporalCity = 'Rome'", "(= City 'Rome')"),
        LINE("TemporalNamespaceDivision = 'x'", "(and (= TemporalNamespaceDivision 'x') " NO_SCHEDULE ")"),
        LINE("NamespaceDivision IS NULL AND Year = 1",
             "(and (and (not (has TemporalNamespaceDivision)) (= Year 1)) " NO_SCHEDULE ")"),
        LINE("ScheduleId = 's'",
             "invalid query: invalid expression: column name 'ScheduleId' is not a valid search attribute, "
             "at column 1"),
        LINE("Nowhere = 1",
             "invalid query: invalid expression: column name 'Nowhere' is not a valid search attribute, "
             "at column 1"),
        LINE("Year = 1 AND city = 'x'",
             "invalid query: invalid expression: column name 'city' is not a valid search attribute, "
             "at column 14"),
    };
    check_lines(lines, ARRAY_LEN(lines));
}

#define MALFORMED "invalid query: malformed SQL query: "
#define UNSUPPORTED "invalid query: operation is not supported: "
#define FIFTY_NINE "00000000000000000000000000000000000000000000000000000000000"
#define SIXTY "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define BAD_VALUE "invalid query: invalid expression: invalid value "

TEST(errors_point_at_the_place) {
    static const struct line lines[] = {
        LINE("City", MALFORMED "expected an operator at column 5, where the query ends"),
        LINE("City =", MALFORMED "expected a value at column 7, where the query ends"),
        LINE("City = Rome", MALFORMED "expected a value at column 8, found 'Rome'"),
        LINE("City = Year", MALFORMED "expected a value at column 8, found 'Year'"),
        LINE("City == 'x'", MALFORMED "expected a value at column 7, found '='"),
        LINE("City = 'x' Year = 1", MALFORMED "expected AND, OR or the end at column 12, found 'Year'"),
        LINE("City = 'x' AND", MALFORMED "expected the name of a search attribute at column 15, where the "
                                         "query ends"),
        LINE("(City = 'x'", MALFORMED "expected AND, OR or ) at column 12, where the query ends"),
        LINE("City = 'x')", MALFORMED "expected AND, OR or the end at column 11, found ')'"),
        LINE("City = 'x", MALFORMED "unclosed ' at column 8"),
        LINE("City = 'x\\", MALFORMED "unclosed ' at column 8"),
        LINE("`City = 'x'", MALFORMED "unclosed ` at column 1"),
        LINE("City ; 'x'", MALFORMED "unexpected character at column 6"),
        LINE("City IN 'x'", MALFORMED "expected ( at column 9, found 'x'"),
        LINE("City IN ()", MALFORMED "expected a value at column 10, found ')'"),
        LINE("City IN ('x' 'y')", MALFORMED "expected , or ) at column 14, found 'y'"),
        LINE("City BETWEEN 'a'", MALFORMED "expected AND at column 17, where the query ends"),
        LINE("City NOT = 'a'", MALFORMED "expected IN, BETWEEN or STARTS_WITH at column 10, found '='"),
        LINE("City IS 'a'", MALFORMED "expected NULL at column 9, found 'a'"),
        LINE("City STARTS_WITH 1", MALFORMED "expected a text at column 18, found '1'"),
        LINE("City LIKE 'a%'", UNSUPPORTED "LIKE; use STARTS_WITH, at column 6"),
        LINE("Year = 1 ORDER BY Year", UNSUPPORTED "'ORDER BY' clause, at column 10"),
        LINE("ORDER BY StartTime desc", UNSUPPORTED "'ORDER BY' clause, at column 1"),
        LINE("Year = 1 LIMIT 5", UNSUPPORTED "'LIMIT' clause, at column 10"),
        LINE("GROUP BY City",
             UNSUPPORTED "'GROUP BY' clause is only supported for ExecutionStatus, at column 10"),
        LINE("GROUP ExecutionStatus", MALFORMED "expected BY at column 7, found 'ExecutionStatus'"),
        LINE("Year STARTS_WITH 'a'",
             UNSUPPORTED "operator 'STARTS_WITH' for search attribute 'Year' of type Int, at column 1"),
        LINE("Notes > 'a'",
             UNSUPPORTED "operator '>' for search attribute 'Notes' of type Text, at column 1"),
        LINE("Notes IN ('a')",
             UNSUPPORTED "operator 'IN' for search attribute 'Notes' of type Text, at column 1"),
        LINE("Tags < 'a'",
             UNSUPPORTED "operator '<' for search attribute 'Tags' of type KeywordList, at column 1"),
        LINE("Notes BETWEEN 'a' AND 'b'",
             UNSUPPORTED "operator 'BETWEEN' for search attribute 'Notes' of type Text, at column 1"),
        LINE("Urgent BETWEEN true AND false", UNSUPPORTED "BETWEEN for true and false, at column 1"),
        LINE("Year = 1.5", BAD_VALUE "'1.5' for search attribute 'Year' of type Int at column 8"),
        LINE("Year = 9223372036854775808",
             BAD_VALUE "'9223372036854775808' for search attribute 'Year' of type Int at column 8"),
        LINE("Score = 1e999", BAD_VALUE "'1e999' for search attribute 'Score' of type Double at column 9"),
        LINE("Urgent = 1", BAD_VALUE "'1' for search attribute 'Urgent' of type Bool at column 10"),
        LINE("City = 5", BAD_VALUE "'5' for search attribute 'City' of type Keyword at column 8"),
        LINE("City = true", BAD_VALUE "'true' for search attribute 'City' of type Keyword at column 8"),
        LINE("Born = '2023-02-29T00:00:00Z'",
             BAD_VALUE "'2023-02-29T00:00:00Z' for search attribute 'Born' of type Datetime at column 8"),
        LINE("ExecutionStatus = 'Asleep'",
             "invalid query: invalid expression: invalid ExecutionStatus value 'Asleep' at column 19"),
        LINE("ExecutionStatus = 9",
             "invalid query: invalid expression: invalid ExecutionStatus value '9' at column 19"),
        LINE("ExecutionStatus = -1",
             "invalid query: invalid expression: invalid ExecutionStatus value '-1' at column 19"),
        LINE("ExecutionStatus = 'Runnings'",
             "invalid query: invalid expression: invalid ExecutionStatus value 'Runnings' at column 19"),
        LINE("ExecutionStatus = '" SIXTY "x'",
             "invalid query: invalid expression: invalid ExecutionStatus value '" SIXTY "' at column 19"),
        LINE("City = " SIXTY "x", MALFORMED "expected a value at column 8, found '" SIXTY "'"),
        LINE("Year = '" SIXTY "x'",
             BAD_VALUE "'" SIXTY "' for search attribute 'Year' of type Int at column 8"),
        LINE("Year = true", BAD_VALUE "'true' for search attribute 'Year' of type Int at column 8"),
        LINE("Year = ''", BAD_VALUE "'' for search attribute 'Year' of type Int at column 8"),
        LINE("Score = true", BAD_VALUE "'true' for search attribute 'Score' of type Double at column 9"),
        LINE("Score = ''", BAD_VALUE "'' for search attribute 'Score' of type Double at column 9"),
        LINE("Score = '0x1'", BAD_VALUE "'0x1' for search attribute 'Score' of type Double at column 9"),
        LINE("Score = 'inf'", BAD_VALUE "'inf' for search attribute 'Score' of type Double at column 9"),
        LINE("Score = 1.2.3", BAD_VALUE "'1.2.3' for search attribute 'Score' of type Double at column 9"),
        LINE("Score = '1" FIFTY_NINE "0000'",
             BAD_VALUE "'1" FIFTY_NINE "' for search attribute 'Score' of type Double at column 9"),
        LINE("Score = '1\\02'", BAD_VALUE "'1' for search attribute 'Score' of type Double at column 9"),
        LINE("Urgent = 'maybe'", BAD_VALUE "'maybe' for search attribute 'Urgent' of type Bool at column 10"),
        LINE("Born = true", BAD_VALUE "'true' for search attribute 'Born' of type Datetime at column 8"),
        LINE("ExecutionDuration = 'soon'",
             BAD_VALUE "'soon' for search attribute 'ExecutionDuration' of type Int at column 21"),
    };
    check_lines(lines, ARRAY_LEN(lines));
}

/* `count` times `unit`, then `end`. */
static void check_repeated(const char *unit, size_t count, const char *end, const char *want_prefix) {
    struct buf query cleanup(buf_done), text cleanup(buf_done);
    buf_init(&query, (size_t)1 << 20);
    buf_init(&text, (size_t)1 << 20);
    for (size_t i = 0; i < count; i++)
        buf_add_cstr(&query, unit);
    buf_add_cstr(&query, end);
    buf_add_u8(&query, 0);
    if (!buf_ok(&query))
        return;
    parse_to_text(FILTER_WORKFLOWS, (const char *)query.data, &text);
    if (!buf_ok(&text))
        return;
    buf_truncate(&text, MIN(text.len, strlen(want_prefix)));
    buf_add_u8(&text, 0);
    if (!buf_ok(&text))
        return;
    CHECK_STR((const char *)text.data, want_prefix);
}

TEST(size_and_depth_are_limited) {
    check_repeated("Year = 1 AND ", FILTER_TESTS_MAX - 1, "Year = 1", "(and (and ");
    check_repeated("Year = 1 AND ", FILTER_TESTS_MAX, "Year = 1", "invalid query: more than 256 conditions");
    check_repeated("NOT ", FILTER_DEPTH_MAX, "Year = 1", "(not (not ");
    check_repeated("NOT ", FILTER_DEPTH_MAX + 1, "Year = 1", "invalid query: nested deeper than 32 levels");
    check_repeated("(", 100000, "Year = 1", "invalid query: nested deeper than 32 levels");
    check_repeated(" ", FILTER_BYTES_MAX + 1, "", "invalid query: longer than 131072 bytes");
    struct buf query cleanup(buf_done);
    buf_init(&query, (size_t)1 << 20);
    buf_add_cstr(&query, "Year IN (1");
    for (size_t i = 0; i < FILTER_VALUES_MAX; i++)
        buf_add_cstr(&query, ",1");
    buf_add_u8(&query, 0);
    if (buf_ok(&query))
        check_repeated((const char *)query.data, 1, ")", "invalid query: more than 4096 values");
}

/* payloads */

static void check_payload(E__IndexedValueType type, const char *json, const char *want) {
    Common__Payload p = COMMON__PAYLOAD__INIT;
    struct arena a cleanup(arena_done);
    struct buf text cleanup(buf_done);
    struct attribute got;
    char copy[256];
    arena_init(&a, (size_t)1 << 20);
    buf_init(&text, TEXT_MAX);
    (void)snprintf(copy, sizeof copy, "%s", json);
    p.data = (ProtobufCBinaryData){strlen(copy), (uint8_t *)copy};
    if (attribute_values(&a, type, &p, &got) < 0) {
        CHECK(arena_failed(&a));
        return;
    }
    for (size_t i = 0; i < got.count; i++)
        write_value(&text, &got.values[i]);
    buf_add_u8(&text, 0);
    if (buf_ok(&text))
        CHECK_STR((const char *)text.data, want);
}

TEST(payloads_are_read_for_the_index) {
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "\"Rome\"", " 'Rome'");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "[\"Rome\"]", " 'Rome'");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "\"a\\\"\\n\\u00e9\\ud83d\\ude00\\ud83d\"",
                  " 'a\"\n\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd'");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD_LIST, "[ \"a\" , \"b,c\" ]", " 'a' 'b,c'");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD_LIST, "[]", "");
    check_payload(INDEXED_VALUE_TYPE_INT, "-12", " -12");
    check_payload(INDEXED_VALUE_TYPE_INT, "[7]", " 7");
    check_payload(INDEXED_VALUE_TYPE_INT, "1.5", "");
    check_payload(INDEXED_VALUE_TYPE_DOUBLE, "3", " 3");
    check_payload(INDEXED_VALUE_TYPE_BOOL, "true", " 1");
    check_payload(INDEXED_VALUE_TYPE_DATETIME, "\"1970-01-01T00:00:01Z\"", " 1000000000");
    check_payload(INDEXED_VALUE_TYPE_TEXT, "\"Two WORDS\"", " 'two' 'words'");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "\"open", "");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "null", "");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "", "");
}

/* What does not fit is left out, and what comes behind it is not lost. */
TEST(payloads_that_are_no_good_json) {
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, " \"a\"", " 'a'");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, " ", "");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "\"\\", "");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "\"\\u", "");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "\"\\u00g0\"", "");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "\"\\u0041\\/\"", " 'A/'");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "\"\\uDC00\"", " '\xef\xbf\xbd'");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "\"\\uD800\\u0041\"",
                  " '\xef\xbf\xbd"
                  "A'");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "\"\\uD800\\uE000\"", " '\xef\xbf\xbd\xee\x80\x80'");
    check_payload(INDEXED_VALUE_TYPE_KEYWORD, "\"\\uD800\\u00\"", "");
    check_payload(INDEXED_VALUE_TYPE_BOOL, "false", " 0");
    check_payload(INDEXED_VALUE_TYPE_BOOL, "[true,1,false]", " 1 0");
    check_payload(INDEXED_VALUE_TYPE_TEXT, "12", "");
}

/* A byte of zero in the data ends nothing. */
TEST(payloads_with_a_zero_byte) {
    static const char *const texts[] = {"\"\\\0\"", "\"\\u\0"
                                                    "000\""};
    static const size_t lengths[] = {4, 8};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        Common__Payload p = COMMON__PAYLOAD__INIT;
        struct arena a cleanup(arena_done);
        struct attribute got;
        char copy[8];
        arena_init(&a, (size_t)1 << 20);
        memcpy(copy, texts[i], lengths[i]);
        p.data = (ProtobufCBinaryData){lengths[i], (uint8_t *)copy};
        if (attribute_values(&a, INDEXED_VALUE_TYPE_KEYWORD, &p, &got) == 0)
            CHECK_INT(got.count, i == 0);
    }
    Common__Payload null = COMMON__PAYLOAD__INIT;
    struct attribute none;
    CHECK_INT(attribute_values(NULL, INDEXED_VALUE_TYPE_KEYWORD, NULL, &none), 0);
    CHECK_INT(none.count, 0);
    CHECK_INT(attribute_values(NULL, INDEXED_VALUE_TYPE_KEYWORD, &null, &none), 0);
    CHECK_INT(none.count, 0);
}

TEST(durations_are_read) {
    static const struct {
        const char *text;
        int64_t want; /* INT64_MIN: refused */
    } cases[] = {{"0", 0},
                 {"1s", 1000000000},
                 {"1.5ms", 1500000},
                 {"-2m", -120000000000},
                 {".5s", 500000000},
                 {"3us4ns", 3004},
                 {"\xc2\xb5s", INT64_MIN},
                 {"2\xc2\xb5s", 2000},
                 {"", INT64_MIN},
                 {"5", INT64_MIN},
                 {"1h2", INT64_MIN},
                 {"9999999999999h", INT64_MIN},
                 {"00:00:01.5", 1500000000},
                 {"1:60:00", INT64_MIN},
                 {"s", INT64_MIN}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got;
        int rc = span_parse(str_of(cases[i].text), &got);
        if (!CHECK_INT(rc < 0 ? INT64_MIN : got, cases[i].want))
            printf("# %s\n", cases[i].text);
    }
}

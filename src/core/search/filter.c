/* Parsing by recursive descent: one function for each line of the grammar, one word of lookahead. Depth,
 * tests and values are counted, so a query costs no more than its limits whatever it says. */
#include "core/search/filter.h"

#include <strings.h>

#include "core/search/filter_value.h"

#define DIVISION "TemporalNamespaceDivision"

struct parser {
    struct filter_lexer lexer;
    const State__Namespace *ns;
    enum filter_subject subject;
    struct filter_token token; /* the next one */
    size_t depth;
    size_t test_count;
    size_t value_count;
    bool names_division;
    int rc; /* of the first error */
    struct err *err;
};

typedef const struct predicate *(*parse_fn)(struct parser *p);

/* building */

static struct predicate *new_node(struct arena *a, enum predicate_kind kind) {
    struct predicate *p = arena_new(a, struct predicate);
    if (p)
        p->kind = kind;
    return p;
}

static const struct predicate *filter_join_nodes(struct arena *a, enum predicate_kind kind,
                                                 const struct predicate *l, const struct predicate *r) {
    struct predicate *p = l && r ? new_node(a, kind) : NULL;
    if (!p)
        return NULL;
    p->left = l;
    p->right = r;
    return p;
}

const struct predicate *filter_and(struct arena *a, const struct predicate *l, const struct predicate *r) {
    return filter_join_nodes(a, PREDICATE_AND, l, r);
}

const struct predicate *filter_not(struct arena *a, const struct predicate *p) {
    struct predicate *n = p ? new_node(a, PREDICATE_NOT) : NULL;
    if (n)
        n->left = p;
    return n;
}

const struct predicate *filter_test(struct arena *a, enum predicate_kind kind, const char *name,
                                    const struct value *value) {
    struct predicate *p = new_node(a, kind);
    if (!p)
        return NULL;
    p->name = str_of(name);
    if (value) {
        p->values = arena_dup(a, value, sizeof(*value));
        p->count = p->values ? 1 : 0;
    }
    return p;
}

/* words */

static void filter_set_error(struct parser *p, int rc) {
    if (p->rc == 0)
        p->rc = rc;
}

static void filter_read_token(struct parser *p) {
    if (p->rc == 0)
        filter_set_error(p, filter_next_token(&p->lexer, &p->token, p->err));
}

static bool at_word(const struct parser *p, const char *word) {
    const struct filter_token *t = &p->token;
    return p->rc == 0 && t->kind == FILTER_NAME && !t->is_quoted && t->text.n == strlen(word) &&
           strncasecmp(t->text.p, word, t->text.n) == 0;
}

static bool accept_word(struct parser *p, const char *word) {
    if (!at_word(p, word))
        return false;
    filter_read_token(p);
    return true;
}

static bool at_symbol(const struct parser *p, const char *symbol) {
    return p->rc == 0 && p->token.kind == FILTER_SYMBOL && str_is(p->token.text, symbol);
}

static bool accept_symbol(struct parser *p, const char *symbol) {
    if (!at_symbol(p, symbol))
        return false;
    filter_read_token(p);
    return true;
}

static void filter_report_expected(struct parser *p, const char *what) {
    const struct filter_token *t = &p->token;
    if (p->rc < 0)
        return;
    if (t->kind == FILTER_END)
        filter_set_error(
            p, err_set(p->err, ERR_INVALID,
                       "invalid query: malformed SQL query: expected %s at column %zu, where the query ends",
                       what, t->column));
    else
        filter_set_error(
            p, err_set(p->err, ERR_INVALID,
                       "invalid query: malformed SQL query: expected %s at column %zu, found '%.*s'", what,
                       t->column, (int)MIN(t->text.n, 60), t->text.p));
}

static void filter_report_unsupported(struct parser *p, size_t column, const char *what) {
    filter_set_error(p,
                     err_set(p->err, ERR_INVALID,
                             "invalid query: operation is not supported: %s, at column %zu", what, column));
}

/* names */

struct name {
    const char *text;
    E__IndexedValueType type;
    size_t column;
};

static E__IndexedValueType filter_name_type(const struct parser *p, const char *text) {
    E__IndexedValueType of_schedule = schedule_attribute_type(text);
    if (p->subject == FILTER_SCHEDULES && (of_schedule || attribute_is_built_in(text)))
        return of_schedule;
    return attribute_type(p->ns, text);
}

static bool try_name(const struct parser *p, const char *text, struct name *ret) {
    ret->text = text;
    ret->type = text ? filter_name_type(p, text) : INDEXED_VALUE_TYPE_UNSPECIFIED;
    return ret->type != INDEXED_VALUE_TYPE_UNSPECIFIED;
}

/* As written, or with "Temporal" in front, or without. */
static bool filter_find_name(struct parser *p, const char *text, struct name *ret) {
    static const char prefix[] = "Temporal";
    if (try_name(p, text, ret) || try_name(p, arena_printf(p->lexer.arena, "%s%s", prefix, text), ret))
        return true;
    return str_starts(str_of(text), STR(prefix)) && try_name(p, text + sizeof(prefix) - 1, ret);
}

static void parse_name(struct parser *p, struct name *ret) {
    struct filter_token t = p->token;
    *ret = (struct name){.column = t.column, .text = ""};
    if (t.kind != FILTER_NAME) {
        filter_report_expected(p, "the name of a search attribute");
        return;
    }
    char *text = arena_strndup(p->lexer.arena, t.text.p, t.text.n);
    if (!text)
        filter_set_error(p, err_std(p->err, ERR_NO_MEMORY));
    else if (!filter_find_name(p, text, ret) && p->subject == FILTER_SCHEDULES && attribute_is_built_in(text))
        filter_set_error(
            p, err_set(p->err, ERR_INVALID,
                       "invalid query: cannot filter on '%.100s' in a list of schedules, at column %zu", text,
                       t.column));
    else if (ret->type == INDEXED_VALUE_TYPE_UNSPECIFIED)
        filter_set_error(
            p, err_set(p->err, ERR_INVALID,
                       "invalid query: invalid expression: column name '%.100s' is not a valid search "
                       "attribute, at column %zu",
                       text, t.column));
    else if (cstr_eq(ret->text, DIVISION))
        p->names_division = true;
    ret->column = t.column;
    filter_read_token(p);
}

/* tests */

static bool is_value(const struct parser *p) {
    const struct filter_token *t = &p->token;
    return t->kind == FILTER_TEXT || t->kind == FILTER_NUMBER || at_word(p, "true") || at_word(p, "false");
}

static void filter_parse_value(struct parser *p, const struct name *n, struct value *ret) {
    if (p->rc < 0)
        return;
    if (!is_value(p)) {
        filter_report_expected(p, "a value");
        return;
    }
    if (++p->value_count > FILTER_VALUES_MAX) {
        filter_set_error(
            p, err_set(p->err, ERR_INVALID, "invalid query: more than %d values", FILTER_VALUES_MAX));
        return;
    }
    filter_set_error(p, filter_value(n->text, n->type, &p->token, ret, p->err));
    filter_read_token(p);
}

/* Which operators a type has; IS NULL goes with all of them. */
static bool has_operator(E__IndexedValueType type, enum predicate_kind kind, bool is_list) {
    switch ((int)type) {
    case INDEXED_VALUE_TYPE_TEXT:
        return kind == PREDICATE_EQUAL && !is_list;
    case INDEXED_VALUE_TYPE_KEYWORD_LIST:
        return kind == PREDICATE_EQUAL;
    case INDEXED_VALUE_TYPE_KEYWORD:
        return true;
    default:
        return kind != PREDICATE_PREFIX;
    }
}

static bool check_operator(struct parser *p, const struct name *n, enum predicate_kind kind, bool is_list,
                           const char *operator) {
    if (p->rc < 0)
        return false;
    if (has_operator(n->type, kind, is_list))
        return true;
    filter_set_error(
        p,
        err_set(p->err, ERR_INVALID,
                "invalid query: operation is not supported: operator '%s' for search attribute '%.100s' of "
                "type %s, at column %zu",
                operator, n->text, attribute_type_name(n->type), n->column));
    return false;
}

static const struct predicate *filter_parsed_test(struct parser *p, enum predicate_kind kind,
                                                  const struct name *n, const struct value *v) {
    return p->rc == 0 ? filter_test(p->lexer.arena, kind, n->text, v) : NULL;
}

static bool filter_has_value(const struct predicate *t, const char *text) {
    for (size_t i = 0; i < t->count; i++)
        if (str_is(t->values[i].text, text))
            return true;
    return false;
}

/* Every workflow has one of a few statuses: which it has not is better asked as which it has, because that
 * has an index. */
static const struct predicate *other_statuses(struct arena *a, const struct predicate *t) {
    struct predicate *others = new_node(a, PREDICATE_EQUAL);
    struct value *values = arena_array(a, struct value, WORKFLOW_EXECUTION_STATUS_PAUSED);
    if (!others || !values)
        return NULL;
    others->name = t->name;
    others->values = values;
    for (int64_t i = 1; status_name(i); i++)
        if (!filter_has_value(t, status_name(i)))
            values[others->count++] = value_text(str_of(status_name(i)));
    return others;
}

static const struct predicate *filter_negate_test(struct parser *p, const struct predicate *t) {
    bool is_of_status = p->subject == FILTER_WORKFLOWS && t && t->kind == PREDICATE_EQUAL &&
                        str_is(t->name, "ExecutionStatus");
    return is_of_status ? other_statuses(p->lexer.arena, t) : filter_not(p->lexer.arena, t);
}

static const struct predicate *negate_if(struct parser *p, bool is_negative, const struct predicate *t) {
    return is_negative ? filter_negate_test(p, t) : t;
}

/* A text is found by any of its words. */
static const struct predicate *words_test(struct parser *p, const struct name *n, const struct value *v) {
    struct attribute words = {.count = 0};
    struct predicate *t = new_node(p->lexer.arena, PREDICATE_EQUAL);
    if (!t || attribute_words(p->lexer.arena, v->text, &words) < 0)
        return NULL;
    t->name = str_of(n->text);
    t->values = words.values;
    t->count = words.count;
    return t;
}

static const struct predicate *parse_comparison(struct parser *p, const struct name *n) {
    static const struct {
        const char *symbol;
        enum predicate_kind kind;
    } symbols[] = {{"=", PREDICATE_EQUAL},    {"!=", PREDICATE_EQUAL}, {"<>", PREDICATE_EQUAL},
                   {"<", PREDICATE_BELOW},    {">", PREDICATE_ABOVE},  {"<=", PREDICATE_AT_MOST},
                   {">=", PREDICATE_AT_LEAST}};
    struct value v = {0};
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        if (!accept_symbol(p, symbols[i].symbol))
            continue;
        if (!check_operator(p, n, symbols[i].kind, false, symbols[i].symbol))
            return NULL;
        filter_parse_value(p, n, &v);
        if (p->rc < 0)
            return NULL;
        const struct predicate *t = n->type == INDEXED_VALUE_TYPE_TEXT
                                        ? words_test(p, n, &v)
                                        : filter_parsed_test(p, symbols[i].kind, n, &v);
        return negate_if(p, i == 1 || i == 2, t);
    }
    filter_report_expected(p, "an operator");
    return NULL;
}

static const struct predicate *parse_in(struct parser *p, const struct name *n) {
    struct arena *a = p->lexer.arena;
    size_t cap = 8, count = 0;
    struct value *values = arena_array(a, struct value, cap);
    if (!check_operator(p, n, PREDICATE_EQUAL, true, "IN"))
        return NULL;
    if (!accept_symbol(p, "("))
        filter_report_expected(p, "(");
    do {
        if (count == cap) {
            struct value *bigger = arena_array(a, struct value, cap *= 2);
            if (bigger)
                memcpy(bigger, values, count * sizeof(*values));
            values = bigger;
        }
        if (!values)
            return NULL;
        filter_parse_value(p, n, &values[count++]);
    } while (accept_symbol(p, ","));
    if (!accept_symbol(p, ")"))
        filter_report_expected(p, ", or )");
    struct predicate *t = p->rc == 0 ? new_node(a, PREDICATE_EQUAL) : NULL;
    if (!t)
        return NULL;
    t->name = str_of(n->text);
    t->values = values;
    t->count = count;
    return t;
}

static const struct predicate *parse_between(struct parser *p, const struct name *n) {
    struct value low = {0}, high = {0};
    if (!check_operator(p, n, PREDICATE_AT_LEAST, true, "BETWEEN"))
        return NULL;
    if (n->type == INDEXED_VALUE_TYPE_BOOL) {
        filter_report_unsupported(p, n->column, "BETWEEN for true and false");
        return NULL;
    }
    filter_parse_value(p, n, &low);
    if (!accept_word(p, "and"))
        filter_report_expected(p, "AND");
    filter_parse_value(p, n, &high);
    const struct predicate *from = filter_parsed_test(p, PREDICATE_AT_LEAST, n, &low);
    return filter_join_nodes(p->lexer.arena, PREDICATE_AND, from,
                             filter_parsed_test(p, PREDICATE_AT_MOST, n, &high));
}

static const struct predicate *parse_prefix(struct parser *p, const struct name *n) {
    struct value v = {0};
    if (!check_operator(p, n, PREDICATE_PREFIX, false, "STARTS_WITH"))
        return NULL;
    if (p->token.kind != FILTER_TEXT)
        filter_report_expected(p, "a text");
    v = value_text(p->token.text); /* not a whole status, for example */
    filter_read_token(p);
    return filter_parsed_test(p, PREDICATE_PREFIX, n, &v);
}

static const struct predicate *parse_test(struct parser *p) {
    struct name n;
    if (++p->test_count > FILTER_TESTS_MAX) {
        filter_set_error(
            p, err_set(p->err, ERR_INVALID, "invalid query: more than %d conditions", FILTER_TESTS_MAX));
        return NULL;
    }
    parse_name(p, &n);
    if (accept_word(p, "is")) {
        bool is_positive = accept_word(p, "not");
        if (!accept_word(p, "null"))
            filter_report_expected(p, "NULL");
        return negate_if(p, !is_positive, filter_parsed_test(p, PREDICATE_PRESENT, &n, NULL));
    }
    bool is_negative = accept_word(p, "not");
    if (accept_word(p, "in"))
        return negate_if(p, is_negative, parse_in(p, &n));
    if (accept_word(p, "between"))
        return negate_if(p, is_negative, parse_between(p, &n));
    if (accept_word(p, "starts_with"))
        return negate_if(p, is_negative, parse_prefix(p, &n));
    if (at_word(p, "like")) {
        filter_report_unsupported(p, p->token.column, "LIKE; use STARTS_WITH");
        return NULL;
    }
    if (!is_negative)
        return parse_comparison(p, &n);
    filter_report_expected(p, "IN, BETWEEN or STARTS_WITH");
    return NULL;
}

/* expressions */

static const struct predicate *parse_or(struct parser *p);

static const struct predicate *parse_deeper(struct parser *p, parse_fn parse) {
    const struct predicate *t = NULL;
    if (++p->depth > FILTER_DEPTH_MAX)
        filter_set_error(p, err_set(p->err, ERR_INVALID,
                                    "invalid query: nested deeper than %d levels, at column %zu",
                                    FILTER_DEPTH_MAX, p->token.column));
    if (p->rc == 0)
        t = parse(p);
    p->depth--;
    return t;
}

static const struct predicate *parse_not(struct parser *p) {
    if (accept_word(p, "not"))
        return filter_negate_test(p, parse_deeper(p, parse_not));
    if (!accept_symbol(p, "("))
        return p->rc == 0 ? parse_test(p) : NULL;
    const struct predicate *t = parse_deeper(p, parse_or);
    if (!accept_symbol(p, ")"))
        filter_report_expected(p, "AND, OR or )");
    return t;
}

static const struct predicate *parse_and(struct parser *p) {
    const struct predicate *t = parse_not(p);
    while (accept_word(p, "and"))
        t = filter_join_nodes(p->lexer.arena, PREDICATE_AND, t, parse_not(p));
    return t;
}

static const struct predicate *parse_or(struct parser *p) {
    const struct predicate *t = parse_and(p);
    while (accept_word(p, "or"))
        t = filter_join_nodes(p->lexer.arena, PREDICATE_OR, t, parse_and(p));
    return t;
}

/* the rest of the query */

static void parse_group(struct parser *p) {
    struct name n;
    if (!accept_word(p, "by"))
        filter_report_expected(p, "BY");
    parse_name(p, &n);
    if (p->rc == 0 && (p->subject == FILTER_SCHEDULES || !cstr_eq(n.text, "ExecutionStatus")))
        filter_report_unsupported(p, n.column, "'GROUP BY' clause is only supported for ExecutionStatus");
}

static void filter_parse_query(struct parser *p, struct filter *ret) {
    filter_read_token(p);
    if (p->rc == 0 && p->token.kind != FILTER_END && !at_word(p, "group") && !at_word(p, "order"))
        ret->where = parse_or(p);
    if (accept_word(p, "group")) {
        ret->is_grouped = true;
        parse_group(p);
    }
    if (at_word(p, "order"))
        filter_report_unsupported(p, p->token.column, "'ORDER BY' clause");
    if (at_word(p, "limit"))
        filter_report_unsupported(p, p->token.column, "'LIMIT' clause");
    if (p->rc == 0 && p->token.kind != FILTER_END)
        filter_report_expected(p, "AND, OR or the end");
}

/* What the subject asks for by itself. */
static const struct predicate *filter_implied_test(struct parser *p) {
    struct arena *a = p->lexer.arena;
    struct value schedules = value_text(STR(SCHEDULE_DIVISION)), batches = value_text(STR(BATCH_DIVISION));
    const struct predicate *scheduler = filter_test(a, PREDICATE_EQUAL, DIVISION, &schedules);
    const struct predicate *batcher = filter_test(a, PREDICATE_EQUAL, DIVISION, &batches);
    switch (p->subject) {
    case FILTER_SCHEDULES:
        return filter_and(a, scheduler, filter_not(a, filter_test(a, PREDICATE_PRESENT, "CloseTime", NULL)));
    case FILTER_BATCHES:
        return batcher;
    case FILTER_WORKFLOWS:
        break;
    }
    if (p->names_division)
        return filter_and(a, filter_not(a, scheduler), filter_not(a, batcher));
    return filter_not(a, filter_test(a, PREDICATE_PRESENT, DIVISION, NULL));
}

int filter_parse(struct arena *a, const State__Namespace *ns, enum filter_subject subject, struct str query,
                 struct filter *ret, struct err *err) {
    struct parser p = {.lexer = {.arena = a, .query = query}, .ns = ns, .subject = subject, .err = err};
    *ret = (struct filter){0};
    if (query.n > FILTER_BYTES_MAX)
        return err_set(err, ERR_INVALID, "invalid query: longer than %d bytes", FILTER_BYTES_MAX);
    filter_parse_query(&p, ret);
    if (p.rc == 0)
        ret->where =
            ret->where ? filter_and(a, ret->where, filter_implied_test(&p)) : filter_implied_test(&p);
    if (p.rc == 0 && arena_failed(a))
        p.rc = err_std(err, ERR_NO_MEMORY);
    return p.rc;
}

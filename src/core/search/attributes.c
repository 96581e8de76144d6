/* The built-in names are a table; those that users add are in their namespace.
 * Values are JSON, and only their shape is looked at: a list where the type is
 * not a list may hold one value, as older clients send it. */
#include "core/search/attributes.h"

#include "base/mem.h"
#include "core/search/filter_value.h"
#include "core/step/merge.h"

enum { SYSTEM, SETTABLE, SHARED };

static const struct attribute_built_in built_ins[] = {
#define ATTRIBUTE(name, type, who) {#name, INDEXED_VALUE_TYPE_##type, (who) != SYSTEM, (who) != SETTABLE},
#include "core/search/attributes.def"
#undef ATTRIBUTE
};

static const struct attribute_built_in of_schedules[] = {
#define SCHEDULE_ATTRIBUTE(name, type) {#name, INDEXED_VALUE_TYPE_##type, false, true},
#include "core/schedule/schedule_attributes.def"
#undef SCHEDULE_ATTRIBUTE
};

static const char *const type_names[] = {"",       "Text", "Keyword",  "Int",
                                         "Double", "Bool", "Datetime", "KeywordList"};

const struct attribute_built_in *attribute_built_in_at(size_t i) {
    return i < ARRAY_LEN(built_ins) ? &built_ins[i] : NULL;
}

static const struct attribute_built_in *find_built_in(const char *name) {
    for (size_t i = 0; i < ARRAY_LEN(built_ins); i++)
        if (*built_ins[i].name == *name && cstr_eq(built_ins[i].name, name))
            return &built_ins[i];
    return NULL;
}

bool attribute_is_built_in(const char *name) {
    return find_built_in(name) != NULL;
}

E__IndexedValueType attribute_type(const State__Namespace *ns, const char *name) {
    const struct attribute_built_in *b = find_built_in(name);
    if (b)
        return b->type;
    for (size_t i = 0; ns && i < ns->n_search_attributes; i++)
        if (cstr_eq(ns->search_attributes[i]->name, name))
            return (E__IndexedValueType)ns->search_attributes[i]->type;
    return INDEXED_VALUE_TYPE_UNSPECIFIED;
}

E__IndexedValueType schedule_attribute_type(const char *name) {
    for (size_t i = 0; i < ARRAY_LEN(of_schedules); i++)
        if (cstr_eq(of_schedules[i].name, name))
            return of_schedules[i].type;
    return INDEXED_VALUE_TYPE_UNSPECIFIED;
}

const char *attribute_type_name(E__IndexedValueType type) {
    return type > 0 && (size_t)type < ARRAY_LEN(type_names) ? type_names[type] : "";
}

/* The shape of a JSON value */

static struct str attribute_trim_space(struct str s) {
    while (s.n && strchr(" \t\r\n", *s.p))
        s = str_bytes(s.p + 1, s.n - 1);
    while (s.n && strchr(" \t\r\n", s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Moves behind a string in quotes. */
static bool take_quoted(struct str *s) {
    if (!s->n || *s->p != '"')
        return false;
    for (size_t i = 1; i < s->n; i++) {
        if (s->p[i] == '\\')
            i++;
        else if (s->p[i] == '"') {
            *s = attribute_trim_space(str_bytes(s->p + i + 1, s->n - i - 1));
            return true;
        }
    }
    return false;
}

static bool attribute_is_quoted(struct str s) {
    return s.n >= 2 && *s.p == '"' && s.p[s.n - 1] == '"';
}

static bool attribute_is_listed(struct str s) {
    return s.n >= 2 && *s.p == '[' && s.p[s.n - 1] == ']';
}

static bool is_list_of_quoted(struct str s) {
    if (!attribute_is_listed(s))
        return false;
    s = attribute_trim_space(str_bytes(s.p + 1, s.n - 2));
    while (s.n) {
        if (!take_quoted(&s))
            return false;
        if (s.n && (*s.p != ',' || s.n == 1))
            return false;
        if (s.n)
            s = attribute_trim_space(str_bytes(s.p + 1, s.n - 1));
    }
    return true;
}

static bool attribute_is_number(struct str s, bool whole) {
    size_t digits = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] >= '0' && s.p[i] <= '9')
            digits++;
        else if (!(s.p[i] == '-' && i == 0) && (whole || !strchr(".eE+-", s.p[i])))
            return false;
    }
    return digits > 0;
}

/* Whether the index finds a value in it: a date of the calendar, a number that its type can hold. */
static bool attribute_is_value(struct str s, E__IndexedValueType type, enum filter_token_kind kind) {
    struct filter_token t = {.kind = kind, .text = s};
    struct value v;
    return filter_value("", type, &t, &v, NULL) == 0;
}

/* "2026-11-15T08:00:00Z" and its longer forms. */
static bool attribute_is_time(struct str s) {
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    if (!attribute_is_quoted(s) || s.n - 2 < sizeof(form))
        return false;
    for (size_t i = 0; i < sizeof(form) - 1; i++) {
        char c = s.p[i + 1];
        if (form[i] == 'd' ? c < '0' || c > '9' : c != form[i])
            return false;
    }
    return attribute_is_value(str_bytes(s.p + 1, s.n - 2), INDEXED_VALUE_TYPE_DATETIME, FILTER_TEXT);
}

static bool attribute_fits_type(struct str s, E__IndexedValueType type) {
    switch ((int)type) {
    case INDEXED_VALUE_TYPE_INT:
        return attribute_is_number(s, true) && attribute_is_value(s, type, FILTER_NUMBER);
    case INDEXED_VALUE_TYPE_DOUBLE:
        return attribute_is_number(s, false) && attribute_is_value(s, type, FILTER_NUMBER);
    case INDEXED_VALUE_TYPE_BOOL:
        return str_is(s, "true") || str_is(s, "false");
    case INDEXED_VALUE_TYPE_DATETIME:
        return attribute_is_time(s);
    case INDEXED_VALUE_TYPE_KEYWORD_LIST:
        return attribute_is_quoted(s) || is_list_of_quoted(s);
    default:
        return attribute_is_quoted(s);
    }
}

static bool value_fits(const Common__Payload *p, E__IndexedValueType type) {
    struct str s = attribute_trim_space(pb_bytes(&p->data));
    if (type != INDEXED_VALUE_TYPE_KEYWORD_LIST && attribute_is_listed(s))
        s = attribute_trim_space(str_bytes(s.p + 1, s.n - 2));
    return attribute_fits_type(s, type);
}

/* The rules */

static int validate_one(const State__Namespace *ns, const char *name, const Common__Payload *value,
                        struct err *err) {
    const struct attribute_built_in *b = find_built_in(name);
    E__IndexedValueType type = attribute_type(ns, name);
    if (b && !b->is_settable)
        return err_set(err, ERR_INVALID, "%s attribute can't be set in SearchAttributes", name);
    if (type == INDEXED_VALUE_TYPE_UNSPECIFIED)
        return err_set(err, ERR_INVALID, "Namespace %s has no mapping defined for search attribute %.200s",
                       ns ? ns->name : "", name);
    if (merge_is_null(value))
        return 0;
    if (!value_fits(value, type))
        return err_set(err, ERR_INVALID, "invalid value for search attribute %.200s of type %s", name,
                       attribute_type_name(type));
    return 0;
}

int attributes_validate(const State__Namespace *ns, const Common__SearchAttributes *a, struct err *err) {
    for (size_t i = 0; a && i < a->n_indexed_fields; i++) {
        int rc = validate_one(ns, a->indexed_fields[i]->key, a->indexed_fields[i]->value, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static bool is_written_here(const char *name) {
    const struct attribute_built_in *b = find_built_in(name);
    return b && b->is_written;
}

enum attribute_count {
    COUNT_ALL_ATTRIBUTES,
    COUNT_USER_ATTRIBUTES, /* without those that the server writes itself */
};

static int attributes_check_bounds(const struct core_limits *limits, const Common__SearchAttributes *a,
                                   enum attribute_count counted, struct err *err) {
    int64_t keys_max = limit_of(limits, SETTABLE_ATTRIBUTES);
    int64_t value_max = limit_of(limits, SETTABLE_ATTRIBUTE_BYTES);
    int64_t total_max = limit_of(limits, SETTABLE_ATTRIBUTES_BYTES);
    int64_t total = 0, keys = 0;
    for (size_t i = 0; a && i < a->n_indexed_fields; i++) {
        const Common__SearchAttributes__IndexedFieldsEntry *f = a->indexed_fields[i];
        if (counted == COUNT_USER_ATTRIBUTES && is_written_here(f->key))
            continue;
        keys++;
        int64_t bytes = f->value ? (int64_t)f->value->data.len : 0;
        if (bytes > value_max)
            return err_set(err, ERR_INVALID,
                           "search attribute %.200s value size %lld exceeds size limit %lld", f->key,
                           (long long)bytes, (long long)value_max);
        total += (int64_t)strlen(f->key) + bytes;
    }
    if (keys > keys_max)
        return err_set(err, ERR_INVALID, "number of search attributes %lld exceeds limit %lld",
                       (long long)keys, (long long)keys_max);
    if (total > total_max)
        return err_set(err, ERR_INVALID, "total size of search attributes %lld exceeds size limit %lld",
                       (long long)total, (long long)total_max);
    return 0;
}

int attributes_check_size(const struct core_limits *limits, const Common__SearchAttributes *a,
                          struct err *err) {
    return attributes_check_bounds(limits, a, COUNT_ALL_ATTRIBUTES, err);
}

int attributes_check_total(const struct core_limits *limits, const Common__SearchAttributes *a,
                           struct err *err) {
    return attributes_check_bounds(limits, a, COUNT_USER_ATTRIBUTES, err);
}

/* Types for readers */

static bool has_type(const Common__Payload *p) {
    for (size_t i = 0; i < p->n_metadata; i++)
        if (cstr_eq(p->metadata[i]->key, "type"))
            return true;
    return false;
}

static void attribute_add_type(struct step *s, Common__Payload *p, const char *type) {
    Common__Payload__MetadataEntry *m = pb_new(&common__payload__metadata_entry__descriptor, &s->failed);
    if (!m)
        return;
    pb_set_string(&m->key, "type", &s->failed);
    m->value.data = mem_dup(type, strlen(type));
    m->value.len = m->value.data ? strlen(type) : 0;
    if (!m->value.data)
        s->failed = true;
    pb_append_message(&p->n_metadata, &p->metadata, m, &s->failed);
}

void attributes_add_types(struct step *s, Common__SearchAttributes *a) {
    for (size_t i = 0; a && i < a->n_indexed_fields; i++) {
        Common__SearchAttributes__IndexedFieldsEntry *f = a->indexed_fields[i];
        const char *type = attribute_type_name(attribute_type(s->ctx.space, f->key));
        if (f->value && *type && !has_type(f->value))
            attribute_add_type(s, f->value, type);
    }
}

/* Reads the parameters of a URL query by the table of shapes.def. A wrong parameter is a complaint. */
#include "mistral/shape_int.h"
#include "net/query.h"

static bool shape_query_take_parameter(struct complaints *c, const struct place *at, const struct field *f,
                                       struct str text, struct field_value *v) {
    switch (f->kind) {
    case FIELD_TEXT:
        return shape_read_text(c, at, text, v);
    case FIELD_WHOLE:
        return shape_read_whole(c, at, f, text, "int_parsing", v);
    case FIELD_BOOL:
        v->truth = str_is(text, "true") || str_is(text, "1");
        if (v->truth || str_is(text, "false") || str_is(text, "0"))
            return true;
        complaints_add(c, at, "bool_parsing", "Input should be a valid boolean");
        return false;
    case FIELD_TIME:
        return shape_read_time(c, at, text, v);
    case FIELD_WORD:
        return shape_read_word(c, at, f, text, v);
    case FIELD_WORDS:
    case FIELD_TEXTS:
        return shape_add_text(c, at, f, text, v);
    case FIELD_SPAN:
    case FIELD_SECONDS:
    case FIELD_ANY:
    case FIELD_RECORD:
    case FIELD_RECORDS:
        break; /* no query has fields of these kinds */
    }
    return false;
}

static void shape_query_take_pair(struct complaints *c, const struct place *root, struct record *r,
                                  struct str raw_name, struct str raw_value) {
    struct str name, value;
    struct err e;
    int rc = query_decode(c->arena, raw_name, true, &name, &e);
    if (rc == 0)
        rc = query_decode(c->arena, raw_value, true, &value, &e);
    struct place at = {.up = root, .name = rc == 0 ? name : raw_name};
    if (rc == 0 && (!utf8_valid(name) || !utf8_valid(value)))
        rc = err_set(&e, ERR_INVALID, "the URL is not UTF-8");
    if (rc < 0) {
        complaints_add(c, &at, "value_error", "Value error, %s", e.text);
        return;
    }
    size_t i = shape_find_field(r->shape, name);
    if (i == r->shape->count) {
        complaints_add(c, &at, "extra_forbidden", "Extra inputs are not permitted");
        return;
    }
    const struct field *f = &r->shape->fields[i];
    struct field_value *v = &r->v[i];
    if (!value.n)
        return;
    if (f->need == FIELD_UNSUPPORTED) {
        shape_refuse_unsupported(c, &at);
        return;
    }
    if (v->is_given && f->kind != FIELD_TEXTS && f->kind != FIELD_WORDS) {
        complaints_add(c, &at, "value_error", "Value error, this is given twice");
        return;
    }
    v->is_given |= shape_query_take_parameter(c, &at, f, value, v);
    if ((int64_t)v->count > f->max && (f->kind == FIELD_TEXTS || f->kind == FIELD_WORDS))
        complaints_add(c, &at, "too_long", "List should have at most %lld items", (long long)f->max);
}

const struct record *shape_read_query(struct complaints *c, const struct shape *s, struct str query) {
    struct place root = {.name = STR("query")};
    struct record *r = shape_new_record(c, s);
    struct str name, value;
    if (!r) {
        complaints_add_no_memory(c, &root);
        return NULL;
    }
    while (query_next(&query, &name, &value))
        shape_query_take_pair(c, &root, r, name, value);
    return r;
}

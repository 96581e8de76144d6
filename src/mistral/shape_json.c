/* Reads a JSON body by the table of shapes.def.
 *
 * Happy path: the reader of src/json returns one member after the other, its
 * name finds the field, and the field's kind reads the value. A wrong value
 * is a complaint, and reading goes on. Text that is not JSON, and a lack of
 * memory, end the reading with a complaint. */
#include "json/number.h"
#include "json/reader.h"
#include "mistral/shape_int.h"

struct shape_reading {
    struct complaints *c;
    struct json_reader r;
    bool is_broken; /* the rest cannot be read */
};

static void shape_json_fail(struct shape_reading *in, const struct place *at) {
    struct json_place where = reader_place(&in->r);
    struct place root = *at;
    while (root.up)
        root = *root.up;
    struct place offset = {.up = &root, .index = in->r.at};
    if (!in->is_broken)
        complaints_add(in->c, &offset, "json_invalid", "JSON decode error: line %zu, column %zu: %s",
                       where.line, where.column, in->r.mistake ? in->r.mistake : "not a value");
    in->is_broken = true;
}

static bool shape_json_skip(struct shape_reading *in, const struct place *at, struct str *ret) {
    if (reader_skip(&in->r, ret) == 0)
        return true;
    shape_json_fail(in, at);
    return false;
}

static bool shape_json_take_string(struct shape_reading *in, const struct place *at, struct str *ret) {
    if (reader_kind(&in->r) != JSON_STRING) {
        if (shape_json_skip(in, at, NULL))
            complaints_add(in->c, at, "string_type", "Input should be a valid string");
        return false;
    }
    int rc = reader_string(&in->r, in->c->arena, ret);
    if (rc == ERR_NO_MEMORY)
        complaints_add_no_memory(in->c, at);
    else if (rc < 0)
        shape_json_fail(in, at);
    return rc == 0;
}

static bool shape_json_take_number(struct shape_reading *in, const struct place *at, const struct field *f,
                                   struct field_value *v) {
    struct str text;
    if (reader_kind(&in->r) != JSON_NUMBER) {
        if (shape_json_skip(in, at, NULL))
            complaints_add(in->c, at, "int_type", "Input should be a valid integer");
        return false;
    }
    if (reader_number(&in->r, &text) < 0) {
        shape_json_fail(in, at);
        return false;
    }
    return shape_read_whole(in->c, at, f, text, "int_from_float", v);
}

static bool shape_json_take_seconds(struct shape_reading *in, const struct place *at, const struct field *f,
                                    struct field_value *v) {
    struct str text;
    double seconds;
    if (reader_kind(&in->r) != JSON_NUMBER) {
        if (shape_json_skip(in, at, NULL))
            complaints_add(in->c, at, "float_type", "Input should be a valid number");
        return false;
    }
    if (reader_number(&in->r, &text) < 0) {
        shape_json_fail(in, at);
        return false;
    }
    if (number_real(text, &seconds) < 0 || seconds < (double)f->min || seconds > (double)f->max) {
        complaints_add(in->c, at, "less_than_equal", "Input should be between %lld and %lld seconds",
                       (long long)f->min, (long long)f->max);
        return false;
    }
    v->whole = (int64_t)(seconds * (double)USEC_PER_SEC);
    return true;
}

static bool shape_json_take_bool(struct shape_reading *in, const struct place *at, struct field_value *v) {
    if (reader_kind(&in->r) != JSON_BOOL) {
        if (shape_json_skip(in, at, NULL))
            complaints_add(in->c, at, "bool_type", "Input should be a valid boolean");
        return false;
    }
    if (reader_bool(&in->r, &v->truth) == 0)
        return true;
    shape_json_fail(in, at);
    return false;
}

static struct record *shape_json_take_record(struct shape_reading *in, const struct place *at,
                                             const struct shape *s);

static bool shape_json_take_item(struct shape_reading *in, const struct place *at, const struct field *f,
                                 struct field_value *v) {
    struct str text;
    if (f->kind != FIELD_RECORDS)
        return shape_json_take_string(in, at, &text) && shape_add_text(in->c, at, f, text, v);
    struct record *r = shape_json_take_record(in, at, f->of);
    struct record **bigger = r ? shape_grow_list(in->c, v->records, v->count, sizeof(*bigger)) : NULL;
    if (!bigger) {
        if (r)
            complaints_add_no_memory(in->c, at);
        return false;
    }
    v->records = bigger;
    v->records[v->count++] = r;
    return true;
}

static bool shape_json_take_list(struct shape_reading *in, const struct place *at, const struct field *f,
                                 struct field_value *v) {
    struct json_items items;
    bool has_more = false, is_whole = true;
    if (reader_kind(&in->r) != JSON_ARRAY) {
        if (shape_json_skip(in, at, NULL))
            complaints_add(in->c, at, "list_type", "Input should be a valid list");
        return false;
    }
    int rc = reader_enter(&in->r, &items);
    size_t count = 0;
    for (; rc == 0 && (rc = reader_next(&in->r, &items, &has_more)) == 0 && has_more; count++) {
        struct place each = {.up = at, .index = count};
        is_whole &= shape_json_take_item(in, &each, f, v);
        if (in->is_broken)
            return false;
    }
    if (rc < 0)
        shape_json_fail(in, at);
    if (rc == 0 && (int64_t)count > f->max)
        complaints_add(in->c, at, "too_long", "List should have at most %lld items, not %zu",
                       (long long)f->max, count);
    if (rc == 0 && (int64_t)count < f->min)
        complaints_add(in->c, at, "too_short", "List should have at least %lld items, not %zu",
                       (long long)f->min, count);
    return rc == 0 && is_whole;
}

/* shape_json_take_null() has taken the null of a field that may be null. */
static bool shape_json_take_value(struct shape_reading *in, const struct place *at, const struct field *f,
                                  struct field_value *v) {
    struct str text;
    switch (f->kind) {
    case FIELD_TEXT:
        return shape_json_take_string(in, at, &text) && shape_read_text(in->c, at, text, v);
    case FIELD_WHOLE:
        return shape_json_take_number(in, at, f, v);
    case FIELD_BOOL:
        return shape_json_take_bool(in, at, v);
    case FIELD_TIME:
        return shape_json_take_string(in, at, &text) && shape_read_time(in->c, at, text, v);
    case FIELD_SPAN:
        return shape_json_take_string(in, at, &text) && shape_read_span(in->c, at, f, text, v);
    case FIELD_SECONDS:
        return shape_json_take_seconds(in, at, f, v);
    case FIELD_ANY:
        return shape_json_skip(in, at, &v->text);
    case FIELD_WORD:
        return shape_json_take_string(in, at, &text) && shape_read_word(in->c, at, f, text, v);
    case FIELD_WORDS:
    case FIELD_TEXTS:
    case FIELD_RECORDS:
        return shape_json_take_list(in, at, f, v);
    case FIELD_RECORD:
        break;
    }
    struct record *r = shape_json_take_record(in, at, f->of);
    if (!r)
        return false;
    v->records = arena_array(in->c->arena, struct record *, 1);
    if (!v->records) {
        complaints_add_no_memory(in->c, at);
        return false;
    }
    v->records[0] = r;
    v->count = 1;
    return true;
}

static bool shape_json_take_null(struct shape_reading *in, const struct place *at, const struct field *f,
                                 struct field_value *v, bool *ret_is_taken) {
    *ret_is_taken = reader_kind(&in->r) == JSON_NULL && f->need != FIELD_REQUIRED &&
                    f->need != FIELD_OPTIONAL && f->kind != FIELD_ANY;
    if (!*ret_is_taken)
        return true;
    if (reader_null(&in->r) < 0) {
        shape_json_fail(in, at);
        return false;
    }
    v->is_given = v->is_null = f->need == FIELD_CLEARABLE;
    return true;
}

static void shape_json_take_field(struct shape_reading *in, const struct place *at, const struct field *f,
                                  struct field_value *v) {
    bool is_null;
    if (!shape_json_take_null(in, at, f, v, &is_null) || is_null)
        return;
    v->is_given = shape_json_take_value(in, at, f, v);
    if (v->is_given && f->need == FIELD_UNSUPPORTED) {
        v->is_given = false;
        shape_refuse_unsupported(in->c, at);
    }
}

static bool shape_json_take_member(struct shape_reading *in, const struct place *at, struct record *r,
                                   bool *seen) {
    struct str name;
    int rc = reader_key(&in->r, in->c->arena, &name);
    if (rc < 0) {
        if (rc == ERR_NO_MEMORY)
            complaints_add_no_memory(in->c, at);
        else
            shape_json_fail(in, at);
        in->is_broken = true;
        return false;
    }
    struct place here = {.up = at, .name = name};
    size_t i = shape_find_field(r->shape, name);
    if (i == r->shape->count || seen[i]) {
        if (!shape_json_skip(in, &here, NULL))
            return false;
        if (i == r->shape->count)
            complaints_add(in->c, &here, "extra_forbidden", "Extra inputs are not permitted");
        else
            complaints_add(in->c, &here, "value_error", "Value error, this is given twice");
        return true;
    }
    seen[i] = true;
    shape_json_take_field(in, &here, &r->shape->fields[i], &r->v[i]);
    return !in->is_broken;
}

static void shape_json_check_missing(struct complaints *c, const struct place *at, const struct record *r,
                                     const bool *seen) {
    for (size_t i = 0; i < r->shape->count; i++) {
        struct place here = {.up = at, .name = str_of(r->shape->fields[i].name)};
        if (!seen[i] && r->shape->fields[i].need == FIELD_REQUIRED)
            complaints_add(c, &here, "missing", "Field required");
    }
}

static struct record *shape_json_take_record(struct shape_reading *in, const struct place *at,
                                             const struct shape *s) {
    struct record *r = shape_new_record(in->c, s);
    bool *seen = arena_array(in->c->arena, bool, s->count), has_more = false;
    struct json_items items;
    if (!r || !seen) {
        complaints_add_no_memory(in->c, at);
        in->is_broken = true;
        return NULL;
    }
    if (reader_kind(&in->r) != JSON_OBJECT) {
        if (shape_json_skip(in, at, NULL))
            complaints_add(in->c, at, "model_attributes_type",
                           "Input should be a valid dictionary or object to extract fields from");
        return NULL;
    }
    int rc = reader_enter(&in->r, &items);
    while (rc == 0 && (rc = reader_next(&in->r, &items, &has_more)) == 0 && has_more)
        if (!shape_json_take_member(in, at, r, seen))
            return NULL;
    if (rc < 0) {
        shape_json_fail(in, at);
        return NULL;
    }
    shape_json_check_missing(in->c, at, r, seen);
    return r;
}

const struct record *shape_read(struct complaints *c, const struct shape *s, struct str text,
                                struct str where) {
    struct shape_reading in = {.c = c};
    struct place root = {.name = where};
    if (!utf8_valid(text)) {
        complaints_add(c, &root, "json_invalid", "JSON decode error: the text is not UTF-8");
        return NULL;
    }
    reader_init(&in.r, text.n ? text : STR("{}"));
    const struct record *r = shape_json_take_record(&in, &root, s);
    if (r && reader_end(&in.r) < 0)
        shape_json_fail(&in, &root);
    return r;
}

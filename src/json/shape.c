/* Names, maps and special types, derived from descriptors. tools/type_names.py generates the list of types
 * from the generated headers. Nothing here can fail. */
#include "json/shape.h"

#include <ctype.h>

#include "types.h"

#define MAP_ENTRY_FIELDS 2

static const ProtobufCMessageDescriptor *const types[] = {
#define PROTO_TYPE(descriptor) &descriptor,
    PROTO_TYPES(PROTO_TYPE)
#undef PROTO_TYPE
};

struct shape_row {
    const ProtobufCMessageDescriptor *type;
    enum shape shape;
};

static const struct shape_row shape_rows[] = {
    {&google__protobuf__timestamp__descriptor, SHAPE_TIMESTAMP},
    {&google__protobuf__duration__descriptor, SHAPE_DURATION},
    {&google__protobuf__field_mask__descriptor, SHAPE_MASK},
    {&google__protobuf__any__descriptor, SHAPE_ANY},
    {&google__protobuf__double_value__descriptor, SHAPE_WRAPPER},
    {&google__protobuf__float_value__descriptor, SHAPE_WRAPPER},
    {&google__protobuf__int64_value__descriptor, SHAPE_WRAPPER},
    {&google__protobuf__uint64_value__descriptor, SHAPE_WRAPPER},
    {&google__protobuf__int32_value__descriptor, SHAPE_WRAPPER},
    {&google__protobuf__uint32_value__descriptor, SHAPE_WRAPPER},
    {&google__protobuf__bool_value__descriptor, SHAPE_WRAPPER},
    {&google__protobuf__string_value__descriptor, SHAPE_WRAPPER},
    {&google__protobuf__bytes_value__descriptor, SHAPE_WRAPPER},
    {&common__payload__descriptor, SHAPE_PAYLOAD},
    {&common__payloads__descriptor, SHAPE_PAYLOADS},
};

enum shape shape_of(const ProtobufCMessageDescriptor *d) {
    for (size_t i = 0; i < ARRAY_LEN(shape_rows); i++)
        if (shape_rows[i].type == d)
            return shape_rows[i].shape;
    return SHAPE_OBJECT;
}

/* protoc names the entry type of `indexed_fields` IndexedFieldsEntry and nests it in the owner. */
bool shape_is_map(const ProtobufCMessageDescriptor *owner, const ProtobufCFieldDescriptor *f) {
    if (f->label != PROTOBUF_C_LABEL_REPEATED || f->type != PROTOBUF_C_TYPE_MESSAGE)
        return false;
    const ProtobufCMessageDescriptor *entry = f->descriptor;
    char camel[SHAPE_NAME_MAX];
    shape_camel(f->name, camel);
    camel[0] = (char)toupper((unsigned char)camel[0]);
    struct str name = str_of(entry->name), outer = str_of(owner->name), field = str_of(camel);
    if (entry->n_fields != MAP_ENTRY_FIELDS || name.n != outer.n + 1 + field.n + strlen("Entry"))
        return false;
    return str_starts(name, outer) && str_eq(str_bytes(name.p + outer.n + 1, field.n), field) &&
           cstr_eq(name.p + outer.n + 1 + field.n, "Entry") && cstr_eq(entry->fields[0].name, "key") &&
           cstr_eq(entry->fields[1].name, "value");
}

/* Names. */

void shape_camel(const char *name, char camel[SHAPE_NAME_MAX]) {
    size_t n = 0;
    bool is_word = false;
    for (; *name; name++) {
        if (*name == '_') {
            is_word = true;
            continue;
        }
        ensure(n + 1 < SHAPE_NAME_MAX);
        camel[n++] = is_word ? (char)toupper((unsigned char)*name) : *name;
        is_word = false;
    }
    camel[n] = '\0';
}

static bool shape_is_camel_of(struct str given, const char *name) {
    size_t at = 0;
    bool is_word = false;
    for (; *name; name++) {
        if (*name == '_') {
            is_word = true;
            continue;
        }
        char c = is_word ? (char)toupper((unsigned char)*name) : *name;
        if (at == given.n || given.p[at++] != c)
            return false;
        is_word = false;
    }
    return at == given.n;
}

const ProtobufCFieldDescriptor *shape_field(const ProtobufCMessageDescriptor *d, struct str name) {
    for (unsigned i = 0; i < d->n_fields; i++)
        if (str_is(name, d->fields[i].name) || shape_is_camel_of(name, d->fields[i].name))
            return &d->fields[i];
    return NULL;
}

/* Enums. */

/* The next letter or digit of a name, in upper case, without underscores; '\0' at the end. */
static char shape_next_letter(const char **p, const char *end) {
    while (*p < end && **p == '_')
        (*p)++;
    return *p < end ? (char)toupper((unsigned char)*(*p)++) : '\0';
}

/* Moves *p past the prefix. False when the name does not begin with it. */
static bool shape_take_prefix(const char **p, const char *end, struct str prefix) {
    const char *at = *p, *q = prefix.p, *q_end = prefix.p + prefix.n;
    char want;
    while ((want = shape_next_letter(&q, q_end)))
        if (shape_next_letter(&at, end) != want)
            return false;
    *p = at;
    return true;
}

static bool shape_is_short_form(struct str given, const char *value, const char *type) {
    const char *end = value + strlen(value);
    if (!shape_take_prefix(&value, end, str_of(type)) || !shape_take_prefix(&value, end, given))
        return false;
    return shape_next_letter(&value, end) == '\0' && given.n > 0;
}

const ProtobufCEnumValue *shape_enum_value(const ProtobufCEnumDescriptor *d, struct str name) {
    for (unsigned i = 0; i < d->n_value_names; i++)
        if (str_is(name, d->values_by_name[i].name))
            return &d->values[d->values_by_name[i].index];
    for (unsigned i = 0; i < d->n_value_names; i++)
        if (shape_is_short_form(name, d->values_by_name[i].name, d->short_name))
            return &d->values[d->values_by_name[i].index];
    return NULL;
}

const char *shape_enum_name(const ProtobufCEnumDescriptor *d, int value) {
    const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(d, value);
    return v ? v->name : NULL;
}

/* Types. */

const ProtobufCMessageDescriptor *shape_type_at(size_t i) {
    return i < ARRAY_LEN(types) ? types[i] : NULL;
}

const ProtobufCMessageDescriptor *shape_type(struct str full_name) {
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(full_name, types[i]->name))
            return types[i];
    return NULL;
}

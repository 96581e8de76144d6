/* Looking things up in the descriptors of proto/.
 *
 * A package says which files can define a symbol; whether one does is seen by walking through its descriptor,
 * field by field. The descriptors are ours, but the walk does not count on it: what it cannot read ends it.
 */
#include "serve/reflection.h"

#include "base/err.h"
#include "wire/grpc.h"

static const struct reflected_file files[] = {
#define DESCRIPTOR_FILE(name, package, bytes, packed) {name, package, bytes, {packed, sizeof(packed) - 1}},
#include "descriptors.h"
#undef DESCRIPTOR_FILE
};

const struct reflected_file *reflection_at(size_t i) {
    return i < ARRAY_LEN(files) ? &files[i] : NULL;
}

static const struct reflected_file *reflection_find_file(struct str name) {
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (str_is(name, files[i].name))
            return &files[i];
    return NULL;
}

const struct reflected_file *reflection_by_name(const char *name) {
    return reflection_find_file(str_of(name));
}

struct str reflection_unpack(const struct reflected_file *f, struct arena *a) {
    struct str plain = {NULL, 0};
    struct err e;
    return grpc_gunzip(f->packed, f->bytes, a, &plain, &e) == 0 ? plain : (struct str){NULL, 0};
}

/* Walking through a descriptor */

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static bool reflection_take_varint(struct str *s, uint64_t *ret) {
    *ret = 0;
    for (unsigned shift = 0; s->n && shift < 64; shift += 7) {
        uint8_t byte = (uint8_t)*s->p;
        *s = str_bytes(s->p + 1, s->n - 1);
        *ret |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* The next field; a number's content is empty. False: there is none, or none that can be read. */
static bool reflection_take_field(struct str *s, uint64_t *ret_number, struct str *ret_content) {
    uint64_t tag, value;
    if (!reflection_take_varint(s, &tag) || !reflection_take_varint(s, &value))
        return false;
    *ret_number = tag >> 3;
    *ret_content = (struct str){NULL, 0};
    if ((tag & 7) == WIRE_VARINT)
        return true;
    if ((tag & 7) != WIRE_BYTES || value > s->n)
        return false;
    *ret_content = str_bytes(s->p, (size_t)value);
    *s = str_bytes(s->p + value, s->n - (size_t)value);
    return true;
}

enum scope { SCOPE_FILE, SCOPE_MESSAGE, SCOPE_ENUM, SCOPE_SERVICE, SCOPE_LEAF };

/* What the fields of google.protobuf.FileDescriptorProto and of those inside it define. */
static const struct {
    enum scope in;
    uint64_t number;
    enum scope is;
} children[] = {
    {SCOPE_FILE, 4, SCOPE_MESSAGE}, {SCOPE_FILE, 5, SCOPE_ENUM},    {SCOPE_FILE, 6, SCOPE_SERVICE},
    {SCOPE_MESSAGE, 2, SCOPE_LEAF}, {SCOPE_MESSAGE, 8, SCOPE_LEAF}, {SCOPE_MESSAGE, 3, SCOPE_MESSAGE},
    {SCOPE_MESSAGE, 4, SCOPE_ENUM}, {SCOPE_SERVICE, 2, SCOPE_LEAF},
};
#define FIELD_NAME 1 /* in all of them */
#define FIELD_DEPENDENCY 3 /* in a file */

static bool reflection_find_child(enum scope in, uint64_t number, enum scope *ret) {
    for (size_t i = 0; i < ARRAY_LEN(children); i++) {
        if (children[i].in != in || children[i].number != number)
            continue;
        *ret = children[i].is;
        return true;
    }
    return false;
}

static struct str reflection_name_of(struct str descriptor) {
    uint64_t number;
    struct str content;
    while (reflection_take_field(&descriptor, &number, &content))
        if (number == FIELD_NAME)
            return content;
    return (struct str){NULL, 0};
}

/* Goes down one name of the symbol with each turn: a scope has one child of a name. */
static bool reflection_file_defines(struct str descriptor, struct str symbol) {
    enum scope scope = SCOPE_FILE, child;
    uint64_t number;
    struct str content;
    while (reflection_take_field(&descriptor, &number, &content)) {
        if (!reflection_find_child(scope, number, &child))
            continue;
        struct str name = reflection_name_of(content);
        if (!name.n || !str_starts(symbol, name))
            continue;
        if (symbol.n == name.n)
            return true;
        if (symbol.p[name.n] != '.')
            continue;
        symbol = str_bytes(symbol.p + name.n + 1, symbol.n - name.n - 1);
        descriptor = content;
        scope = child;
    }
    return false;
}

const struct reflected_file *reflection_by_symbol(const char *symbol, struct arena *a) {
    struct str all = str_of(symbol);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct str package = str_of(files[i].package);
        if (!str_starts(all, package) || all.n <= package.n || all.p[package.n] != '.')
            continue;
        struct str rest = str_bytes(all.p + package.n + 1, all.n - package.n - 1);
        if (reflection_file_defines(reflection_unpack(&files[i], a), rest))
            return &files[i];
    }
    return NULL;
}

const struct reflected_file *reflection_next_import(struct str descriptor, size_t *at) {
    uint64_t number;
    struct str content, rest;
    if (*at >= descriptor.n)
        return NULL;
    rest = str_bytes(descriptor.p + *at, descriptor.n - *at);
    while (reflection_take_field(&rest, &number, &content)) {
        const struct reflected_file *f = number == FIELD_DEPENDENCY ? reflection_find_file(content) : NULL;
        *at = descriptor.n - rest.n;
        if (f)
            return f;
    }
    return NULL;
}

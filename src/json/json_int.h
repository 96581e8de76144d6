/* Shared by print.c, parse.c and the files for one kind of message each. */
#pragma once

#include "common.pb-c.h"
#include "json/json.h"
#include "json/reader.h"
#include "json/shape.h"
#include "json/writer.h"

/* Printing. A failure is recorded in rc, and printing continues; the caller discards the text. */
struct printer {
    struct json_writer w;
    struct json_style style;
    unsigned depth; /* enclosing messages */
    struct err *reterr;
    int rc;
};

void print_message(struct printer *p, const ProtobufCMessage *m);
void print_members(struct printer *p, const ProtobufCMessage *m); /* the fields without braces */
void print_failed(struct printer *p, const ProtobufCMessage *m, const char *why);

void payload_print(struct printer *p, const Common__Payload *m); /* in shorthand where possible */
bool payloads_print(
    struct printer *p,
    const Common__Payloads *m); /* false, and prints nothing, when a payload has no shorthand */
void any_print(struct printer *p, const ProtobufCMessage *m);

/* Parsing. Functions return 0, or an error code with reterr filled. */
struct parse_step {
    const struct parse_step *up;
    struct str name; /* of a field; NULL for an element, which `index` names */
    size_t index;
};

struct parser {
    struct json_reader r;
    struct arena *a;
    const struct parse_step *path;
    unsigned depth; /* enclosing messages */
    bool has_shorthand;
    struct err *reterr;
};

/* Fills reterr with the current path and the text; returns ERR_INVALID. */
int parse_refuse(struct parser *p, const char *fmt, ...) printf_like(2, 3);
int parse_mistake(struct parser *p, int rc); /* fills reterr with the mistake of the reader; returns rc */
int parse_no_memory(struct parser *p);
/* An empty message in the arena; *ret is NULL on failure. */
int parse_new(struct parser *p, const ProtobufCMessageDescriptor *d, ProtobufCMessage **ret) must_check;
/* Parses the next value into m. */
int parse_message(struct parser *p, ProtobufCMessage *m) must_check;
/* Parses the next object into the fields of m. Members named `other` are skipped. */
int parse_object(struct parser *p, ProtobufCMessage *m, struct str other) must_check;

int payload_parse(struct parser *p, Common__Payload *m) must_check;
int any_parse(struct parser *p, ProtobufCMessage *m) must_check;

/* scalar.c: a value without members, as written. */
enum scalar_source {
    SCALAR_STRING,
    SCALAR_NUMBER,
    SCALAR_WORD,
    SCALAR_TEXT /* a key of a map, or a URL parameter: no quotes tell strings from numbers */
};
struct scalar {
    enum scalar_source source;
    struct str text;
};
int scalar_read(struct parser *p, struct scalar *ret) must_check;
int scalar_set(struct parser *p, const ProtobufCFieldDescriptor *f, struct scalar s, void *slot) must_check;
/* Parses into a message whose type is written as one scalar. Refuses other types. */
int scalar_message(struct parser *p, ProtobufCMessage *m, struct scalar s) must_check;

/* Between print.c, parse.c and the files that know one kind of message each. */
#pragma once

#include "common.pb-c.h"
#include "json/json.h"
#include "json/reader.h"
#include "json/shape.h"
#include "json/writer.h"

/* Printing. A failure is remembered, and writing goes on: nobody looks at what comes out. */
struct printer {
    struct json_writer w;
    struct json_style style;
    unsigned depth; /* messages around this one */
    struct err *reterr;
    int rc;
};

void print_message(struct printer *p, const ProtobufCMessage *m);
void print_members(struct printer *p, const ProtobufCMessage *m); /* the fields, without brackets */
void print_failed(struct printer *p, const ProtobufCMessage *m, const char *why);

void payload_print(struct printer *p, const Common__Payload *m); /* in shorthand, if there is one for it */
bool payloads_print(struct printer *p,
                    const Common__Payloads *m); /* false when not all can be; then nothing */
void any_print(struct printer *p, const ProtobufCMessage *m);

/* Parsing. Functions return 0, or a code with reterr filled in. */
struct parse_step {
    const struct parse_step *up;
    struct str name; /* of a field, or empty: then it is the index that counts */
    size_t index;
};

struct parser {
    struct json_reader r;
    struct arena *a;
    const struct parse_step *path;
    unsigned depth; /* messages around this one */
    bool has_shorthand;
    struct err *reterr;
};

int parse_refuse(struct parser *p, const char *fmt, ...) printf_like(2, 3);
int parse_mistake(struct parser *p, int rc); /* of the reader */
int parse_no_memory(struct parser *p);
/* An empty message in the arena; *ret is NULL on failure. */
int parse_new(struct parser *p, const ProtobufCMessageDescriptor *d, ProtobufCMessage **ret) must_check;
/* The value that comes next, into m. */
int parse_message(struct parser *p, ProtobufCMessage *m) must_check;
/* The object that comes next, into the fields of m; members called `other` are stepped over. */
int parse_object(struct parser *p, ProtobufCMessage *m, struct str other) must_check;

int payload_parse(struct parser *p, Common__Payload *m) must_check;
int any_parse(struct parser *p, ProtobufCMessage *m) must_check;

/* scalar.c: a value without members, as it was written. */
enum scalar_source {
    SCALAR_STRING,
    SCALAR_NUMBER,
    SCALAR_WORD,
    SCALAR_TEXT /* a map's key, or from a URL */
};
struct scalar {
    enum scalar_source source;
    struct str text;
};
int scalar_read(struct parser *p, struct scalar *ret) must_check;
int scalar_set(struct parser *p, const ProtobufCFieldDescriptor *f, struct scalar s, void *slot) must_check;
/* Into a message of a type that is written as one scalar; others are refused. */
int scalar_message(struct parser *p, ProtobufCMessage *m, struct scalar s) must_check;

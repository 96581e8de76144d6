/* Fields of messages as text.
 *
 * Times are shown as --time-format asks, durations in words, sizes with a unit, enums by the distinct part
 * of their name, payloads as the JSON that they hold. Other messages are shown by their fields:
 * "initialInterval=2 seconds, maximumAttempts=3". A message with one field is shown as that field. */
#include "command/output/cells.h"

#include "cal/words.h"
#include "command/schedule/schedule_show.h"
#include "command/workflow/workflow.h"
#include "core/step/pb.h"
#include "failure.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"
#include "json/json.h"
#include "json/shape.h"
#include "wire/value.h"
#include "workflowservice.pb-c.h"

#define DEPTH_MAX 16

static const struct json_style line_style = {.has_shorthand = true};

/* A duration in words, as schedules show them. */
static void cell_add_duration(struct buf *out, const Google__Protobuf__Duration *d) {
    int64_t us = pb_duration_us(d);
    if (us < 0)
        buf_add_u8(out, '-');
    words_length(us < 0 ? -us : us, out);
}

void cell_add_bytes(struct buf *out, int64_t n) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double size = (double)n;
    size_t unit = 0;
    if (n < 1024) {
        buf_printf(out, "%lld byte%s", (long long)n, n == 1 ? "" : "s");
        return;
    }
    for (size /= 1024; size >= 1024 && unit + 1 < ARRAY_LEN(units); unit++)
        size /= 1024;
    buf_printf(out, "%.1f %s", size, units[unit]);
}

/* history_size_bytes and data_size_bytes are sizes. */
static bool cell_is_size(const ProtobufCFieldDescriptor *f) {
    size_t n = strlen(f->name);
    return n > strlen("_bytes") && cstr_eq(f->name + n - strlen("_bytes"), "_bytes");
}

/* Field masks, wrappers and Any are one value in JSON. */
static void cell_add_json(struct buf *out, const ProtobufCMessage *m) {
    struct buf json;
    struct err e;
    buf_init(&json, CELL_BYTES_MAX);
    if (json_print(&json, m, line_style, &e) == 0 && buf_ok(&json)) {
        struct str s = buf_str(&json);
        if (s.n >= 2 && s.p[0] == '"' && !memchr(s.p + 1, '\\', s.n - 1))
            s = str_bytes(s.p + 1, s.n - 2);
        buf_add_str(out, s);
    }
    buf_done(&json);
}

/* JSON payloads as their JSON; others by their size and encoding. */
static void cell_add_payload(struct buf *out, const Common__Payload *p) {
    struct str encoding = STR("");
    for (size_t i = 0; i < p->n_metadata; i++)
        if (cstr_eq(p->metadata[i]->key, "encoding"))
            encoding = pb_bytes(&p->metadata[i]->value);
    if (str_starts(encoding, STR("json/")) && utf8_valid(pb_bytes(&p->data))) {
        buf_add_str(out, pb_bytes(&p->data));
        return;
    }
    if (str_is(encoding, "binary/null")) {
        buf_add_cstr(out, "null");
        return;
    }
    cell_add_bytes(out, (int64_t)p->data.len);
    buf_printf(out, "%s%.*s", encoding.n ? " of " : "", (int)encoding.n, encoding.n ? encoding.p : "");
}

static void cell_add_payloads(struct buf *out, const Common__Payloads *p) {
    buf_add_u8(out, '[');
    for (size_t i = 0; i < p->n_payloads; i++) {
        buf_add_cstr(out, i ? "," : "");
        cell_add_payload(out, p->payloads[i]);
    }
    buf_add_u8(out, ']');
}

/* Messages by their fields. */

static bool cell_is_map_entry(const ProtobufCMessageDescriptor *d) {
    size_t n = strlen(d->name);
    return d->n_fields == 2 && n > strlen("Entry") && cstr_eq(d->name + n - strlen("Entry"), "Entry") &&
           cstr_eq(d->fields[0].name, "key") && cstr_eq(d->fields[1].name, "value");
}

static bool cell_is_map(const ProtobufCFieldDescriptor *f) {
    return f->label == PROTOBUF_C_LABEL_REPEATED && f->type == PROTOBUF_C_TYPE_MESSAGE &&
           cell_is_map_entry(f->descriptor);
}

/* Whether items of the list can contain commas. Semicolons then separate them. */
static bool cell_has_commas(const ProtobufCFieldDescriptor *f) {
    return f->type == PROTOBUF_C_TYPE_MESSAGE && !cell_is_map(f) && shape_of(f->descriptor) == SHAPE_OBJECT;
}

/* Whether the oneof holds this field. */
static bool cell_is_chosen(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
    return *(const uint32_t *)(const void *)((const char *)m + f->quantifier_offset) == f->id;
}

/* Whether the field differs from its default. */
static bool cell_is_set(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
    static const char zeros[16];
    const char *slot = (const char *)m + f->offset;
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)(const void *)((const char *)m + f->quantifier_offset) > 0;
    if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        return cell_is_chosen(m, f);
    if (f->type == PROTOBUF_C_TYPE_STRING)
        return !cstr_is_empty(*(char *const *)(const void *)slot);
    if (f->type == PROTOBUF_C_TYPE_BYTES)
        return ((const ProtobufCBinaryData *)(const void *)slot)->len > 0;
    return memcmp(slot, zeros, wire_value_size(f->type)) != 0;
}

static void cell_add_value(struct buf *out, const ProtobufCFieldDescriptor *f, const void *slot,
                           const struct cell_style *style, int depth);
static void cell_add_list(struct buf *out, const ProtobufCFieldDescriptor *f, const ProtobufCMessage *m,
                          const struct cell_style *style, int depth);

/* The single field that the message has or uses, such as the name of a type; NULL when there are more. */
static const ProtobufCFieldDescriptor *cell_only_field(const ProtobufCMessage *m) {
    const ProtobufCFieldDescriptor *only = NULL;
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        if (!cell_is_set(m, f))
            continue;
        if (only)
            return NULL;
        only = f;
    }
    return only && (m->descriptor->n_fields == 1 || cstr_eq(only->name, "name")) ? only : NULL;
}

static void cell_add_member(struct buf *out, const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                            const struct cell_style *style, int depth) {
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        cell_add_list(out, f, m, style, depth);
    else
        cell_add_value(out, f, (const char *)m + f->offset, style, depth);
}

static void cell_add_fields(struct buf *out, const ProtobufCMessage *m, const struct cell_style *style,
                            int depth) {
    const ProtobufCFieldDescriptor *only = cell_only_field(m);
    bool any = false;
    if (depth > DEPTH_MAX)
        return;
    if (only) {
        cell_add_member(out, m, only, style, depth);
        return;
    }
    buf_add_cstr(out, depth ? "(" : "");
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        char name[SHAPE_NAME_MAX];
        if (!cell_is_set(m, f))
            continue;
        shape_camel(f->name, name);
        buf_printf(out, "%s%s=", any ? ", " : "", name);
        cell_add_member(out, m, f, style, depth + 1);
        any = true;
    }
    buf_add_cstr(out, depth ? ")" : "");
}

/* An entry of a map: key=value. */
static void cell_add_entry(struct buf *out, const ProtobufCMessage *m, const struct cell_style *style,
                           int depth) {
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        buf_add_cstr(out, i ? "=" : "");
        cell_add_value(out, &m->descriptor->fields[i], (const char *)m + m->descriptor->fields[i].offset,
                       style, depth + 1);
    }
}

static void cell_add_message(struct buf *out, const ProtobufCMessage *m, const struct cell_style *style,
                             int depth) {
    const Google__Protobuf__Timestamp *t = (const void *)m;
    if (m->descriptor == &failure__failure__descriptor) {
        outcome_add_failure(out, m);
        return;
    }
    switch (shape_of(m->descriptor)) {
    case SHAPE_TIMESTAMP:
        moments_add_time(style->command, t->seconds, t->nanos, style->is_iso ? MOMENT_ISO : MOMENT_AS_ASKED,
                         out);
        return;
    case SHAPE_DURATION:
        cell_add_duration(out, (const void *)m);
        return;
    case SHAPE_PAYLOAD:
        cell_add_payload(out, (const void *)m);
        return;
    case SHAPE_PAYLOADS:
        cell_add_payloads(out, (const void *)m);
        return;
    case SHAPE_OBJECT:
        if (cell_is_map_entry(m->descriptor))
            cell_add_entry(out, m, style, depth);
        else
            cell_add_fields(out, m, style, depth);
        return;
    case SHAPE_MASK:
    case SHAPE_WRAPPER:
    case SHAPE_ANY:
        break;
    }
    cell_add_json(out, m);
}

/* A group of a count: its values, then its number, as in "Running 2". */
static void cell_add_group(struct buf *out, const Ws__CountWorkflowExecutionsResponse__AggregationGroup *g) {
    for (size_t i = 0; i < g->n_group_values; i++) {
        const ProtobufCBinaryData *data = &g->group_values[i]->data;
        struct str text = str_bytes(data->data, data->len);
        if (text.n >= 2 && text.p[0] == '"')
            text = str_bytes(text.p + 1, text.n - 2);
        buf_add_str(out, text);
        buf_add_u8(out, ' ');
    }
    buf_printf(out, "%lld", (long long)g->count);
}

/* The length of the prefix that all values of the enum share, up to an underscore. */
static size_t cell_enum_prefix(const ProtobufCEnumDescriptor *d) {
    const char *first = d->values[0].name;
    size_t n = strlen(first);
    for (unsigned i = 1; i < d->n_values; i++) {
        size_t same = 0;
        while (same < n && d->values[i].name[same] == first[same])
            same++;
        n = same;
    }
    while (n && first[n - 1] != '_')
        n--;
    return n;
}

void cell_add_enum(struct buf *out, const ProtobufCEnumDescriptor *d, int value) {
    const char *name = shape_enum_name(d, value);
    size_t skip = cell_enum_prefix(d);
    if (!name || cstr_eq(name + skip, "UNSPECIFIED"))
        return;
    if (!skip) {
        buf_add_cstr(out, name);
        return;
    }
    bool is_start = true;
    for (const char *at = name + skip; *at; at++) {
        if (*at != '_')
            buf_add_u8(out, (uint8_t)(is_start || *at < 'A' ? *at : *at | 0x20));
        is_start = *at == '_';
    }
}

/* A spec in words; its calendars as fields are long. */
static void cell_add_spec(struct buf *out, const Schedule__ScheduleSpec *spec) {
    struct arena scratch;
    arena_init(&scratch, COMMAND_MEMORY_MAX);
    schedule_add_words(spec, &scratch, out);
    arena_done(&scratch);
}

static void cell_add_value(struct buf *out, const ProtobufCFieldDescriptor *f, const void *slot,
                           const struct cell_style *style, int depth) {
    const ProtobufCMessage *m;
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
        buf_add_cstr(out, *(char *const *)slot ? *(char *const *)slot : "");
        return;
    case PROTOBUF_C_TYPE_MESSAGE:
        m = *(const ProtobufCMessage *const *)slot;
        if (m && m->descriptor == &ws__count_workflow_executions_response__aggregation_group__descriptor)
            cell_add_group(out, (const void *)m);
        else if (m && m->descriptor == &schedule__schedule_spec__descriptor)
            cell_add_spec(out, (const void *)m);
        else if (m)
            cell_add_message(out, m, style, depth);
        return;
    case PROTOBUF_C_TYPE_ENUM:
        cell_add_enum(out, f->descriptor, *(const int *)slot);
        return;
    case PROTOBUF_C_TYPE_BOOL:
        buf_add_cstr(out, *(const protobuf_c_boolean *)slot ? "true" : "false");
        return;
    case PROTOBUF_C_TYPE_INT64:
        if (cell_is_size(f))
            cell_add_bytes(out, *(const int64_t *)slot);
        else
            buf_printf(out, "%lld", (long long)*(const int64_t *)slot);
        return;
    case PROTOBUF_C_TYPE_INT32:
        buf_printf(out, "%d", *(const int32_t *)slot);
        return;
    case PROTOBUF_C_TYPE_FLOAT:
        buf_printf(out, "%g", (double)*(const float *)slot);
        return;
    case PROTOBUF_C_TYPE_DOUBLE:
        buf_printf(out, "%g", *(const double *)slot);
        return;
    case PROTOBUF_C_TYPE_UINT32:
        buf_printf(out, "%u", *(const uint32_t *)slot);
        return;
    case PROTOBUF_C_TYPE_UINT64:
        buf_printf(out, "%llu", (unsigned long long)*(const uint64_t *)slot);
        return;
    case PROTOBUF_C_TYPE_BYTES:
        cell_add_bytes(out, (int64_t)((const ProtobufCBinaryData *)slot)->len);
        return;
    default:
        ensure(!"the API has no fields of this type");
    }
}

static void cell_add_list(struct buf *out, const ProtobufCFieldDescriptor *f, const ProtobufCMessage *m,
                          const struct cell_style *style, int depth) {
    size_t n = *(const size_t *)(const void *)((const char *)m + f->quantifier_offset);
    const char *items = *(const char *const *)(const void *)((const char *)m + f->offset);
    bool is_inside = depth > 0 && n > 1;
    buf_add_cstr(out, is_inside ? "[" : "");
    for (size_t i = 0; i < (style->is_first_only ? MIN(n, 1u) : n); i++) {
        if (i)
            buf_add_cstr(out, cell_has_commas(f) ? "; " : ", ");
        cell_add_value(out, f, items + i * wire_value_size(f->type), style, depth);
    }
    buf_add_cstr(out, is_inside ? "]" : "");
}

/* "*": the field that the oneof holds, such as the attributes of an event. */
static void cell_add_oneof(struct buf *out, const ProtobufCMessage *m, const struct cell_style *style) {
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF && cell_is_chosen(m, f))
            cell_add_value(out, f, (const char *)m + f->offset, style, 0);
    }
}

void cell_add_field(struct buf *out, const ProtobufCMessage *m, struct str path, struct cell_style style) {
    const char *mark = memchr(path.p, '#', path.n);
    if (mark) {
        style.is_first_only = mark[1] == '0';
        style.is_iso = mark[1] == 'i';
        path.n = (size_t)(mark - path.p);
    }
    if (m && path.n == 1 && path.p[0] == '*') {
        cell_add_oneof(out, m, &style);
        return;
    }
    while (m) {
        const char *dot = memchr(path.p, '.', path.n);
        size_t n = dot ? (size_t)(dot - path.p) : path.n;
        const ProtobufCFieldDescriptor *f = shape_field(m->descriptor, str_bytes(path.p, n));
        ensure(f); /* paths come from the tables */
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            cell_add_list(out, f, m, &style, 0);
            return;
        }
        const void *slot = (const char *)m + f->offset;
        if (n == path.n) {
            if (!(f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) || cell_is_chosen(m, f))
                cell_add_value(out, f, slot, &style, 0);
            return;
        }
        if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF && !cell_is_chosen(m, f))
            return;
        m = *(const ProtobufCMessage *const *)slot;
        path = str_bytes(path.p + n + 1, path.n - n - 1);
    }
}

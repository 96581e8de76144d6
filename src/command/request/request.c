/* Builds a request from flags.
 *
 * Happy path: make an empty message of the request type of the call; set the fields that every request has
 * (namespace, identity, request id); then store each flag that is given, or has a default, in the field
 * that the table names. A value that does not fit, or a missing flag, is one line on stderr. */
#include "command/request/request.h"

#include "base/rng.h"
#include "base/uuid.h"
#include "cal/duration.h"
#include "common.pb-c.h"
#include "host/loop.h"
#include "json/json.h"
#include "json/moment.h"
#include "json/shape.h"

#define FRAGMENT_BYTES_MAX (16u << 20)
#define DAY_US (24 * 3600 * USEC_PER_SEC)
#define INTERVAL_DAYS_MAX 3650000 /* ten thousand years */

static ProtobufCMessage *request_new_message(const ProtobufCMessageDescriptor *d, struct arena *a) {
    ProtobufCMessage *m = arena_alloc(a, d->sizeof_message);
    if (m)
        protobuf_c_message_init(d, m);
    return m;
}

bool request_has_field(const ProtobufCMessage *m, const char *field) {
    return shape_field(m->descriptor, str_of(field)) != NULL;
}

const ProtobufCFieldDescriptor *request_leaf(const ProtobufCMessageDescriptor *d, const char *path) {
    for (;;) {
        size_t n = strcspn(path, ".");
        const ProtobufCFieldDescriptor *f = shape_field(d, str_bytes(path, n));
        ensure(f); /* paths come from the tables */
        if (!path[n])
            return f;
        d = f->descriptor;
        path += n + 1;
    }
}

bool request_is_timestamp(const ProtobufCFieldDescriptor *f) {
    return f->type == PROTOBUF_C_TYPE_MESSAGE && shape_of(f->descriptor) == SHAPE_TIMESTAMP;
}

/* Lists of messages. */

static ProtobufCMessage ***request_list_slot(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
    return (void *)((char *)m + f->offset);
}

static size_t *request_list_count(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
    return (void *)((char *)m + f->quantifier_offset);
}

static int request_list_push(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, ProtobufCMessage *item,
                             struct arena *a) {
    size_t n = *request_list_count(m, f);
    ProtobufCMessage **items = arena_array(a, ProtobufCMessage *, n + 1);
    if (!items)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        items[i] = (*request_list_slot(m, f))[i];
    items[n] = item;
    *request_list_slot(m, f) = items;
    *request_list_count(m, f) = n + 1;
    return 0;
}

static int request_store_message(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                                 ProtobufCMessage *item, struct arena *a) {
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        return request_list_push(m, f, item, a);
    if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        *(uint32_t *)(void *)((char *)m + f->quantifier_offset) = f->id;
    *(ProtobufCMessage **)(void *)((char *)m + f->offset) = item;
    return 0;
}

/* The message in a field, made if it is missing; of a list, the first item. */
static ProtobufCMessage *request_descend(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                                         struct arena *a) {
    ProtobufCMessage *next = NULL;
    ensure(f->type == PROTOBUF_C_TYPE_MESSAGE);
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        next = *request_list_count(m, f) ? (*request_list_slot(m, f))[0] : NULL;
    else if (!(f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) ||
             *(uint32_t *)(void *)((char *)m + f->quantifier_offset) == f->id)
        next = *(ProtobufCMessage **)(void *)((char *)m + f->offset);
    if (next)
        return next;
    next = request_new_message(f->descriptor, a);
    return next && request_store_message(m, f, next, a) == 0 ? next : NULL;
}

static void request_add_key(struct buf *out, const char *text, size_t n) {
    buf_add_cstr(out, "{\"key\":\"");
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"' || text[i] == '\\')
            buf_add_u8(out, '\\');
        buf_add_u8(out, (uint8_t)text[i]);
    }
    buf_add_cstr(out, "\",\"value\":");
}

ProtobufCMessage *request_message(ProtobufCMessage *m, const char *path, struct arena *a) {
    while (m && *path) {
        size_t n = strcspn(path, ".");
        const ProtobufCFieldDescriptor *f = shape_field(m->descriptor, str_bytes(path, n));
        ensure(f); /* paths come from the tables */
        m = request_descend(m, f, a);
        path += n + (path[n] == '.');
    }
    return m;
}

/* Reads a duration, 90m or PT15M, and writes it into `span` as the JSON of the API. */
static int request_read_length(const char *text, size_t n, int64_t *ret_us, char span[MOMENT_TEXT_MAX]) {
    struct duration iso;
    struct str word = str_bytes(text, n);
    if (n && text[0] == 'P') {
        if (duration_parse_iso(word, &iso) < 0 || iso.months || iso.days > INTERVAL_DAYS_MAX)
            return ERR_INVALID;
        *ret_us = iso.days * DAY_US + iso.us;
    } else if (duration_parse_units(word, ret_us) < 0)
        return ERR_INVALID;
    return span_format(*ret_us / USEC_PER_SEC, (int32_t)(*ret_us % USEC_PER_SEC) * NSEC_PER_USEC, span);
}

/* Reads an interval, 90m or 1h/15m with a phase, and appends it as JSON. */
static int request_add_interval(const char *text, struct buf *out, struct err *reterr) {
    char every[MOMENT_TEXT_MAX], shift[MOMENT_TEXT_MAX];
    int64_t every_us, shift_us = 0;
    size_t n = strcspn(text, "/");
    if (strchr(text, ' '))
        return err_set(reterr, ERR_INVALID,
                       "\"%.80s\" is not an interval such as 90m or 1h/15m; for an interval with a first "
                       "date use a cron string: --cron '@every 2 weeks from 2026-01-05T09:00'",
                       text);
    if (request_read_length(text, n, &every_us, every) < 0)
        return err_set(reterr, ERR_INVALID, "\"%.*s\" is not a duration such as 90s, 1h30m, 2d or PT15M",
                       (int)MIN(n, 80u), text);
    if (every_us < USEC_PER_SEC)
        return err_set(reterr, ERR_INVALID, "\"%.*s\" is too short: an interval must be at least 1s", (int)n,
                       text);
    buf_printf(out, "{\"interval\":\"%s\"", every);
    if (text[n] && request_read_length(text + n + 1, strlen(text + n + 1), &shift_us, shift) < 0)
        return err_set(reterr, ERR_INVALID, "\"%.80s\" is not a duration such as 15m", text + n + 1);
    if (shift_us < 0 || shift_us >= every_us)
        return err_set(reterr, ERR_INVALID,
                       "\"%.80s\": the phase after the slash must be shorter than the interval", text);
    if (text[n])
        buf_printf(out, ",\"phase\":\"%s\"", shift);
    buf_add_u8(out, '}');
    return 0;
}

/* Appends the text of a flag as JSON, in the form that the table gives. */
static int request_add_value(enum flag_form form, const char *text, struct buf *out, struct err *reterr) {
    char span[MOMENT_TEXT_MAX];
    int64_t us;
    size_t key = strcspn(text, "=");
    switch (form) {
    case FORM_DURATION:
        if (duration_parse_units(str_of(text), &us) < 0 || us < 0 ||
            span_format(us / USEC_PER_SEC, (int32_t)(us % USEC_PER_SEC) * NSEC_PER_USEC, span) < 0)
            return err_set(reterr, ERR_INVALID, "\"%s\" is not a duration such as 90s, 1h30m or 2d", text);
        opt_json_string(out, span);
        return 0;
    case FORM_JSON:
        buf_add_cstr(out, text);
        return 0;
    case FORM_PAIR:
        if (!key || !text[key])
            return err_set(reterr, ERR_INVALID, "\"%s\" is not KEY=JSON", text);
        request_add_key(out, text, key);
        buf_add_cstr(out, text + key + 1);
        buf_add_u8(out, '}');
        return 0;
    case FORM_PAIR_TEXT:
        if (!key || !text[key])
            return err_set(reterr, ERR_INVALID, "\"%s\" is not KEY=VALUE", text);
        request_add_key(out, text, key);
        opt_json_string(out, text + key + 1);
        buf_add_u8(out, '}');
        return 0;
    case FORM_NAME:
        buf_add_cstr(out, "{\"clusterName\":");
        opt_json_string(out, text);
        buf_add_u8(out, '}');
        return 0;
    case FORM_EVERY:
        return request_add_interval(text, out, reterr);
    case FORM_NONE:
    case FORM_PLAIN:
    case FORM_INPUT:
        break;
    }
    opt_json_string(out, text);
    return 0;
}

/* JSON null for a message means that it is not set. A payload can hold null, so a missing one becomes that.
 */
static int request_keep_null(ProtobufCMessage *pair, struct arena *a, struct err *reterr) {
    const ProtobufCFieldDescriptor *f = shape_field(pair->descriptor, STR("value"));
    ProtobufCMessage **slot = f ? (void *)((char *)pair + f->offset) : NULL;
    if (!f || f->type != PROTOBUF_C_TYPE_MESSAGE || f->descriptor != &common__payload__descriptor || *slot)
        return 0;
    static const char null[] = "{\"metadata\":{\"encoding\":\"YmluYXJ5L251bGw=\"}}"; /* binary/null */
    return json_parse(f->descriptor, STR(null), true, a, slot, reterr);
}

static int request_set_message(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, enum flag_form form,
                               const char *text, struct arena *a, struct err *reterr) {
    ProtobufCMessage *item;
    struct buf json;
    buf_init(&json, FRAGMENT_BYTES_MAX);
    int rc = request_add_value(form, text, &json, reterr);
    if (rc == 0 && !buf_ok(&json))
        rc = err_set(reterr, ERR_TOO_LARGE, "the value is too large");
    if (rc == 0) {
        /* The parsed message may point into the JSON text, so the text must live as long. */
        const char *kept = arena_strndup(a, (const char *)json.data, json.len);
        rc = kept ? json_parse(f->descriptor, str_bytes(kept, json.len), true, a, &item, reterr)
                  : err_std(reterr, ERR_NO_MEMORY);
    }
    buf_done(&json);
    if (rc == 0 && form == FORM_PAIR)
        rc = request_keep_null(item, a, reterr);
    if (rc == 0 && request_store_message(m, f, item, a) < 0)
        rc = err_std(reterr, ERR_NO_MEMORY);
    return rc;
}

int request_set(ProtobufCMessage *m, const char *path, enum flag_form form, const char *text, struct arena *a,
                struct err *reterr) {
    for (;;) {
        size_t n = strcspn(path, ".");
        const ProtobufCFieldDescriptor *f = shape_field(m->descriptor, str_bytes(path, n));
        ensure(f); /* paths come from the tables */
        if (path[n]) {
            m = request_descend(m, f, a);
            if (!m)
                return err_std(reterr, ERR_NO_MEMORY);
            path += n + 1;
            continue;
        }
        if (f->type == PROTOBUF_C_TYPE_MESSAGE)
            return request_set_message(m, f, form, text, a, reterr);
        return json_set(m, str_of(path), str_of(text), JSON_SET_OVER, a, reterr);
    }
}

bool request_copy_page_token(ProtobufCMessage *request, const ProtobufCMessage *response, struct arena *a) {
    const ProtobufCFieldDescriptor *from = shape_field(response->descriptor, STR("next_page_token"));
    const ProtobufCFieldDescriptor *to = shape_field(request->descriptor, STR("next_page_token"));
    const ProtobufCBinaryData *token =
        from && to ? (const void *)((const char *)response + from->offset) : NULL;
    uint8_t *data = token && token->len ? arena_dup(a, token->data, token->len) : NULL;
    if (data)
        *(ProtobufCBinaryData *)(void *)((char *)request + to->offset) =
            (ProtobufCBinaryData){token->len, data};
    return data;
}

const char *request_random_id(struct command *c) {
    struct rng rng;
    rng_init(&rng, host_entropy());
    return arena_strdup(&c->arena, uuid_format(uuid_random(&rng)).s);
}

const char *request_identity(const struct command *c) {
    const char *given = opt_named(c->args, "identity");
    return given ? given : c->style.identity;
}

/* Sets the fields that every request has. */
static int request_set_common(struct command *c, ProtobufCMessage *m, struct err *e) {
    const char *id = request_random_id(c);
    int rc = 0;
    if (!id)
        return err_std(e, ERR_NO_MEMORY);
    if (request_has_field(m, "namespace"))
        rc = request_set(m, "namespace", FORM_PLAIN, opt_named(c->args, "namespace"), &c->arena, e);
    if (rc == 0 && request_has_field(m, "identity"))
        rc = request_set(m, "identity", FORM_PLAIN, request_identity(c), &c->arena, e);
    if (rc == 0 && request_has_field(m, "request_id"))
        rc = request_set(m, "request_id", FORM_PLAIN, id, &c->arena, e);
    return rc;
}

ProtobufCMessage *request_new(struct command *c, enum client_method call) {
    struct err e = {0};
    ProtobufCMessage *m = request_new_message(request_type(call), &c->arena);
    if (m && request_set_common(c, m, &e) == 0)
        return m;
    if (m)
        command_print_error("--namespace: %s", e.text);
    else
        command_print_error("out of memory");
    return NULL;
}

/* Times, dates and zones can be written in more ways than the API accepts. Rewrites *text. */
static int request_read_words(struct command *c, const struct flag_rule *rule, const struct opt *o,
                              const char **text, struct err *e) {
    if (rule->form != FORM_PLAIN)
        return 0;
    if (cstr_eq(o->name, "time-zone"))
        return when_zone(c, *text, text, e);
    const ProtobufCFieldDescriptor *f = request_leaf(c->request->descriptor, rule->field);
    if (request_is_timestamp(f))
        *text = when_text(c, *text, e);
    else if (cstr_eq(o->name, "date"))
        *text = when_date(c, *text, e);
    return *text ? 0 : ERR_INVALID;
}

static int request_set_flag(struct command *c, size_t row) {
    const struct opt *o = &c->args->command->opts[row];
    const struct flag_rule *rule = &flag_rules[o - command_opts];
    const char *text;
    struct err e;
    size_t n = 0;
    for (; (text = o->type == OPT_LIST ? opt_list(c->args, row, n)
                   : n                 ? NULL
                                       : opt_text(c->args, row));
         n++) {
        if (rule->form == FORM_NONE)
            return 0;
        if (rule->form == FORM_INPUT)
            break;
        if (request_read_words(c, rule, o, &text, &e) < 0 ||
            request_set(c->request, rule->field, rule->form, text, &c->arena, &e) < 0) {
            command_print_error("--%s: %s; see rondo %s --help", o->name, e.text, c->args->command->path);
            return ERR_INVALID;
        }
    }
    if (rule->form == FORM_INPUT && input_set(c, o->name, c->request, rule->field, &e) < 0) {
        command_print_error("%s; see rondo %s --help", e.text, c->args->command->path);
        return ERR_INVALID;
    }
    if (n || text || !rule->is_needed)
        return 0;
    command_print_error("--%s is needed: --%s %s; see rondo %s --help", o->name, o->name, o->arg,
                        c->args->command->path);
    return ERR_INVALID;
}

/* A start without --workflow-id gets a random id, which the output shows. */
static int request_set_workflow_id(struct command *c) {
    struct err e;
    const char *id = request_random_id(c);
    const ProtobufCFieldDescriptor *f = shape_field(c->request->descriptor, STR("workflow_id"));
    if (!f || !request_has_field(c->request, "workflow_type") || opt_named(c->args, "workflow-id"))
        return 0;
    return id ? request_set(c->request, "workflow_id", FORM_PLAIN, id, &c->arena, &e) : ERR_NO_MEMORY;
}

int request_apply(struct command *c) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->args->command->opt_count; i++)
        rc = request_set_flag(c, i);
    return rc < 0 ? rc : request_set_special(c);
}

int request_build(struct command *c) {
    c->request = request_new(c, c->rule->call);
    int rc = c->request ? request_set_workflow_id(c) : ERR_INVALID;
    return rc < 0 ? rc : request_apply(c);
}

/* The tables of shapes, and complaints.
 *
 * The types and texts of complaints are those of pydantic, which clients of
 * this API know. The list of complaints has a bound: what does not fit is
 * counted and left out. */
#include "mistral/shape.h"

#include <stdio.h>

#include "json/writer.h"
#include "mistral/shape_int.h"

#define LIST_BYTES_MAX (64u << 10)

static const char *const schedule_statuses[] = {"active", "paused", NULL};
static const char *const activities[] = {"active", "inactive", NULL};
static const char *const orders[] = {"asc", "desc", NULL};
static const char *const run_orders[] = {"start_time", "end_time", NULL};
static const char *const workflow_orders[] = {"display_name", NULL};
static const char *const deployment_orders[] = {"updated_at", "created_at", NULL};
static const char *const sources[] = {"DATABASE", "LIVE", "HYBRID", NULL};
static const char *const statuses[] = {"RUNNING",    "COMPLETED",        "FAILED",    "CANCELED",
                                       "TERMINATED", "CONTINUED_AS_NEW", "TIMED_OUT", NULL};

#define SHAPE(name) static const struct field name##_fields[] = {
#define FIELD(shape, name, kind, need, of, min, max) {#name, FIELD_##kind, FIELD_##need, of, min, max},
#define END(name)                                                                                            \
    }                                                                                                        \
    ;                                                                                                        \
    const struct shape shape_##name = {name##_fields, ARRAY_LEN(name##_fields)};
#include "mistral/shapes.def"
#undef SHAPE
#undef FIELD
#undef END

void complaints_init(struct complaints *c, struct arena *a) {
    *c = (struct complaints){.arena = a};
    buf_init(&c->list, LIST_BYTES_MAX);
}

void complaints_done(struct complaints *c) {
    buf_done(&c->list);
}

static void complaints_write_place(struct json_writer *w, const struct place *at) {
    char index[32];
    if (at->up)
        complaints_write_place(w, at->up);
    if (at->name.p) {
        writer_string(w, at->name);
        return;
    }
    (void)snprintf(index, sizeof(index), "%zu", at->index);
    writer_token(w, str_of(index));
}

void complaints_add(struct complaints *c, const struct place *at, const char *type, const char *fmt, ...) {
    struct json_writer w;
    char text[ERR_TEXT_MAX];
    va_list args;
    if (c->count++ >= COMPLAINTS_MAX)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    size_t begin = c->list.len;
    if (begin)
        buf_add_u8(&c->list, ',');
    writer_init(&w, &c->list, false);
    writer_open(&w, '{');
    writer_key(&w, STR("loc"));
    writer_open(&w, '[');
    complaints_write_place(&w, at);
    writer_close(&w, ']');
    writer_key(&w, STR("msg"));
    writer_string(&w, str_of(text));
    writer_key(&w, STR("type"));
    writer_string(&w, str_of(type));
    writer_close(&w, '}');
    if (buf_ok(&c->list))
        return;
    c->list.failed = false; /* the complaints before this one stay */
    buf_truncate(&c->list, begin);
}

void complaints_add_no_memory(struct complaints *c, const struct place *at) {
    complaints_add(c, at, "too_large", "This needs more memory than one request may have");
}

void shape_refuse_unsupported(struct complaints *c, const struct place *at) {
    complaints_add(c, at, "unsupported", "This server has nothing of this kind, so it cannot be asked for");
}

size_t shape_find_field(const struct shape *s, struct str name) {
    size_t i = 0;
    while (i < s->count && !str_is(name, s->fields[i].name))
        i++;
    return i;
}

struct record *shape_new_record(struct complaints *c, const struct shape *s) {
    struct record *r = arena_new(c->arena, struct record);
    if (!r)
        return NULL;
    *r = (struct record){s, arena_array(c->arena, struct field_value, s->count)};
    return r->v ? r : NULL;
}

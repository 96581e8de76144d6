/* Bytes as bodies and queries of Mistral's dialect.
 *
 * The first byte chooses the shape, and whether the rest is a body or a query. Without a complaint there is a
 * record with all that is required, and complaints are a JSON list. A definition of a schedule becomes a
 * message that the wire takes, and what is shown of it is JSON. */
#include "fuzz.h"

#include "cal/cal.h"
#include "json/reader.h"
#include "mistral/definition.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define TEXT_BYTES_MAX ((size_t)64 << 10)
#define QUERY_BIT 0x80
#define BUDGET_BYTES ((size_t)64 << 20)

static const struct shape *const shapes[] = {
#define SHAPE(name) &shape_##name,
#define FIELD(shape, name, kind, need, of, min, max)
#define END(name)
#include "mistral/shapes.def"
#undef SHAPE
#undef FIELD
#undef END
};

static const struct zone *find_zone(void *ctx, struct str name) {
    (void)ctx;
    (void)name;
    return NULL;
}

static void check_json(struct str text) {
    struct json_reader r;
    ensure(utf8_valid(text));
    reader_init(&r, text);
    ensure(reader_skip(&r, NULL) == 0 && reader_end(&r) == 0);
}

static void check_list(const struct complaints *c) {
    struct buf list cleanup(buf_done);
    buf_init(&list, BUDGET_BYTES);
    buf_printf(&list, "[%.*s]", (int)c->list.len, c->list.len ? (const char *)c->list.data : "");
    check_json(buf_str(&list));
}

static void check_record(const struct complaints *c, const struct record *r) {
    ensure(r || c->count);
    for (size_t i = 0; !c->count && i < r->shape->count; i++)
        ensure(r->v[i].is_given || r->shape->fields[i].need != FIELD_REQUIRED);
}

static Schedule__Schedule *schedule_new(struct dialog *x) {
    Schedule__Schedule *s = dialog_new_message(&x->arena, &schedule__schedule__descriptor);
    s->action = dialog_new_message(&x->arena, &schedule__schedule_action__descriptor);
    s->action->action_case = SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW;
    s->action->start_workflow = dialog_new_message(&x->arena, &workflow__new_workflow_execution_info__descriptor);
    return s;
}

static Schedule__Schedule *read_definition(struct dialog *x, struct str text) {
    const struct record *r = shape_read(&x->complaints, &shape_definition, text, STR("body"));
    check_record(&x->complaints, r);
    check_list(&x->complaints);
    if (x->complaints.count)
        return NULL;
    Schedule__Schedule *s = schedule_new(x);
    definition_read(x, r, s);
    check_list(&x->complaints);
    return x->complaints.count || arena_failed(&x->arena) ? NULL : s;
}

static void check_definition(struct dialog *x, struct str text) {
    Ws__DescribeScheduleResponse shown = WS__DESCRIBE_SCHEDULE_RESPONSE__INIT;
    struct buf bytes cleanup(buf_done);
    struct err e = {0};
    buf_init(&bytes, BUDGET_BYTES);
    shown.schedule = read_definition(x, text);
    if (!shown.schedule)
        return;
    wire_encode(&bytes, &shown.schedule->base);
    ensure(wire_guard(&schedule__schedule__descriptor, buf_str(&bytes), &e) == 0);
    definition_write(x, "id", &shown);
    ensure(buf_ok(&x->out));
    check_json(buf_str(&x->out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct cal_zones zones = {find_zone, NULL, NULL};
    static const struct mistral_server none = {0};
    static const struct dialog_route route = {.name = "fuzz"};
    struct mistral m;
    if (size == 0 || size > TEXT_BYTES_MAX)
        return 0;
    const struct shape *s = shapes[(data[0] & ~QUERY_BIT) % ARRAY_LEN(shapes)];
    struct str text = str_bytes(data + 1, size - 1);
    mistral_init(&m, &none, &zones, 1);
    struct dialog *x = dialog_new(&m, &route);
    ensure(x);
    if (data[0] & QUERY_BIT)
        ensure(shape_read_query(&x->complaints, s, text) || x->complaints.count);
    else if (s == &shape_definition)
        check_definition(x, text);
    else
        check_record(&x->complaints, shape_read(&x->complaints, s, text, STR("body")));
    check_list(&x->complaints);
    dialog_free(x);
    return 0;
}

/* An engine, its store, and the calls of one input. */
#include "world.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/mem.h"
#include "store/sqlite/sqlite_store.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "wire/status.h"

#define CALL_BYTES_MAX ((size_t)16 << 20)
#define TURNS_MAX 2000
#define STORE_MS_MAX 20000
#define DEADLINE_US (60 * USEC_PER_SEC)
#define MAKE_UP_S_MAX 120 /* at one time a second more than may be started at once */
#define METHODS_KNOWN 64
#define PLACES_KNOWN 512
#define RESIDENT_RUNS 2 /* so that runs leave memory and come back */

/* the engine */

static void on_ready(void *ctx, int rc, const struct err *e) {
    struct world *w = ctx;
    ensure(rc == 0 || (rc == e->code && e->text[0]));
    w->is_ready = rc == 0;
    w->is_damaged = rc < 0;
}

static void on_fatal(void *ctx, const char *text) {
    struct world *w = ctx;
    ensure(text[0]);
    w->is_damaged = true;
}

static void on_wake(void *ctx) {
    uint64_t one = 1;
    ensure(write(((struct world *)ctx)->wake_fd, &one, sizeof(one)) == sizeof(one));
}

static int open_store(struct world *w) {
    struct sqlite_options o = {.path = w->path, .wake = on_wake, .wake_ctx = w};
    struct err e = {0};
    if (w->path)
        return sqlite_store_open(&o, &w->store, &e);
    ensure(mem_store_open(w->disk, &w->store) == 0);
    mem_store_set_auto(w->store, true);
    return 0;
}

void world_boot(struct world *w) {
    static const char *const namespaces[] = {"default", NULL};
    struct engine_config cfg = {.seed = ++w->seed,
                                .resident_runs_max = RESIDENT_RUNS,
                                .namespaces = namespaces,
                                .retention_us = 86400 * USEC_PER_SEC,
                                .on_fatal = on_fatal,
                                .fatal_ctx = w};
    cfg.limits.allows_callbacks = true;
    w->is_ready = false;
    w->is_damaged = open_store(w) < 0;
    cfg.store = w->store;
    if (!w->is_damaged && engine_new(&cfg, w->now, on_ready, w, &w->engine) < 0)
        w->is_damaged = true;
    w->dispatch.engine = w->engine;
    world_turn(w);
}

static void world_init(struct world *w) {
    *w = (struct world){
        .now = {{WORLD_T0}, {USEC_PER_SEC}}, .dispatch = {.store_name = "memory"}, .wake_fd = -1};
    list_init(&w->open);
    buf_init(&w->token, CALL_BYTES_MAX);
}

void world_open_file(struct world *w, const char *path) {
    world_init(w);
    w->path = path;
    w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ensure(w->wake_fd >= 0);
    world_boot(w);
}

void world_open_on(struct world *w, struct mem_disk *disk) {
    world_init(w);
    w->disk = disk;
    ensure(w->disk);
    world_boot(w);
}

void world_open(struct world *w) {
    world_open_on(w, mem_disk_new());
    ensure(w->is_ready);
}

static void stop(struct world *w) {
    w->dispatch.engine = NULL;
    if (w->path)
        store_close(take(&w->store));
    else
        mem_store_crash(take(&w->store));
    engine_free(take(&w->engine));
}

void world_crash(struct world *w) {
    fault_pause(w->is_calm);
    stop(w);
    world_boot(w);
    fault_pause(true);
}

/* What the file's store has done meanwhile; false when it has nothing to say for long. */
static bool collect(struct world *w) {
    struct pollfd news = {.fd = w->wake_fd, .events = POLLIN};
    uint64_t count;
    if (poll(&news, 1, STORE_MS_MAX) <= 0)
        return false;
    ensure(read(w->wake_fd, &count, sizeof(count)) == sizeof(count));
    store_collect(w->store);
    return true;
}

void world_turn(struct world *w) {
    if (!w->engine)
        return;
    engine_flush(w->engine);
    for (int i = 0; i < TURNS_MAX && !w->is_damaged && !engine_idle(w->engine); i++) {
        ensure(!w->path || collect(w));
        engine_flush(w->engine);
    }
    ensure(w->is_damaged || engine_idle(w->engine));
}

void world_advance(struct world *w, int64_t us) {
    if (!w->engine)
        return;
    w->now.wall.us += us;
    w->now.mono.us += us;
    fault_pause(w->is_calm);
    engine_advance(w->engine, w->now);
    world_turn(w);
    fault_pause(true);
}

void world_close(struct world *w) {
    if (!w->is_damaged) {
        engine_drain(w->engine);
        world_advance(w, DEADLINE_US);
    }
    list_for(&w->open, n) {
        ensure(w->is_damaged || container_of(n, struct ask, link)->is_done);
    }
    stop(w);
    for (struct list *n; (n = list_pop(&w->open));)
        ask_free(container_of(n, struct ask, link));
    mem_disk_free(w->disk);
    if (w->wake_fd >= 0)
        close(w->wake_fd);
    buf_done(&w->token);
}

/* calls */

/* Where a message has what this file looks for: offsets, 0 when it has no such field. */
struct places {
    const ProtobufCMessageDescriptor *type;
    size_t token, run_id, executions[2];
};

static size_t place_of(const ProtobufCMessageDescriptor *type, const char *name, ProtobufCType wanted) {
    const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(type, name);
    return f && f->type == wanted && f->label != PROTOBUF_C_LABEL_REPEATED ? f->offset : 0;
}

/* Names are looked up once for each type: doing it for every call was a tenth of the time. */
static const struct places *places_in(const ProtobufCMessage *m) {
    static struct places known_places[PLACES_KNOWN];
    const ProtobufCMessageDescriptor *type = m->descriptor;
    struct places *p = &known_places[(uintptr_t)type / sizeof(*type) % PLACES_KNOWN];
    if (p->type != type)
        *p = (struct places){type,
                             place_of(type, "task_token", PROTOBUF_C_TYPE_BYTES),
                             place_of(type, "run_id", PROTOBUF_C_TYPE_STRING),
                             {place_of(type, "execution", PROTOBUF_C_TYPE_MESSAGE),
                              place_of(type, "workflow_execution", PROTOBUF_C_TYPE_MESSAGE)}};
    return p;
}

static void *at_place(const ProtobufCMessage *m, size_t place) {
    return place ? (char *)(uintptr_t)m + place : NULL;
}

static void remember(struct world *w, const ProtobufCMessage *m) {
    const ProtobufCBinaryData *token = at_place(m, places_in(m)->token);
    char *const *run_id = at_place(m, places_in(m)->run_id);
    if (token && token->len) {
        buf_clear(&w->token);
        buf_add(&w->token, token->data, token->len);
    }
    if (run_id && **run_id && strlen(*run_id) < sizeof(w->run_id))
        memcpy(w->run_id, *run_id, strlen(*run_id) + 1);
}

static void on_reply(struct call *c, const ProtobufCMessage *m, struct str tail) {
    struct ask *a = container_of(c, struct ask, call);
    struct err e = {0};
    ensure(!a->is_done && m->descriptor == a->method->response);
    a->is_done = true;
    a->is_doubtful = arena_failed(&a->arena);
    fault_pause(true);
    wire_encode(&a->packed, m);
    buf_add_str(&a->packed, tail);
    ensure(buf_ok(&a->packed));
    if (!a->world->is_brief)
        ensure(wire_decode(m->descriptor, buf_str(&a->packed), &a->kept, &a->answer, &e) == 0);
    if (!a->world->is_calm)
        remember(a->world, m);
    fault_pause(a->world->is_calm);
}

static void on_fail(struct call *c, const struct err *e) {
    struct ask *a = container_of(c, struct ask, call);
    ensure(!a->is_done);
    a->is_done = true;
    a->code = e->code;
    ensure(e->code < 0 && e->text[0] && utf8_valid(str_of(e->text)));
    ensure(e->code != ERR_INTERNAL && e->code != ERR_WAIT);
}

const struct method *world_method(const char *name) {
    static const struct method *known_methods[METHODS_KNOWN]; /* by the address of a name that asked for it */
    const struct method **m = &known_methods[(uintptr_t)name % METHODS_KNOWN];
    for (size_t i = 0; !*m || !cstr_eq((*m)->name, name); i++) {
        *m = method_at(i);
        ensure(*m);
    }
    return *m;
}

/* Tokens and run ids differ from world to world; an input names them by a sign. */
static void fill_in(struct ask *a, ProtobufCMessage *m) {
    const struct places *places = places_in(m);
    ProtobufCBinaryData *token = at_place(m, places->token);
    char **run_id = at_place(m, places->run_id);
    struct world *w = a->world;
    if (token && token->len == 1 && token->data[0] == '@' && w->token.len) {
        token->data = arena_dup(&a->arena, w->token.data, w->token.len);
        token->len = w->token.len;
    }
    if (run_id && cstr_eq(*run_id, "@"))
        *run_id = arena_strdup(&a->arena, w->run_id);
    for (size_t i = 0; i < ARRAY_LEN(places->executions); i++) {
        ProtobufCMessage *const *inner = at_place(m, places->executions[i]);
        if (inner && *inner)
            fill_in(a, *inner);
    }
}

/* Each time that is made up for is a run to be started: of a century of them only minutes are wanted here. */
static void shorten(Schedule__SchedulePatch *patch) {
    for (size_t i = 0; patch && i < patch->n_backfill_request; i++) {
        Schedule__BackfillRequest *b = patch->backfill_request[i];
        if (b->start_time && b->end_time &&
            b->end_time->seconds / 2 > b->start_time->seconds / 2 + MAKE_UP_S_MAX / 2)
            b->end_time->seconds = b->start_time->seconds + MAKE_UP_S_MAX;
    }
}

static void shorten_catchup(struct ask *a, Schedule__Schedule *s) {
    if (!s)
        return;
    if (!s->policies)
        s->policies = &a->policies;
    if (!s->policies->catchup_window)
        s->policies->catchup_window = &a->catchup;
    s->policies->catchup_window->seconds = MIN(s->policies->catchup_window->seconds, MAKE_UP_S_MAX);
}

static void shorten_schedules(struct ask *a, ProtobufCMessage *m) {
    if (m->descriptor == &ws__patch_schedule_request__descriptor)
        shorten(((Ws__PatchScheduleRequest *)m)->patch);
    if (m->descriptor == &ws__update_schedule_request__descriptor)
        shorten_catchup(a, ((Ws__UpdateScheduleRequest *)m)->schedule);
    if (m->descriptor == &ws__create_schedule_request__descriptor) {
        shorten(((Ws__CreateScheduleRequest *)m)->initial_patch);
        shorten_catchup(a, ((Ws__CreateScheduleRequest *)m)->schedule);
    }
}

static struct ask *ask_new(struct world *w, const struct method *m) {
    static const struct call_ops ops = {.reply = on_reply, .fail = on_fail};
    struct ask *a = mem_zalloc(sizeof(*a));
    ensure(a);
    arena_init(&a->arena, CALL_BYTES_MAX);
    arena_init(&a->kept, CALL_BYTES_MAX);
    buf_init(&a->packed, CALL_BYTES_MAX);
    a->call = (struct call){.ops = &ops, .arena = &a->arena, .deadline = {w->now.mono.us + DEADLINE_US}};
    a->world = w;
    a->method = m;
    schedule__schedule_policies__init(&a->policies);
    google__protobuf__duration__init(&a->catchup);
    a->catchup.seconds = MAKE_UP_S_MAX;
    list_append(&w->open, &a->link);
    return a;
}

static bool is_askable(const struct method *m) {
    return method_is_implemented(m) && m->kind != METHOD_STREAM && m->kind != METHOD_DUPLEX; /* a stream answers through a connection */
}

struct ask *world_ask(struct world *w, const struct method *m, struct str bytes) {
    ProtobufCMessage *request;
    struct err e = {0};
    if (!is_askable(m))
        return NULL;
    struct ask *a = ask_new(w, m);
    fault_pause(w->is_calm); /* what is the server's own work may fail, what is the test's may not */
    int rc = wire_decode(m->request, bytes, &a->arena, &request, &e);
    ensure(rc == 0 || (rc == e.code && e.text[0]));
    if (rc < 0) {
        fault_pause(true);
        ask_free(a);
        return NULL;
    }
    fill_in(a, request);
    shorten_schedules(a, request);
    method_run(m, &w->dispatch, &a->call, request);
    world_turn(w);
    /* Lists are read by a thread of the store. */
    while (w->path && !a->is_done && m->kind == METHOD_UNARY && !w->is_damaged && collect(w))
        world_turn(w);
    fault_pause(true);
    return a;
}

struct ask *world_send(struct world *w, const char *method, const ProtobufCMessage *request) {
    struct buf packed cleanup(buf_done);
    buf_init(&packed, CALL_BYTES_MAX);
    wire_encode(&packed, request);
    struct ask *a = world_ask(w, world_method(method), buf_str(&packed));
    ensure(a);
    return a;
}

void ask_free(struct ask *a) {
    list_remove(&a->link);
    if (!a->is_done && a->call.op)
        engine_cancel(a->world->engine, &a->call);
    arena_done(&a->arena);
    arena_done(&a->kept);
    buf_done(&a->packed);
    mem_free(a);
}

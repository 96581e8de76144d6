/* The backward packer against protobuf-c's own: the same bytes for every message, whatever is in it. */
#include "wire/pack.h"

#include "base/arena.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/rng.h"
#include "command.pb-c.h"
#include "harness.h"
#include "history.pb-c.h"
#include "kinds.pb-c.h"
#include "operatorservice.pb-c.h"
#include "state.pb-c.h"
#include "wire/clone.h"
#include "wire/guard.h"
#include "workflowservice.pb-c.h"

#define ROUNDS 150
#define DEPTH_MAX 5

struct filler {
    struct arena arena;
    struct rng rng;
};

static const uint64_t numbers[] = {0,     1,         127,        128,       300,       16383,
                                   16384, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};

static uint64_t some_number(struct filler *x) {
    if (rng_below(&x->rng, 2))
        return numbers[rng_below(&x->rng, ARRAY_LEN(numbers))];
    return rng_u64(&x->rng) >> rng_below(&x->rng, 64);
}

static ProtobufCMessage *fill(struct filler *x, const ProtobufCMessageDescriptor *d, int depth);

static char *some_text(struct filler *x) {
    size_t n = rng_below(&x->rng, rng_below(&x->rng, 8) ? 20 : 3000);
    char *s = arena_zalloc(&x->arena, n + 1);
    memset(s, 'a', n);
    return s;
}

static void fill_value(struct filler *x, const ProtobufCFieldDescriptor *f, void *at, int depth) {
    uint64_t number = some_number(x);
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
        *(char **)at = some_text(x);
        break;
    case PROTOBUF_C_TYPE_BYTES: {
        char *text = some_text(x);
        *(ProtobufCBinaryData *)at = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
        break;
    }
    case PROTOBUF_C_TYPE_MESSAGE:
        *(ProtobufCMessage **)at = depth < DEPTH_MAX ? fill(x, f->descriptor, depth + 1) : NULL;
        break;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)at = number & 1;
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        memcpy(at, &number, 8);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        *(double *)at = (double)(int64_t)number / 8 * (number & 1 ? -1 : 1);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        *(float *)at = (float)(int32_t)number / 8;
        break;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_ENUM:
        memcpy(at, &(uint32_t){(uint32_t)number}, 4);
        break;
    }
}

static size_t value_bytes(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_BOOL:
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_ENUM:
        return 4;
    default:
        return 8;
    }
}

static void fill_list(struct filler *x, const ProtobufCFieldDescriptor *f, ProtobufCMessage *m, int depth) {
    size_t count = rng_below(&x->rng, 4), step = value_bytes(f->type);
    if (f->type == PROTOBUF_C_TYPE_MESSAGE && depth >= DEPTH_MAX)
        count = 0;
    char *list = arena_zalloc(&x->arena, count * step + 1);
    for (size_t i = 0; i < count; i++)
        fill_value(x, f, list + i * step, depth);
    *(size_t *)((char *)m + f->quantifier_offset) = count;
    *(void **)((char *)m + f->offset) = list;
}

static ProtobufCMessage *fill(struct filler *x, const ProtobufCMessageDescriptor *d, int depth) {
    ProtobufCMessage *m = arena_zalloc(&x->arena, d->sizeof_message);
    unsigned one_in = 1 + (unsigned)rng_below(&x->rng, 12);
    protobuf_c_message_init(d, m);
    for (unsigned i = 0; i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];
        char *member = (char *)m + f->offset, *quantifier = (char *)m + f->quantifier_offset;
        if (rng_below(&x->rng, one_in))
            continue;
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            fill_list(x, f, m, depth);
            continue;
        }
        if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
            memset(member, 0, value_bytes(f->type)); /* what another member left there */
        fill_value(x, f, member, depth);
        if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
            *(uint32_t *)quantifier = f->id;
        else if (f->quantifier_offset)
            *(protobuf_c_boolean *)quantifier = (int)rng_below(&x->rng, 2);
    }
    if (rng_below(&x->rng, 8) == 0) {
        m->n_unknown_fields = 2;
        m->unknown_fields =
            (ProtobufCMessageUnknownField *)arena_zalloc(&x->arena, 2 * sizeof(*m->unknown_fields));
        m->unknown_fields[0] =
            (ProtobufCMessageUnknownField){60001, PROTOBUF_C_WIRE_TYPE_VARINT, 1, (uint8_t *)some_text(x)};
        m->unknown_fields[0].data = (uint8_t *)arena_dup(&x->arena, "\x07", 1);
        m->unknown_fields[1] = (ProtobufCMessageUnknownField){60002, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, 3,
                                                              (uint8_t *)arena_dup(&x->arena, "\x02hi", 3)};
    }
    return m;
}

static bool same_bytes(const ProtobufCMessage *m) {
    struct packer p;
    size_t size = protobuf_c_message_get_packed_size(m);
    uint8_t *want = mem_alloc(size + 1);
    packer_init(&p);
    size_t length = packer_message(&p, m);
    bool ok = want && packer_ok(&p);
    if (ok) {
        protobuf_c_message_pack(m, want);
        ok = CHECK_INT(length, size) && CHECK(str_eq(packer_str(&p), str_bytes(want, size)));
    }
    packer_done(&p);
    mem_free(want);
    return ok;
}

static struct str packed(const ProtobufCMessage *m) {
    size_t size = protobuf_c_message_get_packed_size(m);
    uint8_t *bytes = mem_alloc(size + 1);
    if (bytes)
        protobuf_c_message_pack(m, bytes);
    return str_bytes(bytes, bytes ? size : 0);
}

/* A copy is the same message, and needs nothing of the one that it was made from. */
static bool same_copy(struct filler *x, const ProtobufCMessage *m) {
    struct str want = packed(m);
    ProtobufCMessage *copy = wire_clone(m, &wire_heap_allocator);
    arena_clear(&x->arena);
    bool ok = copy && want.p;
    if (ok) {
        struct str got = packed(copy);
        ok = got.p && CHECK(str_eq(got, want));
        mem_free((void *)(uintptr_t)got.p);
    }
    mem_free((void *)(uintptr_t)want.p);
    if (copy)
        protobuf_c_message_free_unpacked(copy, &wire_heap_allocator);
    return ok;
}

static const ProtobufCMessageDescriptor *const kinds[] = {
    &history__history_event__descriptor,
    &history__history__descriptor,
    &state__execution__descriptor,
    &state__namespace__descriptor,
    &command__command__descriptor,
    &ws__start_workflow_execution_request__descriptor,
    &ws__poll_workflow_task_queue_response__descriptor,
    &ws__poll_activity_task_queue_response__descriptor,
    &ws__respond_workflow_task_completed_request__descriptor,
    &ws__describe_workflow_execution_response__descriptor,
    &ws__list_workflow_executions_response__descriptor,
    &ws__describe_task_queue_response__descriptor,
    &ops__list_search_attributes_response__descriptor,
    &kinds__kinds__descriptor,
};

TEST(same_bytes_as_protobuf_c) {
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (uint64_t round = 0; round < ROUNDS; round++) {
            struct filler x;
            arena_init(&x.arena, SIZE_MAX);
            rng_init(&x.rng, k * ROUNDS + round);
            bool ok = same_bytes(fill(&x, kinds[k], 0));
            arena_done(&x.arena);
            if (!ok)
                return;
        }
}

TEST(copies_are_the_same_messages) {
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (uint64_t round = 0; round < ROUNDS; round++) {
            struct filler x;
            arena_init(&x.arena, SIZE_MAX);
            rng_init(&x.rng, k * ROUNDS + round);
            bool ok = same_copy(&x, fill(&x, kinds[k], 0));
            arena_done(&x.arena);
            if (!ok)
                return;
        }
}

/* Whichever allocation fails, there is no copy, and nothing of one is left. */
TEST(copies_fail_as_a_whole_without_memory) {
    for (uint64_t round = 0; round < 20; round++) {
        struct filler x;
        arena_init(&x.arena, SIZE_MAX);
        rng_init(&x.rng, round);
        const ProtobufCMessage *m = fill(&x, &kinds__kinds__descriptor, 0);
        bool has_fired = true;
        for (uint64_t n = 1; has_fired; n++) {
            fault_arm_alloc(n);
            ProtobufCMessage *copy = wire_clone(m, &wire_heap_allocator);
            has_fired = fault_fired();
            fault_disarm();
            CHECK_INT(!copy, has_fired);
            protobuf_c_message_free_unpacked(copy, &wire_heap_allocator);
        }
        arena_done(&x.arena);
    }
}

/* What a field that has no text holds in an unpacked message, not NULL. */
TEST(copies_have_no_missing_texts) {
    Common__WorkflowExecution half = COMMON__WORKFLOW_EXECUTION__INIT;
    half.workflow_id = NULL;
    Common__WorkflowExecution *copy =
        (Common__WorkflowExecution *)wire_clone(&half.base, &wire_heap_allocator);
    CHECK(!copy || cstr_eq(copy->workflow_id, ""));
    if (copy)
        protobuf_c_message_free_unpacked(&copy->base, &wire_heap_allocator);
}

TEST(what_is_too_large_for_the_stack_is_packed_on_the_heap) {
    struct packer p;
    Common__WorkflowExecution m = COMMON__WORKFLOW_EXECUTION__INIT;
    char *text = mem_zalloc(100001);
    REQUIRE(text);
    memset(text, 'x', 100000);
    m.workflow_id = text;
    packer_init(&p);
    size_t length = packer_message(&p, &m.base);
    CHECK(!packer_ok(&p) || length == 100004);
    packer_prefix(&p, 7, length);
    CHECK(packer_ok(&p));
    CHECK_INT(packer_str(&p).n, 100008);
    packer_done(&p);
    mem_free(text);
}

/* Each makes lists that are too long for the stack, so that what needs memory is that kind of value. */
static void fill_many_numbers(Kinds__Lists *m, void *list, size_t n) {
    m->int64_value = list;
    m->n_int64_value = n;
}

static void fill_many_fixed(Kinds__Lists *m, void *list, size_t n) {
    m->fixed64_value = list;
    m->n_fixed64_value = n;
}

static void fill_many_texts(Kinds__Lists *m, void *list, size_t n) {
    m->string_value = list;
    m->n_string_value = n;
    for (size_t i = 0; i < n; i++)
        m->string_value[i] = (char *)(uintptr_t) "text";
}

TEST(packing_fails_as_a_whole_without_memory) {
    static void (*const fills[])(Kinds__Lists *, void *, size_t) = {fill_many_numbers, fill_many_fixed,
                                                                    fill_many_texts};
    static const size_t count = 4096;
    int64_t *list = mem_alloc(count * sizeof(*list));
    for (size_t i = 0; list && i < ARRAY_LEN(fills); i++) {
        Kinds__Lists m = KINDS__LISTS__INIT;
        struct packer p;
        memset(list, 0xff, count * sizeof(*list));
        fills[i](&m, list, count);
        packer_init(&p);
        fault_arm_alloc(1);
        CHECK_INT(packer_message(&p, &m.base), 0);
        CHECK(fault_fired());
        fault_disarm();
        CHECK(!packer_ok(&p));
        packer_done(&p);
        CHECK(same_bytes(&m.base));
    }
    mem_free(list);
}

/* protobuf-c itself would crash. */
TEST(a_text_that_is_missing_in_a_list_is_an_empty_one) {
    Kinds__Lists m = KINDS__LISTS__INIT;
    struct packer p;
    m.string_value = (char *[]){NULL, (char[]){"x"}};
    m.n_string_value = 2;
    packer_init(&p);
    CHECK_INT(packer_message(&p, &m.base), 5);
    CHECK_SLICE(packer_str(&p), STR("\x72\x00\x72\x01x"));
    packer_done(&p);
}

TEST(zeros_of_every_kind_are_left_out) {
    State__Execution state = STATE__EXECUTION__INIT;
    Kinds__Plain plain;
    kinds__plain__init(&plain);
    const ProtobufCMessage *const messages[] = {&state.base, &plain.base};
    plain.float_value = -0.0F;
    plain.double_value = -0.0;
    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        struct packer p;
        packer_init(&p);
        CHECK_INT(packer_message(&p, messages[i]), 0);
        CHECK_INT(packer_str(&p).n, 0);
        packer_done(&p);
    }
}

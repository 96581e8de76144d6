/* Heap-owned protobuf-c trees. A failed allocation sets *failed and leaves the
 * tree in a state that can be freed; the step that asked is then undone as a whole. */
#include "core/step/pb.h"

#include <string.h>

#include "base/mem.h"
#include "wire/clone.h"
#include "wire/guard.h"

static char *empty_string(void) {
    /* What protobuf-c itself stores for an absent string; its free function knows it. */
    return (char *)(uintptr_t)protobuf_c_empty_string;
}

void pb_set_string(char **field, const char *value, bool *failed) {
    char *copy = empty_string();
    if (!cstr_is_empty(value)) {
        copy = mem_strdup(value);
        if (!copy) {
            *failed = true;
            return;
        }
    }
    if (*field != empty_string())
        mem_free(*field);
    *field = copy;
}

void pb_set_bytes(ProtobufCBinaryData *field, struct str value, bool *failed) {
    uint8_t *copy = value.n ? mem_dup(value.p, value.n) : NULL;
    if (value.n && !copy) {
        *failed = true;
        return;
    }
    mem_free(field->data);
    *field = (ProtobufCBinaryData){value.n, copy};
}

void *pb_new(const ProtobufCMessageDescriptor *d, bool *failed) {
    ProtobufCMessage *m = mem_alloc(d->sizeof_message);
    if (!m) {
        *failed = true;
        return NULL;
    }
    protobuf_c_message_init(d, m);
    return m;
}

void *pb_clone(const ProtobufCMessage *m, bool *failed) {
    if (!m)
        return NULL;
    void *copy = wire_clone(m, &wire_heap_allocator);
    if (!copy)
        *failed = true;
    return copy;
}

void pb_set_message(void *field, const void *m, bool *failed) {
    void **slot = field;
    void *copy = pb_clone(m, failed);
    if (m && !copy)
        return;
    pb_free(*slot);
    *slot = copy;
}

void pb_free(void *m) {
    if (m)
        protobuf_c_message_free_unpacked(m, &wire_heap_allocator);
}

/* Room for one more item. Exact, because an array that was just unpacked has no room to spare and
 * there is no field to remember a capacity in; the allocator makes repeated growth cheap. */
static bool pb_grow_array(size_t n, void **array, size_t item_size, bool *failed) {
    void *bigger = mem_resize(*array, (n + 1) * item_size);
    if (!bigger) {
        *failed = true;
        return false;
    }
    *array = bigger;
    return true;
}

void pb_append_message(size_t *n, void *array, void *item, bool *failed) {
    void ***slot = array;
    if (!item)
        return;
    if (!pb_grow_array(*n, (void **)slot, sizeof(void *), failed)) {
        pb_free(item);
        return;
    }
    (*slot)[(*n)++] = item;
}

void pb_append_string(size_t *n, char ***array, const char *value, bool *failed) {
    if (!pb_grow_array(*n, (void **)array, sizeof(char *), failed))
        return;
    char *copy = mem_strdup(value);
    if (!copy) {
        *failed = true;
        return;
    }
    (*array)[(*n)++] = copy;
}

void pb_append_int64(size_t *n, int64_t **array, int64_t value, bool *failed) {
    if (pb_grow_array(*n, (void **)array, sizeof(int64_t), failed))
        (*array)[(*n)++] = value;
}

void pb_append_bytes(size_t *n, ProtobufCBinaryData **array, struct str bytes, bool *failed) {
    if (!pb_grow_array(*n, (void **)array, sizeof(ProtobufCBinaryData), failed))
        return;
    uint8_t *copy = mem_dup(bytes.p, bytes.n);
    if (!copy) {
        *failed = true;
        return;
    }
    (*array)[(*n)++] = (ProtobufCBinaryData){bytes.n, copy};
}

void pb_remove_message(size_t *n, void *array, size_t i) {
    void **items = array;
    ensure(i < *n);
    pb_free(items[i]);
    memmove(items + i, items + i + 1, (*n - i - 1) * sizeof(void *));
    (*n)--;
}

void pb_remove_item(size_t *n, void *array, const void *item) {
    void **items = array;
    size_t i = 0;
    while (items[i] != item) {
        i++;
        ensure(i < *n);
    }
    pb_remove_message(n, array, i);
}

void pb_remove_string(size_t *n, char **array, size_t i) {
    ensure(i < *n);
    mem_free(array[i]);
    memmove(array + i, array + i + 1, (*n - i - 1) * sizeof(*array));
    (*n)--;
}

void pb_remove_bytes(size_t *n, ProtobufCBinaryData *array, size_t i) {
    ensure(i < *n);
    mem_free(array[i].data);
    memmove(array + i, array + i + 1, (*n - i - 1) * sizeof(*array));
    (*n)--;
}

void pb_clear_messages(size_t *n, void *array) {
    void ***slot = array;
    for (size_t i = 0; i < *n; i++)
        pb_free((*slot)[i]);
    mem_free(*slot);
    *slot = NULL;
    *n = 0;
}

void pb_clear_bytes(size_t *n, ProtobufCBinaryData **array) {
    for (size_t i = 0; i < *n; i++)
        mem_free((*array)[i].data);
    mem_free(*array);
    *array = NULL;
    *n = 0;
}

struct str pb_bytes(const ProtobufCBinaryData *d) {
    return str_bytes(d->data, d->len);
}

int64_t pb_duration_us(const Google__Protobuf__Duration *d) {
    int64_t us;
    if (!d)
        return 0;
    if (__builtin_mul_overflow(d->seconds, USEC_PER_SEC, &us))
        return d->seconds > 0 ? CLOCK_NEVER : INT64_MIN;
    return usec_add(us, d->nanos / NSEC_PER_USEC);
}

int64_t pb_wait_us(const Google__Protobuf__Duration *d) {
    return MIN(pb_duration_us(d), PB_WAIT_US_MAX);
}

Google__Protobuf__Duration *pb_wait(Google__Protobuf__Duration *d, Google__Protobuf__Duration *room) {
    if (pb_duration_us(d) <= PB_WAIT_US_MAX)
        return d;
    *room = pb_duration(PB_WAIT_US_MAX);
    return room;
}

bool pb_duration_valid(const Google__Protobuf__Duration *d) {
    return !d || (d->seconds >= 0 && d->nanos >= 0 && d->nanos < 1000000000);
}

Google__Protobuf__Duration pb_duration(int64_t us) {
    Google__Protobuf__Duration d = GOOGLE__PROTOBUF__DURATION__INIT;
    d.seconds = us / USEC_PER_SEC;
    d.nanos = (int32_t)(us % USEC_PER_SEC * NSEC_PER_USEC);
    return d;
}

Google__Protobuf__Timestamp pb_timestamp(int64_t us) {
    Google__Protobuf__Timestamp t = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    t.seconds = us / USEC_PER_SEC;
    t.nanos = (int32_t)(us % USEC_PER_SEC * NSEC_PER_USEC);
    if (t.nanos < 0) {
        t.seconds--;
        t.nanos += 1000000000;
    }
    return t;
}

int64_t pb_timestamp_us(const Google__Protobuf__Timestamp *t) {
    int64_t us;
    if (!t)
        return 0;
    if (__builtin_mul_overflow(t->seconds, USEC_PER_SEC, &us))
        return t->seconds > 0 ? CLOCK_NEVER : INT64_MIN;
    return usec_add(us, t->nanos / NSEC_PER_USEC);
}

/* From year 1 to year 9999, as protobuf says. */
bool pb_timestamp_valid(const Google__Protobuf__Timestamp *t) {
    return !t || (t->seconds >= INT64_C(-62135596800) && t->seconds < INT64_C(253402300800) &&
                  t->nanos >= 0 && t->nanos < 1000000000);
}

void *pb_arena_new(const ProtobufCMessageDescriptor *d, struct arena *arena) {
    ProtobufCMessage *m = arena_alloc(arena, d->sizeof_message);
    if (m)
        protobuf_c_message_init(d, m);
    return m;
}

void *pb_arena_clone(const void *m, struct arena *arena) {
    if (!m)
        return NULL;
    ProtobufCAllocator alloc = wire_arena_allocator(arena);
    return wire_clone(m, &alloc);
}

Google__Protobuf__Timestamp *pb_arena_timestamp(int64_t us, struct arena *arena) {
    Google__Protobuf__Timestamp *t = arena_new(arena, Google__Protobuf__Timestamp);
    if (t)
        *t = pb_timestamp(us);
    return t;
}

Google__Protobuf__Duration *pb_arena_duration(int64_t us, struct arena *arena) {
    Google__Protobuf__Duration *d = arena_new(arena, Google__Protobuf__Duration);
    if (d)
        *d = pb_duration(us);
    return d;
}

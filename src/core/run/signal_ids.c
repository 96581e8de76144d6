#include "core/run/signal_ids.h"

#include "base/mem.h"

/* Only as we would write it: another spelling of the same UUID is another id. */
static bool read_uuid(const char *request_id, struct uuid *ret) {
    return uuid_parse(str_of(request_id), ret) == 0 && cstr_eq(uuid_format(*ret).s, request_id);
}

static bool has_uuid(const ProtobufCBinaryData *all, const struct uuid *u) {
    for (size_t i = 0; i + sizeof(*u) <= all->len; i += sizeof(*u))
        if (memcmp(all->data + i, u->b, sizeof(*u)) == 0)
            return true;
    return false;
}

bool signal_id_seen(const State__Execution *st, const char *request_id) {
    struct uuid u;
    if (read_uuid(request_id, &u) && has_uuid(&st->signal_uuids, &u))
        return true;
    for (size_t i = 0; i < st->n_signal_request_ids; i++)
        if (cstr_eq(st->signal_request_ids[i], request_id))
            return true;
    return false;
}

static void add_uuid(ProtobufCBinaryData *all, const struct uuid *u, bool *failed) {
    uint8_t *bigger = mem_resize(all->data, all->len + sizeof(*u));
    if (!bigger) {
        *failed = true;
        return;
    }
    memcpy(bigger + all->len, u->b, sizeof(*u));
    *all = (ProtobufCBinaryData){all->len + sizeof(*u), bigger};
}

void signal_id_add(struct step *s, const char *request_id, int64_t event_id) {
    State__Execution *st = s->st;
    struct uuid u;
    if (cstr_is_empty(request_id))
        return;
    if (read_uuid(request_id, &u)) {
        add_uuid(&st->signal_uuids, &u, &s->failed);
        pb_append_int64(&st->n_signal_uuid_event_ids, &st->signal_uuid_event_ids, event_id, &s->failed);
    } else {
        pb_append_string(&st->n_signal_request_ids, &st->signal_request_ids, request_id, &s->failed);
        pb_append_int64(&st->n_signal_event_ids, &st->signal_event_ids, event_id, &s->failed);
    }
}

static size_t known_uuids(const State__Execution *st) {
    return MIN(st->n_signal_uuid_event_ids, st->signal_uuids.len / sizeof(struct uuid));
}

static size_t known_texts(const State__Execution *st) {
    return MIN(st->n_signal_event_ids, st->n_signal_request_ids);
}

/* `back` is 1 for the last one. */
static struct uuid uuid_from_end(const State__Execution *st, size_t back) {
    struct uuid u;
    size_t count = st->signal_uuids.len / sizeof(u);
    memcpy(u.b, st->signal_uuids.data + (count - back) * sizeof(u), sizeof(u));
    return u;
}

void signal_id_written(State__Execution *st, const char *request_id, int64_t event_id) {
    struct uuid u;
    if (cstr_is_empty(request_id))
        return;
    bool is_uuid = read_uuid(request_id, &u);
    for (size_t back = 1; is_uuid && back <= known_uuids(st); back++) {
        if (!uuid_eq(uuid_from_end(st, back), u))
            continue;
        st->signal_uuid_event_ids[st->n_signal_uuid_event_ids - back] = event_id;
        return;
    }
    for (size_t back = 1; back <= known_texts(st); back++) {
        if (!cstr_eq(st->signal_request_ids[st->n_signal_request_ids - back], request_id))
            continue;
        st->signal_event_ids[st->n_signal_event_ids - back] = event_id;
        return;
    }
}

size_t signal_id_count(const State__Execution *st) {
    return known_uuids(st) + known_texts(st);
}

struct signal_id signal_id_get(const State__Execution *st, size_t i) {
    size_t uuids = known_uuids(st);
    if (i < uuids)
        return (struct signal_id){.uuid = uuid_format(uuid_from_end(st, uuids - i)),
                                  .event_id =
                                      st->signal_uuid_event_ids[st->n_signal_uuid_event_ids - (uuids - i)]};
    size_t back = known_texts(st) - (i - uuids);
    return (struct signal_id){.text = st->signal_request_ids[st->n_signal_request_ids - back],
                              .event_id = st->signal_event_ids[st->n_signal_event_ids - back]};
}

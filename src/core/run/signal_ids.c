#include "core/run/signal_ids.h"

#include "base/mem.h"
#include "base/uuid.h"

/* Only as we would write it: another spelling of the same UUID is another id. */
static bool read_uuid(const char *request_id, struct uuid *ret) {
    return uuid_parse(str_of(request_id), ret) == 0 && streq(uuid_format(*ret).s, request_id);
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
        if (streq(st->signal_request_ids[i], request_id))
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

void signal_id_add(struct step *s, const char *request_id) {
    State__Execution *st = s->st;
    struct uuid u;
    if (strempty(request_id))
        return;
    if (read_uuid(request_id, &u))
        add_uuid(&st->signal_uuids, &u, &s->failed);
    else
        pb_append_string(&st->n_signal_request_ids, &st->signal_request_ids, request_id, &s->failed);
}

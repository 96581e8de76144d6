/* Walks the raw bytes of answers event by event.
 *
 * An event that is already known must have the same bytes. The next one after
 * the known ones is decoded once and checked against the rules of a history;
 * events further ahead are skipped, a complete read will bring them. */
#include "history.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "history_rules.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "world.h"

#define EVENT_ARENA_BYTES (4u << 20)

static int64_t event_id_of(struct str event) {
    struct wire_field f;
    bool ok;
    while (wire_next_field(&event, &f, &ok))
        if (f.number == 1)
            return (int64_t)f.varint;
    return 0;
}

static void history_learn(struct world *w, struct run_model *run, struct str bytes, uint64_t hash) {
    struct arena arena;
    arena_init(&arena, EVENT_ARENA_BYTES);
    ProtobufCMessage *event;
    struct err e;
    if (wire_decode(&history__history_event__descriptor, bytes, &arena, &event, &e) < 0)
        world_fail(w, "history_decodes", "run=%s event=%zu: %s", run->run_id, run->event_count + 1, e.text);
    else
        history_apply(w, run, (const History__HistoryEvent *)event);
    trace_note(w, "event run=%s id=%zu type=%d", run->run_id, run->event_count + 1, run->last_type);
    arena_done(&arena);
    run->event_hashes = model_grow(run->event_hashes, run->event_count, &run->event_cap, sizeof(uint64_t));
    run->event_hashes[run->event_count++] = hash;
}

/* G5: history is append-only and the same for every reader. */
static void check_history_append_only(struct world *w, const struct run_model *run, int64_t id,
                                      uint64_t hash) {
    if (run->event_hashes[id - 1] != hash)
        world_fail(w, "history_append_only",
                   "run=%s event=%" PRId64 " differs from an earlier read (%zu events known)", run->run_id,
                   id, run->event_count);
}

/* G5: history has no gaps. */
static void check_history_contiguous(struct world *w, const struct run_model *run, int64_t id,
                                     int64_t expected) {
    if (id != expected)
        world_fail(w, "history_contiguous", "run=%s event=%" PRId64 " where %" PRId64 " belongs", run->run_id,
                   id, expected);
}

static void history_see_event(struct world *w, struct run_model *run, struct str bytes, int64_t id) {
    uint64_t hash = trace_hash_of(bytes.p, bytes.n);
    if ((size_t)id <= run->event_count)
        check_history_append_only(w, run, id, hash);
    else if ((size_t)id == run->event_count + 1)
        history_learn(w, run, bytes, hash);
}

static void history_count_event(struct world *w, struct run_model *run, struct glimpse *g, int64_t id) {
    if (g->count == 0)
        g->first_id = id;
    if (g->count > 0 || id < 1)
        check_history_contiguous(w, run, id, g->last_id + 1);
    g->count++;
    g->last_id = id;
}

struct glimpse history_see(struct world *w, struct run_model *run, struct str answer, uint32_t field,
                           int64_t provisional_id) {
    struct glimpse g = {0};
    struct wire_field outer, inner;
    bool ok;
    while (wire_next_field(&answer, &outer, &ok)) {
        struct str events = outer.content;
        while (outer.number == field && wire_next_field(&events, &inner, &ok)) {
            int64_t id = event_id_of(inner.content);
            history_count_event(w, run, &g, id);
            if (!w->failure.is_set && id < provisional_id)
                history_see_event(w, run, inner.content, id);
        }
    }
    trace_note(w, "history run=%s events %" PRId64 "..%" PRId64 " known=%zu", run->run_id, g.first_id,
               g.last_id, run->event_count);
    return g;
}

void history_compare(struct world *w, const struct run_model *run, struct str answer, uint32_t field) {
    struct wire_field outer, inner;
    bool ok;
    while (wire_next_field(&answer, &outer, &ok)) {
        struct str events = outer.content;
        while (outer.number == field && wire_next_field(&events, &inner, &ok)) {
            int64_t id = event_id_of(inner.content);
            if (id >= 1 && (size_t)id <= run->event_count)
                check_history_append_only(w, run, id, trace_hash_of(inner.content.p, inner.content.n));
        }
    }
}

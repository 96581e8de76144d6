/* Keeps runs and requests by id, in order of meeting. Running out of memory ends the simulation. */
#include "model.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "world.h"

#define MODEL_MAX (1u << 22)

void model_init(struct model *m) {
    *m = (struct model){0};
    map_init(&m->runs, MODEL_MAX, 1);
    map_init(&m->latest, MODEL_MAX, 2);
    map_init(&m->requests, MODEL_MAX, 3);
    map_init(&m->letters, MODEL_MAX, 4);
}

void model_done(struct model *m) {
    for (size_t i = 0; i < m->run_count; i++) {
        mem_free(m->in_order[i]->event_hashes);
        mem_free(m->in_order[i]->signals);
        mem_free(m->in_order[i]->completed_tasks);
        mem_free(m->in_order[i]->children);
        mem_free(m->in_order[i]);
    }
    mem_free(m->in_order);
    struct request_model *request;
    for (size_t i = 0; (request = map_next(&m->requests, &i));) {
        mem_free(request->holders);
        mem_free(request);
    }
    struct letter_model *letter;
    for (size_t i = 0; (letter = map_next(&m->letters, &i));)
        mem_free(letter);
    map_done(&m->letters);
    map_done(&m->runs);
    map_done(&m->latest);
    map_done(&m->requests);
}

void *model_grow(void *items, size_t count, size_t *cap, size_t item_size) {
    if (count < *cap)
        return items;
    *cap = *cap ? *cap * 2 : 16;
    void *p = mem_resize(items, *cap * item_size);
    ensure(p);
    return p;
}

struct run_model *model_find(const struct model *m, const char *run_id) {
    return map_get(&m->runs, str_of(run_id));
}

struct run_model *model_meet(struct model *m, const char *run_id, const char *workflow_id) {
    struct run_model *run = model_find(m, run_id);
    if (run)
        return run;
    run = mem_zalloc(sizeof(*run));
    ensure(run && strlen(run_id) < sizeof(run->run_id) && strlen(workflow_id) < sizeof(run->workflow_id));
    memcpy(run->run_id, run_id, strlen(run_id));
    memcpy(run->workflow_id, workflow_id, strlen(workflow_id));
    run->older = map_remove(&m->latest, str_of(workflow_id));
    ensure(map_put(&m->latest, str_of(run->workflow_id), run) == 0);
    ensure(map_put(&m->runs, str_of(run->run_id), run) == 0);
    m->in_order = model_grow(m->in_order, m->run_count, &m->run_cap, sizeof(*m->in_order));
    run->number = m->run_count;
    m->in_order[m->run_count++] = run;
    return run;
}

struct run_model *model_meet_in(struct model *m, const char *namespace_name, const char *run_id,
                                const char *workflow_id) {
    char id[MODEL_ID_MAX];
    snprintf(id, sizeof(id), "%s/%s", namespace_name, workflow_id);
    return model_meet(m, run_id, id);
}

struct request_model *model_request(struct world *w, const char *workflow_id, const char *kind) {
    struct request_model *request = mem_zalloc(sizeof(*request));
    ensure(request && strlen(workflow_id) < sizeof(request->workflow_id));
    snprintf(request->id, sizeof(request->id), "%s-%" PRIu64, kind, w->next_id++);
    memcpy(request->workflow_id, workflow_id, strlen(workflow_id));
    request->runs_met = w->model.run_count;
    request->is_signal = cstr_eq(kind, "signal");
    request->is_update = cstr_eq(kind, "update");
    request->makes_run = cstr_eq(kind, "start") || cstr_eq(kind, "reset");
    ensure(map_put(&w->model.requests, str_of(request->id), request) == 0);
    return request;
}

struct request_model *model_find_request(const struct model *m, struct str id) {
    return map_get(&m->requests, id);
}

void model_add_signal(struct run_model *run, struct request_model *signal) {
    run->signals =
        model_grow(run->signals, run->signal_count, &run->signal_cap, sizeof(struct request_model *));
    run->signals[run->signal_count++] = signal;
}

struct letter_model *model_letter(struct model *m, const char *id) {
    struct letter_model *letter = map_get(&m->letters, str_of(id));
    if (letter)
        return letter;
    letter = mem_zalloc(sizeof(*letter));
    ensure(letter && strlen(id) < sizeof(letter->id));
    memcpy(letter->id, id, strlen(id));
    ensure(map_put(&m->letters, str_of(letter->id), letter) == 0);
    return letter;
}

struct child_model *model_find_child(const struct run_model *parent, int64_t initiated_event_id) {
    for (size_t i = 0; i < parent->child_count; i++)
        if (parent->children[i].initiated_event_id == initiated_event_id)
            return &parent->children[i];
    return NULL;
}

void model_add_holder(struct request_model *signal, struct run_model *run) {
    signal->holders = model_grow(signal->holders, signal->holder_count, &signal->holder_cap, sizeof(run));
    signal->holders[signal->holder_count++] = run;
}

bool model_is_holder(const struct request_model *signal, const struct run_model *run) {
    for (size_t i = 0; i < signal->holder_count; i++)
        if (signal->holders[i] == run)
            return true;
    return false;
}

void model_expect_deletion(struct run_model *run, int64_t wall_us) {
    if (!run->is_deleted)
        run->delete_sent_wall_us = wall_us;
    run->is_deleted = true;
}

bool model_was_reset(const struct model *m, const char *workflow_id) {
    const struct request_model *request;
    for (size_t i = 0; (request = map_next(&m->requests, &i));)
        if (request->reset_event_id && cstr_eq(request->workflow_id, workflow_id))
            return true;
    return false;
}

bool model_may_have_unmet(const struct model *m, const struct request_model *than) {
    const struct request_model *request;
    for (size_t i = 0; (request = map_next(&m->requests, &i));)
        if (request != than && request->makes_run && cstr_eq(request->workflow_id, than->workflow_id) &&
            (request->has_any_base || (request->unheard_calls && !request->run)))
            return true;
    return false;
}

bool model_may_be_displaced(const struct model *m, const struct run_model *run) {
    const struct request_model *request;
    for (size_t i = 0; (request = map_next(&m->requests, &i));)
        if (request->base && str_is(str_of(request->workflow_id), run->workflow_id) &&
            (request->has_any_base || !str_is(str_of(request->base->first_run_id), run->run_id)))
            return true;
    return false;
}

bool model_may_be_forgotten(const struct model *m, const struct run_model *run) {
    const struct run_model *other = map_get(&m->latest, str_of(run->workflow_id));
    for (; other; other = other->older) {
        bool is_kin = other == run || !other->first_run_id[0] || cstr_eq(other->first_run_id, run->run_id);
        if (other->is_deleted && is_kin)
            return true;
    }
    return false;
}

/* Draws a profile from a name and a seed. Fails only for a name that is not in the table. */
#include "profile.h"

#include "base/err.h"
#include "base/str.h"

struct fault_info {
    const char *name;
    enum fault_class class;
    uint32_t usual;
};

static const struct fault_info fault_table[FAULT_COUNT] = {
#define FAULT(name, class, usual) [FAULT_##name] = {#name, CLASS_##class, usual},
#include "faults.def"
#undef FAULT
};

#define YEARS_PACE 1000000 /* a client does something a few times a day */

#define CLASS(c) (UINT32_C(1) << CLASS_##c)

static const struct {
    const char *name;
    uint32_t classes;
    unsigned times; /* as often as usual */
} profile_table[] = {
    {"calm", 0, 1},
    {"crash", CLASS(process) | CLASS(store), 4},
    {"clock", CLASS(clock), 4},
    {"network", CLASS(network), 4},
    {"worker", CLASS(worker), 4},
};

const char *fault_name(enum fault f) {
    return fault_table[f].name;
}

bool profile_jumps(const struct profile *p) {
    return p->one_in[FAULT_wall_jump] > 0 || p->one_in[FAULT_wall_leap] > 0;
}

bool profile_is_sparse(const struct profile *p) {
    return p->one_in[FAULT_wall_leap] > 0 || p->pace > 1;
}

static void profile_draw_size(struct profile *p, struct rng *r) {
    static const size_t residents[] = {0, 1, 4, 32, 1024};
    static const size_t queues[] = {0, 1, 3, 10}; /* 0: as usual, more than a world has */
    p->client_count = 1 + (unsigned)rng_below(r, 4);
    p->worker_count = 2 + (unsigned)rng_below(r, 4); /* at least one for each namespace */
    p->resident_runs_max = residents[rng_below(r, ARRAY_LEN(residents))];
    p->store_lag = 1 + (unsigned)rng_below(r, 6);
    struct rng beside = *r; /* so that a seed is the world that it was */
    p->queue_tasks_max = queues[rng_below(&beside, ARRAY_LEN(queues))];
    p->has_versions = rng_chance(&beside, 3);
    if (p->has_versions)
        p->worker_count = MAX(p->worker_count, 4); /* at least one of each version */
}

/* A class is left out in two seeds of five, and a fault of the others in one of four. */
static void profile_draw_swarm(struct profile *p, struct rng *r) {
    uint32_t classes = 0;
    for (int c = 0; c < CLASS_COUNT; c++)
        classes |= rng_below(r, 5) < 3 ? UINT32_C(1) << c : 0;
    for (int f = 0; f < FAULT_COUNT; f++) {
        uint64_t quarters = UINT64_C(1)
                            << rng_below(r, 5); /* from four times as often to four times as rare */
        if (rng_below(r, 4) > 0 && classes & (UINT32_C(1) << fault_table[f].class))
            p->one_in[f] = (uint32_t)(fault_table[f].usual * quarters / 4);
    }
}

int profile_draw(struct profile *p, const char *name, struct rng *r) {
    *p = (struct profile){.pace = 1};
    profile_draw_size(p, r);
    if (cstr_eq(name, "years")) {
        p->pace = YEARS_PACE;
        profile_draw_swarm(p, r);
        return 0;
    }
    if (cstr_eq(name, "swarm")) {
        profile_draw_swarm(p, r);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(profile_table); i++) {
        if (!cstr_eq(name, profile_table[i].name))
            continue;
        for (int f = 0; f < FAULT_COUNT; f++)
            if (profile_table[i].classes & (UINT32_C(1) << fault_table[f].class))
                p->one_in[f] = MAX(1, fault_table[f].usual / profile_table[i].times);
        return 0;
    }
    return ERR_NOT_FOUND;
}

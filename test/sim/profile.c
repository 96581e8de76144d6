/* Draws a profile from a name and a seed. Fails only for a name that is not in the table. */
#include "profile.h"

#include "base/err.h"
#include "base/str.h"

struct fault_info {
    const char *name;
    uint32_t usual;
};

static const struct fault_info fault_table[FAULT_COUNT] = {
#define FAULT(name, usual) [FAULT_##name] = {#name, usual},
#include "faults.def"
#undef FAULT
};

#define BIT(f) (UINT32_C(1) << FAULT_##f)

static const struct {
    const char *name;
    uint32_t faults;
    unsigned times; /* as often as usual */
} profile_table[] = {
    {"calm", 0, 1},
    {"crash",
     BIT(crash) | BIT(crash_after_reply) | BIT(crash_unannounced) | BIT(stop) | BIT(read_error) |
         BIT(disk_slow),
     4},
    {"clock", BIT(wall_jump) | BIT(loop_late) | BIT(crash), 4},
    {"network", BIT(reply_lost) | BIT(request_twice) | BIT(call_cancelled) | BIT(task_lost) | BIT(disk_slow),
     4},
    {"worker",
     BIT(worker_died) | BIT(answer_late) | BIT(answer_twice) | BIT(answer_missing) | BIT(task_failed) |
         BIT(bad_command) | BIT(cache_lost) | BIT(task_lost),
     4},
};

const char *fault_name(enum fault f) {
    return fault_table[f].name;
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
}

static void profile_draw_swarm(struct profile *p, struct rng *r) {
    for (int f = 0; f < FAULT_COUNT; f++) {
        uint64_t quarters = UINT64_C(1)
                            << rng_below(r, 5); /* from four times as often to four times as rare */
        if (rng_below(r, 3) > 0)
            p->one_in[f] = (uint32_t)(fault_table[f].usual * quarters / 4);
    }
}

int profile_draw(struct profile *p, const char *name, struct rng *r) {
    *p = (struct profile){0};
    profile_draw_size(p, r);
    if (streq(name, "swarm")) {
        profile_draw_swarm(p, r);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(profile_table); i++) {
        if (!streq(name, profile_table[i].name))
            continue;
        for (int f = 0; f < FAULT_COUNT; f++)
            if (profile_table[i].faults & (UINT32_C(1) << f))
                p->one_in[f] = fault_table[f].usual / profile_table[i].times;
        return 0;
    }
    return ERR_NOT_FOUND;
}

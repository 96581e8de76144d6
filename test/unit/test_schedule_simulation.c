/* The world in which `schedule simulate` lets the scheduler act. */
#include "command/schedule/simulation.h"

#include "schedule_fixture.h"

/* The fixture's schedule: every 5 minutes, from 2022-06-01T00:00:00Z on. */
static int play(struct sched *f, struct simulation_plan *plan, const char *to, struct simulation *ret) {
    Google__Protobuf__Timestamp *end = pb_arena_timestamp(sched_us(to), &f->c.arena);
    plan->schedule = f->schedule;
    plan->space = &f->space;
    plan->zones = &f->zones;
    plan->schedule_id = "myschedule";
    plan->from_us = f->c.now_us;
    plan->to_us = sched_us(to);
    f->schedule->spec->end_time = end;
    if (!end || arena_failed(&f->c.arena))
        return ERR_NO_MEMORY;
    return simulation_run(plan, &f->c.arena, ret, &f->c.err);
}

TEST(simulation_skips_what_overlaps) {
    cleanup(sched_done) struct sched f;
    static const int64_t durations[] = {7 * 60 * USEC_PER_SEC};
    struct simulation_plan plan = {.durations_us = durations, .duration_count = 1};
    struct simulation r;
    sched_init(&f);
    if (play(&f, &plan, "00:20", &r) < 0) {
        CHECK_INT(f.c.err.code, ERR_NO_MEMORY);
        return;
    }
    CHECK_INT((int64_t)r.count, 4);
    for (size_t i = 0; i < r.count; i++)
        CHECK_INT(r.entries[i]->fate, i % 2 ? LEDGER_FATE_OVERLAP_SKIPPED : LEDGER_FATE_STARTED);
    CHECK_INT((int64_t)r.peak_running, 1);
    CHECK_INT(r.busy_us, 14 * 60 * USEC_PER_SEC);
    CHECK_INT(r.end_us, sched_us("00:22"));
    CHECK(!r.is_paused);
}

TEST(simulation_is_down_for_a_while) {
    cleanup(sched_done) struct sched f;
    static const int64_t durations[] = {USEC_PER_SEC};
    struct simulated_outage outage = {sched_us("00:06"), sched_us("00:17")};
    struct simulation_plan plan = {
        .durations_us = durations, .duration_count = 1, .outages = &outage, .outage_count = 1};
    struct simulation r;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(BUFFER_ALL);
    if (play(&f, &plan, "00:20", &r) < 0)
        return;
    CHECK_INT((int64_t)r.count, 4);
    CHECK_INT((int64_t)r.peak_waiting, 1);
    for (size_t i = 0; i < r.count; i++)
        CHECK_INT(r.entries[i]->fate, LEDGER_FATE_STARTED);
    CHECK_INT(pb_timestamp_us(r.entries[2]->start_time), sched_us("00:17:01"));
}

TEST(simulation_refuses_what_a_server_would) {
    cleanup(sched_done) struct sched f;
    static const int64_t durations[] = {USEC_PER_SEC};
    struct simulation_plan plan = {.durations_us = durations, .duration_count = 1};
    struct simulation r;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(ALLOW_ALL);
    f.schedule->extras->max_concurrent_runs = 2;
    int rc = play(&f, &plan, "00:20", &r);
    CHECK(rc == ERR_INVALID || rc == ERR_NO_MEMORY);
}

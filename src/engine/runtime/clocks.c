/* The wall clock, watched against the monotonic one.
 *
 * Every time that is told is compared with the one before: when the wall clock moved by more than time has
 * passed, it was set, which is logged and counted. Timers and timeouts go by the new time at once.
 *
 * Schedules would make up for all the times that a clock jumped over, and would have nothing left to do when
 * it is set back. So they do not believe a large jump forward at once: they keep to the old time until the
 * clock has been steady for a minute. If it is set back before, they have missed nothing and done nothing
 * twice. */
#include "engine/runtime/engine_int.h"

#define STEP_US (ENGINE_CLOCK_STEP_MS * USEC_PER_MS)
#define JUMP_US (ENGINE_CLOCK_JUMP_MS * USEC_PER_MS)
#define STEADY_US (ENGINE_CLOCK_STEADY_MS * USEC_PER_MS)

/* How far schedules are behind the wall clock. */
static int64_t distrusted_us(const struct clocks *c) {
    return c->apart_us >= JUMP_US ? c->apart_us : 0;
}

static void set_apart(struct engine *e, int64_t apart_us, const char *why) {
    int64_t before_us = distrusted_us(&e->clocks);
    e->clocks.apart_us = apart_us;
    int64_t after_us = distrusted_us(&e->clocks);
    if (after_us && after_us != before_us)
        log_emit(e->log, LOG_schedules_keep_old_time, log_int("behind_us", after_us),
                 log_int("for_us", STEADY_US));
    else if (before_us && !after_us)
        log_emit(e->log, LOG_schedules_follow_clock, log_str("reason", why));
}

/* Several steps count together while there is less than a minute between them. */
static void note_step(struct engine *e, int64_t step_us, struct mono now) {
    bool is_back = step_us < 0;
    e->counters.clock_steps[is_back]++;
    log_emit(e->log, LOG_clock_stepped, log_str("direction", is_back ? "back" : "forward"),
             log_int("us", is_back ? -step_us : step_us));
    e->clocks.steady_us = usec_add(now.us, STEADY_US);
    e->next_sweep_us = MIN(e->next_sweep_us, now.us); /* what is kept for a time may be due to go */
    set_apart(e, usec_add(e->clocks.apart_us, step_us), "the clock was set back");
}

void clocks_tell(struct engine *e, struct now now) {
    int64_t step_us = (now.wall.us - e->now.wall.us) - (now.mono.us - e->now.mono.us);
    if (step_us > STEP_US || step_us < -STEP_US)
        note_step(e, step_us, now.mono);
    else if (e->clocks.apart_us && now.mono.us >= e->clocks.steady_us)
        set_apart(e, 0, "the clock was steady");
    e->now = now;
}

int64_t clocks_schedule_us(const struct engine *e, struct wall at) {
    return at.us - distrusted_us(&e->clocks);
}

int64_t clocks_next_us(const struct engine *e) {
    return distrusted_us(&e->clocks) ? e->clocks.steady_us : CLOCK_NEVER;
}

/* The scheduler against a model of it.
 *
 * Each case makes a schedule with a random interval, jitter, exclusion, policy, limit, window and number of
 * runs, and lets random things happen: time that passes with and without the server, runs that end, triggers,
 * pauses, updates of the policy, clocks that go back. The model knows all times from the start and gives each
 * a fate by the rules as they are documented, one time after the other. At the end, and at many points before
 * it, the ledger must have exactly one entry for each time that was due, with that fate.
 *
 *   SCHEDULE_CASES=10000 SCHEDULE_SEED=7 test_schedule_model      a failure names its own seed */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "schedule_fixture.h"

#define CASES_DEFAULT 150
#define HAPPENINGS 60
#define TIMES_MAX 3000
#define SPEC_TIMES_MAX (TIMES_MAX - HAPPENINGS)

struct model_time {
    int64_t nominal_s;
    int64_t actual_us;
    bool is_excluded;
    bool is_manual;
    int64_t start_id; /* manual: its start and its row */
    int64_t ledger_id;
    E__ScheduleOverlapPolicy policy; /* from when it is considered */
    Rondo__LedgerFate fate; /* UNSPECIFIED: not due yet */
    E__WorkflowExecutionStatus status;
};

/* Some of the times, by their indexes, in an order. */
struct model_line {
    size_t at[TIMES_MAX];
    size_t count;
};

struct model {
    struct model_time *times; /* those of the spec, then those of triggers */
    size_t count; /* of the spec */
    size_t all_count;
    size_t next; /* the first that was not considered */
    int64_t mark_us; /* the actual time of the one before it */
    struct model_line waiting;
    struct model_line running;
    int64_t max;
    int64_t window_us;
    int64_t remaining; /* -1: not limited */
    bool is_paused;
    E__ScheduleOverlapPolicy policy;
    int64_t skipped, missed;
};

static void push(struct model_line *line, size_t i) {
    line->at[line->count++] = i;
}

static void take_out(struct model_line *line, size_t position) {
    memmove(line->at + position, line->at + position + 1, (--line->count - position) * sizeof(*line->at));
}

/* the rules */

static void drop_automatic(struct model *m, Rondo__LedgerFate fate) {
    for (size_t i = m->waiting.count; i-- > 0;) {
        struct model_time *t = &m->times[m->waiting.at[i]];
        if (t->is_manual)
            continue;
        t->fate = fate;
        take_out(&m->waiting, i);
    }
}

static void begin(struct model *m, size_t i) {
    struct model_time *t = &m->times[i];
    if (m->remaining == 0 && !t->is_manual) {
        t->fate = LEDGER_FATE_EXHAUSTED;
        return;
    }
    m->remaining -= m->remaining > 0 && !t->is_manual;
    t->fate = LEDGER_FATE_STARTED;
    t->status = STATUS(RUNNING);
    push(&m->running, i);
}

static bool is_free(const struct model_time *t) {
    return t->policy == POLICY(ALLOW_ALL);
}

static bool is_pushing(const struct model_time *t) {
    return t->policy == POLICY(CANCEL_OTHER) || t->policy == POLICY(TERMINATE_OTHER);
}

static int64_t count_blocking(const struct model *m) {
    int64_t n = 0;
    for (size_t i = 0; i < m->running.count; i++)
        n += !is_free(&m->times[m->running.at[i]]);
    return n;
}

/* What waits, in its order. Two rounds, since one that pushes may still take the place of one before it. */
static void decide(struct model *m) {
    struct model_line line = m->waiting, chosen = {.count = 0};
    int64_t running = count_blocking(m), taken = running;
    m->waiting.count = 0;
    for (size_t k = 0; k < line.count; k++) {
        size_t i = line.at[k];
        struct model_time *t = &m->times[i];
        bool stays = false;
        if (is_free(t)) {
            push(&chosen, i);
        } else if (is_pushing(t) && !running) {
            for (size_t c = chosen.count; c-- > 0;) {
                if (is_free(&m->times[chosen.at[c]]))
                    continue;
                m->times[chosen.at[c]].fate = LEDGER_FATE_REPLACED;
                take_out(&chosen, c);
            }
            push(&chosen, i);
            taken = m->max;
        } else if (is_pushing(t)) {
            stays = true;
        } else if (taken < m->max) {
            push(&chosen, i);
            taken++;
        } else if (t->policy == POLICY(BUFFER_ALL) ||
                   (t->policy == POLICY(BUFFER_ONE) && !m->waiting.count)) {
            stays = true;
        } else {
            t->fate = LEDGER_FATE_OVERLAP_SKIPPED;
            m->skipped++;
        }
        if (stays) {
            t->fate = LEDGER_FATE_WAITING;
            push(&m->waiting, i);
        }
    }
    for (size_t c = 0; c < chosen.count; c++)
        begin(m, chosen.at[c]);
}

static void consider(struct model *m, struct model_time *t, size_t i, int64_t now_us) {
    if (t->is_excluded) {
        t->fate = LEDGER_FATE_EXCLUDED;
    } else if (m->remaining == 0) {
        t->fate = LEDGER_FATE_EXHAUSTED;
    } else if (m->is_paused) {
        t->fate = LEDGER_FATE_PAUSED;
    } else if (now_us - t->actual_us > m->window_us) {
        t->fate = LEDGER_FATE_CATCHUP_MISSED;
        m->missed++;
    } else {
        t->policy = m->policy;
        push(&m->waiting, i);
    }
}

static void model_generate(struct model *m, int64_t now_us) {
    for (; m->next < m->count && m->times[m->next].actual_us <= now_us; m->next++) {
        m->mark_us = m->times[m->next].actual_us;
        consider(m, &m->times[m->next], m->next, now_us);
    }
}

static void model_settle(struct model *m, int64_t now_us) {
    model_generate(m, now_us);
    if (m->is_paused)
        drop_automatic(m, LEDGER_FATE_PAUSED);
    else if (m->remaining == 0)
        drop_automatic(m, LEDGER_FATE_EXHAUSTED);
    decide(m);
    if (m->remaining == 0)
        drop_automatic(m, LEDGER_FATE_EXHAUSTED);
}

/* a case */

struct play {
    struct sched f;
    struct model m;
    struct rng rng;
    int64_t every_s;
    int64_t jitter_s;
    int64_t excluded_hour; /* -1: none */
};

static int64_t pick(struct play *p, int64_t low, int64_t high) {
    return low + (int64_t)rng_below(&p->rng, (uint64_t)(high - low + 1));
}

/* The times of the spec behind after_us, from cal itself: its own tests are elsewhere. */
static void make_times(struct play *p, int64_t after_us, struct model_time *ret, size_t n) {
    struct cal_spec spec;
    cleanup(cal_freep) struct cal *cal = NULL;
    struct cal_time at;
    cal_spec_init(&spec, &p->f.c.arena, STR("x"));
    struct cal_interval interval = {p->every_s * USEC_PER_SEC, 0};
    spec.jitter_us = p->jitter_s * USEC_PER_SEC;
    ensure(cal_spec_add_interval(&spec, &interval, NULL) == 0 && cal_new(&spec, NULL, &cal, NULL) == 0);
    for (size_t i = 0; i < n; i++, after_us = at.actual_us) {
        ensure(cal_next(cal, STR("mynsid-myschedule"), after_us, &at) == CAL_FOUND);
        ret[i] = (struct model_time){
            .nominal_s = at.nominal_s,
            .actual_us = at.actual_us,
            .is_excluded = at.nominal_s % 86400 / 3600 == p->excluded_hour,
        };
    }
}

static void set_spec(struct play *p, Schedule__Schedule *s) {
    struct sched *f = &p->f;
    p->every_s = pick(p, 20, 900);
    p->jitter_s = rng_chance(&p->rng, 2) ? pick(p, 1, p->every_s * 2) : 0;
    s->spec->n_interval = 0;
    sched_every(f, s, arena_printf(&f->c.arena, "%" PRId64 "s", p->every_s));
    s->spec->jitter = p->jitter_s ? core_duration(&f->c, p->jitter_s * USEC_PER_SEC) : NULL;
}

static void begin_case(struct play *p, uint64_t seed) {
    static const E__ScheduleOverlapPolicy policies[] = {
        POLICY(SKIP),         POLICY(BUFFER_ONE),      POLICY(BUFFER_ALL),
        POLICY(CANCEL_OTHER), POLICY(TERMINATE_OTHER), POLICY(ALLOW_ALL)};
    struct sched *f = &p->f;
    struct model *m = &p->m;
    memset(p, 0, sizeof(*p));
    rng_init(&p->rng, seed);
    sched_init(f);
    Schedule__Schedule *s = f->schedule;
    p->excluded_hour = rng_chance(&p->rng, 3) ? pick(p, 0, 5) : -1;
    m->policy = policies[pick(p, 0, ARRAY_LEN(policies) - 1)];
    m->max = m->policy <= POLICY(BUFFER_ALL) && rng_chance(&p->rng, 2) ? pick(p, 2, 4) : 1;
    m->window_us = pick(p, 10, 3600) * USEC_PER_SEC;
    m->remaining = rng_chance(&p->rng, 4) ? pick(p, 0, 20) : -1;
    set_spec(p, s);
    if (p->excluded_hour >= 0)
        sched_exclude(f, s, arena_printf(&f->c.arena, "%" PRId64, p->excluded_hour));
    s->policies->overlap_policy = m->policy;
    s->policies->catchup_window = core_duration(&f->c, m->window_us);
    s->extras->max_concurrent_runs = (int32_t)m->max;
    if (m->remaining >= 0)
        sched_limit(s, m->remaining);
    m->times = mem_zalloc(TIMES_MAX * sizeof(*m->times));
    ensure(m->times);
    m->count = m->all_count = SPEC_TIMES_MAX;
    m->mark_us = f->c.now_us;
    make_times(p, f->c.now_us, m->times, m->count);
    ensure(sched_create(f) == 0);
}

static void end_case(struct play *p) {
    mem_free(p->m.times);
    sched_done(&p->f);
}

static bool terminates(const struct model *m) {
    for (size_t i = 0; i < m->waiting.count; i++)
        if (m->times[m->waiting.at[i]].policy == POLICY(TERMINATE_OTHER))
            return true;
    return false;
}

/* Terminations happen at once in the world of the fixture, so the model does the same. */
static void obey_terminations(struct play *p) {
    struct model *m = &p->m;
    while (terminates(m) && count_blocking(m)) {
        size_t i = 0;
        while (is_free(&m->times[m->running.at[i]]))
            i++;
        m->times[m->running.at[i]].status = STATUS(TERMINATED);
        take_out(&m->running, i);
        model_settle(m, p->f.c.now_us);
    }
}

static void step_model(struct play *p) {
    model_settle(&p->m, p->f.c.now_us);
    obey_terminations(p);
}

/* the happenings */

static void pass_time(struct play *p) {
    int64_t until_us = p->f.c.now_us + pick(p, 1, p->every_s * 3) * USEC_PER_SEC + pick(p, 0, 999999);
    while (run_due_us(p->f.c.st) <= until_us) {
        p->f.c.now_us = MAX(p->f.c.now_us, run_due_us(p->f.c.st));
        CHECK_INT(sched_tick(&p->f), 0);
        step_model(p);
    }
    p->f.c.now_us = until_us;
}

static void outage(struct play *p) {
    p->f.c.now_us += pick(p, 1, p->every_s * 12) * USEC_PER_SEC;
    if (run_due_us(p->f.c.st) > p->f.c.now_us)
        return;
    CHECK_INT(sched_tick(&p->f), 0);
    step_model(p);
}

static void go_back(struct play *p) {
    if (p->excluded_hour >= 0)
        return; /* excluded times may be looked at later, and so perhaps never */
    p->f.c.now_us -= pick(p, 1, p->every_s * 2) * USEC_PER_SEC;
    CHECK_INT(sched_tick(&p->f), 0);
    step_model(p);
}

static void end_run(struct play *p) {
    static const E__WorkflowExecutionStatus ends[] = {STATUS(COMPLETED), STATUS(FAILED), STATUS(CANCELED),
                                                      STATUS(TIMED_OUT)};
    struct model *m = &p->m;
    if (!m->running.count)
        return;
    size_t at = (size_t)pick(p, 0, (int64_t)m->running.count - 1);
    struct model_time *t = &m->times[m->running.at[at]];
    struct sched_run *run = NULL;
    for (size_t j = 0; j < p->f.run_count; j++) {
        struct sched_run *r = &p->f.runs[j];
        if (r->is_open && (t->is_manual ? r->start_id == t->start_id : r->nominal_s == t->nominal_s))
            run = r;
    }
    CHECK(run != NULL);
    t->status = ends[pick(p, 0, ARRAY_LEN(ends) - 1)];
    take_out(&m->running, at);
    step_model(p);
    if (run)
        sched_close_run(&p->f, run, t->status, NULL);
}

/* Under a time that the spec does not have. */
static void trigger(struct play *p) {
    struct model *m = &p->m;
    Rondo__TriggerScheduleRequest req = RONDO__TRIGGER_SCHEDULE_REQUEST__INIT;
    Google__Protobuf__Timestamp at =
        pb_timestamp((SCHED_T0_S - 1000000 + (int64_t)m->all_count) * USEC_PER_SEC);
    const State__Schedule *sch = sched_state(&p->f);
    struct model_time *t = &m->times[m->all_count];
    *t = (struct model_time){.nominal_s = at.seconds,
                             .actual_us = at.seconds * USEC_PER_SEC,
                             .is_manual = true,
                             .start_id = sch->next_start_id + 1,
                             .ledger_id = sch->next_ledger_id + 1,
                             .policy = (E__ScheduleOverlapPolicy)pick(p, POLICY(SKIP), POLICY(ALLOW_ALL))};
    req.overlap_policy = t->policy;
    req.scheduled_time = &at;
    push(&m->waiting, m->all_count++);
    step_model(p);
    CHECK_INT(SCHED(&p->f, schedule_trigger(&p->f.c.s, &req)), 0);
}

static void toggle_pause(struct play *p) {
    struct model *m = &p->m;
    model_generate(m, p->f.c.now_us);
    m->is_paused = !m->is_paused;
    step_model(p);
    CHECK_INT(m->is_paused ? sched_pause(&p->f, "pause") : sched_unpause(&p->f, "unpause"), 0);
}

/* No later update reaches behind this one, except for the time whose jitter is not over. */
static void mark_update(struct model *m, int64_t now_us) {
    int64_t nominal_us = m->times[m->next].nominal_s * USEC_PER_SEC;
    m->mark_us = MAX(m->mark_us, nominal_us && nominal_us <= now_us ? nominal_us - 1 : now_us);
}

/* The same spec, and so the same times, with one of the policies that do not stop what runs. */
static void change_policy(struct play *p) {
    struct model *m = &p->m;
    Schedule__Schedule *s = schedule_shown(p->f.c.st, &p->f.c.arena);
    ensure(s);
    if (m->policy > POLICY(BUFFER_ALL))
        return;
    model_generate(m, p->f.c.now_us);
    m->policy = (E__ScheduleOverlapPolicy)pick(p, POLICY(SKIP), POLICY(BUFFER_ALL));
    s->policies->overlap_policy = m->policy;
    for (size_t i = 0; i < m->waiting.count; i++)
        if (!m->times[m->waiting.at[i]].is_manual)
            m->times[m->waiting.at[i]].policy = m->policy;
    CHECK_INT(sched_update(&p->f, s), 0);
    mark_update(m, p->f.c.now_us);
    step_model(p);
}

/* Other times. Of the new ones only those that act after now count; and the one that was about to act, if the
 * new spec has it too. */
static void change_spec(struct play *p) {
    struct model *m = &p->m;
    int64_t now_us = p->f.c.now_us;
    Schedule__Schedule *s = schedule_shown(p->f.c.st, &p->f.c.arena);
    struct model_time *made = mem_alloc(m->count * sizeof(*made));
    ensure(s && made);
    model_generate(m, now_us);
    struct model_time pending = m->times[m->next];
    bool has_pending = pending.nominal_s * USEC_PER_SEC <= now_us && !pending.is_excluded;
    set_spec(p, s);
    CHECK_INT(sched_update(&p->f, s), 0);
    make_times(p, m->mark_us, made, m->count);
    size_t end = m->next;
    for (size_t i = 0; i < m->count && end + 1 < m->count; i++) {
        if (has_pending && made[i].nominal_s == pending.nominal_s && made[i].actual_us <= now_us) {
            made[i].policy = m->policy;
            push(&m->waiting, end);
            m->times[end++] = made[i];
            m->next++;
        } else if (made[i].actual_us > now_us) {
            m->times[end++] = made[i];
        }
        has_pending &= made[i].nominal_s != pending.nominal_s;
    }
    if (has_pending) {
        memmove(m->times + m->next + 1, m->times + m->next, (end++ - m->next) * sizeof(pending));
        m->times[m->next] = pending;
        m->times[m->next++].fate = LEDGER_FATE_UPDATED;
    }
    for (; end < m->count; end++)
        m->times[end] = (struct model_time){.actual_us = INT64_MAX};
    mark_update(m, now_us);
    step_model(p);
    mem_free(made);
}

static void happen(struct play *p) {
    switch (pick(p, 0, 12)) {
    case 0:
        return outage(p);
    case 1:
        return rng_chance(&p->rng, 4) ? go_back(p) : pass_time(p);
    case 2:
        return rng_chance(&p->rng, 2) ? toggle_pause(p) : pass_time(p);
    case 3:
        return rng_chance(&p->rng, 2) ? change_policy(p) : pass_time(p);
    case 4:
        return rng_chance(&p->rng, 2) ? trigger(p) : pass_time(p);
    case 8:
        return rng_chance(&p->rng, 3) ? change_spec(p) : pass_time(p);
    case 5:
    case 6:
    case 7:
        return end_run(p);
    default:
        return pass_time(p);
    }
}

/* the comparison */

/* The entry of each time, checking that no time has two. */
static bool ledger_by_time(struct play *p, const Rondo__LedgerEntry **ret) {
    const struct model *m = &p->m;
    for (size_t i = 0; i < p->f.ledger_count; i++) {
        const Rondo__LedgerEntry *e = p->f.ledger[i];
        if (!e || e->origin == LEDGER_ORIGIN_TRIGGER)
            continue;
        size_t at = 0;
        while (at < m->count && m->times[at].nominal_s != e->nominal_time->seconds)
            at++;
        for (int64_t k = 0; k < MAX(e->count, 1); k++, at++) {
            if (at >= m->count || ret[at])
                return false;
            ret[at] = e;
        }
        if (e->count > 1 && m->times[at - 1].nominal_s != e->last_nominal_time->seconds)
            return false;
    }
    return true;
}

static bool agrees(struct play *p, char *text, size_t size) {
    struct model *m = &p->m;
    const State__Schedule *sch = sched_state(&p->f);
    const Rondo__LedgerEntry **entries = mem_zalloc(m->all_count * sizeof(*entries));
    ensure(entries);
    bool ok = ledger_by_time(p, entries);
    size_t written =
        m->count; /* excluded times may wait for the next one that is not, exhausted ones for a day */
    while (written && !entries[written - 1])
        written--;
    for (size_t i = m->count; i < m->all_count; i++)
        if ((size_t)m->times[i].ledger_id <= p->f.ledger_count)
            entries[i] = p->f.ledger[m->times[i].ledger_id - 1];
    if (!ok)
        snprintf(text, size, "a time has two rows, or a row no time");
    for (size_t i = 0; ok && i < m->all_count; i++) {
        const struct model_time *t = &m->times[i];
        Rondo__LedgerFate fate = entries[i] ? entries[i]->fate : LEDGER_FATE_UNSPECIFIED;
        bool is_silent = !entries[i] && i >= written &&
                         (t->fate == LEDGER_FATE_EXCLUDED || t->fate == LEDGER_FATE_EXHAUSTED);
        ok = is_silent ||
             (fate == t->fate && (fate != LEDGER_FATE_STARTED || entries[i]->status == t->status));
        if (!ok)
            snprintf(text, size, "%s: fate %d status %d, not %d %d",
                     sched_time(&p->f, t->nominal_s * USEC_PER_SEC), (int)fate,
                     entries[i] ? (int)entries[i]->status : 0, (int)t->fate, (int)t->status);
    }
    if (ok && (sch->overlap_skipped != m->skipped || sch->missed_catchup_window != m->missed)) {
        snprintf(text, size, "skipped %d not %d, missed %d not %d", (int)sch->overlap_skipped,
                 (int)m->skipped, (int)sch->missed_catchup_window, (int)m->missed);
        ok = false;
    }
    mem_free(entries);
    return ok;
}

static bool play_case(struct play *p, uint64_t seed) {
    char text[200] = "";
    bool ok = true;
    begin_case(p, seed);
    for (int i = 0; i < HAPPENINGS && ok && run_is_open(p->f.c.st); i++) {
        happen(p);
        ok = agrees(p, text, sizeof(text));
        if (!ok)
            fprintf(stderr, "# SCHEDULE_SEED=%llu SCHEDULE_CASES=1: after %d: %s\n", (unsigned long long)seed,
                    i, text);
        CHECK(count_blocking(&p->m) <= p->m.max);
        CHECK_INT(sched_open_count(&p->f), p->m.running.count);
    }
    end_case(p);
    return ok;
}

static uint64_t setting(const char *name, uint64_t fallback) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : fallback;
}

TEST(every_time_has_the_fate_that_the_rules_give_it) {
    uint64_t seed = setting("SCHEDULE_SEED", 1), count = setting("SCHEDULE_CASES", CASES_DEFAULT);
    struct play *p = mem_alloc(sizeof(*p));
    size_t failed = 0;
    ensure(p);
    for (uint64_t i = 0; i < count && failed < 5; i++)
        failed += !play_case(p, seed + i);
    CHECK_INT(failed, 0);
    mem_free(p);
}

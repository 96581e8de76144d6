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
#define TIMES_MAX 6000
#define NONE SIZE_MAX

struct model_time {
    int64_t nominal_s;
    int64_t actual_us;
    bool is_excluded;
    Rondo__LedgerFate fate; /* UNSPECIFIED: not due yet */
    E__WorkflowExecutionStatus status;
};

struct model {
    struct model_time *times;
    size_t count;
    size_t next; /* the first that was not considered */
    size_t waiting[TIMES_MAX];
    size_t waiting_count;
    size_t running[TIMES_MAX];
    size_t running_count;
    int64_t max;
    int64_t window_us;
    int64_t remaining; /* -1: not limited */
    bool is_paused;
    bool is_stopped; /* the limit is in the ledger */
    E__ScheduleOverlapPolicy policy;
    int64_t skipped, missed;
};

/* the rules */

static void drop_waiting(struct model *m, Rondo__LedgerFate fate) {
    for (size_t i = 0; i < m->waiting_count; i++)
        m->times[m->waiting[i]].fate = fate;
    m->waiting_count = 0;
}

static void begin(struct model *m, size_t i) {
    if (m->remaining == 0) {
        m->times[i].fate = LEDGER_FATE_EXHAUSTED;
        return;
    }
    m->remaining -= m->remaining > 0;
    m->times[i].fate = LEDGER_FATE_STARTED;
    m->times[i].status = STATUS(RUNNING);
    m->running[m->running_count++] = i;
}

static bool is_blocking_policy(const struct model *m) {
    return m->policy != POLICY(ALLOW_ALL);
}

/* What waits, in its order, by the policy that holds now. */
static void decide(struct model *m) {
    size_t line[TIMES_MAX], n = m->waiting_count, kept = 0, last = NONE, taken = m->running_count;
    memcpy(line, m->waiting, n * sizeof(*line));
    bool was_running = m->running_count > 0;
    m->waiting_count = 0;
    for (size_t i = 0; i < n; i++) {
        struct model_time *t = &m->times[line[i]];
        bool pushes = m->policy == POLICY(CANCEL_OTHER) || m->policy == POLICY(TERMINATE_OTHER);
        if (!is_blocking_policy(m)) {
            begin(m, line[i]);
        } else if (pushes && was_running) {
            t->fate = LEDGER_FATE_WAITING;
            m->waiting[m->waiting_count++] = line[i];
        } else if (pushes) {
            if (last != NONE)
                m->times[last].fate = LEDGER_FATE_REPLACED;
            last = line[i];
        } else if ((int64_t)taken < m->max) {
            begin(m, line[i]);
            taken++;
        } else if (m->policy == POLICY(BUFFER_ALL) || (m->policy == POLICY(BUFFER_ONE) && !kept)) {
            t->fate = LEDGER_FATE_WAITING;
            m->waiting[m->waiting_count++] = line[i];
            kept++;
        } else {
            t->fate = LEDGER_FATE_OVERLAP_SKIPPED;
            m->skipped++;
        }
    }
    if (last != NONE)
        begin(m, last);
}

static void consider(struct model *m, struct model_time *t, size_t i, int64_t now_us) {
    if (t->is_excluded) {
        t->fate = LEDGER_FATE_EXCLUDED;
    } else if (m->remaining == 0) {
        t->fate = LEDGER_FATE_EXHAUSTED;
        m->is_stopped = true;
    } else if (m->is_paused) {
        t->fate = LEDGER_FATE_PAUSED;
    } else if (now_us - t->actual_us > m->window_us) {
        t->fate = LEDGER_FATE_CATCHUP_MISSED;
        m->missed++;
    } else {
        m->waiting[m->waiting_count++] = i;
    }
}

static void model_generate(struct model *m, int64_t now_us) {
    for (; m->next < m->count && m->times[m->next].actual_us <= now_us && !m->is_stopped; m->next++)
        consider(m, &m->times[m->next], m->next, now_us);
}

static void model_settle(struct model *m, int64_t now_us) {
    model_generate(m, now_us);
    if (m->is_paused)
        drop_waiting(m, LEDGER_FATE_PAUSED);
    else if (m->remaining == 0)
        drop_waiting(m, LEDGER_FATE_EXHAUSTED);
    decide(m);
    if (m->remaining == 0)
        drop_waiting(m, LEDGER_FATE_EXHAUSTED);
}

/* a case */

struct play {
    struct sched f;
    struct model m;
    struct rng rng;
    int64_t every_s;
    int64_t excluded_hour; /* -1: none */
};

static int64_t pick(struct play *p, int64_t low, int64_t high) {
    return low + (int64_t)rng_below(&p->rng, (uint64_t)(high - low + 1));
}

/* All times from the beginning on, from cal itself: its own tests are elsewhere. */
static void make_times(struct play *p, int64_t jitter_s) {
    struct sched *f = &p->f;
    struct cal_spec spec;
    cleanup(cal_freep) struct cal *cal = NULL;
    struct cal_time at;
    cal_spec_init(&spec, &f->c.arena, STR("x"));
    struct cal_interval interval = {p->every_s * USEC_PER_SEC, 0};
    spec.jitter_us = jitter_s * USEC_PER_SEC;
    ensure(cal_spec_add_interval(&spec, &interval, NULL) == 0 && cal_new(&spec, NULL, &cal, NULL) == 0);
    p->m.times = mem_zalloc(TIMES_MAX * sizeof(*p->m.times));
    ensure(p->m.times);
    for (int64_t after_us = f->c.now_us; p->m.count < TIMES_MAX; after_us = at.actual_us) {
        ensure(cal_next(cal, STR("mynsid-myschedule"), after_us, &at) == CAL_FOUND);
        p->m.times[p->m.count++] = (struct model_time){
            .nominal_s = at.nominal_s,
            .actual_us = at.actual_us,
            .is_excluded = at.nominal_s % 86400 / 3600 == p->excluded_hour,
        };
    }
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
    p->every_s = pick(p, 20, 900);
    p->excluded_hour = rng_chance(&p->rng, 3) ? pick(p, 0, 5) : -1;
    int64_t jitter_s = rng_chance(&p->rng, 2) ? pick(p, 1, p->every_s * 2) : 0;
    m->policy = policies[pick(p, 0, ARRAY_LEN(policies) - 1)];
    m->max = m->policy <= POLICY(BUFFER_ALL) && rng_chance(&p->rng, 2) ? pick(p, 2, 4) : 1;
    m->window_us = pick(p, 10, 3600) * USEC_PER_SEC;
    m->remaining = rng_chance(&p->rng, 4) ? pick(p, 0, 20) : -1;
    sched_every(f, s, arena_printf(&f->c.arena, "%" PRId64 "s", p->every_s));
    if (p->excluded_hour >= 0)
        sched_exclude(f, s, arena_printf(&f->c.arena, "%" PRId64, p->excluded_hour));
    s->spec->jitter = jitter_s ? core_duration(&f->c, jitter_s * USEC_PER_SEC) : NULL;
    s->policies->overlap_policy = m->policy;
    s->policies->catchup_window = core_duration(&f->c, m->window_us);
    s->extras->max_concurrent_runs = (int32_t)m->max;
    if (m->remaining >= 0)
        sched_limit(s, m->remaining);
    make_times(p, jitter_s);
    ensure(sched_create(f) == 0);
}

static void end_case(struct play *p) {
    mem_free(p->m.times);
    sched_done(&p->f);
}

/* Terminations happen at once in the world of the fixture, so the model does the same. */
static void obey_terminations(struct play *p) {
    struct model *m = &p->m;
    while (m->policy == POLICY(TERMINATE_OTHER) && m->waiting_count && m->running_count) {
        m->times[m->running[0]].status = STATUS(TERMINATED);
        memmove(m->running, m->running + 1, --m->running_count * sizeof(*m->running));
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
    p->f.c.now_us -= pick(p, 1, p->every_s * 2) * USEC_PER_SEC;
    CHECK_INT(sched_tick(&p->f), 0);
    step_model(p);
}

static void end_run(struct play *p) {
    static const E__WorkflowExecutionStatus ends[] = {STATUS(COMPLETED), STATUS(FAILED), STATUS(CANCELED),
                                                      STATUS(TIMED_OUT)};
    struct model *m = &p->m;
    if (!m->running_count)
        return;
    size_t at = (size_t)pick(p, 0, (int64_t)m->running_count - 1), i = m->running[at];
    E__WorkflowExecutionStatus status = ends[pick(p, 0, ARRAY_LEN(ends) - 1)];
    struct sched_run *run = NULL;
    for (size_t j = 0; j < p->f.run_count; j++)
        if (p->f.runs[j].nominal_s == m->times[i].nominal_s && p->f.runs[j].is_open)
            run = &p->f.runs[j];
    CHECK(run != NULL);
    m->times[i].status = status;
    memmove(m->running + at, m->running + at + 1, (--m->running_count - at) * sizeof(*m->running));
    step_model(p);
    if (run)
        sched_close_run(&p->f, run, status, NULL);
}

static void toggle_pause(struct play *p) {
    struct model *m = &p->m;
    model_generate(m, p->f.c.now_us);
    m->is_paused = !m->is_paused;
    step_model(p);
    CHECK_INT(m->is_paused ? sched_pause(&p->f, "pause") : sched_unpause(&p->f, "unpause"), 0);
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
    m->is_stopped = false; /* a limit is looked at anew */
    CHECK_INT(sched_update(&p->f, s), 0);
    /* An update is not retroactive: a limit that stopped it before does not leave times behind. */
    while (m->next < m->count && m->times[m->next].actual_us <= p->f.c.now_us)
        m->times[m->next++].fate = LEDGER_FATE_UPDATED;
    step_model(p);
}

static void happen(struct play *p) {
    switch (pick(p, 0, 11)) {
    case 0:
        return outage(p);
    case 1:
        return rng_chance(&p->rng, 4) ? go_back(p) : pass_time(p);
    case 2:
        return rng_chance(&p->rng, 2) ? toggle_pause(p) : pass_time(p);
    case 3:
        return rng_chance(&p->rng, 2) ? change_policy(p) : pass_time(p);
    case 4:
    case 5:
    case 6:
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
        if (!e)
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
    const Rondo__LedgerEntry **entries = mem_zalloc(m->count * sizeof(*entries));
    ensure(entries);
    bool ok = ledger_by_time(p, entries);
    size_t written = m->count; /* excluded times may wait for the next one that is not */
    while (written && !entries[written - 1])
        written--;
    if (!ok)
        snprintf(text, size, "a time has two rows, or a row no time");
    for (size_t i = 0; ok && i < m->count; i++) {
        const struct model_time *t = &m->times[i];
        Rondo__LedgerFate fate = entries[i] ? entries[i]->fate : LEDGER_FATE_UNSPECIFIED;
        /* What an exhausted schedule passed by without a row. */
        bool is_silent = !entries[i] && (t->fate == LEDGER_FATE_UPDATED ||
                                         (t->fate == LEDGER_FATE_EXCLUDED && i >= written));
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
        CHECK(p->m.policy == POLICY(ALLOW_ALL) || (int64_t)sched_open_count(&p->f) <= p->m.max);
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

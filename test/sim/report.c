/* One line for each world. The same seed prints the same line, byte for byte. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"

#define YEAR_US (365.25 * 24 * 3600 * USEC_PER_SEC)

void report_fill(struct report *rep, const struct world *w) {
    *rep = (struct report){
        .seed = w->cfg.seed,
        .steps = w->step,
        .sim_us = w->now.mono.us,
        .hash = w->trace.hash,
        .tally = w->tally,
        .ok = !w->failure.is_set,
    };
    if (!rep->ok) {
        snprintf(rep->check, sizeof(rep->check), "%s", w->failure.check);
        snprintf(rep->detail, sizeof(rep->detail), "%s", w->failure.detail);
    }
}

void report_add(struct report *total, const struct report *rep) {
    total->worlds++;
    total->steps += rep->steps;
    total->sim_us += rep->sim_us;
    total->tally.calls += rep->tally.calls;
    total->tally.oks += rep->tally.oks;
    total->tally.unknown += rep->tally.unknown;
    total->tally.starts += rep->tally.starts;
    total->tally.completed += rep->tally.completed;
    total->tally.signals += rep->tally.signals;
    total->tally.activities += rep->tally.activities;
    total->tally.queries += rep->tally.queries;
    total->tally.resets += rep->tally.resets;
    total->tally.updates += rep->tally.updates;
    total->tally.deletes += rep->tally.deletes;
    total->tally.schedules += rep->tally.schedules;
    total->tally.actions += rep->tally.actions;
    total->tally.controls += rep->tally.controls;
    total->tally.callbacks += rep->tally.callbacks;
    total->tally.eager += rep->tally.eager;
    for (int f = 0; f < FAULT_COUNT; f++)
        total->tally.faults[f] += rep->tally.faults[f];
}

void report_print_tally(const struct report *rep) {
    const struct tally *t = &rep->tally;
    uint64_t crashes = t->faults[FAULT_crash] + t->faults[FAULT_crash_after_reply] +
                       t->faults[FAULT_crash_before_await] + t->faults[FAULT_crash_after_await] +
                       t->faults[FAULT_crash_in_recovery] + t->faults[FAULT_commit_error] +
                       t->faults[FAULT_commit_unheard];
    printf("steps=%" PRIu64 " sim_time=%" PRId64 ".%06" PRId64 "s years=%.4f calls=%" PRIu64 " ok=%" PRIu64
           " unknown=%" PRIu64 " starts=%" PRIu64 " completed=%" PRIu64 " signals=%" PRIu64
           " activities=%" PRIu64 " queries=%" PRIu64 " resets=%" PRIu64 " updates=%" PRIu64
           " deletes=%" PRIu64 " controls=%" PRIu64 " callbacks=%" PRIu64 " eager=%" PRIu64
           " schedules=%" PRIu64 " actions=%" PRIu64 " crashes=%" PRIu64 " faults={",
           rep->steps, rep->sim_us / USEC_PER_SEC, rep->sim_us % USEC_PER_SEC, (double)rep->sim_us / YEAR_US,
           t->calls, t->oks, t->unknown, t->starts, t->completed, t->signals, t->activities, t->queries,
           t->resets, t->updates, t->deletes, t->controls, t->callbacks, t->eager, t->schedules, t->actions,
           crashes);
    const char *comma = "";
    for (int f = 0; f < FAULT_COUNT; f++) {
        if (t->faults[f] == 0)
            continue;
        printf("%s%s=%" PRIu64, comma, fault_name((enum fault)f), t->faults[f]);
        comma = ",";
    }
    printf("}");
}

static void report_print_failure(const struct report *rep, const struct world_config *cfg) {
    printf("FAIL seed=%" PRIu64 " steps=%" PRIu64
           " profile=%s check=%s detail=%s; reproduce: build/sim --seed %" PRIu64 " --steps %" PRIu64
           " --profile %s --trace\n",
           rep->seed, cfg->steps, cfg->profile, rep->check, rep->detail, rep->seed, cfg->steps, cfg->profile);
}

void report_print(const struct report *rep, const struct world_config *cfg) {
    if (!rep->ok) {
        report_print_failure(rep, cfg);
        return;
    }
    printf("seed=%" PRIu64 " ", rep->seed);
    report_print_tally(rep);
    printf(" hash=%016" PRIx64 " ok\n", rep->hash);
}

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
#define TALLY(field, label) total->tally.field += rep->tally.field;
#include "tally.def"
#undef TALLY
    for (int f = 0; f < FAULT_COUNT; f++)
        total->tally.faults[f] += rep->tally.faults[f];
}

void report_print_tally(const struct report *rep) {
    const struct tally *t = &rep->tally;
    uint64_t crashes = t->faults[FAULT_crash] + t->faults[FAULT_crash_after_reply] +
                       t->faults[FAULT_crash_before_await] + t->faults[FAULT_crash_after_await] +
                       t->faults[FAULT_crash_in_recovery] + t->faults[FAULT_commit_error] +
                       t->faults[FAULT_commit_unheard];
    printf("steps=%" PRIu64 " sim_time=%" PRId64 ".%06" PRId64 "s years=%.4f", rep->steps,
           rep->sim_us / USEC_PER_SEC, rep->sim_us % USEC_PER_SEC, (double)rep->sim_us / YEAR_US);
#define TALLY(field, label) printf(" " label "=%" PRIu64, t->field);
#include "tally.def"
#undef TALLY
    printf(" crashes=%" PRIu64 " faults={", crashes);
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
    char until[48];
    if (cfg->sim_us)
        snprintf(until, sizeof(until), "--days %" PRId64, cfg->sim_us / USEC_PER_SEC / 86400);
    else
        snprintf(until, sizeof(until), "--steps %" PRIu64, cfg->steps);
    printf("FAIL seed=%" PRIu64 " profile=%s check=%s detail=%s; reproduce: build/sim --seed %" PRIu64
           " %s --profile %s --trace\n",
           rep->seed, cfg->profile, rep->check, rep->detail, rep->seed, until, cfg->profile);
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

/* The overlap policies: which of the starts that wait may begin.
 *
 * A start that may not overlap takes the next free place, whatever its policy. When there is none its policy
 * says what becomes of it. Those that push others aside want the place alone: they wait until nothing runs,
 * and the last of them wins. */
#include "core/schedule/schedule_int.h"

struct seating {
    size_t running;
    size_t max;
    size_t chosen;
    bool has_waiting;
};

static bool overlap_is_pushing(E__ScheduleOverlapPolicy policy) {
    return policy == SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER ||
           policy == SCHEDULE_OVERLAP_POLICY_TERMINATE_OTHER;
}

/* In place of those that were chosen before it in this round. */
static void replace_chosen(struct overlap_entry *entries, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (entries[i].verdict == OVERLAP_START && entries[i].policy != SCHEDULE_OVERLAP_POLICY_ALLOW_ALL)
            entries[i].verdict = OVERLAP_REPLACED;
}

static enum overlap_verdict without_place(const struct seating *seats, E__ScheduleOverlapPolicy policy) {
    switch ((int)policy) {
    case SCHEDULE_OVERLAP_POLICY_BUFFER_ONE:
        return seats->has_waiting ? OVERLAP_SKIP : OVERLAP_WAIT;
    case SCHEDULE_OVERLAP_POLICY_BUFFER_ALL:
        return OVERLAP_WAIT;
    default:
        return OVERLAP_SKIP;
    }
}

struct overlap_demand overlap_decide(struct overlap_entry *entries, size_t n, size_t running, size_t max) {
    struct overlap_demand demand = {0};
    struct seating seats = {.running = running, .max = MAX(max, 1)};
    for (size_t i = 0; i < n; i++) {
        struct overlap_entry *e = &entries[i];
        if (e->policy == SCHEDULE_OVERLAP_POLICY_ALLOW_ALL) {
            e->verdict = OVERLAP_START;
        } else if (overlap_is_pushing(e->policy) && seats.running > 0) {
            demand.cancels |= e->policy == SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER;
            demand.terminates |= e->policy == SCHEDULE_OVERLAP_POLICY_TERMINATE_OTHER;
            e->verdict = OVERLAP_WAIT;
        } else if (overlap_is_pushing(e->policy)) {
            replace_chosen(entries, i);
            e->verdict = OVERLAP_START;
            seats.chosen = seats.max;
        } else if (seats.running + seats.chosen < seats.max) {
            e->verdict = OVERLAP_START;
            seats.chosen++;
        } else {
            e->verdict = without_place(&seats, e->policy);
        }
        seats.has_waiting |= e->verdict == OVERLAP_WAIT;
    }
    return demand;
}

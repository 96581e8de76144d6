/* The overlap policies: decide which waiting starts may begin. The functions are pure and cannot fail.
 *
 * ALLOW_ALL always begins. Every other start takes a free place, if there is one; if there is none, its
 * policy decides whether the start waits or is skipped. The pushing policies CANCEL_OTHER and TERMINATE_OTHER
 * stop the running actions. A pushing start waits until nothing runs; if several wait, the last one begins
 * and replaces the others. */
#include "core/schedule/schedule_int.h"

struct overlap_places {
    size_t running; /* taken before this round */
    size_t max;
    size_t chosen; /* taken in this round */
    bool has_waiting; /* an earlier entry of this round waits */
};

bool overlap_is_pushing(E__ScheduleOverlapPolicy policy) {
    return policy == SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER ||
           policy == SCHEDULE_OVERLAP_POLICY_TERMINATE_OTHER;
}

/* A pushing start replaces the starts that were chosen before it in this round. */
static void overlap_replace_chosen(struct overlap_entry *entries, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (entries[i].verdict == OVERLAP_START && entries[i].policy != SCHEDULE_OVERLAP_POLICY_ALLOW_ALL)
            entries[i].verdict = OVERLAP_REPLACED;
}

static enum overlap_verdict overlap_judge_without_place(const struct overlap_places *places,
                                                        E__ScheduleOverlapPolicy policy) {
    bool can_wait = policy == SCHEDULE_OVERLAP_POLICY_BUFFER_ALL ||
                    (policy == SCHEDULE_OVERLAP_POLICY_BUFFER_ONE && !places->has_waiting);
    return can_wait ? OVERLAP_WAIT : OVERLAP_SKIP;
}

struct overlap_demand overlap_decide(struct overlap_entry *entries, size_t n, size_t running, size_t max) {
    struct overlap_demand demand = {0};
    struct overlap_places places = {.running = running, .max = MAX(max, 1)};
    for (size_t i = 0; i < n; i++) {
        struct overlap_entry *e = &entries[i];
        if (e->policy == SCHEDULE_OVERLAP_POLICY_ALLOW_ALL) {
            e->verdict = OVERLAP_START;
        } else if (overlap_is_pushing(e->policy) && places.running > 0) {
            demand.cancels |= e->policy == SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER;
            demand.terminates |= e->policy == SCHEDULE_OVERLAP_POLICY_TERMINATE_OTHER;
            e->verdict = OVERLAP_WAIT;
        } else if (overlap_is_pushing(e->policy)) {
            overlap_replace_chosen(entries, i);
            e->verdict = OVERLAP_START;
            places.chosen = places.max;
        } else if (places.running + places.chosen < places.max) {
            e->verdict = OVERLAP_START;
            places.chosen++;
        } else {
            e->verdict = overlap_judge_without_place(&places, e->policy);
        }
        places.has_waiting |= e->verdict == OVERLAP_WAIT;
    }
    return demand;
}

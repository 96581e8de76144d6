/* The overlap policies: the pure rule, and what it does over time. */
#include "core/schedule_int.h"
#include "schedule_fixture.h"

#define SKIP POLICY(SKIP)
#define ONE POLICY(BUFFER_ONE)
#define ALL POLICY(BUFFER_ALL)
#define CANCEL POLICY(CANCEL_OTHER)
#define TERMINATE POLICY(TERMINATE_OTHER)
#define ALLOW POLICY(ALLOW_ALL)

/* Verdicts as letters: S starts, W waits, - skipped, R replaced; then c or t when something is to be stopped.
 */
static const char *decide(const E__ScheduleOverlapPolicy *policies, size_t n, size_t running, size_t max,
                          char text[16]) {
    struct overlap_entry entries[8];
    for (size_t i = 0; i < n; i++)
        entries[i].policy = policies[i];
    struct overlap_demand demand = overlap_decide(entries, n, running, max);
    for (size_t i = 0; i < n; i++)
        text[i] = "SW-R"[entries[i].verdict];
    if (demand.cancels)
        text[n++] = 'c';
    if (demand.terminates)
        text[n++] = 't';
    text[n] = 0;
    return text;
}

#define CHECK_DECIDE(running, max, want, ...)                                                                \
    do {                                                                                                     \
        const E__ScheduleOverlapPolicy policies_[] = {__VA_ARGS__};                                          \
        char text_[16];                                                                                      \
        CHECK_STR(decide(policies_, ARRAY_LEN(policies_), (running), (max), text_), (want));                 \
    } while (0)

TEST(vectors_79_to_87) {
    CHECK_DECIDE(1, 1, "---", SKIP, SKIP, SKIP);
    CHECK_DECIDE(0, 1, "S-", SKIP, SKIP);
    CHECK_DECIDE(1, 1, "W--", ONE, ONE, ONE);
    CHECK_DECIDE(0, 1, "SW-", ONE, ONE, ONE);
    CHECK_DECIDE(1, 1, "WWW", ALL, ALL, ALL);
    CHECK_DECIDE(0, 1, "SWW", ALL, ALL, ALL);
    CHECK_DECIDE(1, 1, "WWWc", CANCEL, CANCEL, CANCEL);
    CHECK_DECIDE(0, 1, "RRS", CANCEL, CANCEL, CANCEL);
    CHECK_DECIDE(1, 1, "WWWt", TERMINATE, TERMINATE, TERMINATE);
    CHECK_DECIDE(0, 1, "RRS", TERMINATE, TERMINATE, TERMINATE);
    CHECK_DECIDE(1, 1, "SSS", ALLOW, ALLOW, ALLOW);
    CHECK_DECIDE(0, 1, "SSS", ALLOW, ALLOW, ALLOW);
    CHECK_DECIDE(1, 1, "-W-WWSct", SKIP, ALL, ONE, CANCEL, TERMINATE, ALLOW);
    CHECK_DECIDE(0, 1, "S-W-", SKIP, SKIP, ONE, ONE);
}

TEST(what_pushes_replaces_only_what_was_chosen) {
    CHECK_DECIDE(0, 1, "RWS", CANCEL, ALL, CANCEL);
    CHECK_DECIDE(0, 1, "RS", ALL, TERMINATE);
    CHECK_DECIDE(0, 1, "SRS-", ALLOW, SKIP, CANCEL, SKIP);
}

TEST(up_to_n_at_a_time) {
    CHECK_DECIDE(0, 3, "SSS-", SKIP, SKIP, SKIP, SKIP);
    CHECK_DECIDE(2, 3, "S-", SKIP, SKIP);
    CHECK_DECIDE(2, 3, "SW-", ONE, ONE, ONE);
    CHECK_DECIDE(1, 3, "SSWW", ALL, ALL, ALL, ALL);
    CHECK_DECIDE(5, 3, "-W", SKIP, ALL); /* the limit was lowered while they ran */
    CHECK_DECIDE(1, 3, "Wc", CANCEL); /* pushing means being alone */
}

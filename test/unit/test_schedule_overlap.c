/* The overlap policies: the pure rule, and what it does over time. */
#include "core/schedule/schedule_int.h"
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

/* over time: the timelines of a schedule of five minutes */

static void create(struct sched *f, E__ScheduleOverlapPolicy policy) {
    sched_init(f);
    f->schedule->policies->overlap_policy = policy;
    CHECK_INT(sched_create(f), 0);
}

static void close_at(struct sched *f, const char *nominal, const char *when) {
    sched_go(f, when);
    sched_close(f, nominal, STATUS(COMPLETED));
}

TEST(skip) {
    cleanup(sched_done) struct sched f;
    create(&f, SKIP);
    close_at(&f, "00:05", "00:12");
    sched_go(&f, "00:15");
    CHECK_STR(sched_begun(&f), "00:05 00:15");
    CHECK_INT(sched_state(&f)->overlap_skipped, 1);
}

TEST(buffer_one_keeps_the_first) {
    cleanup(sched_done) struct sched f;
    create(&f, ONE);
    sched_go(&f, "00:26");
    const Schedule__ScheduleInfo *info = f.c.st ? schedule_info(f.c.st, &f.c.arena) : NULL;
    CHECK(info && info->buffer_size == 1);
    close_at(&f, "00:05", "00:27");
    close_at(&f, "00:10", "00:28");
    sched_go(&f, "00:30");
    CHECK_STR(sched_begun(&f), "00:05 00:10@00:27 00:30");
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/COMPLETED, 00:10 STARTED/COMPLETED, 00:15..00:25 x3 "
                                "OVERLAP_SKIPPED, 00:30 STARTED/RUNNING");
    CHECK_INT(sched_state(&f)->overlap_skipped, 3);
}

TEST(buffer_all_runs_one_after_the_other) {
    cleanup(sched_done) struct sched f;
    create(&f, ALL);
    close_at(&f, "00:05", "00:17");
    close_at(&f, "00:10", "00:19");
    sched_go(&f, "00:20");
    CHECK_STR(sched_begun(&f), "00:05 00:10@00:17 00:15@00:19");
    close_at(&f, "00:15", "00:22");
    close_at(&f, "00:20", "00:24");
    sched_go(&f, "00:25");
    CHECK_STR(sched_begun(&f), "00:20@00:22 00:25");
    CHECK_INT(sched_state(&f)->overlap_skipped, 0);
}

TEST(a_waiting_start_has_a_row) {
    cleanup(sched_done) struct sched f;
    create(&f, ALL);
    sched_go(&f, "00:10");
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/RUNNING, 00:10 WAITING");
}

TEST(allow_all_is_always_on_time) {
    cleanup(sched_done) struct sched f;
    create(&f, ALLOW);
    sched_go(&f, "00:20");
    CHECK_STR(sched_begun(&f), "00:05 00:10 00:15 00:20");
    CHECK_INT(sched_open_count(&f), 4);
}

TEST(cancel_other_waits_for_the_end) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = CANCEL;
    sched_every(&f, f.schedule, "55m");
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:15");
    CHECK_STR(sched_begun(&f), "00:15");
    sched_go(&f, "01:10");
    struct sched_run *old = sched_run_at(&f, "00:15");
    CHECK(old && old->is_cancelled && old->is_open);
    CHECK_STR(sched_begun(&f), "");
    close_at(&f, "00:15", "01:10:30");
    CHECK_STR(sched_begun(&f), "01:10@01:10:30");
    CHECK_STR(sched_ledger(&f), "00:15 STARTED/COMPLETED, 01:10 STARTED/RUNNING");
}

TEST(cancel_other_asks_once_and_the_newest_wins) {
    cleanup(sched_done) struct sched f;
    create(&f, CANCEL);
    sched_go(&f, "00:05");
    sched_go(&f, "00:10");
    struct sched_run *old = sched_run_at(&f, "00:05");
    CHECK(old && old->is_cancelled);
    if (old)
        old->is_cancelled = false;
    sched_go(&f, "00:20");
    CHECK(old && !old->is_cancelled);
    sched_close(&f, "00:05", STATUS(CANCELED));
    CHECK_STR(sched_begun(&f), "00:05 00:20");
    CHECK_STR(sched_ledger(&f),
              "00:05 STARTED/CANCELED, 00:10 REPLACED, 00:15 REPLACED, 00:20 STARTED/RUNNING");
}

TEST(terminate_other_takes_over_at_once) {
    cleanup(sched_done) struct sched f;
    create(&f, TERMINATE);
    sched_go(&f, "00:16");
    CHECK_STR(sched_begun(&f), "00:05 00:10 00:15");
    CHECK_INT(sched_open_count(&f), 1);
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/TERMINATED, 00:10 STARTED/TERMINATED, 00:15 STARTED/RUNNING");
}

TEST(terminate_follows_a_cancel_that_was_not_obeyed) {
    cleanup(sched_done) struct sched f;
    create(&f, CANCEL);
    sched_go(&f, "00:10");
    CHECK_INT(sched_trigger(&f, TERMINATE), 0);
    struct sched_run *old = sched_run_at(&f, "00:05");
    CHECK(old && old->is_cancelled && old->is_terminated);
    CHECK_STR(sched_begun(&f), "00:05 00:10"); /* the trigger, newer than the time it has in common */
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/TERMINATED, 00:10 REPLACED, 00:10 STARTED/RUNNING");
}

TEST(what_allows_all_blocks_nobody) {
    cleanup(sched_done) struct sched f;
    create(&f, SKIP);
    sched_jump(&f, "00:01");
    CHECK_INT(sched_trigger(&f, ALLOW), 0);
    sched_go(&f, "00:05");
    CHECK_STR(sched_begun(&f), "00:01 00:05");
    const Schedule__ScheduleInfo *info = f.c.st ? schedule_info(f.c.st, &f.c.arena) : NULL;
    CHECK(info && info->n_running_workflows == 2);
}

TEST(a_start_on_its_way_counts_as_running) {
    cleanup(sched_done) struct sched f;
    create(&f, SKIP);
    f.holds_letters = true;
    sched_go(&f, "00:05");
    CHECK_INT(sched_trigger(&f, SKIP), 0);
    CHECK_STR(sched_ledger(&f), "00:05 OVERLAP_SKIPPED");
    sched_deliver(&f);
    CHECK_STR(sched_begun(&f), "00:05");
}

TEST(a_start_that_is_tried_again_keeps_its_place) {
    cleanup(sched_done) struct sched f;
    create(&f, SKIP);
    f.refusal = (struct action_outcome){.error = "no room", .is_retryable = true};
    f.refusals_left = 1;
    sched_jump(&f, "00:05");
    sched_tick(&f);
    CHECK_STR(sched_ledger(&f), "00:05 WAITING");
    CHECK_INT(sched_trigger(&f, SKIP), 0);
    CHECK_INT(sched_state(&f)->overlap_skipped, 1);
    sched_go(&f, "00:06");
    CHECK_STR(sched_begun(&f), "00:05@00:05:01");
}

TEST(what_pushes_replaces_a_start_that_is_tried_again) {
    cleanup(sched_done) struct sched f;
    create(&f, CANCEL);
    f.refusal = (struct action_outcome){.error = "no room", .is_retryable = true};
    f.refusals_left = 1;
    sched_jump(&f, "00:05");
    sched_tick(&f);
    CHECK_STR(sched_ledger(&f), "00:05 WAITING");
    CHECK_INT(sched_trigger(&f, CANCEL), 0);
    CHECK_STR(sched_ledger(&f), "00:05 REPLACED, 00:05 STARTED/RUNNING");
}

TEST(three_at_a_time) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = ALL;
    f.schedule->extras->max_concurrent_runs = 3;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:30");
    CHECK_STR(sched_begun(&f), "00:05 00:10 00:15");
    close_at(&f, "00:10", "00:31");
    CHECK_STR(sched_begun(&f), "00:20@00:31");
    CHECK_INT(sched_open_count(&f), 3);
}

TEST(an_update_of_the_policy_reaches_what_waits) {
    cleanup(sched_done) struct sched f;
    create(&f, ALL);
    sched_go(&f, "00:15");
    CHECK_INT(sched_backfill(&f, "00:02", "00:05", ALL), 0);
    Schedule__Schedule *changed = sched_new(&f);
    sched_every(&f, changed, "5m");
    CHECK_INT(sched_update(&f, changed), 0); /* to skip, the default */
    CHECK_STR(sched_ledger(&f),
              "00:05 STARTED/RUNNING, 00:10 OVERLAP_SKIPPED, 00:15 OVERLAP_SKIPPED, 00:05 WAITING");
}

/* What allows all has nobody in its way, and no newer one takes its place while it is tried again. */
TEST(what_allows_all_is_tried_again_beside_others) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(CANCEL_OTHER);
    f.refusal = (struct action_outcome){.error = "busy", .is_retryable = true};
    CHECK_INT(sched_create(&f), 0);
    f.refusals_left = 1;
    CHECK_INT(sched_trigger(&f, POLICY(ALLOW_ALL)), 0);
    f.c.now_us += 1;
    CHECK_INT(sched_trigger(&f, POLICY(CANCEL_OTHER)), 0);
    sched_go(&f, "00:01");
    CHECK_INT(f.run_count, 2);
    CHECK_INT(sched_open_count(&f), 2);
}

/* The last action is used up while it is tried again: it is still its turn. */
TEST(the_last_action_is_tried_again) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    sched_limit(f.schedule, 1);
    f.refusal = (struct action_outcome){.error = "busy", .is_retryable = true};
    f.refusals_left = 2;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:06");
    CHECK_STR(sched_begun(&f), "00:05@00:05:03");
}

/* Two are due at once and one may act: the other waits for its turn, and then there is none. */
TEST(a_row_that_is_written_twice_in_a_step) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(BUFFER_ALL);
    sched_limit(f.schedule, 1);
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:11");
    CHECK_INT(sched_tick(&f), 0);
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/RUNNING, 00:10 EXHAUSTED");
}

/* An update reaches what waits, not what is tried again: its turn has come. */
TEST(an_update_of_the_policy_leaves_what_is_tried_again) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.refusal = (struct action_outcome){.error = "busy", .is_retryable = true};
    f.refusals_left = 1;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:05");
    Schedule__Schedule *changed = sched_new(&f);
    sched_every(&f, changed, "5m");
    if (changed)
        changed->policies->overlap_policy = POLICY(ALLOW_ALL);
    CHECK_INT(sched_update(&f, changed), 0);
    REQUIRE(f.c.st && sched_state(&f)->n_starts == 1);
    CHECK_INT(sched_state(&f)->starts[0]->overlap_policy, POLICY(SKIP));
    sched_go(&f, "00:06");
    CHECK_STR(sched_begun(&f), "00:05@00:05:01");
}

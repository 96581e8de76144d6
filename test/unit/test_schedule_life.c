/* A schedule from its creation to its end. */
#include "schedule_fixture.h"

TEST(acts_at_its_times) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    CHECK_INT(sched_create(&f), 0);
    CHECK_STR(sched_future(&f), "00:05 00:10 00:15 00:20 00:25 00:30 00:35 00:40 00:45 00:50");
    sched_go(&f, "00:17");
    CHECK_STR(sched_begun(&f), "00:05 00:10 00:15");
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/COMPLETED, 00:10 STARTED/COMPLETED, 00:15 STARTED/COMPLETED");
    CHECK_INT(sched_state(&f)->action_count, 3);
    CHECK_STR(sched_future(&f), "00:20 00:25 00:30 00:35 00:40 00:45 00:50 00:55 01:00 01:05");
}

TEST(skips_while_a_run_is_open) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:12");
    sched_close(&f, "00:05", STATUS(COMPLETED));
    sched_go(&f, "00:16");
    CHECK_STR(sched_begun(&f), "00:05 00:15");
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/COMPLETED, 00:10 OVERLAP_SKIPPED, 00:15 STARTED/RUNNING");
    CHECK_INT(sched_state(&f)->overlap_skipped, 1);
}

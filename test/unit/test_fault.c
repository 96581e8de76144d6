/* The countdown: which allocation fails, that only one does, and that threads are apart. */
#include "base/fault.h"

#include <pthread.h>

#include "harness.h"

TEST(fault_idle_never_fires) {
    fault_disarm();
    for (int i = 0; i < 100; i++)
        CHECK(!fault_take_alloc());
    CHECK(!fault_fired());
}

TEST(fault_fires_once_at_the_nth) {
    for (uint64_t nth = 1; nth <= 5; nth++) {
        fault_arm_alloc(nth);
        for (uint64_t i = 1; i <= 10; i++) {
            CHECK_INT(fault_take_alloc(), i == nth);
            CHECK_INT(fault_fired(), i >= nth);
        }
    }
    fault_disarm();
}

TEST(fault_arming_zero_is_idle) {
    fault_arm_alloc(0);
    CHECK(!fault_take_alloc());
    CHECK(!fault_fired());
}

TEST(fault_arming_again_forgets_the_last) {
    fault_arm_alloc(1);
    CHECK(fault_take_alloc());
    fault_arm_alloc(1);
    CHECK(!fault_fired());
    fault_disarm();
    CHECK(!fault_take_alloc());
}

static void *take_in_thread(void *ret_taken) {
    *(bool *)ret_taken = fault_take_alloc();
    return NULL;
}

TEST(fault_belongs_to_the_thread_that_armed_it) {
    bool taken = true;
    pthread_t thread;
    fault_arm_alloc(1);
    REQUIRE(pthread_create(&thread, NULL, take_in_thread, &taken) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK(!taken);
    CHECK(fault_take_alloc());
    fault_disarm();
}

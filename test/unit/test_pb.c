/* Trees on the heap: strings, messages and arrays that can be changed, and freed after any failure. */
#include "core/step/pb.h"

#include "base/mem.h"

#include "harness.h"
#include "state.pb-c.h"
#include "wire/guard.h"

TEST(pb_string_is_replaced) {
    bool failed = false;
    State__Timer *t = pb_new(&state__timer__descriptor, &failed);
    REQUIRE(t);
    pb_set_string(&t->timer_id, "one", &failed);
    CHECK_STR(t->timer_id, failed ? "" : "one");
    pb_set_string(&t->timer_id, "two", &failed);
    pb_set_string(&t->timer_id, NULL, &failed);
    CHECK_STR(t->timer_id, "");
    pb_set_string(&t->timer_id, "", &failed);
    CHECK_STR(t->timer_id, "");
    CHECK(!failed);
    pb_free(t);
}

TEST(pb_message_is_cloned_whole) {
    bool failed = false;
    char id[] = "t";
    State__Timer t = STATE__TIMER__INIT;
    t.timer_id = id;
    t.started_event_id = 7;
    State__Timer *copy = pb_clone(&t.base, &failed);
    CHECK(copy && !failed);
    if (copy) {
        CHECK_STR(copy->timer_id, "t");
        CHECK_INT(copy->started_event_id, 7);
        CHECK(copy->timer_id != t.timer_id);
    }
    pb_free(copy);
    CHECK(!pb_clone(NULL, &failed));
    State__Timer empty = STATE__TIMER__INIT; /* packs to nothing */
    copy = pb_clone(&empty.base, &failed);
    CHECK(copy);
    pb_free(copy);
    pb_free(NULL);
}

TEST(pb_message_field_is_set_and_cleared) {
    bool failed = false;
    State__Execution *st = pb_new(&state__execution__descriptor, &failed);
    REQUIRE(st);
    State__WorkflowTask task = STATE__WORKFLOW_TASK__INIT;
    task.attempt = 3;
    pb_set_message(&st->task, &task, &failed);
    CHECK(st->task && st->task->attempt == 3);
    task.attempt = 4;
    pb_set_message(&st->task, &task, &failed);
    CHECK(st->task && st->task->attempt == 4);
    pb_set_message(&st->task, NULL, &failed);
    CHECK(!st->task && !failed);
    pb_free(st);
}

TEST(pb_arrays_grow_and_shrink) {
    static const char letters[] = "abcde";
    bool failed = false;
    State__Execution *st = pb_new(&state__execution__descriptor, &failed);
    REQUIRE(st);
    for (int i = 0; i < 5; i++) {
        State__Timer *t = pb_new(&state__timer__descriptor, &failed);
        if (t)
            t->started_event_id = i;
        pb_append_message(&st->n_timers, &st->timers, t, &failed);
        pb_append_string(&st->n_signal_request_ids, &st->signal_request_ids, "id", &failed);
        pb_append_bytes(&st->n_buffered, &st->buffered, str_bytes(&letters[i], 1), &failed);
    }
    CHECK(!failed && st->n_timers == 5 && st->n_signal_request_ids == 5 && st->n_buffered == 5);
    if (st->n_timers == 5) {
        pb_remove_message(&st->n_timers, st->timers, 4); /* last, first, middle */
        pb_remove_message(&st->n_timers, st->timers, 0);
        pb_remove_message(&st->n_timers, st->timers, 1);
        CHECK_INT(st->n_timers, 2);
        CHECK_INT(st->timers[0]->started_event_id, 1);
        CHECK_INT(st->timers[1]->started_event_id, 3);
    }
    if (st->n_buffered == 5) {
        pb_remove_bytes(&st->n_buffered, st->buffered, 1);
        CHECK_SLICE(pb_bytes(&st->buffered[1]), STR("c"));
    }
    pb_clear_messages(&st->n_timers, &st->timers);
    pb_clear_bytes(&st->n_buffered, &st->buffered);
    CHECK(st->n_timers == 0 && !st->timers && st->n_buffered == 0 && !st->buffered);
    pb_append_message(&st->n_timers, &st->timers, NULL, &failed); /* what pb_new gives without memory */
    CHECK_INT(st->n_timers, 0);
    pb_free(st);
}

TEST(pb_tree_that_was_unpacked_can_be_changed) {
    bool failed = false;
    State__Execution st = STATE__EXECUTION__INIT;
    State__Timer a = STATE__TIMER__INIT, b = STATE__TIMER__INIT, *timers[] = {&a, &b};
    st.timers = timers;
    st.n_timers = 2;
    b.started_event_id = 2;
    State__Execution *copy = pb_clone(&st.base, &failed);
    REQUIRE(copy);
    pb_set_string(&copy->run_id, "r", &failed);
    pb_remove_message(&copy->n_timers, copy->timers, 0);
    pb_append_message(&copy->n_timers, &copy->timers, pb_new(&state__timer__descriptor, &failed), &failed);
    CHECK(!failed && copy->n_timers == 2 && copy->timers[0]->started_event_id == 2);
    pb_free(copy);
}

TEST(pb_waits) {
    Google__Protobuf__Duration room, second = pb_duration(USEC_PER_SEC),
                                     century = pb_duration(PB_WAIT_US_MAX),
                                     longer = pb_duration(PB_WAIT_US_MAX + 1);
    CHECK(!pb_wait(NULL, &room));
    CHECK(pb_wait(&second, &room) == &second);
    CHECK(pb_wait(&century, &room) == &century);
    REQUIRE(pb_wait(&longer, &room) == &room);
    CHECK_INT(pb_duration_us(&room), PB_WAIT_US_MAX);
    CHECK_INT(pb_wait_us(NULL), 0);
    CHECK_INT(pb_wait_us(&second), USEC_PER_SEC);
    CHECK_INT(pb_wait_us(&longer), PB_WAIT_US_MAX);
}

TEST(pb_durations) {
    static const struct {
        int64_t seconds;
        int32_t nanos;
        int64_t us;
        bool is_valid;
    } cases[] = {
        {0, 0, 0, true},
        {1, 500000000, 1500000, true},
        {0, 999, 0, true}, /* what is finer is cut */
        {0, 1000, 1, true},
        {-1, 0, -1000000, false},
        {0, -1000, -1, false},
        {0, 1000000000, 1000000, false},
        {INT64_MAX, 999999999, CLOCK_NEVER, true},
        {INT64_MIN, 0, INT64_MIN, false},
        {INT64_MAX / 1000000, 999999999, CLOCK_NEVER, true},
    };
    CHECK_INT(pb_duration_us(NULL), 0);
    CHECK(pb_duration_valid(NULL));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Google__Protobuf__Duration d = GOOGLE__PROTOBUF__DURATION__INIT;
        d.seconds = cases[i].seconds;
        d.nanos = cases[i].nanos;
        CHECK_INT(pb_duration_us(&d), cases[i].us);
        CHECK_INT(pb_duration_valid(&d), cases[i].is_valid);
    }
    static const int64_t back[] = {0, 1, 999999, 1000000, -1, -1500000, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < ARRAY_LEN(back); i++) {
        Google__Protobuf__Duration d = pb_duration(back[i]);
        CHECK_INT(pb_duration_us(&d), back[i]);
    }
}

TEST(pb_timestamps) {
    static const struct {
        int64_t us, seconds;
        int32_t nanos;
    } cases[] = {{0, 0, 0},
                 {1, 0, 1000},
                 {1500000, 1, 500000000},
                 {-1, -1, 999999000},
                 {-1000000, -1, 0},
                 {-1500000, -2, 500000000},
                 {INT64_MAX, 9223372036854, 775807000}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Google__Protobuf__Timestamp t = pb_timestamp(cases[i].us);
        CHECK_INT(t.seconds, cases[i].seconds);
        CHECK_INT(t.nanos, cases[i].nanos);
    }
}

TEST(timestamps_are_floored_and_capped) {
    Google__Protobuf__Timestamp t = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    CHECK_INT(pb_timestamp_us(NULL), 0);
    t.seconds = -1;
    t.nanos = 999999999;
    CHECK_INT(pb_timestamp_us(&t), -1);
    t.seconds = INT64_MIN;
    CHECK_INT(pb_timestamp_us(&t), INT64_MIN);
    t.seconds = INT64_MAX;
    CHECK_INT(pb_timestamp_us(&t), CLOCK_NEVER);
    CHECK(!pb_timestamp_valid(&t) && pb_timestamp_valid(NULL));
    t.seconds = INT64_C(253402300799); /* the last second of the year 9999 */
    CHECK(pb_timestamp_valid(&t));
    t.nanos = -1;
    CHECK(!pb_timestamp_valid(&t));
    t.nanos = 1000000000;
    CHECK(!pb_timestamp_valid(&t));
    t.nanos = 0;
    t.seconds = INT64_C(-62135596801); /* the last second before the year 1 */
    CHECK(!pb_timestamp_valid(&t));
    t = pb_timestamp(-1);
    CHECK(t.seconds == -1 && t.nanos == 999999000 && pb_timestamp_us(&t) == -1);
}

TEST(bytes_are_replaced) {
    ProtobufCBinaryData field = {0};
    bool failed = false;
    pb_set_bytes(&field, STR("one"), &failed);
    pb_set_bytes(&field, STR("three"), &failed);
    CHECK_SLICE(pb_bytes(&field), STR("three"));
    pb_set_bytes(&field, STR(""), &failed);
    CHECK(field.len == 0 && !field.data);
}

TEST(strings_are_removed) {
    char **list = NULL;
    size_t n = 0;
    bool failed = false;
    pb_append_string(&n, &list, "", &failed);
    pb_append_string(&n, &list, "two", &failed);
    if (!failed)
        pb_remove_string(&n, list, 0);
    CHECK_STR(failed ? "two" : list[0], "two");
    while (n)
        pb_remove_string(&n, list, n - 1);
    mem_free(list);
}

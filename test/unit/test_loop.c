/* The loop and the clocks. */
#include "host/loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "harness.h"
#include "host/hearing.h"
#include "host/signals.h"

struct probe {
    struct loop *loop;
    struct timer *timer;
    int fired;
    int turns;
    int wakes;
    int signals;
    enum signal_wish last_wish;
    char order[8];
    size_t order_len;
    int64_t fired_us;
};

static void stop_on_fire(void *ctx) {
    struct probe *p = ctx;
    p->fired++;
    p->fired_us = host_now().mono.us;
    loop_stop(p->loop);
}

static void count_turn(void *ctx) {
    ((struct probe *)ctx)->turns++;
}

TEST(clocks_advance) {
    struct now a = host_now();
    struct now b = host_now();
    CHECK(b.mono.us >= a.mono.us);
    CHECK(a.wall.us > INT64_C(1600000000) * USEC_PER_SEC);
    CHECK(host_entropy() != host_entropy());
}

TEST(timer_never_fires_early) {
    struct probe p = {0};
    if (CHECK_INT(loop_new(&p.loop), 0) && CHECK_INT(timer_new(p.loop, stop_on_fire, &p, &p.timer), 0)) {
        for (int64_t delay_us = 1; delay_us < 9000; delay_us += 1777) {
            int64_t begin_us = host_now().mono.us;
            timer_set(p.timer, delay_us);
            CHECK_INT(loop_run(p.loop), 0);
            CHECK(p.fired_us - begin_us >= delay_us);
        }
        CHECK_INT(p.fired, 6);
    }
    timer_free(p.timer);
    loop_free(p.loop);
}

TEST(timer_set_again_replaces_and_clear_forgets) {
    struct probe p = {0};
    struct timer *other = NULL;
    if (CHECK_INT(loop_new(&p.loop), 0) && CHECK_INT(timer_new(p.loop, stop_on_fire, &p, &p.timer), 0) &&
        CHECK_INT(timer_new(p.loop, stop_on_fire, &p, &other), 0)) {
        timer_set(other, 0);
        timer_clear(other);
        timer_set(p.timer, CLOCK_NEVER);
        timer_set(p.timer, -5); /* in the past: now */
        CHECK_INT(loop_run(p.loop), 0);
        CHECK_INT(p.fired, 1);
    }
    timer_free(other);
    timer_free(p.timer);
    loop_free(p.loop);
}

struct letter {
    struct probe *probe;
    char name;
};

static void append_letter(void *ctx) {
    struct letter *l = ctx;
    l->probe->order[l->probe->order_len++] = l->name;
    if (l->probe->order_len == 3)
        loop_stop(l->probe->loop);
}

TEST(timers_fire_in_order_of_time) {
    struct probe p = {0};
    struct letter letters[3] = {{&p, 'c'}, {&p, 'a'}, {&p, 'b'}};
    const int64_t delays_us[3] = {6000, 0, 3000};
    struct timer *timers[3] = {0};
    bool ok = CHECK_INT(loop_new(&p.loop), 0);
    for (int i = 0; ok && i < 3; i++)
        ok = CHECK_INT(timer_new(p.loop, append_letter, &letters[i], &timers[i]), 0);
    for (int i = 0; ok && i < 3; i++)
        timer_set(timers[i], delays_us[i]);
    if (ok) {
        CHECK_INT(loop_run(p.loop), 0);
        CHECK_STR(p.order, "abc");
    }
    for (int i = 0; i < 3; i++)
        timer_free(timers[i]);
    loop_free(p.loop);
}

TEST(turn_hook_runs_after_each_turn) {
    struct probe p = {0};
    if (CHECK_INT(loop_new(&p.loop), 0) && CHECK_INT(timer_new(p.loop, stop_on_fire, &p, &p.timer), 0)) {
        loop_on_turn(p.loop, count_turn, &p);
        timer_set(p.timer, 0);
        CHECK_INT(loop_run(p.loop), 0);
        CHECK(p.turns >= 1);
        int before = p.turns;
        timer_set(p.timer, 0);
        CHECK_INT(loop_run(p.loop), 0);
        CHECK(p.turns > before);
    }
    timer_free(p.timer);
    loop_free(p.loop);
}

TEST(stop_before_run_returns_at_once) {
    struct probe p = {0};
    if (CHECK_INT(loop_new(&p.loop), 0)) {
        loop_on_turn(p.loop, count_turn, &p);
        loop_stop(p.loop);
        CHECK_INT(loop_run(p.loop), 0);
        CHECK_INT(p.turns, 0);
    }
    loop_free(p.loop);
}

static void count_wake(void *ctx) {
    struct probe *p = ctx;
    p->wakes++;
    loop_stop(p->loop);
}

static void *wake_many_times(void *loop) {
    for (int i = 0; i < 1000; i++)
        loop_wake(loop);
    return NULL;
}

TEST(wake_from_another_thread) {
    struct probe p = {0};
    if (CHECK_INT(loop_new(&p.loop), 0) && CHECK_INT(loop_on_wake(p.loop, count_wake, &p), 0)) {
        pthread_t thread;
        CHECK_INT(pthread_create(&thread, NULL, wake_many_times, p.loop), 0);
        CHECK_INT(loop_run(p.loop), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK(p.wakes >= 1);
        /* None of those that came after the stop is forgotten. */
        int before = p.wakes;
        loop_wake(p.loop);
        CHECK_INT(loop_run(p.loop), 0);
        CHECK_INT(p.wakes, before + 1);
    }
    loop_free(p.loop);
}

static void count_signal(void *ctx, enum signal_wish wish) {
    struct probe *p = ctx;
    p->signals++;
    p->last_wish = wish;
    loop_stop(p->loop);
}

static const struct {
    int number;
    enum signal_wish wish;
} signal_cases[] = {
    {SIGTERM, SIGNAL_STOP},   {SIGINT, SIGNAL_STOP},  {SIGHUP, SIGNAL_REREAD},
    {SIGUSR1, SIGNAL_REPORT}, {SIGTERM, SIGNAL_STOP},
};

TEST(signals_arrive_on_the_loop) {
    struct probe p = {0};
    struct signals *s = NULL;
    if (CHECK_INT(loop_new(&p.loop), 0) && CHECK_INT(signals_new(p.loop, count_signal, &p, &s), 0)) {
        for (size_t i = 0; i < ARRAY_LEN(signal_cases); i++) {
            CHECK_INT(raise(signal_cases[i].number), 0);
            CHECK_INT(loop_run(p.loop), 0);
            CHECK_INT(p.signals, i + 1);
            CHECK_INT(p.last_wish, signal_cases[i].wish);
        }
        CHECK_INT(raise(SIGUSR2), 0); /* ignored: otherwise it would end us here */
    }
    signals_free(s);
    loop_free(p.loop);
}

TEST(signals_are_found_without_the_loop) {
    struct probe p = {0};
    struct signals *s = NULL;
    if (CHECK_INT(loop_new(&p.loop), 0) && CHECK_INT(signals_new(p.loop, count_signal, &p, &s), 0)) {
        signals_look(s);
        CHECK_INT(p.signals, 0);
        for (size_t i = 0; i < ARRAY_LEN(signal_cases); i++) {
            CHECK_INT(raise(signal_cases[i].number), 0);
            signals_look(s);
            CHECK_INT(p.signals, i + 1);
            CHECK_INT(p.last_wish, signal_cases[i].wish);
        }
    }
    signals_free(s);
    loop_free(p.loop);
}

TEST(writing_to_a_closed_pipe_is_only_an_error) {
    struct probe p = {0};
    int ends[2];
    if (CHECK_INT(loop_new(&p.loop), 0) && CHECK_INT(pipe2(ends, O_CLOEXEC), 0)) {
        close(ends[0]);
        CHECK_INT(write(ends[1], "x", 1), -1); /* without the loop's care, SIGPIPE would end us here */
        close(ends[1]);
    }
    loop_free(p.loop);
}

/* hearing */

static struct now at_ms(int64_t ms) {
    return (struct now){{ms * USEC_PER_MS}, {ms * USEC_PER_MS}};
}

TEST(hearing_counts_from_the_round_that_found_nothing) {
    struct hearing h = {0};
    hearing_round(&h, at_ms(10), 1, HEARING_ALL_READ);
    CHECK_INT(h.heard.wall.us, 0);
    hearing_round(&h, at_ms(20), 0, HEARING_ALL_READ);
    CHECK_INT(h.heard.wall.us, 20 * USEC_PER_MS);
    CHECK_INT(h.heard.mono.us, 20 * USEC_PER_MS);
}

TEST(hearing_of_a_busy_loop_takes_a_few_rounds) {
    struct hearing h = {0};
    for (int64_t i = 1; i <= HEARING_BUSY_ROUNDS; i++)
        hearing_round(&h, at_ms(i), 1, HEARING_ALL_READ);
    CHECK_INT(h.heard.wall.us, 0);
    hearing_round(&h, at_ms(20), 1, HEARING_ALL_READ);
    CHECK_INT(h.heard.wall.us, 20 * USEC_PER_MS);
    for (int64_t i = 0; i <= HEARING_BUSY_ROUNDS; i++)
        hearing_round(&h, at_ms(100 + 10 * i), 1, HEARING_ALL_READ);
    CHECK_INT(h.heard.wall.us, (100 + 10 * HEARING_BUSY_ROUNDS) * USEC_PER_MS);
}

/* The process stood still after some rounds: those do not count for what has arrived meanwhile. */
TEST(hearing_begins_anew_after_a_gap) {
    struct hearing h = {0};
    for (int64_t i = 1; i <= HEARING_BUSY_ROUNDS; i++)
        hearing_round(&h, at_ms(i), 1, HEARING_ALL_READ);
    hearing_round(&h, at_ms(9000), 32, HEARING_ALL_READ);
    CHECK_INT(h.heard.wall.us, USEC_PER_MS); /* when the first of them began */
    hearing_round(&h, at_ms(9001), 16, HEARING_ALL_READ);
    CHECK_INT(h.heard.wall.us, USEC_PER_MS);
    hearing_round(&h, at_ms(9002), 0, HEARING_ALL_READ);
    CHECK_INT(h.heard.wall.us, 9002 * USEC_PER_MS);
}

TEST(hearing_waits_for_input_that_is_left) {
    struct hearing h = {0};
    for (int64_t i = 1; i <= HEARING_ROUNDS / 2; i++)
        hearing_round(&h, at_ms(i), 1, HEARING_INPUT_LEFT);
    CHECK_INT(h.heard.wall.us, 0);
    hearing_round(&h, at_ms(100), 1, HEARING_ALL_READ);
    CHECK_INT(h.heard.wall.us, 100 * USEC_PER_MS);
}

TEST(hearing_does_not_wait_for_ever) {
    struct hearing h = {0};
    for (int64_t i = 1; i <= HEARING_ROUNDS; i++)
        hearing_round(&h, at_ms(i), 1, HEARING_INPUT_LEFT);
    CHECK_INT(h.heard.wall.us, USEC_PER_MS); /* when the first of them began */
    hearing_round(&h, at_ms(2000), 1, HEARING_INPUT_LEFT);
    hearing_round(&h, at_ms(2000), 1, HEARING_INPUT_LEFT);
    hearing_round(&h, at_ms(3000), 1, HEARING_INPUT_LEFT); /* few rounds, and slow ones */
    CHECK_INT(h.heard.wall.us, 2000 * USEC_PER_MS);
}

TEST(hearing_takes_more_rounds_when_there_are_many_events) {
    struct hearing h = {0};
    for (int64_t i = 1; i <= HEARING_WIDE_ROUNDS; i++) {
        hearing_round(&h, at_ms(10 * i), HEARING_WIDE, HEARING_ALL_READ);
        CHECK_INT(h.heard.wall.us, 0);
    }
    hearing_round(&h, at_ms(100), HEARING_WIDE, HEARING_ALL_READ);
    CHECK_INT(h.heard.wall.us, 100 * USEC_PER_MS);
}

/* The event loop on libevent, and the real clocks.
 *
 * loop_run() lets libevent wait for one round of events and run their callbacks, then runs expired timers and
 * the end-of-turn hook, and repeats until loop_stop(). Another thread reaches the loop only by writing to an
 * eventfd.
 *
 * An expired timer does not fire at once. The sockets are read first, so that input that came in time is seen
 * before the timer. This matters after a stall: a process that was stopped returns from its wait without
 * events and would see only that it is late.
 *
 * Creating a loop fails when the operating system refuses descriptors or memory. A running loop that cannot
 * wait or set a timer would lose time silently, so this ends the process.
 *
 * By default libevent reads a coarse clock and caches it for a whole turn, which makes timers fire early by
 * milliseconds. Both are switched off: a timer never fires before its delay has passed by host_now(). */
#include "host/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "host/hearing.h"

/* Longer delays are cut to this, and the timer fires early, after 31 years. */
#define TIMER_DELAY_US_MAX (INT64_C(1000000000) * USEC_PER_SEC)

#define CLOCK_TRIES 8
#define CLOCKS_APART_US (1 * USEC_PER_MS)

struct loop_hook {
    void (*fn)(void *ctx);
    void *ctx;
};

struct loop {
    struct event_base *base;
    struct event *wake_event;
    struct loop_hook on_wake;
    struct loop_hook on_turn;
    struct list late; /* struct timer: expired and not yet fired */
    struct hearing hearing;
    int wake_fd;
    uint64_t turn;
    int64_t turn_us; /* when the work of this turn began; 0: not yet */
    bool is_stopping;
    bool is_input_left; /* a callback of this round left input */
};

struct timer {
    struct loop *loop;
    struct list link; /* in loop.late */
    struct event *event;
    struct loop_hook on_fire;
};

static int64_t host_read_clock_us(clockid_t id) {
    struct timespec ts;
    ensure(clock_gettime(id, &ts) == 0);
    return (int64_t)ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / NSEC_PER_USEC;
}

struct wall host_wall(void) {
    return (struct wall){host_read_clock_us(CLOCK_REALTIME)};
}

/* CLOCK_BOOTTIME counts the time that the machine slept. Both clocks must be read at about the same moment:
 * if the process were stopped between the two reads, the wall clock would seem to have been set. */
struct now host_now(void) {
    struct now now;
    int64_t after_us = host_read_clock_us(CLOCK_BOOTTIME);
    for (int tries = 0; tries < CLOCK_TRIES; tries++) {
        int64_t before_us = after_us;
        now.wall = host_wall();
        after_us = host_read_clock_us(CLOCK_BOOTTIME);
        now.mono.us = after_us;
        if (after_us - before_us <= CLOCKS_APART_US)
            break;
    }
    return now;
}

uint64_t host_entropy(void) {
    uint64_t seed;
    ssize_t n;
    do
        n = getrandom(&seed, sizeof(seed), 0);
    while (n < 0 && errno == EINTR);
    ensure(n == sizeof(seed));
    return seed;
}

static void loop_call_hook(const struct loop_hook *h) {
    if (h->fn)
        h->fn(h->ctx);
}

static void loop_wake_cb(evutil_socket_t fd, short unused_arg what, void *ctx) {
    struct loop *l = ctx;
    uint64_t count;
    (void)loop_spent_us(l); /* the work of the wake counts, too */
    /* Nothing to read: an earlier call handled this wake. */
    if (read(fd, &count, sizeof(count)) == sizeof(count))
        loop_call_hook(&l->on_wake);
}

static void timer_expired_cb(evutil_socket_t unused_arg fd, short unused_arg what, void *ctx) {
    struct timer *t = ctx;
    list_remove(&t->link);
    list_append(&t->loop->late, &t->link);
}

/* For every process with a loop: writing to a closed socket returns an error instead of a signal, and the
 * process may open as many descriptors as the hard limit allows. */
static void host_prepare_process(void) {
    struct rlimit files;
    (void)signal(SIGPIPE, SIG_IGN); /* cannot fail for a valid signal */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* the lower limit also works */
    }
}

static struct event_base *loop_new_base(void) {
    struct event_config *config = event_config_new();
    if (!config)
        return NULL;
    int rc = event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER | EVENT_BASE_FLAG_NO_CACHE_TIME);
    struct event_base *base = rc == 0 ? event_base_new_with_config(config) : NULL;
    event_config_free(config);
    return base;
}

static int loop_init(struct loop *l) {
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->wake_fd < 0)
        return ERR_UNAVAILABLE;
    l->base = loop_new_base();
    if (!l->base)
        return ERR_UNAVAILABLE;
    l->wake_event = event_new(l->base, l->wake_fd, EV_READ | EV_PERSIST, loop_wake_cb, l);
    if (!l->wake_event || event_add(l->wake_event, NULL) < 0)
        return ERR_NO_MEMORY;
    return 0;
}

int loop_new(struct loop **ret) {
    host_prepare_process();
    struct loop *l = mem_zalloc(sizeof(*l));
    if (!l)
        return ERR_NO_MEMORY;
    list_init(&l->late);
    int rc = loop_init(l);
    if (rc < 0) {
        loop_free(l);
        return rc;
    }
    *ret = l;
    return 0;
}

static void loop_free_event(struct event *e) {
    if (e)
        event_free(e);
}

void loop_free(struct loop *l) {
    if (!l)
        return;
    loop_free_event(l->wake_event);
    if (l->base)
        event_base_free(l->base);
    if (l->wake_fd >= 0)
        close(l->wake_fd);
    mem_free(l);
}

struct event_base *loop_base(struct loop *l) {
    return l->base;
}

void loop_begin_turn(struct loop *l) {
    l->turn_us = 0;
    l->turn++;
}

uint64_t loop_turn(const struct loop *l) {
    return l->turn;
}

static int loop_round(struct loop *l, int flags) {
    struct now began = host_now();
    l->is_input_left = false;
    if (event_base_loop(l->base, flags) < 0)
        return ERR_INTERNAL;
    int events = event_base_get_max_events(l->base, EVENT_BASE_COUNT_ACTIVE, 1);
    hearing_round(&l->hearing, began, events, l->is_input_left ? HEARING_INPUT_LEFT : HEARING_ALL_READ);
    return 0;
}

static void loop_fire(struct loop *l) {
    struct list fired;
    list_init(&fired);
    for (struct list *n; (n = list_pop(&l->late));)
        list_append(&fired, n);
    for (struct list *n; (n = list_pop(&fired));)
        loop_call_hook(&container_of(n, struct timer, link)->on_fire);
}

static int loop_take_turn(struct loop *l) {
    loop_begin_turn(l);
    int rc = loop_round(l, EVLOOP_ONCE);
    if (rc == 0 && !list_empty(&l->late))
        rc = loop_round(l, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    if (rc < 0)
        return rc;
    loop_fire(l);
    loop_call_hook(&l->on_turn);
    return 0;
}

/* Runs the hook once at the start: work that is due already must not wait for a first event, which may never
 * come. */
int loop_run(struct loop *l) {
    int rc = 0;
    if (!l->is_stopping)
        loop_call_hook(&l->on_turn);
    while (rc == 0 && !l->is_stopping)
        rc = loop_take_turn(l);
    l->is_stopping = false;
    return rc;
}

struct now loop_heard(const struct loop *l) {
    return l->hearing.heard;
}

void loop_leave_input(struct loop *l) {
    l->is_input_left = true;
}

int64_t loop_spent_us(struct loop *l) {
    int64_t now_us = host_read_clock_us(CLOCK_MONOTONIC);
    if (!l->turn_us)
        l->turn_us = now_us;
    return now_us - l->turn_us;
}

bool loop_has_time(struct loop *l) {
    return loop_spent_us(l) < LOOP_TURN_US;
}

void loop_stop(struct loop *l) {
    l->is_stopping = true;
}

int loop_on_wake(struct loop *l, void (*fn)(void *ctx), void *ctx) {
    l->on_wake = (struct loop_hook){fn, ctx};
    return 0;
}

void loop_wake(void *loop) {
    struct loop *l = loop;
    const uint64_t one = 1;
    ssize_t n;
    do
        n = write(l->wake_fd, &one, sizeof(one));
    while (n < 0 && errno == EINTR);
    /* EAGAIN: the counter is full, so a wake is pending already. */
    ensure(n == sizeof(one) || errno == EAGAIN);
}

void loop_on_turn(struct loop *l, void (*fn)(void *ctx), void *ctx) {
    l->on_turn = (struct loop_hook){fn, ctx};
}

int timer_new(struct loop *l, void (*fn)(void *ctx), void *ctx, struct timer **ret) {
    struct timer *t = mem_zalloc(sizeof(*t));
    if (!t)
        return ERR_NO_MEMORY;
    t->loop = l;
    t->on_fire = (struct loop_hook){fn, ctx};
    t->event = evtimer_new(l->base, timer_expired_cb, t);
    if (!t->event) {
        mem_free(t);
        return ERR_NO_MEMORY;
    }
    *ret = t;
    return 0;
}

void timer_set(struct timer *t, int64_t delay_us) {
    list_remove(&t->link);
    delay_us = MAX(delay_us, 0);
    delay_us = MIN(delay_us, TIMER_DELAY_US_MAX);
    struct timeval tv = {.tv_sec = delay_us / USEC_PER_SEC, .tv_usec = delay_us % USEC_PER_SEC};
    ensure(evtimer_add(t->event, &tv) == 0);
}

void timer_clear(struct timer *t) {
    list_remove(&t->link);
    evtimer_del(t->event);
}

void timer_free(struct timer *t) {
    if (!t)
        return;
    list_remove(&t->link);
    event_free(t->event);
    mem_free(t);
}

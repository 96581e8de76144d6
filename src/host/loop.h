/* The event loop and the clocks: the only place that reads real time.
 *
 * A thin layer over libevent, so that the rest of the server does not know it.
 * One loop is one thread; only loop_wake may be called from another. */
#pragma once

#include "base/base.h"
#include "base/clock.h"

#define LOOP_TURN_US (5 * USEC_PER_MS) /* after that much work, the loop looks for other input */

struct event_base;
struct loop;
struct timer;

struct now host_now(void);
struct wall host_wall(void);
int64_t host_resident_bytes(void); /* memory of this process that is in RAM; 0 when it cannot be told */
uint64_t host_entropy(void); /* a seed from the operating system */

int loop_new(struct loop **ret) must_check;
void loop_free(struct loop *l);
struct event_base *loop_base(struct loop *l); /* for net */
int loop_run(struct loop *l) must_check; /* until loop_stop */
void loop_stop(struct loop *l);

/* fn runs on the loop thread soon after any thread called loop_wake(); many wakes may give one call. */
int loop_on_wake(struct loop *l, void (*fn)(void *ctx), void *ctx) must_check;
void loop_wake(void *loop);
/* fn runs when loop_run begins, and at the end of every loop turn, after all I/O events of that turn. */
void loop_on_turn(struct loop *l, void (*fn)(void *ctx), void *ctx);
/* How long the callbacks of this turn have taken. The clock of a turn begins with the first question. */
int64_t loop_spent_us(struct loop *l);
/* False when that is LOOP_TURN_US or more. Work that can wait then waits for the next turn. */
bool loop_has_time(struct loop *l);
uint64_t loop_turn(const struct loop *l); /* the number of this turn */
void loop_begin_turn(struct loop *l); /* for those who turn the event base themselves */

/* Up to when deadlines may be judged: all input that had reached the sockets by then has been read, or the
 * peers sent so much that a second was not enough. Zero before the first turn. */
struct now loop_heard(const struct loop *l);
/* For a callback that leaves input for a later turn: what this turn has heard is not all there is. */
void loop_leave_input(struct loop *l);

/* A timer is owned by the caller; timer_set replaces an earlier setting. Before it fires, the input that is
 * there is read. */
int timer_new(struct loop *l, void (*fn)(void *ctx), void *ctx, struct timer **ret) must_check;
void timer_set(struct timer *t, int64_t delay_us);
void timer_clear(struct timer *t);
void timer_free(struct timer *t);

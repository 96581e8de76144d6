/* The event loop and the clocks. The only place that reads real time.
 *
 * A thin layer over libevent, which hides libevent from the rest of the server. A loop belongs to one thread.
 * Only loop_wake(), host_now(), host_wall() and host_entropy() may be called from other threads. */
#pragma once

#include "base/base.h"
#include "base/clock.h"

#define LOOP_TURN_US (5 * USEC_PER_MS) /* the work of one turn; then the loop reads other input */

struct event_base;
struct loop;
struct timer;

struct now host_now(void);
struct wall host_wall(void);
int64_t host_resident_bytes(void); /* resident memory of this process; 0 when unknown */
uint64_t host_entropy(void); /* a seed from the operating system */

/* ERR_NO_MEMORY, or ERR_UNAVAILABLE without descriptors. Also ignores SIGPIPE and raises the limit of open
 * files for the process. */
int loop_new(struct loop **ret) must_check;
void loop_free(struct loop *l);
struct event_base *loop_base(struct loop *l); /* for net */
int loop_run(struct loop *l) must_check; /* until loop_stop; ERR_INTERNAL when libevent fails */
void loop_stop(struct loop *l);

/* fn runs on the loop thread after any thread called loop_wake(). Several wakes can give one call. */
int loop_on_wake(struct loop *l, void (*fn)(void *ctx), void *ctx) must_check;
void loop_wake(void *loop);
/* fn runs when loop_run() begins and at the end of every turn, after all events of the turn. */
void loop_on_turn(struct loop *l, void (*fn)(void *ctx), void *ctx);
/* How long the callbacks of this turn have taken. The first call in a turn starts its clock. */
int64_t loop_spent_us(struct loop *l);
/* Whether the turn has taken less than LOOP_TURN_US. If not, leave further work for the next turn. */
bool loop_has_time(struct loop *l);
uint64_t loop_turn(const struct loop *l); /* the number of this turn */
void loop_begin_turn(struct loop *l); /* for callers that run the event base themselves */

/* The time up to which deadlines may be judged. All input that had reached the sockets by then has been read,
 * or the peers sent more than can be read in a second. Zero before the first turn. */
struct now loop_heard(const struct loop *l);
/* Called by a callback that leaves input unread for a later turn. */
void loop_leave_input(struct loop *l);

/* A timer belongs to the caller, who frees it before the loop. timer_set replaces an earlier setting. The
 * sockets are read once more before a timer fires. ERR_NO_MEMORY. */
int timer_new(struct loop *l, void (*fn)(void *ctx), void *ctx, struct timer **ret) must_check;
void timer_set(struct timer *t, int64_t delay_us);
void timer_clear(struct timer *t);
void timer_free(struct timer *t);

/* Workflows under way, and what the server has acknowledged of each: the memory that outlives its kills.
 *
 * An order is started, signalled three times, and runs one activity; then it completes. Lanes work on one
 * order each: a call whose answer never came is made again after the restart, with the same request id, until
 * it is acknowledged. */
#pragma once

#include "base/base.h"
#include "client/client.h"
#include "workflowservice.pb-c.h"

#define ORDER_TYPE "order"
#define ORDER_SIGNALS 3

struct order {
    char run_id[40]; /* empty: not acknowledged */
    int signals; /* acknowledged */
    bool is_unsure; /* a call of its was under way when the server was killed */
    bool has_activity; /* its completion was acknowledged */
    bool is_closed; /* so was the answer that completes it */
    bool is_settled; /* closed, and found as it should be */
};

struct orders {
    struct order *all;
    size_t count, room;
    size_t closed;
    uint64_t acknowledged; /* calls, of clients and of the worker */
    uint64_t unsure; /* calls whose answer never came */
};

struct order *orders_add(struct orders *o);
void orders_done(struct orders *o);

struct lane {
    struct orders *orders;
    struct client *client; /* NULL: the server is down */
    size_t order;
    bool is_busy; /* a call is under way */
    bool is_again; /* it was made before */
    bool is_resting; /* no order, and none is begun */
    bool is_last; /* no order follows */
};

/* With the server up: goes on where it was. */
void lane_begin(struct lane *l, struct client *c);
void lane_pause(struct lane *l); /* the server is down; its client is gone */

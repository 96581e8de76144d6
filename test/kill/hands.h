/* A worker for orders: it answers every task that it gets, and notes which answers were acknowledged. */
#pragma once

#include "base/list.h"
#include "orders.h"

struct hands {
    struct orders *orders;
    struct client *client; /* NULL: the server is down */
    struct list answers; /* under way */
    void (*on_closed)(void *ctx); /* an order was completed */
    void *ctx;
};

void hands_begin(struct hands *h, struct client *c, size_t polls);
void hands_pause(
    struct hands *h); /* the server is down; its client is gone, and what was under way is unheard */

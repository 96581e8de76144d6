/* What an attack has: the ports of its victim, and the connections that it keeps until it is judged. */
#pragma once

#include "peer.h"

struct scene {
    uint16_t port, http_port;
    size_t scale; /* how many times as much the big attacks do */
    int *held;
    size_t held_count, held_capacity;
};

int scene_dial(struct scene *s); /* -1 when refused */
int scene_dial_http(struct scene *s);
/* A new connection on which b has been sent; b is empty again. */
int scene_send(struct scene *s, struct buf *b);
void scene_clear(struct scene *s);

/* The attacker's own needs. */
#include "scene.h"

#include <unistd.h>

#include "base/mem.h"

#define HELD_FIRST 1024

static int hold(struct scene *s, int fd) {
    if (s->held_count == s->held_capacity) {
        s->held_capacity = s->held_capacity ? 2 * s->held_capacity : HELD_FIRST;
        s->held = mem_resize(s->held, s->held_capacity * sizeof(*s->held));
        ensure(s->held);
    }
    if (fd >= 0)
        s->held[s->held_count++] = fd;
    return fd;
}

int scene_dial(struct scene *s) {
    return hold(s, peer_dial(s->port));
}

int scene_dial_http(struct scene *s) {
    return hold(s, peer_dial(s->http_port));
}

int scene_send(struct scene *s, struct buf *b) {
    ensure(buf_ok(b));
    int fd = scene_dial(s);
    bool ok = fd >= 0 && peer_send(fd, buf_str(b));
    buf_clear(b);
    return ok ? fd : -1;
}

void scene_clear(struct scene *s) {
    while (s->held_count)
        close(s->held[--s->held_count]);
    mem_free(s->held);
    s->held = NULL;
    s->held_capacity = 0;
}

/* Reads a script and does what it says. */
#include "script.h"

enum { TIME_PASSES = 0xff, SERVER_CRASHES = 0xfe };

static uint8_t take_byte(struct script *s) {
    return s->p < s->end ? *s->p++ : 0;
}

static struct str take_body(struct script *s) {
    size_t low = take_byte(s), n = low | (size_t)take_byte(s) << 8;
    struct str body = str_bytes(s->p, MIN(n, (size_t)(s->end - s->p)));
    s->p += body.n;
    return body;
}

bool script_step(struct script *s, struct world *w, struct ask **ret_ask) {
    *ret_ask = NULL;
    if (s->p >= s->end)
        return false;
    uint8_t what = take_byte(s);
    if (what == TIME_PASSES)
        world_advance(w, INT64_C(1000) << take_byte(s) % 28);
    else if (what == SERVER_CRASHES)
        world_crash(w);
    else
        *ret_ask = world_ask(w, method_at(what % METHOD_COUNT), take_body(s));
    return true;
}

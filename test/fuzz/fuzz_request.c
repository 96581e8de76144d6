/* Bytes as calls, one after the other: each a method, two bytes of length and the packed request.
 *
 * Instead of a method there may be time that passes, or a crash from which the engine comes back. Whatever is
 * asked, each call is answered once and by the rules of world.h, and a server can be started on what is on
 * the disk afterwards. */
#include "fuzz.h"
#include "world.h"

#define CALLS_MAX 8
#define INPUT_BYTES_MAX 4096

enum { TIME_PASSES = 0xff, SERVER_CRASHES = 0xfe };

struct input {
    const uint8_t *p, *end;
};

static uint8_t take_byte(struct input *in) {
    return in->p < in->end ? *in->p++ : 0;
}

static struct str take_bytes(struct input *in, size_t n) {
    struct str s = str_bytes(in->p, MIN(n, (size_t)(in->end - in->p)));
    in->p += s.n;
    return s;
}

static struct str take_body(struct input *in) {
    size_t low = take_byte(in);
    return take_bytes(in, low | (size_t)take_byte(in) << 8);
}

static void act(struct world *w, struct input *in) {
    uint8_t what = take_byte(in);
    if (what == TIME_PASSES)
        world_advance(w, INT64_C(1000) << take_byte(in) % 28);
    else if (what == SERVER_CRASHES)
        world_crash(w);
    else
        (void)world_ask(w, method_at(what % METHOD_COUNT), take_body(in)); /* world_close() looks at it */
    ensure(w->is_ready && !w->is_damaged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, data + size};
    struct world w;
    if (size == 0 || size > INPUT_BYTES_MAX)
        return 0;
    world_open(&w);
    for (int i = 0; i < CALLS_MAX && in.p < in.end; i++)
        act(&w, &in);
    world_crash(&w);
    ensure(w.is_ready && !w.is_damaged);
    world_close(&w);
    return 0;
}

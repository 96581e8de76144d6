/* Bytes as calls, one after the other (script.h).
 *
 * Whatever is asked, each call is answered once and by the rules of world.h, and a server can be started on
 * what is on the disk afterwards. */
#include "fuzz.h"
#include "script.h"

#define STEPS_MAX 8
#define INPUT_BYTES_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct script script = {data, data + size};
    struct world w;
    struct ask *a; /* world_close() looks at it */
    if (size == 0 || size > INPUT_BYTES_MAX)
        return 0;
    world_open(&w);
    for (int i = 0; i < STEPS_MAX && script_step(&script, &w, &a); i++)
        ensure(w.is_ready && !w.is_damaged);
    world_crash(&w);
    ensure(w.is_ready && !w.is_damaged);
    world_close(&w);
    return 0;
}

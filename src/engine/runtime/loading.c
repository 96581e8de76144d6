/* Calls that wait for the store, and the deadlines that wait for them.
 *
 * A call that arrived before a deadline wins over it, also when its run, or the run that its workflow id
 * means, has to be loaded first. So the time up to which deadlines are judged moves on in phases. A phase
 * ends when the calls that were being loaded as it began are loaded; then what had been heard at its
 * beginning counts. Calls that come later belong to the next phase, so there is no load under which deadlines
 * wait for ever. A store that is slow does not hold them back for longer than a second. */
#include "engine/runtime/engine_int.h"

static bool is_quiet(const struct loading *l) {
    return l->counts[0] == 0 && l->counts[1] == 0;
}

void op_wait_load(struct op *op) {
    struct loading *l = &op->e->loading;
    if (op_is_errand(op) || op->is_loading)
        return;
    op->is_loading = true;
    op->phase = MAX(op->phase, l->phase > 0 ? l->phase - 1 : 0);
    l->counts[op->phase % 2]++;
}

void op_end_load(struct op *op) {
    if (!op->is_loading)
        return;
    op->is_loading = false;
    op->e->loading.counts[op->phase % 2]--;
}

void loading_hear(struct engine *e, struct now heard) {
    struct loading *l = &e->loading;
    if (is_quiet(l)) {
        e->judged = l->next = heard;
        l->since = e->now.mono;
        return;
    }
    size_t before = l->counts[(l->phase + 1) % 2];
    if (before && loading_wait_us(e, e->now) > 0)
        return;
    e->judged = l->next;
    l->next = heard;
    l->since = e->now.mono;
    l->phase++;
}

int64_t loading_wait_us(const struct engine *e, struct now now) {
    if (is_quiet(&e->loading))
        return 0;
    return MAX(e->loading.since.us + ENGINE_LOADING_MS * USEC_PER_MS - now.mono.us, 0);
}

/* All runs of a workflow id are sorted by when they were made, and each is compared with the one before. */
#include "tenure.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model.h"
#include "names.h"
#include "world.h"

/* The first events of a copy have the times of its base. */
static int64_t made_us(const struct run_model *run) {
    return run->is_copy ? run->reset_wall_us : run->start_wall_us;
}

/* One that was deleted while it was open is not seen to close. */
static int64_t closed_us(const struct run_model *run) {
    return run->close_wall_us ? run->close_wall_us : INT64_MAX;
}

static int by_making(const void *a, const void *b) {
    const struct run_model *x = *(struct run_model *const *)a, *y = *(struct run_model *const *)b;
    if (made_us(x) != made_us(y))
        return made_us(x) < made_us(y) ? -1 : 1;
    /* One that made way at once came before the one it made way for. */
    int64_t x_us = closed_us(x), y_us = closed_us(y);
    return x_us < y_us ? -1 : x_us > y_us;
}

/* Of two that were made in one instant, one has gone before anybody saw when it closed. */
static bool is_either_first(const struct run_model *a, const struct run_model *b) {
    return made_us(a) == made_us(b) && (!a->close_wall_us || !b->close_wall_us);
}

/* One open run at any time: those of one workflow id do not overlap. */
static void check_no_overlap(struct world *w, const struct run_model *before, const struct run_model *run) {
    if (!before->is_deleted && !is_either_first(before, run) && made_us(run) < before->close_wall_us)
        world_fail(w, "one_open_run_per_id", "run=%s began %" PRId64 " us before run=%s closed", run->run_id,
                   before->close_wall_us - made_us(run), before->run_id);
}

/* G2: what the policies for workflow ids promise. */
static void check_id_policy(struct world *w, const struct run_model *before, const struct run_model *run) {
    const struct request_model *request = run->request;
    bool is_start = request && !run->is_copy && !run->before;
    bool was_deleted = before->is_deleted && before->delete_sent_wall_us <= made_us(run);
    if (!is_start || was_deleted || made_us(before) == made_us(run))
        return;
    if (request->reuse_policy == WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
        world_fail(w, "id_policy",
                   "request=%s made run=%s although run=%s exists and duplicates are rejected", request->id,
                   run->run_id, before->run_id);
    if (request->reuse_policy == WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY &&
        before->close_type == EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
        world_fail(w, "id_policy", "request=%s made run=%s although run=%s completed", request->id,
                   run->run_id, before->run_id);
}

/* A run that was deleted before anybody read it may have been made at any time, and be the one that counts.
 */
static bool is_order_known(const struct run_model *latest) {
    for (const struct run_model *run = latest; run; run = run->older)
        if (!made_us(run))
            return false;
    return true;
}

static void check_tenures(struct world *w, struct run_model *latest) {
    struct run_model **runs = NULL;
    size_t count = 0, cap = 0;
    for (struct run_model *run = latest; run; run = run->older) {
        if (!made_us(run))
            continue;
        runs = model_grow(runs, count, &cap, sizeof(struct run_model *));
        runs[count++] = run;
    }
    if (count > 1)
        qsort(runs, count, sizeof(*runs), by_making);
    for (size_t i = 1; i < count; i++) {
        check_no_overlap(w, runs[i - 1], runs[i]);
        if (is_order_known(latest) && !(i > 1 && is_either_first(runs[i - 2], runs[i - 1])))
            check_id_policy(w, runs[i - 1], runs[i]);
    }
    mem_free(runs);
}

void tenure_check_all(struct world *w) {
    struct run_model *latest;
    if (world_clock_jumped(w))
        return;
    for (size_t i = 0; (latest = map_next(&w->model.latest, &i));)
        check_tenures(w, latest);
}

/* One simulated server process over a disk that outlives it.
 *
 * A crash drops the store and the engine; nobody hears from them again. The
 * calls that were open end as "outcome unknown". Requests made while the
 * process is down, loading or stopping are refused. */
#pragma once

#include "agenda.h"
#include "base/list.h"
#include "cal/cal.h"
#include "engine/engine.h"
#include "store/mem/mem_store.h"

#define SERVER_RETENTION_US (INT64_C(10000) * 24 * 3600 * USEC_PER_SEC) /* longer than any world */

enum server_state { SERVER_DOWN, SERVER_LOADING, SERVER_UP, SERVER_STOPPING };

struct server {
    struct mem_disk *disk;
    struct store *store;
    struct engine *engine;
    enum server_state state;
    bool is_dying; /* what the engine says now is not heard */
    bool crash_wanted; /* at the end of this step */
    uint32_t epoch; /* counts processes */
    uint64_t stop_step; /* since when it is stopping */
    uint64_t commits;
    struct list open; /* struct rpc.link: calls that the engine holds */
    struct happening restart;
    struct cal_zones zones;
};

void server_init(struct world *w);
void server_done(struct world *w);
void server_start(struct world *w);
void server_crash(struct world *w, const char *why);
void server_stop(struct world *w); /* gracefully; server_step() sees it through */
/* At the end of a world: what metrics say of open runs and schedules is what a start counts. Nothing is to be done any
 * more. */
void server_check_tallies(struct world *w);
bool server_accepts(const struct world *w);
void server_tell_time(struct world *w);
size_t server_store_work(const struct world *w); /* store operations that wait */
void server_store_step(struct world *w); /* does one of them */
void server_step(struct world *w); /* what must happen at the end of each step */

/* What the fuzz targets of the engine share: an engine on a store, and calls to it by method and
 * bytes.
 *
 * Nothing is kept between inputs. Each call must end exactly once, with an answer of its method's type that
 * the wire would take or with an error that a client may be told; neither is ever "internal". A call has a
 * deadline of a minute, and world_close() ensures that none outlived it. */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "engine/engine.h"
#include "serve/dispatch.h"
#include "store/mem/mem_store.h"

#define WORLD_T0 (INT64_C(1767225600) * USEC_PER_SEC)

struct world {
    const char *path; /* of a SQLite file; NULL: in memory */
    int wake_fd; /* the file's store has something */
    struct mem_disk *disk;
    struct store *store;
    struct engine *engine;
    struct method_context dispatch;
    struct now now;
    uint64_t seed; /* another one for each start: ids must not come again */
    bool is_ready;
    bool is_damaged; /* the engine said that the store cannot be read, or would not start */
    bool is_brief; /* who asks reads packed answers: decoding all of them was a quarter of the time */
    bool is_calm; /* what is asked is not the script's: no allocation of it fails */
    struct list open; /* asks */
    struct buf token; /* of the last task that was handed out */
    char run_id[64]; /* the last that was named in an answer */
};

struct ask {
    struct call call;
    struct arena arena;
    struct world *world;
    const struct method *method;
    struct list link;
    bool is_done;
    bool is_doubtful; /* answered although its memory had run out: something may be missing */
    int code; /* 0: answered */
    struct buf packed; /* the answer, as it goes to the wire */
    Schedule__SchedulePolicies policies; /* for a request without them */
    Google__Protobuf__Duration catchup;
    struct arena kept;
    ProtobufCMessage *answer; /* there; NULL unless answered, or when the world is brief */
};

void world_open(struct world *w);
void world_open_on(struct world *w,
                   struct mem_disk *disk); /* owned by the world then; take it back before the close */
/* On a file of SQLite, which outlives the world. Whether it came up is in is_ready. */
void world_open_file(struct world *w, const char *path);
void world_boot(struct world *w); /* on what is on the disk */
/* What was not committed is gone and open calls fail; with a file: the server stops and starts. */
void world_crash(struct world *w);
void world_turn(struct world *w); /* until nothing is uncommitted */
void world_advance(struct world *w, int64_t us);
/* Ends the world: polls are told that the server stops, time passes, every call has ended. */
void world_close(struct world *w);

const struct method *world_method(const char *name);
/* Sends what the bytes say to a method. Where a field holds just "@", the last token or run id stands. NULL
 * when the bytes are no such request. Freed by ask_free() or world_close(). */
struct ask *world_ask(struct world *w, const struct method *m, struct str bytes);
struct ask *world_send(struct world *w, const char *method, const ProtobufCMessage *request);
void ask_free(struct ask *a); /* a call that is open is cancelled */

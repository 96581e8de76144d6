/* One activity poller of a worker: polls, works, heartbeats, answers, polls again. */
#pragma once

#include "program.h"
#include "workflowservice.pb-c.h"
#include "world.h"

struct worker;

#define ACTIVITY_TOKEN_MAX 512

struct activity_slot {
    struct worker *worker;
    struct rpc *rpc;
    struct rpc *echo; /* the second of two equal answers */
    struct happening next;
    uint8_t token[ACTIVITY_TOKEN_MAX];
    size_t token_len;
    struct run_model *run;
    uint32_t number;
    int32_t attempt;
    struct activity_plan plan;
    int64_t work_until_us;
    bool is_cancelled;
    bool is_lingering; /* without a word; it answers when another attempt has begun */
    bool is_eager; /* never polls: it is given tasks that come with answers */
    char result[32];
};

void activity_slot_init(struct activity_slot *s, struct worker *worker);
void activity_slot_done(struct activity_slot *s);
void activity_slot_begin(struct activity_slot *s);
void activity_slot_end(struct activity_slot *s); /* the worker died */
/* Another attempt of the same activity has begun. */
void activity_slot_hear(struct activity_slot *s, const struct activity_slot *other);
bool activity_slot_is_free(const struct activity_slot *s); /* an eager one */
void activity_slot_give(struct activity_slot *s, const Ws__PollActivityTaskQueueResponse *task);

/* What operators do to pending activities: pause, unpause, reset, new options.
 *
 * Each request chooses one activity by its id, or all of a type, or all. It
 * does nothing at all when one of them cannot be changed. */
#pragma once

#include <google/protobuf/field_mask.pb-c.h>

#include "activity.pb-c.h"
#include "core/activity/activity.h"

struct activity_choice { /* exactly one is set */
    const char *id;
    const char *type;
    bool is_all;
};
/* The first chosen activity at or behind *index, which then stands behind it; NULL: no more. */
State__Activity *activity_next(const State__Execution *st, const struct activity_choice *c, size_t *index);

struct activity_pause {
    const char *identity;
    const char *reason;
    const char *request_id; /* the same one again is no error */
};
int activity_pause(struct step *s, const struct activity_choice *c,
                   const struct activity_pause *p) must_check;

struct activity_unpause {
    bool resets_attempts;
    bool resets_heartbeat;
    int64_t jitter_us;
};
/* Those that are not paused stay as they are. */
int activity_unpause(struct step *s, const struct activity_choice *c,
                     const struct activity_unpause *u) must_check;

struct activity_reset {
    bool resets_heartbeat;
    bool keeps_paused;
    bool restores_options;
    int64_t jitter_us;
};
/* A running attempt goes on, and its worker hears of it with the next heartbeat; others begin again at once.
 */
int activity_reset(struct step *s, const struct activity_choice *c,
                   const struct activity_reset *r) must_check;

/* Changes the options that the mask names, in snake_case or camelCase. */
int activity_update_options(struct step *s, const struct activity_choice *c,
                            const Activity__ActivityOptions *options,
                            const Google__Protobuf__FieldMask *mask) must_check;
/* Back to what the workflow asked for. */
int activity_restore_options(struct step *s, const struct activity_choice *c) must_check;

/* The options that hold now, as a message whose parts live in this struct and in the activity. */
struct activity_options {
    Activity__ActivityOptions message;
    Taskqueue__TaskQueue queue;
    Google__Protobuf__Duration timeouts[4];
};
void activity_options(const State__Activity *a, struct activity_options *ret);

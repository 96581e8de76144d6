/* What the files about activities share. Nobody outside of them includes it. */
#pragma once

#include "core/activity/activity.h"
#include "core/activity/activity_control.h"

#define ACTIVITY_GONE_TEXT                                                                                   \
    "invalid activityID or activity already timed out or invoking workflow is completed"

struct activity_timeouts { /* microseconds; 0 means "none" */
    int64_t schedule_to_close;
    int64_t schedule_to_start;
    int64_t start_to_close;
    int64_t heartbeat;
};

/* Fills in what was left open, so that every attempt is bounded; false when nothing bounds it. */
bool activity_normalise(struct activity_timeouts *t, int64_t run_timeout_us);

/* No worker has it: offers it at that time, which is now when the time has passed. */
void activity_offer_at(struct step *s, State__Activity *a, int64_t at_us);
/* What a reset asked for is done with the attempt that it met. */
void activity_end_reset(struct step *s, State__Activity *a);
void activity_forget_heartbeat(struct step *s, State__Activity *a);

/* Changes each chosen activity of an open run; ERR_NOT_FOUND when there is none, or the first error. */
typedef int activity_change(struct step *s, State__Activity *a, const void *how);
int activity_change_chosen(struct step *s, const struct activity_choice *c, activity_change *fn,
                           const void *how) must_check;
/* The values only; who calls it sees to the offer. */
void activity_put_back_options(struct step *s, State__Activity *a);

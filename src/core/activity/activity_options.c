/* The options of an activity: its queue, timeouts, retry policy and priority.
 *
 * A mask names what to change. The result is checked as a whole, like the
 * command that scheduled the activity, and then takes hold at once: deadlines
 * follow from the state, and an offer that no worker has taken is made anew.
 * The options that the workflow asked for are kept from the first change on. */
#include <string.h>

#include "core/activity/activity_int.h"
#include "core/step/retry.h"
#include "core/step/validate.h"

enum option {
    OPTION_QUEUE = 1 << 0,
    OPTION_SCHEDULE_TO_CLOSE = 1 << 1,
    OPTION_SCHEDULE_TO_START = 1 << 2,
    OPTION_START_TO_CLOSE = 1 << 3,
    OPTION_HEARTBEAT = 1 << 4,
    OPTION_PRIORITY_KEY = 1 << 5,
    OPTION_FAIRNESS_KEY = 1 << 6,
    OPTION_FAIRNESS_WEIGHT = 1 << 7,
    OPTION_PRIORITY = OPTION_PRIORITY_KEY | OPTION_FAIRNESS_KEY | OPTION_FAIRNESS_WEIGHT,
    OPTION_RETRY_INITIAL = 1 << 8,
    OPTION_RETRY_COEFFICIENT = 1 << 9,
    OPTION_RETRY_MAXIMUM = 1 << 10,
    OPTION_RETRY_ATTEMPTS = 1 << 11,
    OPTION_RETRY_TYPES = 1 << 12,
    OPTION_RETRY = OPTION_RETRY_INITIAL | OPTION_RETRY_COEFFICIENT | OPTION_RETRY_MAXIMUM |
                   OPTION_RETRY_ATTEMPTS | OPTION_RETRY_TYPES,
};

static const struct option_path {
    const char *path; /* without underscores; case does not matter */
    unsigned options;
} option_paths[] = {
    {"taskQueue", OPTION_QUEUE},
    {"taskQueue.name", OPTION_QUEUE},
    {"scheduleToCloseTimeout", OPTION_SCHEDULE_TO_CLOSE},
    {"scheduleToStartTimeout", OPTION_SCHEDULE_TO_START},
    {"startToCloseTimeout", OPTION_START_TO_CLOSE},
    {"heartbeatTimeout", OPTION_HEARTBEAT},
    {"priority", OPTION_PRIORITY},
    {"priority.priorityKey", OPTION_PRIORITY_KEY},
    {"priority.fairnessKey", OPTION_FAIRNESS_KEY},
    {"priority.fairnessWeight", OPTION_FAIRNESS_WEIGHT},
    {"retryPolicy", OPTION_RETRY},
    {"retryPolicy.initialInterval", OPTION_RETRY_INITIAL},
    {"retryPolicy.backoffCoefficient", OPTION_RETRY_COEFFICIENT},
    {"retryPolicy.maximumInterval", OPTION_RETRY_MAXIMUM},
    {"retryPolicy.maximumAttempts", OPTION_RETRY_ATTEMPTS},
    {"retryPolicy.nonRetryableErrorTypes", OPTION_RETRY_TYPES},
    {"startDelay", 0}, /* an option of activities without a workflow; nothing to change here */
};

void activity_options(const State__Activity *a, struct activity_options *ret) {
    activity__activity_options__init(&ret->message);
    taskqueue__task_queue__init(&ret->queue);
    ret->queue.name = a->task_queue;
    ret->queue.normal_name = a->task_queue;
    ret->timeouts[0] = pb_duration(a->schedule_to_close_us);
    ret->timeouts[1] = pb_duration(a->schedule_to_start_us);
    ret->timeouts[2] = pb_duration(a->start_to_close_us);
    ret->timeouts[3] = pb_duration(a->heartbeat_timeout_us);
    ret->message.task_queue = &ret->queue;
    ret->message.schedule_to_close_timeout = &ret->timeouts[0];
    ret->message.schedule_to_start_timeout = &ret->timeouts[1];
    ret->message.start_to_close_timeout = &ret->timeouts[2];
    ret->message.heartbeat_timeout = &ret->timeouts[3];
    ret->message.retry_policy = a->retry_policy;
    ret->message.priority = a->priority;
}

/* the mask */

static int options_read_mask(const Google__Protobuf__FieldMask *mask, unsigned *ret, struct err *err) {
    *ret = 0;
    for (size_t i = 0; i < mask->n_paths; i++) {
        const struct option_path *found = NULL;
        for (size_t k = 0; k < ARRAY_LEN(option_paths) && !found; k++)
            if (mask_path_is(mask->paths[i], option_paths[k].path))
                found = &option_paths[k];
        if (!found)
            return err_set(err, ERR_INVALID, "UpdateMask names \"%.100s\", which is no option of an activity",
                           mask->paths[i]);
        *ret |= found->options;
    }
    return 0;
}

/* merging */

struct merged {
    const char *queue;
    struct activity_timeouts timeouts;
    Common__Priority priority;
    Common__RetryPolicy retry;
};

static int change_priority(struct merged *m, const Common__Priority *in, unsigned changes, struct err *err) {
    static const Common__Priority none = COMMON__PRIORITY__INIT;
    if (!(changes & OPTION_PRIORITY))
        return 0;
    if (!in && (changes & OPTION_PRIORITY) != OPTION_PRIORITY)
        return err_set(err, ERR_INVALID, "Priority is not provided");
    if (!in)
        in = &none;
    if (changes & OPTION_PRIORITY_KEY)
        m->priority.priority_key = in->priority_key;
    if (changes & OPTION_FAIRNESS_KEY)
        m->priority.fairness_key = in->fairness_key;
    if (changes & OPTION_FAIRNESS_WEIGHT)
        m->priority.fairness_weight = in->fairness_weight;
    return validate_priority(&m->priority, err);
}

static int merge_retry(struct merged *m, const Common__RetryPolicy *in, unsigned changes, struct err *err) {
    if (!(changes & OPTION_RETRY))
        return 0;
    if (!in)
        return err_set(err, ERR_INVALID, "RetryPolicy is not provided");
    if (changes & OPTION_RETRY_INITIAL)
        m->retry.initial_interval = in->initial_interval;
    if (changes & OPTION_RETRY_COEFFICIENT)
        m->retry.backoff_coefficient = in->backoff_coefficient;
    if (changes & OPTION_RETRY_MAXIMUM)
        m->retry.maximum_interval = in->maximum_interval;
    if (changes & OPTION_RETRY_ATTEMPTS)
        m->retry.maximum_attempts = in->maximum_attempts;
    if (changes & OPTION_RETRY_TYPES) {
        m->retry.n_non_retryable_error_types = in->n_non_retryable_error_types;
        m->retry.non_retryable_error_types = in->non_retryable_error_types;
    }
    return retry_validate(&m->retry, err);
}

static int merge_timeout(int64_t *into, const Google__Protobuf__Duration *in, bool is_changed,
                         struct err *err) {
    if (!is_changed)
        return 0;
    if (!pb_duration_valid(in))
        return err_set(err, ERR_INVALID, "A timeout of ActivityOptions is negative or malformed.");
    *into = pb_wait_us(in);
    return 0;
}

static int merge_timeouts(struct step *s, struct merged *m, const Activity__ActivityOptions *in,
                          unsigned changes) {
    struct activity_timeouts *t = &m->timeouts;
    int rc = merge_timeout(&t->schedule_to_close, in->schedule_to_close_timeout,
                           changes & OPTION_SCHEDULE_TO_CLOSE, s->err);
    if (rc == 0)
        rc = merge_timeout(&t->schedule_to_start, in->schedule_to_start_timeout,
                           changes & OPTION_SCHEDULE_TO_START, s->err);
    if (rc == 0)
        rc = merge_timeout(&t->start_to_close, in->start_to_close_timeout, changes & OPTION_START_TO_CLOSE,
                           s->err);
    if (rc == 0)
        rc = merge_timeout(&t->heartbeat, in->heartbeat_timeout, changes & OPTION_HEARTBEAT, s->err);
    if (rc == 0 && !activity_normalise(t, s->st->run_timeout_us))
        rc = err_set(s->err, ERR_INVALID,
                     "A valid StartToClose or ScheduleToCloseTimeout is not set on ActivityOptions.");
    return rc;
}

static int merge_queue(struct step *s, struct merged *m, const Taskqueue__TaskQueue *in, unsigned changes) {
    if (!(changes & OPTION_QUEUE))
        return 0;
    if (!in)
        return err_set(s->err, ERR_INVALID, "TaskQueue is not provided");
    if (cstr_is_empty(in->name)) { /* as in the command: where the workflow is */
        m->queue = s->st->task_queue;
        return 0;
    }
    m->queue = in->name;
    return validate_task_queue(in, s->err);
}

/* taking hold */

static Common__RetryPolicy options_retry_policy(const Common__RetryPolicy *p) {
    static const Common__RetryPolicy none = COMMON__RETRY_POLICY__INIT;
    return p ? *p : none;
}

static struct merged merged_of(const State__Activity *a) {
    static const Common__Priority no_priority = COMMON__PRIORITY__INIT;
    return (struct merged){
        .queue = a->task_queue,
        .timeouts = {a->schedule_to_close_us, a->schedule_to_start_us, a->start_to_close_us,
                     a->heartbeat_timeout_us},
        .priority = a->priority ? *a->priority : no_priority,
        .retry = options_retry_policy(a->retry_policy),
    };
}

/* A back-off that goes on is measured again with the policy that holds now. */
static int64_t next_offer_us(const State__Activity *a, bool is_policy_new) {
    struct retry_plan plan = retry_plan(a->retry_policy);
    if (a->is_offered || a->attempt <= 1 || !is_policy_new)
        return a->scheduled_us;
    return usec_add(a->last_complete_us, retry_backoff_us(&plan, a->attempt - 1));
}

static void put_options(struct step *s, State__Activity *a, const struct merged *m, unsigned changes) {
    pb_set_string(&a->task_queue, m->queue, &s->failed);
    a->schedule_to_close_us = m->timeouts.schedule_to_close;
    a->schedule_to_start_us = m->timeouts.schedule_to_start;
    a->start_to_close_us = m->timeouts.start_to_close;
    a->heartbeat_timeout_us = m->timeouts.heartbeat;
    if (changes & OPTION_PRIORITY)
        pb_set_message(&a->priority, &m->priority, &s->failed);
    if (changes & OPTION_RETRY)
        pb_set_message(&a->retry_policy, retry_normalised(s, &m->retry), &s->failed);
}

/* The entry in the queue of before leads nowhere from now on. */
static void replace_offer(struct step *s, State__Activity *a, bool is_policy_new) {
    if (a->started_us || a->is_paused)
        return;
    a->stamp++;
    activity_offer_at(s, a, next_offer_us(a, is_policy_new));
}

static void keep_original(struct step *s, State__Activity *a) {
    struct activity_options now;
    if (a->original_options)
        return;
    activity_options(a, &now);
    pb_set_message(&a->original_options, &now.message, &s->failed);
}

struct update {
    const Activity__ActivityOptions *options;
    unsigned changes;
};

static int update_one(struct step *s, State__Activity *a, const void *how) {
    const struct update *u = how;
    struct merged m = merged_of(a);
    int rc = merge_queue(s, &m, u->options->task_queue, u->changes);
    if (rc == 0)
        rc = merge_timeouts(s, &m, u->options, u->changes);
    if (rc == 0)
        rc = change_priority(&m, u->options->priority, u->changes, s->err);
    if (rc == 0)
        rc = merge_retry(&m, u->options->retry_policy, u->changes, s->err);
    if (rc < 0)
        return rc;
    keep_original(s, a);
    put_options(s, a, &m, u->changes);
    replace_offer(s, a, u->changes & OPTION_RETRY);
    return 0;
}

int activity_update_options(struct step *s, const struct activity_choice *c,
                            const Activity__ActivityOptions *options,
                            const Google__Protobuf__FieldMask *mask) {
    struct update u = {.options = options};
    if (!options)
        return err_set(s->err, ERR_INVALID, "ActivityOptions are not provided");
    if (!mask)
        return err_set(s->err, ERR_INVALID, "UpdateMask is not provided");
    int rc = options_read_mask(mask, &u.changes, s->err);
    return rc < 0 ? rc : activity_change_chosen(s, c, update_one, &u);
}

void activity_put_back_options(struct step *s, State__Activity *a) {
    const Activity__ActivityOptions *was = a->original_options;
    if (!was)
        return;
    struct merged m = merged_of(a);
    m.queue = was->task_queue->name;
    m.timeouts = (struct activity_timeouts){
        pb_duration_us(was->schedule_to_close_timeout), pb_duration_us(was->schedule_to_start_timeout),
        pb_duration_us(was->start_to_close_timeout), pb_duration_us(was->heartbeat_timeout)};
    m.retry = options_retry_policy(was->retry_policy);
    put_options(s, a, &m, OPTION_RETRY);
    pb_set_message(&a->priority, was->priority, &s->failed);
    pb_set_message(&a->original_options, NULL, &s->failed);
}

static int restore_one(struct step *s, State__Activity *a, const void *how unused_arg) {
    activity_put_back_options(s, a);
    replace_offer(s, a, true);
    return 0;
}

int activity_restore_options(struct step *s, const struct activity_choice *c) {
    return activity_change_chosen(s, c, restore_one, NULL);
}

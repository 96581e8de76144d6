/* Reports of workers. Each is checked for its size and then does what activity.c
 * says. What is too large is not an error for the worker, which could only send
 * it again: the activity fails for good with a failure that names the reason. */
#include "core/activity/activity_report.h"

#include "core/activity/activity_int.h"
#include "core/step/failure.h"

static bool is_too_large(struct step *s, const void *m) {
    return !step_blob_fits(s, m, "activity report");
}

static int fail_for_good(struct step *s, State__Activity *a, const char *reason, const char *identity) {
    Failure__Failure *f = failure_final(s, reason);
    return f ? activity_fail(s, a, f, NULL, identity) : err_std(s->err, ERR_NO_MEMORY);
}

int activity_check_id(struct step *s, const char *activity_id, bool may_wait, State__Activity **ret) {
    State__Activity *a = activity_find_id(s->st, activity_id);
    if (!a)
        return err_set(
            s->err, ERR_NOT_FOUND,
            "cannot find pending activity with ActivityID %s, check workflow execution history for "
            "more details",
            activity_id);
    if (!a->started_us && !may_wait)
        return err_set(s->err, ERR_NOT_FOUND, ACTIVITY_GONE_TEXT);
    *ret = a;
    return 0;
}

int activity_report_heartbeat(struct step *s, State__Activity *a, Common__Payloads *details,
                              const char *identity, struct heartbeat_answer *ret) {
    if (is_too_large(s, details)) {
        *ret = (struct heartbeat_answer){.is_cancel_requested = true};
        return fail_for_good(s, a, "Heartbeat details exceed size limit.", identity);
    }
    ret->is_cancel_requested = a->cancel_requested_event_id != 0;
    ret->is_paused = a->is_paused;
    ret->is_reset = a->is_reset;
    if (cstr_is_empty(a->identity) && !cstr_is_empty(identity))
        pb_set_string(&a->heartbeat_identity, identity, &s->failed);
    return activity_heartbeat(s, a, details);
}

int activity_report_completed(struct step *s, State__Activity *a, Common__Payloads *result,
                              const char *identity) {
    if (!a->started_us) {
        a->started_us = s->now.us;
        pb_set_string(&a->identity, identity, &s->failed);
        pb_set_string(&a->request_id, NULL, &s->failed);
    }
    if (is_too_large(s, result))
        return fail_for_good(s, a, "Complete result exceeds size limit.", identity);
    return activity_complete(s, a, result, identity);
}

int activity_report_canceled(struct step *s, State__Activity *a, Common__Payloads *details,
                             const char *identity) {
    if (is_too_large(s, details))
        return fail_for_good(s, a, "Cancel details exceed size limit.", identity);
    return activity_cancel(s, a, details, identity);
}

static void note_cut(struct failure_cuts *cuts, Failure__Failure *f) {
    if (f)
        cuts->failures[cuts->count++] = f;
}

int activity_report_failed(struct step *s, State__Activity *a, Failure__Failure *failure,
                           Common__Payloads *last_heartbeat_details, const char *identity,
                           struct failure_cuts *ret) {
    ret->count = 0;
    if (is_too_large(s, last_heartbeat_details)) {
        last_heartbeat_details = NULL;
        note_cut(ret, failure_final(s, "Heartbeat details exceed size limit."));
    }
    if (is_too_large(s, failure)) {
        failure = failure_too_large(s, failure);
        note_cut(ret, failure);
    }
    if (s->failed)
        return err_std(s->err, ERR_NO_MEMORY);
    return activity_fail(s, a, failure, last_heartbeat_details, identity);
}

int activity_validate_failure(const Failure__Failure *failure, struct err *err) {
    for (const Failure__Failure *f = failure; f; f = f->cause)
        if (f->failure_info_case == FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO &&
            !pb_duration_valid(f->application_failure_info->next_retry_delay))
            return err_set(err, ERR_INVALID, "NextRetryDelay is not a valid duration.");
    return 0;
}

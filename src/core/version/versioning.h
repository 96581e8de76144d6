/* Which version of the workers a run belongs to.
 *
 * A worker that completes a task says how the workflow wants to be treated: pinned runs stay with the
 * version that they are on, auto-upgrade runs go where their queue's work goes now. A run that is given
 * to a worker of another version is moving: it arrives when that version completes a task, and until
 * then no activity is started for it. An override by a client comes before what workers say. */
#pragma once

#include "core/run/run.h"
#include "core/version/version.h"

struct task_pick;

/* What holds now: moving comes first, then an override, then what the last worker said. */
E__VersioningBehavior versioning_behavior(const State__Execution *st);
struct version versioning_version(const State__Execution *st);
static inline bool versioning_is_pinned(const State__Execution *st) {
    return versioning_behavior(st) == VERSIONING_BEHAVIOR_PINNED;
}
bool versioning_is_moving(const State__Execution *st);
/* Whether a worker of this version, which has completed a task, may have what comes next: the run is not on
 * its way to another, and nobody has pinned it to another meanwhile. */
bool versioning_stays(const State__Execution *st, struct version worker);
/* The first task of this run goes to the version that is being ramped up, whatever the percentage. */
bool versioning_wants_ramp(const State__Execution *st);

/* What lists and describe show: as above, but a move that has not arrived does not count. */
E__VersioningBehavior versioning_shown_behavior(const State__Execution *st);
struct version versioning_shown_version(const State__Execution *st);
const char *versioning_behavior_name(E__VersioningBehavior b); /* "Pinned"; "" for unspecified */

/* Overrides */

int versioning_check_override(const Workflow__VersioningOverride *o, struct err *err) must_check;
/* A valid override without its deprecated fields, in the arena; NULL for NULL and out of memory. */
Workflow__VersioningOverride *versioning_override(struct arena *a, const Workflow__VersioningOverride *o);
/* The version that a normal form binds to; none when it does not. */
struct version versioning_override_target(const Workflow__VersioningOverride *o);
/* ERR_PRECONDITION when no worker of that version takes workflow tasks from this queue. */
int versioning_check_served(struct step *s, const Workflow__VersioningOverride *o,
                            const char *queue) must_check;
/* Puts a normal form, or NULL, in place of the run's override; open tasks are offered anew. */
void versioning_put_override(struct step *s, const Workflow__VersioningOverride *o);

/* Steps of a run; each is part of a larger one. */

void versioning_begin(struct step *s, const struct run_birth *b, const Workflow__VersioningOverride *o);
/* A worker takes the workflow task. ERR_NOT_FOUND when the run belongs to other workers now. */
int versioning_take_task(struct step *s, const struct task_pick *pick) must_check;
/* A worker that takes an activity. */
struct version_pick {
    struct version version; /* of the worker */
    bool is_bound; /* it was offered to this version only */
    struct version workflow_target; /* where the run's workflow tasks would go now */
    int64_t revision;
};
/* *ret_moved: the run has to move to the worker's version first; the activity stays where it is. */
int versioning_take_activity(struct step *s, int64_t scheduled_event_id, const struct version_pick *pick,
                             bool *ret_moved) must_check;
int versioning_check_completion(const Ws__RespondWorkflowTaskCompletedRequest *req,
                                struct err *err) must_check;
/* A task was completed, as its event says. */
void versioning_complete(struct step *s, const History__WorkflowTaskCompletedEventAttributes *a);

/* What the next run of the chain, or a child, takes over. */
struct version_legacy {
    const Deployment__WorkerDeploymentVersion *pin;
    const Deployment__InheritedAutoUpgradeInfo *upgrade;
    const History__DeclinedTargetVersionUpgrade *declined;
    Workflow__VersioningOverride *override;
    Deployment__WorkerDeploymentVersion pin_space, source_space, declined_space;
    Deployment__InheritedAutoUpgradeInfo upgrade_space;
    History__DeclinedTargetVersionUpgrade declined_upgrade_space;
};
/* Borrows from st. `queue`: of the next run. */
void versioning_bequeath_continued(const struct step *s, const char *queue,
                                   E__ContinueAsNewVersioningBehavior initial, struct version_legacy *ret);
void versioning_bequeath_retried(const struct step *s, E__ContinueAsNewInitiator initiator,
                                 struct version_legacy *ret);
void versioning_bequeath_child(const State__Execution *parent, const struct version_book *book,
                               const char *queue, struct version_legacy *ret);
void versioning_inherit(struct run_birth *b, Ws__StartWorkflowExecutionRequest *req,
                        const struct version_legacy *l);

/* Search attributes (versioning_attributes.c) */

/* Brings them up to date. stamp: of the worker that completed a task, or NULL; used: its version. */
void versioning_show(struct step *s, const Common__WorkerVersionStamp *stamp, struct version used);
/* BinaryChecksums: those of the reset points, the latest of them that have room. */
void versioning_show_checksums(struct step *s);
/* A copy without those that follow from versions, which the next run does not take over. */
Common__SearchAttributes *versioning_strip(struct step *s, const Common__SearchAttributes *in);

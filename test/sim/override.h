/* Versioning overrides: somebody decides which version of the workers a run goes to, whatever its workers
 * say.
 *
 * A request is known again in the history by the identity that it carries. It also sets a fairness key of its
 * own, so that it leaves an event even when the override is what it was. */
#pragma once

#include "history.pb-c.h"
#include "rollout.h"
#include "workflow.pb-c.h"

struct errand;
struct rpc;

enum override_kind { OVERRIDE_NONE, OVERRIDE_PIN, OVERRIDE_ONCE, OVERRIDE_UPGRADE, OVERRIDE_KIND_COUNT };

struct override_choice {
    enum override_kind kind;
    char build_id[ROLLOUT_BUILD_MAX]; /* of a pin, or of one task */
};

/* What it asks for follows from a number, so that it can be sent again as it was. */
struct override_choice override_draw(uint64_t number);
Workflow__WorkflowExecutionOptions *override_options(struct arena *a, const struct override_choice *c,
                                                     const char *id);
Google__Protobuf__FieldMask *override_mask(struct arena *a);
const void *override_request(const struct errand *e, struct arena *a);

/* From the history: a run begins with one, one is put, a task was completed. */
void override_note_start(struct run_model *run, const Workflow__VersioningOverride *o);
void override_apply(struct world *w, struct run_model *run, const History__HistoryEvent *e);
void override_note_completion(struct run_model *run, const char *build_id);
/* The version that an override binds the run to; NULL: what its workers said holds; "": none. */
const char *override_build(const struct run_model *run);

void override_on_ok(struct rpc *r);
void override_check_all(struct world *w);

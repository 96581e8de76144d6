/* A worker version: which build of which deployment. No deployment means workers without a version. */
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/err.h"
#include "base/str.h"
#include "core/step/limits.h"
#include "deployment.pb-c.h"

#define VERSION_UNVERSIONED_TEXT "__unversioned__"
#define VERSION_DELIMITER ':'
#define VERSION_OLD_DELIMITER '.' /* of the texts in deprecated fields */

/* Other servers of this API make one id of both, so each may have half of what an id may. */
#define VERSION_PART_BYTES ((LIMIT_ID_BYTES - 39) / 2)

/* Borrows its texts. */
struct version {
    const char *deployment;
    const char *build_id;
};

static inline bool version_is_none(struct version v) {
    return cstr_is_empty(v.deployment);
}
bool version_eq(struct version a, struct version b);
struct version version_of(const Deployment__WorkerDeploymentVersion *m); /* NULL: none */
/* What a worker says of itself; none unless it asks for versioning. */
struct version version_of_options(const Deployment__WorkerDeploymentOptions *o);

/* Replaces a field of a message that lives on the heap; none becomes NULL. */
void version_set(Deployment__WorkerDeploymentVersion **field, struct version v, bool *failed);
/* NULL for none, and when the arena is exhausted. */
Deployment__WorkerDeploymentVersion *version_message(struct arena *a, struct version v);
/* "deployment:build"; none is `none`. NULL when the arena is exhausted. */
char *version_text(struct arena *a, struct version v, char delimiter, const char *none);
/* Whether the text names a version, with either delimiter. */
int version_validate_text(const char *text, struct err *err) must_check;
/* The same, and VERSION_UNVERSIONED_TEXT, which is none. */
int version_parse(struct arena *a, const char *text, struct version *ret, struct err *err) must_check;

int version_validate_deployment(const char *name, struct err *err) must_check;
int version_validate_build_id(const char *build_id, struct err *err) must_check;
int version_validate(struct version v, struct err *err) must_check;
/* The deployment options of a worker: complete and valid when it asks for versioning. NULL is valid. */
int version_validate_options(const Deployment__WorkerDeploymentOptions *o, struct err *err) must_check;

/* Where a workflow id stands among all, in [0, 100): below a ramp's percentage it goes to the ramp. */
double version_ramp_place(const char *workflow_id);

/* Versions as values: comparing, spelling, reading, validating. */
#include "core/version/version.h"

#include "core/step/pb.h"
#include "names.h"

#define DELIMITERS ":."

bool version_eq(struct version a, struct version b) {
    if (version_is_none(a) || version_is_none(b))
        return version_is_none(a) && version_is_none(b);
    return cstr_eq(a.deployment, b.deployment) && cstr_eq(a.build_id, b.build_id);
}

struct version version_of(const Deployment__WorkerDeploymentVersion *m) {
    return m ? (struct version){m->deployment_name, m->build_id} : (struct version){0};
}

struct version version_of_options(const Deployment__WorkerDeploymentOptions *o) {
    if (!o || o->worker_versioning_mode != WORKER_VERSIONING_MODE_VERSIONED)
        return (struct version){0};
    return (struct version){o->deployment_name, o->build_id};
}

void version_set(Deployment__WorkerDeploymentVersion **field, struct version v, bool *failed) {
    Deployment__WorkerDeploymentVersion m = DEPLOYMENT__WORKER_DEPLOYMENT_VERSION__INIT;
    m.deployment_name = (char *)(uintptr_t)v.deployment;
    m.build_id = (char *)(uintptr_t)v.build_id;
    pb_set_message(field, version_is_none(v) ? NULL : &m, failed);
}

Deployment__WorkerDeploymentVersion *version_message(struct arena *a, struct version v) {
    Deployment__WorkerDeploymentVersion *m =
        version_is_none(v) ? NULL : arena_new(a, Deployment__WorkerDeploymentVersion);
    if (!m)
        return NULL;
    deployment__worker_deployment_version__init(m);
    m->deployment_name = arena_strdup(a, v.deployment);
    m->build_id = arena_strdup(a, v.build_id);
    return m;
}

char *version_text(struct arena *a, struct version v, char delimiter, const char *none) {
    if (version_is_none(v))
        return arena_strdup(a, none);
    return arena_printf(a, "%s%c%s", v.deployment, delimiter, v.build_id);
}

int version_validate_text(const char *text, struct err *err) {
    size_t n = strcspn(text, DELIMITERS);
    if (n == 0 || !text[n] || !text[n + 1])
        return err_set(
            err, ERR_INVALID,
            "Invalid version \"%.200s\": a version is a deployment, a dot or colon, and a build id.", text);
    return 0;
}

int version_parse(struct arena *a, const char *text, struct version *ret, struct err *err) {
    *ret = (struct version){0};
    if (cstr_eq(text, VERSION_UNVERSIONED_TEXT))
        return 0;
    int rc = version_validate_text(text, err);
    if (rc < 0)
        return rc;
    size_t n = strcspn(text, DELIMITERS);
    ret->deployment = arena_strndup(a, text, n);
    ret->build_id = arena_strdup(a, text + n + 1);
    return ret->deployment && ret->build_id ? 0 : err_std(err, ERR_NO_MEMORY);
}

static int validate_part(const char *part, const char *what, struct err *err) {
    if (cstr_is_empty(part))
        return err_set(err, ERR_INVALID, "%s is not set.", what);
    if (strlen(part) > VERSION_PART_BYTES)
        return err_set(err, ERR_INVALID, "%s exceeds length limit.", what);
    if (strncmp(part, "__", 2) == 0)
        return err_set(err, ERR_INVALID, "%s must not begin with '__'.", what);
    return 0;
}

int version_validate_deployment(const char *name, struct err *err) {
    int rc = validate_part(name, "WorkerDeploymentName", err);
    if (rc == 0 && strchr(name, VERSION_OLD_DELIMITER))
        return err_set(err, ERR_INVALID, "WorkerDeploymentName must not contain '%c'.",
                       VERSION_OLD_DELIMITER);
    if (rc == 0 && strchr(name, VERSION_DELIMITER))
        return err_set(err, ERR_INVALID, "WorkerDeploymentName must not contain '%c'.", VERSION_DELIMITER);
    return rc;
}

int version_validate_build_id(const char *build_id, struct err *err) {
    return validate_part(build_id, "BuildID", err);
}

int version_validate(struct version v, struct err *err) {
    int rc = version_validate_deployment(v.deployment, err);
    return rc == 0 ? version_validate_build_id(v.build_id, err) : rc;
}

int version_validate_options(const Deployment__WorkerDeploymentOptions *o, struct err *err) {
    if (!o || o->worker_versioning_mode != WORKER_VERSIONING_MODE_VERSIONED)
        return 0;
    if (cstr_is_empty(o->deployment_name) || cstr_is_empty(o->build_id))
        return err_set(err, ERR_INVALID,
                       "A versioned worker must set both a deployment name and a build id.");
    return version_validate(version_of_options(o), err);
}

/* FNV-1a, then mixed so that the high bits depend on every byte. */
double version_ramp_place(const char *workflow_id) {
    uint32_t h = UINT32_C(0x811c9dc5);
    for (const char *p = workflow_id; *p; p++)
        h = (h ^ (uint8_t)*p) * UINT32_C(0x01000193);
    h = (h ^ h >> 16) * UINT32_C(0x85ebca6b);
    h = (h ^ h >> 13) * UINT32_C(0xc2b2ae35);
    h ^= h >> 16;
    return 100.0 * (double)h / 4294967296.0;
}

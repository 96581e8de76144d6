/* Building what describe and list show of deployments. */
#include "engine/match/deployment_info.h"

#include "engine/runtime/copy.h"
#include "engine/runtime/engine_int.h"
#include "engine/workflow/response.h"

static struct version version_in(const State__Deployment *st, const char *build_id) {
    return cstr_is_empty(build_id) ? (struct version){0} : (struct version){st->name, build_id};
}

ProtobufCBinaryData conflict_token(struct arena *a, const State__Deployment *st) {
    uint8_t bytes[8];
    deployment_token(st, bytes);
    void *copy = arena_dup(a, bytes, sizeof(bytes));
    return (ProtobufCBinaryData){copy ? sizeof(bytes) : 0, copy};
}

Deployment__RoutingConfig *routing_config(struct arena *a, const State__Deployment *st) {
    Deployment__RoutingConfig *c = arena_new(a, Deployment__RoutingConfig);
    if (!c)
        return NULL;
    deployment__routing_config__init(c);
    struct version current = version_in(st, st->current_build_id);
    struct version ramping = version_in(st, st->ramping_build_id);
    c->current_version = version_text(a, current, VERSION_OLD_DELIMITER, VERSION_UNVERSIONED_TEXT);
    c->current_deployment_version = version_message(a, current);
    c->current_version_changed_time = response_time(a, st->current_changed_us);
    if (st->is_ramping) {
        c->ramping_version = version_text(a, ramping, VERSION_OLD_DELIMITER, VERSION_UNVERSIONED_TEXT);
        c->ramping_deployment_version = version_message(a, ramping);
    }
    c->ramping_version_percentage = st->ramping_percentage;
    c->ramping_version_changed_time = response_time(a, st->ramping_changed_us);
    c->ramping_version_percentage_changed_time = response_time(a, st->percentage_changed_us);
    c->revision_number = st->revision;
    return c;
}

static Deployment__VersionDrainageInfo *drainage_info(struct arena *a, const State__DeploymentVersion *v) {
    Deployment__VersionDrainageInfo *i =
        v->drainage_status ? arena_new(a, Deployment__VersionDrainageInfo) : NULL;
    if (!i)
        return NULL;
    deployment__version_drainage_info__init(i);
    i->status = (E__VersionDrainageStatus)v->drainage_status;
    i->last_changed_time = response_time(a, v->drainage_changed_us);
    i->last_checked_time = response_time(a, v->drainage_checked_us);
    return i;
}

Deployment__WorkerDeploymentInfo__WorkerDeploymentVersionSummary *version_summary(
    struct arena *a, const State__Deployment *st, const State__DeploymentVersion *v) {
    Deployment__WorkerDeploymentInfo__WorkerDeploymentVersionSummary *i =
        v ? arena_new(a, Deployment__WorkerDeploymentInfo__WorkerDeploymentVersionSummary) : NULL;
    if (!i)
        return NULL;
    deployment__worker_deployment_info__worker_deployment_version_summary__init(i);
    struct version version = version_in(st, v->build_id);
    i->version = version_text(a, version, VERSION_OLD_DELIMITER, "");
    i->deployment_version = version_message(a, version);
    i->status = (E__WorkerDeploymentVersionStatus)v->status;
    i->create_time = response_time(a, v->created_us);
    i->drainage_status = (E__VersionDrainageStatus)v->drainage_status;
    i->drainage_info = drainage_info(a, v);
    i->current_since_time = response_time(a, v->current_since_us);
    i->ramping_since_time = response_time(a, v->ramping_since_us);
    i->routing_update_time = response_time(a, v->routing_changed_us);
    i->first_activation_time = response_time(a, v->first_activated_us);
    i->last_current_time = response_time(a, v->last_current_us);
    i->last_deactivation_time = response_time(a, v->last_deactivated_us);
    return i;
}

Deployment__WorkerDeploymentInfo *deployment_info(struct arena *a, const State__Deployment *st) {
    Deployment__WorkerDeploymentInfo *i = arena_new(a, Deployment__WorkerDeploymentInfo);
    if (!i)
        return NULL;
    deployment__worker_deployment_info__init(i);
    i->name = arena_strdup(a, st->name);
    i->create_time = response_time(a, st->created_us);
    i->routing_config = routing_config(a, st);
    i->last_modifier_identity = arena_strdup(a, st->modifier_identity);
    i->manager_identity = arena_strdup(a, st->manager_identity);
    /* Queues ask the deployment itself: a change is everywhere at once. */
    i->routing_config_update_state = ROUTING_CONFIG_UPDATE_STATE_COMPLETED;
    i->version_summaries =
        arena_array(a, Deployment__WorkerDeploymentInfo__WorkerDeploymentVersionSummary *, st->n_versions);
    for (size_t k = st->n_versions; i->version_summaries && k-- > 0;) /* the latest first */
        i->version_summaries[i->n_version_summaries++] = version_summary(a, st, st->versions[k]);
    return i;
}

Deployment__VersionMetadata *version_metadata(struct arena *a, const State__DeploymentVersion *v) {
    Deployment__VersionMetadata *m = v->n_metadata ? arena_new(a, Deployment__VersionMetadata) : NULL;
    if (!m)
        return NULL;
    deployment__version_metadata__init(m);
    m->entries = arena_array(a, Deployment__VersionMetadata__EntriesEntry *, v->n_metadata);
    for (size_t k = 0; m->entries && k < v->n_metadata; k++) {
        Deployment__VersionMetadata__EntriesEntry *e =
            arena_new(a, Deployment__VersionMetadata__EntriesEntry);
        if (!e)
            return NULL;
        deployment__version_metadata__entries_entry__init(e);
        e->key = arena_strdup(a, v->metadata[k]->key);
        e->value = v->metadata[k]->value ? message_copy(a, &v->metadata[k]->value->base) : NULL;
        m->entries[m->n_entries++] = e;
    }
    return m;
}

static void add_queues(struct arena *a, const State__DeploymentVersion *v,
                       Deployment__WorkerDeploymentVersionInfo *i) {
    i->task_queue_infos =
        arena_array(a, Deployment__WorkerDeploymentVersionInfo__VersionTaskQueueInfo *, v->n_queues);
    for (size_t k = 0; i->task_queue_infos && k < v->n_queues; k++) {
        Deployment__WorkerDeploymentVersionInfo__VersionTaskQueueInfo *q =
            arena_new(a, Deployment__WorkerDeploymentVersionInfo__VersionTaskQueueInfo);
        if (!q)
            return;
        deployment__worker_deployment_version_info__version_task_queue_info__init(q);
        q->name = arena_strdup(a, v->queues[k]->name);
        q->type = (E__TaskQueueType)v->queues[k]->type;
        i->task_queue_infos[i->n_task_queue_infos++] = q;
    }
}

Deployment__WorkerDeploymentVersionInfo *version_info(struct arena *a, const State__Deployment *st,
                                                      const State__DeploymentVersion *v) {
    Deployment__WorkerDeploymentVersionInfo *i = arena_new(a, Deployment__WorkerDeploymentVersionInfo);
    if (!i)
        return NULL;
    deployment__worker_deployment_version_info__init(i);
    struct version version = version_in(st, v->build_id);
    i->version = version_text(a, version, VERSION_OLD_DELIMITER, "");
    i->deployment_version = version_message(a, version);
    i->deployment_name = arena_strdup(a, st->name);
    i->status = (E__WorkerDeploymentVersionStatus)v->status;
    i->create_time = response_time(a, v->created_us);
    i->routing_changed_time = response_time(a, v->routing_changed_us);
    i->current_since_time = response_time(a, v->current_since_us);
    i->ramping_since_time = response_time(a, v->ramping_since_us);
    if (v->ramping_since_us)
        i->ramp_percentage = st->ramping_percentage;
    i->drainage_info = drainage_info(a, v);
    i->metadata = version_metadata(a, v);
    i->first_activation_time = response_time(a, v->first_activated_us);
    i->last_current_time = response_time(a, v->last_current_us);
    i->last_deactivation_time = response_time(a, v->last_deactivated_us);
    i->last_modifier_identity = arena_strdup(a, v->modifier_identity);
    add_queues(a, v, i);
    return i;
}

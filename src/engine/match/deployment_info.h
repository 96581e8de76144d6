/* A worker deployment in the words of the API. */
#pragma once

#include "core/version/deployment.h"

/* All in the arena, where exhaustion shows; what is shared with the state is copied. */
Deployment__RoutingConfig *routing_config(struct arena *a, const State__Deployment *st);
Deployment__WorkerDeploymentInfo *deployment_info(struct arena *a, const State__Deployment *st);
/* NULL for NULL. */
Deployment__WorkerDeploymentInfo__WorkerDeploymentVersionSummary *version_summary(
    struct arena *a, const State__Deployment *st, const State__DeploymentVersion *v);
Deployment__WorkerDeploymentVersionInfo *version_info(struct arena *a, const State__Deployment *st,
                                                      const State__DeploymentVersion *v);
Deployment__VersionMetadata *version_metadata(struct arena *a, const State__DeploymentVersion *v);
ProtobufCBinaryData conflict_token(struct arena *a, const State__Deployment *st);

/* The full names of the services in wire/methods.def, as in gRPC paths. The only copy. */
#pragma once

#define SERVICE_WORKFLOW "temporal.api.workflowservice.v1.WorkflowService"
#define SERVICE_OPERATOR "temporal.api.operatorservice.v1.OperatorService"
#define SERVICE_HEALTH "grpc.health.v1.Health"
#define SERVICE_REFLECTION "grpc.reflection.v1.ServerReflection"
#define SERVICE_REFLECTION_ALPHA "grpc.reflection.v1alpha.ServerReflection"
#define SERVICE_SCHEDULE "rondo.api.v1.ScheduleService"
#define SERVICE_QUEUE "rondo.api.v1.TaskQueueService"

/* What the engine answers: one function for each row of wire/methods.def that names it, in the file after
 * which its group is called.
 *
 * A handler is the function that an op runs from the top, again after each load, until it has ended its call
 * exactly once (op.h). engine_call() starts one for a call. Requests are in op->req; their types are those of
 * the method's row. */
#pragma once

#include <protobuf-c/protobuf-c.h>

struct call;
struct engine;
struct op;

typedef void rpc_fn(struct op *op);

/* Starts a handler for a call. Validates the fields of the request first; fails the call when the engine is
 * not ready. The request lives in the call's arena. */
void engine_call(struct engine *e, struct call *c, rpc_fn *handler, const ProtobufCMessage *req);

/* batch/rpc_batch.c */
rpc_fn rpc_start_batch;
rpc_fn rpc_stop_batch;
rpc_fn rpc_describe_batch;

/* match/rpc_deployment.c */
rpc_fn rpc_update_worker_deployment_version_metadata;
rpc_fn rpc_describe_worker_deployment;
rpc_fn rpc_describe_worker_deployment_version;
rpc_fn rpc_list_worker_deployments;
rpc_fn rpc_create_worker_deployment;
rpc_fn rpc_create_worker_deployment_version;
rpc_fn rpc_set_worker_deployment_current_version;
rpc_fn rpc_set_worker_deployment_ramping_version;
rpc_fn rpc_set_worker_deployment_manager;
rpc_fn rpc_delete_worker_deployment;
rpc_fn rpc_delete_worker_deployment_version;

/* match/rpc_poll.c */
rpc_fn rpc_poll_workflow_task;
rpc_fn rpc_poll_activity_task;

/* match/rpc_queue.c */
rpc_fn rpc_shutdown_worker;
rpc_fn rpc_reset_sticky;
rpc_fn rpc_list_partitions;

/* match/rpc_queue_config.c */
rpc_fn rpc_update_task_queue_config;

/* match/rpc_queue_describe.c */
rpc_fn rpc_describe_task_queue;

/* match/rpc_queue_list.c */
rpc_fn rpc_list_task_queues;

/* match/rpc_worker.c */
rpc_fn rpc_record_worker;
rpc_fn rpc_list_workers;
rpc_fn rpc_count_workers;
rpc_fn rpc_describe_worker;

/* namespace/retention.c */
rpc_fn rpc_delete_workflow;

/* namespace/rpc_namespace.c */
rpc_fn rpc_describe_namespace;
rpc_fn rpc_list_namespaces;
rpc_fn rpc_register_namespace;
rpc_fn rpc_update_namespace;
rpc_fn rpc_add_search_attributes;
rpc_fn rpc_remove_search_attributes;
rpc_fn rpc_list_search_attributes;
rpc_fn rpc_get_search_attributes;

/* namespace/rpc_namespace_removal.c */
rpc_fn rpc_delete_namespace;
rpc_fn rpc_deprecate_namespace;

/* schedule/rpc_crontab.c */
rpc_fn rpc_bind_crontab;

/* schedule/rpc_holiday.c */
rpc_fn rpc_put_holiday_calendar;
rpc_fn rpc_delete_holiday_calendar;
rpc_fn rpc_list_holiday_calendars;

/* schedule/rpc_ledger.c */
rpc_fn rpc_list_schedule_ledger;
rpc_fn rpc_explain_schedule_time;

/* schedule/rpc_schedule.c */
rpc_fn rpc_create_schedule;
rpc_fn rpc_describe_schedule;
rpc_fn rpc_list_schedule_matching_times;
rpc_fn rpc_update_schedule;
rpc_fn rpc_patch_schedule;
rpc_fn rpc_delete_schedule;
rpc_fn rpc_trigger_schedule;
rpc_fn rpc_list_backfills;
rpc_fn rpc_cancel_backfill;

/* workflow/rpc_activity.c */
rpc_fn rpc_heartbeat_activity;
rpc_fn rpc_heartbeat_activity_by_id;
rpc_fn rpc_complete_activity;
rpc_fn rpc_complete_activity_by_id;
rpc_fn rpc_fail_activity;
rpc_fn rpc_fail_activity_by_id;
rpc_fn rpc_cancel_activity;
rpc_fn rpc_cancel_activity_by_id;

/* workflow/rpc_activity_control.c */
rpc_fn rpc_pause_activity;
rpc_fn rpc_unpause_activity;
rpc_fn rpc_reset_activity;
rpc_fn rpc_update_activity_options;
rpc_fn rpc_pause_activity_execution;
rpc_fn rpc_unpause_activity_execution;
rpc_fn rpc_reset_activity_execution;
rpc_fn rpc_update_activity_execution_options;

/* workflow/rpc_describe.c */
rpc_fn rpc_describe_workflow;

/* workflow/rpc_history.c */
rpc_fn rpc_get_history_reverse;
rpc_fn rpc_get_history;

/* workflow/rpc_multi.c */
rpc_fn rpc_execute_multi;

/* workflow/rpc_options.c */
rpc_fn rpc_update_workflow_options;

/* workflow/rpc_query.c */
rpc_fn rpc_query_workflow;
rpc_fn rpc_answer_query;

/* workflow/rpc_reset.c */
rpc_fn rpc_reset_workflow;

/* workflow/rpc_start.c */
rpc_fn rpc_start_workflow;
rpc_fn rpc_signal_with_start;

/* workflow/rpc_task.c */
rpc_fn rpc_complete_workflow_task;
rpc_fn rpc_fail_workflow_task;

/* workflow/rpc_update.c */
rpc_fn rpc_update_workflow;
rpc_fn rpc_poll_update;

/* workflow/rpc_visibility.c */
rpc_fn rpc_list_crontabs;
rpc_fn rpc_list_workflows;
rpc_fn rpc_scan_workflows;
rpc_fn rpc_count_workflows;
rpc_fn rpc_list_open_workflows;
rpc_fn rpc_list_closed_workflows;
rpc_fn rpc_list_archived_workflows;
rpc_fn rpc_list_schedules;
rpc_fn rpc_list_batches;
rpc_fn rpc_count_schedules;

/* workflow/rpc_workflow.c */
rpc_fn rpc_signal_workflow;
rpc_fn rpc_request_cancel;
rpc_fn rpc_terminate_workflow;
rpc_fn rpc_pause_workflow;
rpc_fn rpc_unpause_workflow;

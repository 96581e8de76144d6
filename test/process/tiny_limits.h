/* The numbers of the build with tiny limits (make tiny, -Dlimits=tiny), by the layer and the name of limits.def.
 *
 * Here is what clients can count up to and what would take long with the real number, and the times that
 * such a test waits for. limits.test.mjs reads this table. */
#pragma once

#define TINY_core_PENDING_TIMERS ~, 5
#define TINY_core_SUGGEST_UPDATES ~, 2
#define TINY_core_ATTACHED_REQUESTS ~, 5
#define TINY_core_MESSAGES ~, 50
#define TINY_core_SPEC_CALENDARS ~, 8
#define TINY_core_SCHEDULE_BUFFER ~, 6
#define TINY_core_SCHEDULE_STARTING ~, 2
#define TINY_core_SCHEDULE_RUNNING ~, 4
#define TINY_core_SCHEDULE_CONCURRENT ~, 20
#define TINY_core_SCHEDULE_CANDIDATES ~, 4
#define TINY_core_SCHEDULE_WALK ~, 10
#define TINY_core_SCHEDULE_BACKFILLS ~, 4
#define TINY_core_SCHEDULE_REQUESTS ~, 4
#define TINY_core_LEDGER_SLACK ~, 3
#define TINY_core_DEPLOYMENTS ~, 4
#define TINY_core_DEPLOYMENT_VERSIONS ~, 4
#define TINY_core_VERSION_QUEUES ~, 4
#define TINY_core_DEPLOYMENT_BYTES ~, 4096
#define TINY_core_VERSION_METADATA ~, 4
#define TINY_core_VERSION_METADATA_BYTES ~, 2048

#define TINY_engine_BATCH_PAGE ~, 4
#define TINY_engine_HOLIDAY_CALENDARS ~, 4
#define TINY_engine_HOLIDAY_DAYS ~, 6
#define TINY_engine_HOLIDAY_BYTES ~, 2048
#define TINY_engine_RUNS ~, 60
#define TINY_engine_QUEUE_TASKS ~, 8
#define TINY_engine_QUEUE_CONFIGS ~, 4
#define TINY_engine_QUEUE_WEIGHTS ~, 4
#define TINY_engine_QUEUE_KEYS ~, 4
#define TINY_engine_QUEUES ~, 400
#define TINY_engine_QUEUE_IDLE_MS ~, 1500
#define TINY_engine_VISITOR_MS ~, 1500
#define TINY_engine_BUSY_QUEUE_MS ~, 500
#define TINY_engine_WORKERS ~, 8
#define TINY_engine_LISTED_QUEUES ~, 8
#define TINY_engine_LISTED_TYPES ~, 4
#define TINY_engine_QUEUE_VISITORS ~, 4
#define TINY_engine_PARKED ~, 40
#define TINY_engine_QUERIES_PER_RUN ~, 4
#define TINY_engine_NAMESPACES ~, 8
#define TINY_engine_DEPLOYMENTS ~, 10

#define TINY_net_CONNECTIONS_MAX ~, 12
#define TINY_net_HTTP_CONNECTIONS_MAX ~, 6
#define TINY_net_HTTP_WAITING_MAX ~, 2

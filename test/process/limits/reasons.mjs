// Limits without a case, each with the reason why it needs none. A line of a limits.def that is neither here nor in
// a case fails limits.test.mjs.

const TIME = 'a time: no count reaches it';
const VIEW = 'how much one answer shows: the rest is left out, or on the next page';
const PACE = 'how much work one turn does: the rest is done by the next turns';
const PEER = 'what one peer may cost: test/unit/test_h2_limits.c and the fuzzer send the frames; nothing of it is stored';
const BUFFER = 'the size of a buffer of our own';

const reasons = {
  [TIME]: [
    'core.DEFAULT_TASK_TIMEOUT_MS', 'core.MAX_TASK_TIMEOUT_MS', 'core.TASK_RETRY_AFTER_ATTEMPTS', 'core.TASK_PROBLEMS', 'core.TASK_RETRY_INITIAL_MS',
    'core.TASK_RETRY_MAX_MS', 'core.TASK_HEARTBEAT_MS', 'core.RETRY_INITIAL_MS', 'core.RETRY_MAX_FACTOR', 'core.DURATION_DAYS',
    'core.SPECULATIVE_WAIT_MS', 'core.CALLBACK_RETRY_INITIAL_MS', 'core.CALLBACK_RETRY_MAX_MS', 'core.SCHEDULE_RETRY_MS',
    'core.SCHEDULE_RETRY_MAX_MS', 'core.SCHEDULE_CATCHUP_S', 'core.SCHEDULE_CATCHUP_MIN_S', 'core.SCHEDULE_ACTIVE_S',
    'core.SCHEDULE_KEEP_DAYS', 'core.SCHEDULE_RECHECK_S', 'core.SCHEDULE_REST_S', 'core.LEDGER_DAYS',
    'engine.POLL_MS', 'engine.POLL_MARGIN_MS', 'engine.IDLE_POLL_MS', 'engine.LATE_TASK_MS', 'engine.ADVICE_MS', 'engine.LONG_POLL_MS',
    'engine.QUERY_MS', 'engine.WAIT_MARGIN_MS', 'engine.STICKY_IDLE_MS', 'engine.TICK_RETRY_MS', 'engine.LETTER_RETRY_MS',
    'engine.SWEEP_MS', 'engine.SWEEP_FIRST_MS', 'engine.LOADING_MS', 'engine.CLOCK_STEP_MS', 'engine.CLOCK_JUMP_MS',
    'engine.CLOCK_STEADY_MS', 'engine.BATCH_RETRY_MS', 'engine.REAP_MS', 'engine.WORKER_SILENT_MS', 'engine.VISITOR_MS',
    'engine.BUSY_QUEUE_MS', 'engine.QUEUE_IDLE_MS', 'engine.DRAINAGE_MS', 'engine.DRAINAGE_MAX_MS',
    'net.MAKE_ROOM_US', 'net.HANDSHAKE_US', 'net.IDLE_US', 'net.LINGER_US', 'net.DRAIN_NOTICE_US', 'net.ACCEPT_PAUSE_US', 'net.SWEEP_US',
    'net.CONN_TURN_US', 'net.KEEPALIVE_IDLE_SEC', 'net.KEEPALIVE_PROBE_SEC', 'net.KEEPALIVE_PROBES', 'net.HEADERS_US', 'net.BODY_GAP_US', 'net.STALL_US',
  ],
  [VIEW]: [
    'core.SCHEDULE_RECENT', 'core.SCHEDULE_LISTED', 'core.SCHEDULE_LISTED_ENTRIES', 'core.SCHEDULE_FUTURE', 'core.SCHEDULE_MATCHING',
    'engine.HISTORY_PAGE_EVENTS', 'engine.HISTORY_PAGE_BYTES', 'engine.TASK_HISTORY_BYTES', 'engine.LIST_PAGE_RUNS', 'engine.LIST_PAGE_BYTES',
    'engine.LIST_ROW_BYTES', 'engine.LEDGER_PAGE_ROWS', 'engine.LISTED_TYPES', 'engine.METRIC_SPACES', 'engine.METRIC_QUEUES', 'engine.METRIC_TYPES',
    'engine.METRIC_NAME_BYTES', 'engine.SCHEDULE_LINES',
  ],
  [PACE]: [
    'core.SCHEDULE_CANDIDATES', 'core.SCHEDULE_WALK', 'core.SCHEDULE_DRAIN', 'core.SCHEDULE_ATTEMPTS', 'core.BATCH_RATE',
    'core.SCHEDULE_WORK', 'core.DUE_PER_STEP',
    'engine.SWEEP_RUNS', 'engine.SWEEP_RUNS_MAX', 'engine.SWEEP_SPACES', 'engine.SWEEP_BITES', 'engine.DROP_LOOKS', 'engine.DUE_PER_TURN', 'engine.REFRESH_SCHEDULES', 'engine.BATCH_PAGE', 'engine.BATCH_PER_TURN',
    'engine.REAP_RUNS', 'engine.QUEUE_LOOKS', 'engine.READERS_PER_TURN',
  ],
  'more are refused, as test/sdk/queues.test.mjs sees': ['engine.REACHED_BUILDS'],
  'a suggestion to the worker; nothing is refused': ['core.SUGGEST_UPDATES'],
  'a task above it leaves its trace in the history, as every other task': ['core.DISCARD_EVENTS'],
  'above it the oldest entries make room; what is above and below is the same row': ['core.BUILD_IDS_BYTES'],
  'the case of core.LEDGER_ROWS counts it in': ['core.LEDGER_SLACK'],
  'what stays in memory of a history; the store has all of it': ['engine.TAPE_BYTES'],
  'bytes that wait for one commit: starts are refused above it until the commit is done, test/unit/test_engine_size.c': ['engine.GROUP_BYTES'],
  'core.STATE_BYTES ends a run long before, and a namespace is refused the change: test/unit/test_engine_size.c': ['engine.IMAGE_BYTES'],
  'memory for one step of our own, above what one request may bring': ['engine.ERRAND_BYTES', 'engine.BATCH_TARGET_BYTES'],
  [PEER]: [
    'net.HEADER_LIST_BYTES_BOMB', 'net.CONTINUATIONS_MAX', 'net.ARENA_BYTES_MAX', 'net.STREAM_WINDOW_BYTES', 'net.WIDE_WINDOW_BYTES',
    'net.WIDE_STREAMS_MAX', 'net.CONN_WINDOW_BYTES', 'net.CONN_BODY_BYTES', 'net.RESPONSE_BYTES_HELD',
    'net.RESPONSE_BYTES_MAX', 'net.GLITCH_BURST', 'net.GLITCH_PER_SEC', 'net.GLITCH_REFUND_REQUEST', 'net.GLITCH_REFUND_BYTES',
    'net.GLITCH_TINY_BYTES', 'net.IGNORED_BYTES_BURST', 'net.IGNORED_BYTES_PER_SEC', 'net.IGNORED_BYTES_REFUND', 'net.RESET_BURST',
    'net.RESET_PER_SEC', 'net.ACKS_MAX', 'net.SETTINGS_MAX',
  ],
  'what all peers together may hold: memory.test.mjs hoards up to it': ['net.PEER_BYTES_SOFT', 'net.PEER_BYTES_MAX', 'net.PEER_SHARE_MIN'],
  'how that is counted, and when memory goes back': [
    'net.CONNECTION_COST', 'net.STREAM_COST', 'net.HTTP_CONNECTION_COST', 'net.HTTP_CALL_FACTOR', 'net.HTTP_CALL_COST', 'net.TRIM_BYTES',
    'net.HASTE_BYTES',
  ],
  'how much our own client takes of one answer': ['net.CLIENT_RESPONSE_BYTES_MAX'],
  [BUFFER]: [
    'net.HEADERS_INITIAL', 'net.WRITE_BATCH_BYTES', 'net.WRITE_SPACE_BYTES', 'net.WRITE_TURN_BYTES', 'net.READ_BYTES', 'net.CLIENT_WINDOW_BYTES',
  ],
  'headers that the server itself adds to an answer: no request adds one': ['net.RESPONSE_HEADERS_MAX'],
  'descriptors of the process, which the case of net.CONNECTIONS_MAX stays below': ['net.DESCRIPTORS_RESERVED'],
  'the queue of the kernel': ['net.LISTEN_BACKLOG'],
  'log lines that are left out': ['net.ABUSE_LOG_BURST', 'net.ABUSE_LOG_PER_SEC'],
};

export const reasonOf = new Map(Object.entries(reasons).flatMap(([reason, names]) => names.map((name) => [name, reason])));

/* What core noticed and an operator should know, as log lines. Clients cause them, so their rate is bounded.
 */
#include "engine/engine_int.h"

#define NOTICE_INTERVAL_US USEC_PER_SEC

void notice_log(struct engine *e, const struct run *run, const struct notice *n) {
    static const enum log_event lines[NOTICE_COUNT] = {
        [NOTICE_PAYLOAD_LARGE] = LOG_payload_large,
        [NOTICE_HISTORY_LONG] = LOG_history_long,
        [NOTICE_HISTORY_LARGE] = LOG_history_large,
    };
    if (e->now.mono.us < e->next_notice_us[n->kind])
        return;
    e->next_notice_us[n->kind] = usec_add(e->now.mono.us, NOTICE_INTERVAL_US);
    const State__Execution *st = run ? run->body->st : NULL;
    log_emit(e->log, lines[n->kind], log_str("what", n->what), log_int("size", n->size),
             log_str("namespace", run ? run->space->st->name : ""),
             log_str("workflow_id", st ? st->workflow_id : ""), log_str("run_id", st ? st->run_id : ""));
}

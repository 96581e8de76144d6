/* The rules that every history must keep, whatever the faults were. */
#pragma once

#include "history.pb-c.h"
#include "model.h"

struct world;

/* The event that follows the known ones: checked, and noted in the run. */
void history_apply(struct world *w, struct run_model *run, const History__HistoryEvent *e);

bool event_closes_run(int32_t event_type);
/* The run that a closing event says follows; "" when none does or the event closes nothing. */
const char *event_next_run(const History__HistoryEvent *e);
int64_t event_time_us(const Google__Protobuf__Timestamp *t);
int64_t event_wall_us(const History__HistoryEvent *e);
int64_t duration_us(const Google__Protobuf__Duration *d); /* NULL: 0 */

/* An event in a parent's history by which it learns that a child has ended, or never began. */
struct child_end {
    int64_t initiated_event_id;
    const Common__WorkflowExecution *execution; /* NULL when it never began */
    bool was_started;
};
bool child_end_of(const History__HistoryEvent *e, struct child_end *ret);

/* The text in the first payload; cut to fit. */
void payload_text(const Common__Payloads *p, char *ret, size_t size);

/* Definitions of schedules: between the dialect's JSON and the messages of the API. */
#pragma once

#include "mistral/dialog.h"
#include "schedule.pb-c.h"
#include "workflowservice.pb-c.h"

/* Puts what the definition (a `definition` or a `partial`) gives into the schedule and leaves the rest as it
 * is. What is wrong is a complaint with its place. */
void definition_read(struct dialog *x, const struct record *definition, Schedule__Schedule *s);
/* The schedule as the dialect shows it. */
void definition_write(struct dialog *x, const char *schedule_id, const Ws__DescribeScheduleResponse *r);

/* Definitions of schedules: between the dialect's JSON and the messages of the API. */
#pragma once

#include "mistral/dialog.h"
#include "schedule.pb-c.h"
#include "workflowservice.pb-c.h"

#define CATCHUP_DEFAULT_S 31536000 /* one year */

/* Copies the fields that the definition has (the shape `definition` or `partial`) into the schedule and
 * leaves the others as they are. New parts are in the dialog's arena, which remembers a lack of memory. Each
 * mistake becomes a complaint with its place. */
void definition_read(struct dialog *x, const struct record *definition, Schedule__Schedule *s);
/* Writes the schedule as one JSON object to the dialog's writer. */
void definition_write(struct dialog *x, const char *schedule_id, const Ws__DescribeScheduleResponse *r);

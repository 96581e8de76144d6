/* The calendar that stands in for what calendars cannot say: one midnight in the past, and the text as its
 * comment. A server that does not know about it would simply never act on it. */
#pragma once

#include "cal/cal.h"

#define PLACEHOLDER_MARK STR("rondo:")

/* Its ranges are constants; the comment is empty. */
struct cal_calendar placeholder_calendar(void);

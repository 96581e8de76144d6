/* The calendar that carries a text that calendars cannot express: one midnight in the past, with the text as
 * its comment. A server that does not know it never acts on it. */
#pragma once

#include "cal/cal.h"

#define PLACEHOLDER_MARK STR("rondo:")

/* Its ranges are constants; the comment is empty. */
struct cal_calendar placeholder_calendar(void);

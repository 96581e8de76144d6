/* What a data file holds, looked at with SQLite alone. */
#pragma once

#include "base/base.h"

/* A number for all rows of all tables: two files with the same number hold the same. Beside a store that is
 * open, too. */
uint64_t audit_state(const char *path);
/* CHECKs that no page is damaged, that indexes fit their tables, and that nothing is there twice. */
void audit_file(const char *path);
/* CHECKs that each schedule's ledger has every one of its times once, from the first to the last. */
void audit_schedules(const char *path, int period_s);

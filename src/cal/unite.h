/* Reduces rules, of which any may match, to fewer rules that match the same. */
#pragma once

#include "cal/rule.h"

/* Works in place and returns the new count. The removed rules own no memory. */
uint32_t rules_unite(struct rule *rules, uint32_t count);

/* Rules of which any may match, as few rules that match the same. */
#pragma once

#include "cal/rule.h"

/* Changes the array in place and returns how many are left. Rules that are left out own nothing. */
uint32_t rules_unite(struct rule *rules, uint32_t count);

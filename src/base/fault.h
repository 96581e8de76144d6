/* Makes an allocation fail on demand, so that tests can reach every failure path.
 *
 * The counter belongs to the calling thread. A production process never arms it; its cost there is one
 * thread-local load for each allocation. */
#pragma once

#include "base/base.h"

void fault_arm_alloc(uint64_t nth); /* the nth allocation from now fails, once; 1 is the next */
void fault_disarm(void);
void fault_pause(bool is_paused); /* paused: allocations neither fail nor count */
bool fault_fired(void); /* whether an armed fault has fired */
bool fault_take_alloc(void); /* called by the allocators; true: fail now */

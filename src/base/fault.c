/* One countdown for each thread. When it reaches zero, one allocation fails and the counter is idle again, so
 * that the code under test can recover with working memory. */
#include "base/fault.h"

struct fault_state {
    uint64_t left; /* allocations until the failing one, which is 1; 0 when idle */
    bool fired;
    bool is_paused;
};

static _Thread_local struct fault_state fault_state;

void fault_arm_alloc(uint64_t nth) {
    fault_state = (struct fault_state){.left = nth};
}

void fault_disarm(void) {
    fault_state = (struct fault_state){0};
}

void fault_pause(bool is_paused) {
    fault_state.is_paused = is_paused;
}

bool fault_fired(void) {
    return fault_state.fired;
}

bool fault_take_alloc(void) {
    if (fault_state.left == 0 || fault_state.is_paused)
        return false;
    fault_state.left--;
    if (fault_state.left > 0)
        return false;
    fault_state.fired = true;
    return true;
}

/* Commands that are more than one call and its answer: each has a function of its own. */
#include "command/command_int.h"

command_fn *command_own(enum command_id id) {
    static command_fn *const own[COMMAND_IDS] = {
        [COMMAND_SCHEDULE_NEXT] = next_run,
    };
    return own[id];
}

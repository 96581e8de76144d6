/* Commands of a test as text, and tables of those that are refused. */
#pragma once

#include <stdio.h>

#include "core_fixture.h"
#include "message_text.h"

struct refused_command {
    const char *command;
    E__WorkflowTaskFailedCause cause;
    const char *text;
};

/* For the next completion. */
static inline void command_add(struct core *f, const char *text) {
    Command__Command *cmd = message_of(&f->arena, &command__command__descriptor, text);
    if (cmd)
        f->commands[f->completion.n_commands++] = cmd;
}

/* A new run, and a completion with this command. */
static inline int command_run(struct core *f, const char *text) {
    int rc = core_begin_run(f);
    if (rc < 0)
        return rc;
    (void)core_new(f);
    command_add(f, text);
    return f->completion.n_commands ? core_complete(f) : ERR_NO_MEMORY;
}

static inline void check_refused_commands(const struct refused_command *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        f.ctx.namespace_name = "here";
        CHECK_INT(command_run(&f, cases[i].command), ERR_INVALID);
        CHECK_INT(f.s.task_failed_cause, cases[i].cause);
        if (!CHECK_STR(f.err.text, cases[i].text))
            printf("# %s\n", cases[i].command);
        CHECK_STR(core_new(&f), "");
    }
}

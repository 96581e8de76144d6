/* Questions and progress on the terminal, through stderr: stdout has only data. */
#pragma once

#include "command/command_int.h"

bool prompt_is_terminal(void); /* stderr is one */
/* Asks a yes-or-no question. COMMAND_DONE for yes, or with --yes, which asks nothing. COMMAND_REFUSED for no.
 * Without a terminal COMMAND_MISUSED; a line on stderr names --yes. */
enum command_exit prompt_confirm(const struct command *c, const char *question);
/* Prints a line that the next one overwrites; prints nothing without a terminal. */
void prompt_show_progress(const char *fmt, ...) printf_like(1, 2);
void prompt_clear_progress(void); /* erases the last progress line */

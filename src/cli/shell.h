/* Completion for shells. */
#pragma once

#include "base/str.h"

/* The hidden command that the scripts call. The words of the line follow it (opt_complete). */
#define SHELL_COMPLETE "__complete"

const char *shell_script(const char *shell); /* bash, zsh or fish; NULL for others */

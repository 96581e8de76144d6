/* Between the parser (parse.c) and the values of options (opt.c). */
#pragma once

#include "cli/opt.h"

#define OPT_WORD_MAX 64 /* bytes of the name of a flag or a variable */

/* Whether the option has this name or alias; or, when `letter` is not 0, this letter. */
bool opt_is_called(const struct opt *o, struct str name, char letter);
/* The option of the chosen command with this name or letter; the command's own come first. NULL when there is
 * none. */
const struct opt *opt_find_by(const struct opt_args *a, struct str name, char letter);
/* The value of the option in the environment; NULL when it is not set, or empty. */
const char *opt_env_text(const struct opt_args *a, const struct opt *o);

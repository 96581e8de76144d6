/* Paths of URLs against patterns: "/namespaces/{namespace}/workflows" takes "/namespaces/a%2Fb/workflows". */
#pragma once

#include "base/str.h"

/* Segments are compared one by one; a variable takes any one that is not empty. */
bool path_matches(struct str pattern, struct str path);
/* Steps through the variables of a path that matched: name is what the braces hold, value the segment as it
 * stands in the URL. Both slices start out as the pattern and the path. False when there is none left. */
bool path_next_variable(struct str *pattern, struct str *path, struct str *ret_name, struct str *ret_value);

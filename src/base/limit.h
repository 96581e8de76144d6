/* A number of a limits.def, or what a table of other numbers puts in its place.
 *
 * Tests that reach every limit are quick when the limits are small. With the build option -Dlimits=tiny a
 * table comes before each file: test/process/tiny_limits.h. Its line for QUEUES of src/engine defines
 * TINY_engine_QUEUES as "~, 64". Without such a line, and in all other builds, the number of limits.def
 * holds. */
#pragma once

#define LIMIT_SECOND(first, second, ...) second
#define LIMIT_PICK(...) LIMIT_SECOND(__VA_ARGS__)
#define LIMIT_NUMBER(layer, name, value) LIMIT_PICK(TINY_##layer##_##name, (value), 0)

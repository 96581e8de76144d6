/* A number of a limits.def, or what a table of other numbers puts in its place.
 *
 * Tests that reach every limit are quick when the limits are small: with the build option -Dlimits=tiny a table
 * (test/process/tiny_limits.h) comes before each file. Its line for QUEUES of src/engine is
 *     #define TINY_engine_QUEUES ~, 32
 * Without such a line, and in all other builds, the number of limits.def holds. */
#pragma once

#define LIMIT_SECOND(first, second, ...) second
#define LIMIT_PICK(...) LIMIT_SECOND(__VA_ARGS__)
#define LIMIT_NUMBER(layer, name, value) LIMIT_PICK(TINY_##layer##_##name, (value), 0)

/* LIMIT_NUMBER: the value of a row of a limits.def, or its replacement in test builds.
 *
 * Small limits make tests that reach every limit fast. The build option -Dlimits=tiny includes
 * test/process/tiny_limits.h before each file. Its line for QUEUES of src/engine defines TINY_engine_QUEUES
 * as "~, 64": LIMIT_NUMBER(engine, QUEUES, n) is then 64. Without such a line, and in all other builds, it is
 * the value n of limits.def. */
#pragma once

#define LIMIT_SECOND(first, second, ...) second
#define LIMIT_PICK(...) LIMIT_SECOND(__VA_ARGS__)
#define LIMIT_NUMBER(layer, name, value) LIMIT_PICK(TINY_##layer##_##name, (value), 0)

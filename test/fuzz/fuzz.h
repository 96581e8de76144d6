/* What a fuzz target is: one function over bytes. libFuzzer calls it, and so does replay.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

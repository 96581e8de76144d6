/* Something that will happen: embedded in whatever it happens to. */
#pragma once

#include "base/heap.h"

struct world;

struct happening {
    struct heap_node node;
    void (*run)(struct world *w, struct happening *h);
};

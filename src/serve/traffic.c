/* Counting requests. A call is counted once, where its end is known. */
#include "serve/traffic.h"

#include "wire/status.h"

static_assert(GRPC_UNAUTHENTICATED + 1 == TRAFFIC_CODES, "each code of gRPC is counted");

void traffic_init(struct traffic *t) {
    *t = (struct traffic){0};
    for (size_t i = 0; i < METHOD_COUNT; i++)
        histogram_init(&t->methods[i].us, &scale_seconds);
}

void traffic_add(struct traffic *t, const struct method *m, const struct err *e, int64_t us) {
    struct method_traffic *mt = &t->methods[method_index(m)];
    mt->ends[e ? status_code(e) : GRPC_OK]++;
    histogram_add(&mt->us, us);
}

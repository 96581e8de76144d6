/* Temporal's HTTP API: JSON over the paths of src/serve/routes.def, answered by the same methods as gRPC.
 *
 * One api belongs to one server; everything runs on the loop thread. */
#pragma once

#include "base/list.h"
#include "net/http1.h"

struct ingress;

struct api {
    struct ingress *ingress; /* not owned */
    struct list waiting; /* calls with the engine */
    struct list ended; /* calls whose memory can go at the end of the turn */
};

void api_init(struct api *api, struct ingress *in);
/* Answers, now or later. False when the path is not one of the API's; then nothing was done. */
bool api_request(struct api *api, const struct http1_request *q, struct http1_response *resp);
void api_sweep(struct api *api); /* at the end of a turn */

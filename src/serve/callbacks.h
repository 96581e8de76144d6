/* Callbacks of workflows over HTTP: between the engine, which knows what to send, and net, which can. */
#pragma once

#include "engine/engine.h"
#include "net/http1_client.h"

struct callbacks {
    struct http1_client *client;
    bool is_closed; /* the engine is gone: drop results */
};

/* For engine_config.send_callback; ctx is a struct callbacks. */
void callbacks_send(void *ctx, struct callback_send *send);

/* A port that is taken before there is anything to serve on it. */
#pragma once

#include <stdint.h>

#include "base/base.h"
#include "base/err.h"

/* Binds the address (an IPv4 or IPv6 number) and does not listen, so a connection is still refused. While
 * *ret_fd is open, a listener of this process can bind the same address. ERR_UNAVAILABLE, with `name` in the
 * text, when another program listens there or it is not an address of this machine. Port 0: nothing is bound,
 * and *ret_fd is -1. */
int port_reserve(const char *host, uint16_t port, const char *name, int *ret_fd,
                 struct err *reterr) must_check;
void port_release(int *fd); /* -1 is fine */

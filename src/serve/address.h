/* Addresses to listen on: "127.0.0.1:7233", "[::1]:7233", "localhost:7233". */
#pragma once

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

#define ADDRESS_HOST_MAX 64

struct address {
    char host[ADDRESS_HOST_MAX]; /* an IPv4 or IPv6 address without brackets; "localhost" became 127.0.0.1 */
    uint16_t port; /* 0: the system picks one */
};

/* Only numeric addresses and "localhost": which interface a name means is not ours to guess. */
int address_parse(const char *text, struct address *ret, struct err *reterr) must_check;
/* The way back: "127.0.0.1:7233" or "[::1]:7233". */
#define ADDRESS_TEXT_MAX (ADDRESS_HOST_MAX + 10)
void address_format(const struct address *a, char text[ADDRESS_TEXT_MAX]);

bool address_is_loopback(const struct address *a); /* reachable from this machine only */
/* Whether an HTTP Host header may reach a listener bound to `a`. A page on the web can make a browser
 * send requests here under a name of its own (DNS rebinding); such a name is refused. */
bool address_takes_host(const struct address *a, struct str host);

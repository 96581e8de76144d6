/* Options of TCP sockets, for server and client. Only src/net includes this. */
#pragma once

#include <sys/types.h>

#include "base/base.h"

#define ADDRESS_TEXT_MAX 256

/* Bytes moved, 0 when it would block (or nothing came and *ret_eof), negative when it is dead. */
ssize_t socket_read(int fd, void *space, size_t size, bool *ret_eof);
ssize_t socket_write(int fd, const void *data, size_t len);
/* Small frames leave at once, and a peer that vanished is noticed. */
void socket_tune(int fd);
size_t socket_count_possible(void); /* descriptors that this process may have open */

/* "host:port" or "[v6]:port" into its two parts; an empty host means every interface. ERR_INVALID. */
int address_split(const char *address, char *host, size_t host_size, const char **ret_port) must_check;

/* Holding a port while a server gets ready: a start that cannot listen fails before it has touched its data.
 *
 * On Linux two sockets with SO_REUSEADDR may have the same address as long as neither listens, and none can
 * bind it where another process listens. */
#include "net/reserve.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int port_bind(const struct addrinfo *ai) {
    int one = 1, fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
        bind(fd, ai->ai_addr, ai->ai_addrlen) == 0)
        return fd;
    int why = errno;
    (void)close(fd); /* it never carried anything */
    errno = why;
    return -1;
}

int port_reserve(const char *host, uint16_t port, const char *name, int *ret_fd, struct err *reterr) {
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char number[8];
    if (port == 0) {
        *ret_fd = -1;
        return 0;
    }
    (void)snprintf(number, sizeof(number), "%u", port);
    int rc = getaddrinfo(*host ? host : NULL, number, &hints, &found);
    if (rc != 0)
        return err_set(reterr, ERR_UNAVAILABLE, "cannot listen on %s: %s", name, gai_strerror(rc));
    int fd = port_bind(found);
    int why = errno;
    freeaddrinfo(found);
    if (fd < 0)
        return err_set(reterr, ERR_UNAVAILABLE, "cannot listen on %s: %s", name, strerror(why));
    *ret_fd = fd;
    return 0;
}

void port_release(int *fd) {
    if (*fd >= 0)
        (void)close(*fd); /* it never carried anything */
    *fd = -1;
}

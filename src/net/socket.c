/* Reading, writing and tuning TCP sockets, and taking addresses apart. */
#include "net/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/err.h"
#include "net/limits.h"

ssize_t socket_read(int fd, void *space, size_t size, bool *ret_eof) {
    ssize_t n = recv(fd, space, size, 0);
    *ret_eof = n == 0;
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? 0 : ERR_UNAVAILABLE;
}

ssize_t socket_write(int fd, const void *data, size_t len) {
    ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? 0 : ERR_UNAVAILABLE;
}

static void socket_option(int fd, int level, int name, int value) {
    /* Each only improves on a default; a socket without it works. */
    (void)setsockopt(fd, level, name, &value, sizeof(value));
}

void socket_tune(int fd) {
    socket_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    socket_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, LIMIT_KEEPALIVE_IDLE_SEC);
    socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, LIMIT_KEEPALIVE_PROBE_SEC);
    socket_option(fd, IPPROTO_TCP, TCP_KEEPCNT, LIMIT_KEEPALIVE_PROBES);
}

size_t socket_count_possible(void) {
    struct rlimit files;
    return getrlimit(RLIMIT_NOFILE, &files) < 0 ? SIZE_MAX : files.rlim_cur;
}

int address_split(const char *address, char *host, size_t host_size, const char **ret_port) {
    const char *colon = strrchr(address, ':');
    if (!colon || !colon[1])
        return ERR_INVALID;
    const char *begin = address;
    const char *end = colon;
    if (*begin == '[' && end > begin && end[-1] == ']') {
        begin++;
        end--;
    }
    size_t n = (size_t)(end - begin);
    if (n >= host_size)
        return ERR_INVALID;
    memcpy(host, begin, n);
    host[n] = '\0';
    *ret_port = colon + 1;
    return 0;
}

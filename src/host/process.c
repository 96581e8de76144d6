/* Facts about this process from /proc. A failure gives 0, since the figures only inform. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "host/loop.h"

/* The first two numbers of statm: pages of the address space, and resident pages. */
int64_t host_resident_bytes(void) {
    char text[128];
    long long pages, resident;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    if (sscanf(text, "%lld %lld", &pages, &resident) != 2)
        return 0;
    return resident * sysconf(_SC_PAGESIZE);
}

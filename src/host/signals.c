/* Signals through signalfd(2).
 *
 * The signals of the table are blocked for this thread and so for the threads that it starts. The kernel
 * keeps them until the loop or signals_look() reads the descriptor. Unlike a signal handler, this needs no
 * global variable.
 *
 * Fails when the operating system refuses the descriptor or memory is exhausted. */
#include "host/signals.h"

#include <event2/event.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "host/loop.h"

struct signals {
    struct event *event;
    int fd;
    void (*fn)(void *ctx, enum signal_wish wish);
    void *ctx;
};

static const struct {
    int number;
    enum signal_wish wish;
} table[] = {
    {SIGTERM, SIGNAL_STOP},
    {SIGINT, SIGNAL_STOP},
    {SIGHUP, SIGNAL_REREAD},
    {SIGUSR1, SIGNAL_REPORT},
};

void signals_look(struct signals *s) {
    struct signalfd_siginfo info;
    while (read(s->fd, &info, sizeof(info)) == sizeof(info))
        for (size_t i = 0; i < ARRAY_LEN(table); i++)
            if ((uint32_t)table[i].number == info.ssi_signo)
                s->fn(s->ctx, table[i].wish);
}

static void signals_readable_cb(evutil_socket_t fd unused_arg, short what unused_arg, void *ctx) {
    signals_look(ctx);
}

static int signals_open(struct signals *s) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        sigaddset(&set, table[i].number);
    (void)signal(SIGUSR2, SIG_IGN); /* cannot fail for a valid signal */
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
        return ERR_UNAVAILABLE;
    s->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return s->fd < 0 ? ERR_UNAVAILABLE : 0;
}

int signals_new(struct loop *l, void (*fn)(void *ctx, enum signal_wish wish), void *ctx,
                struct signals **ret) {
    struct signals *s = mem_zalloc(sizeof(*s));
    if (!s)
        return ERR_NO_MEMORY;
    *s = (struct signals){.fd = -1, .fn = fn, .ctx = ctx};
    int rc = signals_open(s);
    if (rc == 0) {
        s->event = event_new(loop_base(l), s->fd, EV_READ | EV_PERSIST, signals_readable_cb, s);
        rc = s->event && event_add(s->event, NULL) == 0 ? 0 : ERR_NO_MEMORY;
    }
    if (rc < 0) {
        signals_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

void signals_free(struct signals *s) {
    if (!s)
        return;
    if (s->event)
        event_free(s->event);
    if (s->fd >= 0)
        close(s->fd);
    mem_free(s);
}

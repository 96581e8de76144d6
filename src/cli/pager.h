/* A pager between stdout and the terminal. */
#pragma once

#include "base/base.h"

struct pager {
    int pid; /* 0: there is none */
};

/* Runs the command in a shell, with what is printed from now on as its input. Without a terminal to page on,
 * or when it cannot be started, nothing changes. env reads the environment. */
void pager_open(struct pager *p, const char *(*env)(const char *name));
/* Waits until the reader has had enough. */
void pager_close(struct pager *p);

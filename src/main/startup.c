/* Shared by the two server commands: runs a server from its configuration to its end.
 *
 * Happy path: start the server, print its addresses on stdout, run until a signal. When the server cannot
 * start, one line on stderr has the reason and the flag to change. */
#include "main/startup.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "core/step/limits.h"
#include "host/loop.h"
#include "store/sqlite/sqlite_store.h"

#define BANNER_BYTES_MAX (8u << 10)

void startup_print_error(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    (void)fputs("rondo: ", stderr); /* a failure to write to stderr cannot be reported */
    (void)vfprintf(stderr, fmt, ap);
    (void)fputc('\n', stderr);
    va_end(ap);
}

int startup_usage_error(const char *flag, const struct err *e) {
    startup_print_error("--%s: %s", flag, e->text);
    return EXIT_USAGE;
}

int startup_check_name(const char *flag, struct str name) {
    if (name.n && name.n <= LIMIT_ID_BYTES && utf8_valid(name))
        return 0;
    startup_print_error("--%s: a name must be text in UTF-8 of 1 to %d bytes", flag, LIMIT_ID_BYTES);
    return ERR_INVALID;
}

int startup_read_namespaces(const struct opt_args *a, size_t row, const char *ret[NAMESPACES_MAX + 2]) {
    const char *name;
    size_t n = 0;
    ret[n++] = "default";
    for (size_t i = 0; (name = opt_list(a, row, i)); i++) {
        bool is_known = false;
        if (startup_check_name("namespace", str_of(name)) < 0)
            return ERR_INVALID;
        for (size_t j = 0; j < n; j++)
            is_known |= cstr_eq(ret[j], name);
        if (is_known)
            continue;
        if (n > NAMESPACES_MAX) {
            startup_print_error("--namespace: more than %d names", NAMESPACES_MAX);
            return ERR_FULL;
        }
        ret[n++] = name;
    }
    ret[n] = NULL;
    return 0;
}

void startup_open_log(struct log *log, const char *level, const char *format) {
    enum log_level l;
    enum log_format f;
    ensure(log_level_parse(level, &l) == 0);
    if (log_format_parse(format, &f) < 0)
        f = LOG_TEXT;
    log_init(log, STDERR_FILENO, l, f, host_wall);
}

static void startup_banner_text(struct buf *out, const char *grpc, const char *http, const char *data) {
    buf_printf(out, "Rondo %s\n", RONDO_VERSION);
    buf_printf(out, "Server:  %s\n", grpc);
    if (http)
        buf_printf(out, "HTTP:    http://%s\n", http);
    buf_printf(out, "Data:    %s\n", cstr_eq(data, ":memory:") ? "in memory, gone at the end" : data);
}

static void startup_banner_json(struct buf *out, const char *grpc, const char *http, const char *data) {
    buf_add_cstr(out, "{\"version\":");
    opt_json_string(out, RONDO_VERSION);
    buf_add_cstr(out, ",\"grpc\":");
    opt_json_string(out, grpc);
    buf_add_cstr(out, ",\"http\":");
    if (http)
        opt_json_string(out, http);
    else
        buf_add_cstr(out, "null");
    buf_add_cstr(out, ",\"data\":");
    opt_json_string(out, data);
    buf_add_cstr(out, "}\n");
}

static void startup_print_banner(const struct server *s, const struct server_config *cfg,
                                 enum output output) {
    char grpc[ADDRESS_TEXT_MAX], http[ADDRESS_TEXT_MAX];
    struct address grpc_address = server_grpc_address(s), http_address = server_http_address(s);
    struct buf out;
    if (output == OUTPUT_NONE)
        return;
    address_format(&grpc_address, grpc);
    address_format(&http_address, http);
    buf_init(&out, BANNER_BYTES_MAX);
    if (output == OUTPUT_JSON)
        startup_banner_json(&out, grpc, cfg->has_http ? http : NULL, cfg->data);
    else
        startup_banner_text(&out, grpc, cfg->has_http ? http : NULL, cfg->data);
    /* The server runs even when stdout is closed. */
    (void)fwrite(out.data, 1, out.len, stdout);
    (void)fflush(stdout);
    buf_done(&out);
}

static void startup_print_start_error(const struct err *e, const struct server_flags *flags) {
    const char *flag = cstr_eq(e->subject, "grpc")   ? flags->grpc
                       : cstr_eq(e->subject, "http") ? flags->http
                       : cstr_eq(e->subject, "data") ? flags->data
                                                   : NULL;
    if (flag)
        startup_print_error("%s (see --%s)", e->text, flag);
    else
        startup_print_error("%s", e->text);
}

/* Runs on a thread of the store when it has failed. The server can guarantee nothing from here on, and an
 * orderly shutdown could send wrong replies, so the process ends. Everything acknowledged is on disk;
 * recovery finds it. */
static noreturn_fn void startup_end_process(void *ctx unused_arg, const char *text) {
    startup_print_error("stopped: %s", text);
    _exit(EXIT_FAILED);
}

static int startup_open_sqlite(const struct server_config *cfg, const struct server_hooks *hooks,
                               struct store **ret, struct err *reterr) {
    struct sqlite_options o = {.path = cfg->data,
                               .wake = hooks->wake,
                               .wake_ctx = hooks->ctx,
                               .should_stop = hooks->should_stop,
                               .stop_ctx = hooks->ctx,
                               .log = cfg->log,
                               .fatal = startup_end_process};
    return sqlite_store_open(&o, ret, reterr);
}

void startup_choose_store(struct server_config *cfg, const char *data) {
    cfg->data = data;
    cfg->store_name = cstr_eq(data, ":memory:") ? "memory" : "sqlite";
    cfg->open_store = startup_open_sqlite;
}

int startup_serve(const struct server_config *cfg, const struct server_flags *flags, enum output output) {
    struct server *s;
    struct err e = {0};
    int rc = server_new(cfg, &s, &e);
    if (rc == ERR_CANCELLED)
        return EXIT_DONE; /* stopped during the start; the log has a line */
    if (rc < 0) {
        startup_print_start_error(&e, flags);
        return EXIT_FAILED;
    }
    if (!address_is_loopback(&cfg->grpc) || (cfg->has_http && !address_is_loopback(&cfg->http)))
        log_emit(cfg->log, LOG_plaintext_remote,
                 log_str("text", "reachable from other machines, without encryption or authentication"));
    startup_print_banner(s, cfg, output);
    rc = server_run(s);
    server_free(s);
    if (rc < 0)
        startup_print_error("stopped: %s", err_text(rc));
    return rc < 0 ? EXIT_FAILED : EXIT_DONE;
}

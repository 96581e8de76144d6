/* `rondo server`: from settings to a running server.
 *
 * Settings that do not fit are usage errors: an invalid address, an unsupported store, an address beyond
 * this machine without --allow-plaintext-remote. */
#include "main/startup.h"
#include "main/settings_file.h"
#include "serve/origin.h"

#define ORIGINS_MAX 32

static int server_cmd_check_data(const char *data) {
    if (strncmp(data, "postgresql://", 13) != 0 && strncmp(data, "postgres://", 11) != 0)
        return 0;
    startup_print_error(
        "--data: PostgreSQL is not supported yet in this version; give a file name or :memory:");
    return ERR_INVALID;
}

static int server_cmd_check_remote(const struct opt_args *a, const struct server_config *cfg) {
    bool is_remote = !address_is_loopback(&cfg->grpc) || (cfg->has_http && !address_is_loopback(&cfg->http));
    if (!is_remote || opt_flag(a, SETTING_ALLOW_PLAINTEXT_REMOTE))
        return 0;
    startup_print_error("this address can be reached from other machines, and connections are neither "
                        "encrypted nor authenticated; listen on 127.0.0.1, or add --allow-plaintext-remote");
    return ERR_INVALID;
}

static int server_cmd_read_origins(const struct opt_args *a, const char *ret[ORIGINS_MAX + 1]) {
    struct err e;
    size_t n = 0;
    for (const char *origin; (origin = opt_list(a, SETTING_CORS_ORIGIN, n)); n++) {
        int rc = n < ORIGINS_MAX ? origin_validate(origin, &e)
                                 : err_set(&e, ERR_FULL, "more than %d origins", ORIGINS_MAX);
        if (rc < 0) {
            (void)startup_usage_error("cors-origin", &e);
            return rc;
        }
        ret[n] = origin;
    }
    ret[n] = NULL;
    return 0;
}

int server_cmd_run(const struct opt_args *given) {
    struct settings_file settings;
    struct opt_args all = *given, *a = &all;
    const char *namespaces[NAMESPACES_MAX + 2];
    const char *origins[ORIGINS_MAX + 1];
    struct log log;
    struct err e;
    struct server_config cfg = {
        .has_http = !cstr_eq(opt_text(a, SETTING_HTTP), "off"),
        .namespaces = namespaces,
        .cors_origins = origins,
        .retention_us = opt_int(a, SETTING_RETENTION) * USEC_PER_HOUR,
        .resident_runs_max = (size_t)opt_int(a, SETTING_RESIDENT_RUNS),
        .minds_signals = true,
        .reread = settings_file_reread,
        .reread_ctx = &settings,
        .log = &log,
    };
    settings_file_init(&settings, given, &log);
    if (settings_file_read(&settings, &e) < 0)
        return startup_usage_error("settings", &e);
    all.file = settings_file_text;
    all.file_ctx = &settings;
    cfg.limits.allows_callbacks = opt_flag(a, SETTING_ALLOW_CALLBACKS);
    startup_choose_store(&cfg, opt_text(a, SETTING_DATA));
    startup_open_log(&log, opt_text(a, SETTING_LOG_LEVEL), opt_text(a, SETTING_LOG_FORMAT));
    log.routine = cstr_eq(opt_text(a, SETTING_LOG_SCHEDULES), "info") ? LOG_INFO : LOG_DEBUG;
    if (address_parse(opt_text(a, SETTING_GRPC), &cfg.grpc, &e) < 0)
        return startup_usage_error("grpc", &e);
    if (cfg.has_http && address_parse(opt_text(a, SETTING_HTTP), &cfg.http, &e) < 0)
        return startup_usage_error("http", &e);
    if (server_cmd_check_data(cfg.data) < 0 || server_cmd_check_remote(a, &cfg) < 0)
        return EXIT_USAGE;
    if (startup_read_namespaces(a, SETTING_NAMESPACE, namespaces) < 0 ||
        server_cmd_read_origins(a, origins) < 0)
        return EXIT_USAGE;
    return startup_serve(&cfg, &(struct server_flags){"data", "grpc", "http"}, program_output_of(a));
}

/* `rondo server start-dev`: a server for development, with the flags of Temporal's CLI dev server.
 *
 * Flags with a meaning here are used. Flags without one are accepted and logged as a warning. A malformed
 * value is a usage error. Data is kept in memory unless a file is named. */
#include <stdio.h>

#include "main/startup.h"

#define LONG_POLL_COUNT_MAX 1000000 /* in any unit; prevents an overflow */
#define DEV_ATTRIBUTES_MAX 100 /* --search-attribute */
#define HTTP_PORT_OFFSET 1000 /* default port of HTTP minus port of gRPC */
#define PORT_MAX 65535
#define DEV_RETENTION_US (72 * USEC_PER_HOUR)
#define DEV_RESIDENT_RUNS 10000

enum effect { EFFECT_USED, EFFECT_IGNORED, EFFECT_SILENT };

static const enum effect dev_effects[DEV_COUNT] = {
#define DEV_FLAG(id, effect_, ...) [DEV_##id] = EFFECT_##effect_,
#include "main/dev_flags.def"
#undef DEV_FLAG
};

/* Settings that SDK test environments always pass, and that always hold here. They cause no warning. */
static const char *const implied_settings[] = {
    "frontend.enableServerVersionCheck",
    "frontend.enableUpdateWorkflowExecution",
    "frontend.enableUpdateWorkflowExecutionAsyncAccepted",
};

static bool dev_is_implied(struct str key) {
    for (size_t i = 0; i < ARRAY_LEN(implied_settings); i++)
        if (str_is(key, implied_settings[i]))
            return true;
    return false;
}

/* Splits KEY=VALUE; false if either is missing. */
static bool dev_split_pair(const char *text, struct str *ret_key, const char **ret_value) {
    size_t n = strcspn(text, "=");
    *ret_key = str_bytes(text, n);
    *ret_value = text + n + 1;
    return n > 0 && text[n] == '=' && text[n + 1];
}

static void dev_warn_ignored(struct log *log, const char *flag, const char *value) {
    log_emit(log, LOG_setting_ignored, log_str("flag", flag), log_str("value", value));
}

static int dev_read_search_attributes(const struct opt_args *a, const char *ret[DEV_ATTRIBUTES_MAX + 1]) {
    static const char *const types[] = {"Text", "Keyword",  "Int",        "Double",
                                        "Bool", "Datetime", "KeywordList"};
    const char *pair, *type;
    struct str name;
    for (size_t i = 0; (pair = opt_list(a, DEV_SEARCH_ATTRIBUTE, i)); i++) {
        bool is_known = false;
        if (!dev_split_pair(pair, &name, &type)) {
            startup_print_error("--search-attribute: \"%s\" is not NAME=TYPE", pair);
            return ERR_INVALID;
        }
        if (startup_check_name("search-attribute", name) < 0)
            return ERR_INVALID;
        for (size_t t = 0; t < ARRAY_LEN(types); t++)
            is_known |= cstr_eq(type, types[t]);
        if (!is_known) {
            startup_print_error("--search-attribute: \"%s\" is not a type; use Text, Keyword, Int, Double, "
                                "Bool, Datetime or KeywordList",
                                type);
            return ERR_INVALID;
        }
        if (i == DEV_ATTRIBUTES_MAX) {
            startup_print_error("--search-attribute: at most %d attributes can be given", DEV_ATTRIBUTES_MAX);
            return ERR_INVALID;
        }
        ret[i] = pair;
        ret[i + 1] = NULL;
    }
    return 0;
}

/* Settings of Temporal's server that have a meaning here. Each function takes a JSON value; false for a
 * value that does not fit. */

static bool dev_set_eager_activities(struct server_config *cfg, const char *json) {
    cfg->limits.is_eager_activity_off = cstr_eq(json, "false");
    return cstr_eq(json, "true") || cstr_eq(json, "false");
}

/* "20s", "5000ms" or "1m", with the quotes. */
static bool dev_set_long_poll(struct server_config *cfg, const char *json) {
    static const struct {
        struct str suffix;
        int64_t us;
    } units[] = {{STR("ms\""), USEC_PER_MS}, {STR("s\""), USEC_PER_SEC}, {STR("m\""), 60 * USEC_PER_SEC}};
    struct str text = str_of(json);
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        int64_t count;
        size_t tail = units[i].suffix.n;
        if (text.n < tail + 2 || text.p[0] != '"' ||
            !str_eq(str_bytes(text.p + text.n - tail, tail), units[i].suffix) ||
            str_to_i64(str_bytes(text.p + 1, text.n - tail - 1), &count) < 0)
            continue;
        cfg->long_poll_us = count > 0 && count <= LONG_POLL_COUNT_MAX ? count * units[i].us : 0;
        return cfg->long_poll_us > 0;
    }
    return false;
}

static const struct dynamic_setting {
    const char *key;
    bool (*set)(struct server_config *cfg, const char *json);
    const char *takes;
} dynamic_settings[] = {
    {"system.enableActivityEagerExecution", dev_set_eager_activities, "true or false"},
    {"history.longPollExpirationInterval", dev_set_long_poll, "a duration such as \"20s\" in quotes"},
};

static const struct dynamic_setting *dev_find_setting(struct str key) {
    for (size_t i = 0; i < ARRAY_LEN(dynamic_settings); i++)
        if (str_is(key, dynamic_settings[i].key))
            return &dynamic_settings[i];
    return NULL;
}

/* Sets one of the limits that core lets a setting change. */
static int dev_set_limit(struct server_config *cfg, enum settable which, struct str key, const char *json) {
    int64_t value;
    if (str_to_i64(str_of(json), &value) < 0 || value <= 0) {
        startup_print_error("--dynamic-config-value: %.*s takes a positive number, not \"%s\"", (int)key.n,
                            key.p, json);
        return ERR_INVALID;
    }
    cfg->limits.values[which] = value;
    return 0;
}

static int dev_apply_dynamic_config(const struct opt_args *a, struct server_config *cfg) {
    const char *pair, *value;
    struct str key;
    for (size_t i = 0; (pair = opt_list(a, DEV_DYNAMIC_CONFIG, i)); i++) {
        if (!dev_split_pair(pair, &key, &value)) {
            startup_print_error("--dynamic-config-value: \"%s\" is not KEY=VALUE", pair);
            return ERR_INVALID;
        }
        enum settable limit = limit_by_key(key);
        if (limit != SETTABLE_COUNT) {
            if (dev_set_limit(cfg, limit, key, value) < 0)
                return ERR_INVALID;
            continue;
        }
        const struct dynamic_setting *known = dev_find_setting(key);
        if (known && !known->set(cfg, value)) {
            startup_print_error("--dynamic-config-value: %s takes %s, not \"%s\"", known->key, known->takes,
                                value);
            return ERR_INVALID;
        }
        if (!known && !dev_is_implied(key))
            dev_warn_ignored(cfg->log, "dynamic-config-value", pair);
    }
    return 0;
}

static void dev_warn_without_effect(const struct opt_args *a, struct log *log) {
    const char *word;
    for (size_t row = 0; row < DEV_COUNT; row++)
        if (dev_effects[row] == EFFECT_IGNORED && row != DEV_UI_OTHER && opt_is_given(a, row))
            dev_warn_ignored(log, a->command->opts[row].name, opt_text(a, row));
    for (size_t i = 0; (word = opt_list(a, DEV_UI_OTHER, i)); i++)
        dev_warn_ignored(log, word, "");
}

static int dev_make_address(const char *ip, int64_t port, struct address *ret, struct err *reterr) {
    char text[2 * ADDRESS_TEXT_MAX];
    bool is_bare_v6 = strchr(ip, ':') && ip[0] != '[';
    int n = snprintf(text, sizeof(text), is_bare_v6 ? "[%s]:%lld" : "%s:%lld", ip, (long long)port);
    if (n < 0 || (size_t)n >= sizeof(text))
        return err_set(reterr, ERR_INVALID, "this is not an IP address");
    return address_parse(text, ret, reterr);
}

static int64_t dev_http_port(const struct opt_args *a) {
    if (opt_is_given(a, DEV_UI_PORT))
        return opt_int(a, DEV_UI_PORT);
    if (opt_is_given(a, DEV_HTTP_PORT))
        return opt_int(a, DEV_HTTP_PORT);
    int64_t port = opt_int(a, DEV_PORT);
    return port ? MIN(port + HTTP_PORT_OFFSET, PORT_MAX) : 0;
}

static int dev_read_addresses(const struct opt_args *a, struct server_config *cfg) {
    struct err e;
    const char *ip = opt_text(a, DEV_IP);
    const char *ui_ip = opt_is_given(a, DEV_UI_IP) ? opt_text(a, DEV_UI_IP) : ip;
    if (dev_make_address(ip, opt_int(a, DEV_PORT), &cfg->grpc, &e) < 0)
        return startup_usage_error("ip", &e);
    if (dev_make_address(ui_ip, dev_http_port(a), &cfg->http, &e) < 0)
        return startup_usage_error("ui-ip", &e);
    cfg->has_http = !opt_flag(a, DEV_HEADLESS) || opt_is_given(a, DEV_HTTP_PORT);
    return 0;
}

int dev_cmd_run(const struct opt_args *a) {
    const char *namespaces[NAMESPACES_MAX + 2];
    const char *attributes[DEV_ATTRIBUTES_MAX + 1] = {NULL};
    struct log log;
    struct server_config cfg = {
        .namespaces = namespaces,
        .search_attributes = attributes,
        .retention_us = DEV_RETENTION_US,
        .resident_runs_max = DEV_RESIDENT_RUNS,
        .minds_signals = true,
        .log = &log,
    };
    cfg.limits.allows_callbacks = true;
    startup_choose_store(&cfg, opt_is_given(a, DEV_DB_FILENAME) ? opt_text(a, DEV_DB_FILENAME) : ":memory:");
    startup_open_log(&log, opt_text(a, DEV_LOG_LEVEL), opt_text(a, DEV_LOG_FORMAT));
    int code = dev_read_addresses(a, &cfg);
    if (code != 0)
        return code;
    if (dev_read_search_attributes(a, attributes) < 0 || dev_apply_dynamic_config(a, &cfg) < 0)
        return EXIT_USAGE;
    if (startup_read_namespaces(a, DEV_NAMESPACE, namespaces) < 0)
        return EXIT_USAGE;
    dev_warn_without_effect(a, &log);
    return startup_serve(&cfg, &(struct server_flags){"db-filename", "port", "ui-port"},
                         program_output_of(a));
}

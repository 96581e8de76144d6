/* Cross-origin requests.
 *
 * Pages of other sites can send requests here from a browser that can reach us, but not without saying so in
 * the Origin header: they are refused unless an operator invited them. A browser asks first (OPTIONS) before
 * it sends what a form could not, and shows the page an answer only if that names its origin. */
#include "serve/origin.h"

#include <strings.h>

#define HTTP_NO_CONTENT 204
#define PREFLIGHT_SECONDS "600"

static const struct str schemes[] = {{"http://", 7}, {"https://", 8}}; /* the latter through a proxy */

static struct str origin_without_scheme(struct str origin) {
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_starts(origin, schemes[i]))
            return str_bytes(origin.p + schemes[i].n, origin.n - schemes[i].n);
    return STR("");
}

int origin_validate(const char *origin, struct err *reterr) {
    struct str host = origin_without_scheme(str_of(origin));
    bool is_host = host.n && !memchr(host.p, '/', host.n) && !strpbrk(host.p, " \t\r\n,*");
    if (cstr_eq(origin, "*") || is_host)
        return 0;
    return err_set(
        reterr, ERR_INVALID,
        "\"%.100s\" is not the origin of a page; write it as https://app.example.com, without a path, "
        "or * for every page",
        origin);
}

static bool origin_is_invited(const char *const *invited, struct str origin) {
    for (; invited && *invited; invited++)
        if (cstr_eq(*invited, "*") || str_is(origin, *invited))
            return true;
    return false;
}

static bool origin_is_same_host(struct str a, struct str b) {
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

enum origin_verdict origin_judge(const char *const *invited, const struct http1_request *q) {
    struct str origin = http1_header(q, "Origin");
    if (!origin.p || (q->host.n && origin_is_same_host(origin_without_scheme(origin), q->host)))
        return ORIGIN_NONE;
    return origin_is_invited(invited, origin) ? ORIGIN_INVITED : ORIGIN_FOREIGN;
}

bool origin_invite(const struct http1_request *q) {
    return http1_add_header(q, "Access-Control-Allow-Origin", http1_header(q, "Origin")) &&
           http1_add_header(q, "Vary", STR("Origin"));
}

bool origin_preflight(const struct http1_request *q, struct http1_response *resp) {
    struct str asked = http1_header(q, "Access-Control-Request-Headers");
    if (!str_is(q->method, "OPTIONS") || !http1_header(q, "Access-Control-Request-Method").p)
        return false;
    bool ok =
        http1_add_header(q, "Access-Control-Allow-Methods", STR("GET, HEAD, POST, PUT, PATCH, DELETE")) &&
        http1_add_header(q, "Access-Control-Max-Age", STR(PREFLIGHT_SECONDS)) &&
        (!asked.p || http1_add_header(q, "Access-Control-Allow-Headers", asked));
    if (ok)
        resp->status = HTTP_NO_CONTENT;
    return ok;
}

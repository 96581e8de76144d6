/* Where a request ends must not be a matter of opinion: a proxy in front of us may see the end elsewhere, and
 * what one side takes for a body is a request for the other (RFC 9112, 11.2). evhttp takes the first of
 * several Content-Length headers, prefers Transfer-Encoding to it, and reads numbers with a sign. So requests
 * whose headers allow two readings are refused, and their connection ends. */
#include "net/http1_int.h"

#include <event2/keyvalq_struct.h>
#include <event2/util.h>
#include <string.h>

struct framing {
    const char *length;
    const char *encoding;
    bool is_repeated;
    bool is_malformed;
};

/* The characters of a token, RFC 9110, 5.6.2. */
static bool framing_is_token(const char *s) {
    return *s && !s[strspn(s, "!#$%&'*+-.^_`|~0123456789"
                              "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ")];
}

static void framing_note_once(const char **slot, const char *value, struct framing *f) {
    f->is_repeated |= *slot != NULL;
    *slot = value;
}

static struct framing framing_read_headers(struct evhttp_request *req) {
    struct framing f = {0};
    const char *host = NULL;
    const struct evkeyvalq *headers = evhttp_request_get_input_headers(req);
    for (const struct evkeyval *h = headers->tqh_first; h; h = h->next.tqe_next) {
        f.is_malformed |= !framing_is_token(h->key);
        if (evutil_ascii_strcasecmp(h->key, "Content-Length") == 0)
            framing_note_once(&f.length, h->value, &f);
        else if (evutil_ascii_strcasecmp(h->key, "Transfer-Encoding") == 0)
            framing_note_once(&f.encoding, h->value, &f);
        else if (evutil_ascii_strcasecmp(h->key, "Host") == 0)
            framing_note_once(&host, h->value, &f);
    }
    return f;
}

const char *http1_framing_fault(struct evhttp_request *req) {
    struct framing f = framing_read_headers(req);
    if (f.is_malformed)
        return "A header has a malformed name.";
    if (f.is_repeated)
        return "Content-Length, Transfer-Encoding and Host may be given once.";
    if (f.length && f.encoding)
        return "Content-Length and Transfer-Encoding exclude each other.";
    if (f.length && (!*f.length || f.length[strspn(f.length, "0123456789")]))
        return "Content-Length is not a number.";
    if (f.encoding && evutil_ascii_strcasecmp(f.encoding, "chunked") != 0)
        return "The only Transfer-Encoding that this server reads is chunked.";
    return NULL;
}

bool http1_has_unread_body(struct evhttp_request *req) {
    struct framing f = framing_read_headers(req);
    return evhttp_request_get_command(req) == EVHTTP_REQ_HEAD &&
           (f.encoding || (f.length && strcmp(f.length, "0") != 0));
}

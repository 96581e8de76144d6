/* Parsing, printing and judging listen addresses. Pure: nothing is looked up.
 *
 * Fails with ERR_INVALID and a text that shows what an address looks like. */
#include "serve/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

#define PORT_MAX 65535

struct ip {
    int family; /* AF_INET, AF_INET6, or 0 when it is no address */
    uint8_t bytes[16];
};

static struct ip address_parse_ip(struct str host) {
    struct ip ip = {0};
    char text[ADDRESS_HOST_MAX] = "";
    if (host.n == 0 || host.n >= sizeof(text))
        return ip;
    memcpy(text, host.p, host.n);
    if (inet_pton(AF_INET, text, ip.bytes) == 1)
        ip.family = AF_INET;
    else if (inet_pton(AF_INET6, text, ip.bytes) == 1)
        ip.family = AF_INET6;
    return ip;
}

static bool address_ip_equal(struct ip a, struct ip b) {
    return a.family == b.family && memcmp(a.bytes, b.bytes, a.family == AF_INET ? 4 : 16) == 0;
}

static bool address_ip_is_loopback(struct ip ip) {
    return (ip.family == AF_INET && ip.bytes[0] == 127) || address_ip_equal(ip, address_parse_ip(STR("::1")));
}

static bool address_ip_is_any(struct ip ip) {
    return address_ip_equal(ip, address_parse_ip(STR("0.0.0.0"))) ||
           address_ip_equal(ip, address_parse_ip(STR("::")));
}

/* Splits "host:port", "[v6]:port", "host"; without a port ret_port is empty. False: neither form. */
static bool address_split_port(struct str text, struct str *ret_host, struct str *ret_port) {
    const char *end = text.p + text.n;
    const char *host = text.p, *host_end, *rest;
    if (text.n && text.p[0] == '[') {
        host++;
        host_end = memchr(text.p, ']', text.n);
        if (!host_end)
            return false;
        rest = host_end + 1;
    } else {
        host_end = text.n ? memchr(text.p, ':', text.n) : NULL;
        host_end = rest = host_end ? host_end : end;
    }
    if (rest < end && *rest != ':')
        return false;
    *ret_host = str_bytes(host, (size_t)(host_end - host));
    *ret_port = rest < end ? str_bytes(rest + 1, (size_t)(end - rest - 1)) : (struct str){NULL, 0};
    return true;
}

int address_parse(const char *text, struct address *ret, struct err *reterr) {
    struct str host, port;
    int64_t number = -1;
    if (!address_split_port(str_of(text), &host, &port) || str_to_i64(port, &number) < 0 || number < 0 ||
        number > PORT_MAX)
        return err_set(reterr, ERR_INVALID, "\"%s\" is not an address like 127.0.0.1:7233 or [::1]:7233",
                       text);
    if (str_is(host, "localhost"))
        host = STR("127.0.0.1");
    if (!address_parse_ip(host).family)
        return err_set(
            reterr, ERR_INVALID,
            "\"%.*s\" is not an IP address: give the address of an interface, like 127.0.0.1, or localhost",
            (int)MIN(host.n, ADDRESS_HOST_MAX), host.p);
    *ret = (struct address){.port = (uint16_t)number};
    memcpy(ret->host, host.p, host.n);
    return 0;
}

void address_format(const struct address *a, char text[ADDRESS_TEXT_MAX]) {
    bool is_v6 = strchr(a->host, ':') != NULL;
    /* Fits: the host with brackets, a colon and five digits. */
    (void)snprintf(text, ADDRESS_TEXT_MAX, is_v6 ? "[%s]:%u" : "%s:%u", a->host, a->port);
}

bool address_is_loopback(const struct address *a) {
    return address_ip_is_loopback(address_parse_ip(str_of(a->host)));
}

/* In any case, and with the dot that ends a complete name. */
static bool address_is_localhost(struct str host) {
    static const char name[] = "localhost";
    size_t n = sizeof(name) - 1;
    return host.n >= n && strncasecmp(host.p, name, n) == 0 &&
           (host.n == n || (host.n == n + 1 && host.p[n] == '.'));
}

static bool address_is_port(struct str port) {
    for (size_t i = 0; i < port.n; i++)
        if (port.p[i] < '0' || port.p[i] > '9')
            return false;
    return true;
}

bool address_takes_host(const struct address *a, struct str host_header) {
    struct str host, port;
    if (!address_split_port(host_header, &host, &port) || !address_is_port(port))
        return false;
    if (address_is_localhost(host))
        return true;
    struct ip ip = address_parse_ip(host), bound = address_parse_ip(str_of(a->host));
    return ip.family &&
           (address_ip_is_loopback(ip) || address_ip_equal(ip, bound) || address_ip_is_any(bound));
}

/* Listen addresses: what parses, what is loopback, and which Host headers reach a listener. */
#include "harness.h"

#include "serve/address.h"

static void check_parse(const char *text, const char *host, int port) {
    struct address a;
    struct err e;
    char back[ADDRESS_TEXT_MAX];
    if (!CHECK_INT(address_parse(text, &a, &e), 0))
        return;
    CHECK_STR(a.host, host);
    CHECK_INT(a.port, port);
    address_format(&a, back);
    struct address again;
    CHECK_INT(address_parse(back, &again, &e), 0);
    CHECK_STR(again.host, host);
}

static void check_refused(const char *text, const char *part) {
    struct address a;
    struct err e = {0};
    CHECK_INT(address_parse(text, &a, &e), ERR_INVALID);
    CHECK(strstr(e.text, part) != NULL);
}

TEST(address_parses_numbers_and_localhost) {
    check_parse("127.0.0.1:7233", "127.0.0.1", 7233);
    check_parse("localhost:0", "127.0.0.1", 0);
    check_parse("[::1]:65535", "::1", 65535);
    check_parse("0.0.0.0:1", "0.0.0.0", 1);
}

TEST(address_refuses_the_rest) {
    check_refused("", "is not an address like");
    check_refused("127.0.0.1", "is not an address like");
    check_refused("127.0.0.1:", "is not an address like");
    check_refused("127.0.0.1:65536", "is not an address like");
    check_refused("127.0.0.1:-1", "is not an address like");
    check_refused("127.0.0.1:7233x", "is not an address like");
    check_refused("[::1:7233", "is not an address like");
    check_refused("[::1]7233", "is not an address like");
    check_refused("::1:7233", "is not an address like");
    check_refused(":7233", "is not an IP address");
    check_refused("example.com:7233", "is not an IP address");
    check_refused("127.0.0.1.1:7233", "is not an IP address");
}

static bool is_loopback(const char *text) {
    struct address a;
    struct err e;
    return CHECK_INT(address_parse(text, &a, &e), 0) && address_is_loopback(&a);
}

TEST(address_knows_loopback) {
    CHECK(is_loopback("127.0.0.1:1"));
    CHECK(is_loopback("127.8.9.10:1"));
    CHECK(is_loopback("[::1]:1"));
    CHECK(!is_loopback("0.0.0.0:1"));
    CHECK(!is_loopback("[::]:1"));
    CHECK(!is_loopback("10.0.0.1:1"));
    CHECK(!is_loopback("[::ffff:7f00:2]:1"));
}

static bool takes(const char *bound, const char *host) {
    struct address a;
    struct err e;
    return CHECK_INT(address_parse(bound, &a, &e), 0) && address_takes_host(&a, str_of(host));
}

TEST(address_refuses_rebound_hosts) {
    CHECK(takes("127.0.0.1:8233", "127.0.0.1:8233"));
    CHECK(takes("127.0.0.1:8233", "localhost:8233"));
    CHECK(takes("127.0.0.1:8233", "localhost"));
    CHECK(takes("127.0.0.1:8233", "[::1]:8233"));
    CHECK(takes("10.1.2.3:8233", "10.1.2.3:8233"));
    CHECK(takes("0.0.0.0:8233", "10.1.2.3:8233"));
    CHECK(!takes("127.0.0.1:8233", "evil.example:8233"));
    CHECK(!takes("127.0.0.1:8233", "localhost.evil.example"));
    CHECK(!takes("127.0.0.1:8233", "10.1.2.3:8233"));
    CHECK(!takes("10.1.2.3:8233", "10.1.2.4:8233"));
    CHECK(!takes("0.0.0.0:8233", "evil.example"));
    CHECK(!takes("127.0.0.1:8233", ""));
    CHECK(!takes("127.0.0.1:8233", "[::1"));
}

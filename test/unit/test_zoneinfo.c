/* Where zones come from: a directory first, the built-in copy otherwise. */
#include "host/zoneinfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cal/civil.h"
#include "harness.h"

#define JULY_2026 INT64_C(1782864000)

TEST(names_are_found_once) {
    struct zoneinfo *z cleanup(zoneinfo_freep) = zoneinfo_new(NULL);
    REQUIRE(z != NULL);
    const struct zone *berlin = zoneinfo_find(z, STR("Europe/Berlin"));
    REQUIRE(berlin != NULL);
    CHECK(zoneinfo_find(z, STR("Europe/Berlin")) == berlin);
    CHECK_INT(zone_span_at(berlin, JULY_2026).offset_s, 7200);
    CHECK_STR(zone_span_at(berlin, JULY_2026).abbrev, "CEST");
    CHECK_INT(zone_span_at(zoneinfo_find(z, STR("Etc/GMT+5")), JULY_2026).offset_s, -18000);
}

TEST(other_names_are_not) {
    static const char *const names[] = {"",
                                        "Nowhere",
                                        "europe/berlin",
                                        "Europe",
                                        "Europe/",
                                        "/Europe/Berlin",
                                        "../zoneinfo/UTC",
                                        "Europe/../UTC",
                                        "Europe//Berlin",
                                        "Europe/Berlin\n",
                                        "zone.tab",
                                        "Europe/Berlin;x"};
    struct zoneinfo *z cleanup(zoneinfo_freep) = zoneinfo_new(ZONEINFO_DIRECTORY);
    REQUIRE(z != NULL);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        test_check(zoneinfo_find(z, str_of(names[i])) == NULL, __FILE__, __LINE__, names[i]);
    CHECK(zoneinfo_find(z, str_bytes("Europe/Berlin\0", 14)) == NULL);
}

TEST(a_directory_comes_first) {
    char directory[] = "/tmp/test_zoneinfo.XXXXXX", path[128], broken[128];
    REQUIRE(mkdtemp(directory) != NULL);
    (void)snprintf(path, sizeof(path), "%s/UTC", directory);
    (void)snprintf(broken, sizeof(broken), "%s/Japan", directory);
    /* a link to Tokyo's file under the name of UTC */
    CHECK_INT(symlink(ZONEINFO_DIRECTORY "/Asia/Tokyo", path), 0);
    CHECK_INT(symlink("/dev/null", broken), 0);
    struct zoneinfo *z cleanup(zoneinfo_freep) = zoneinfo_new(directory);
    const struct zone *utc = z ? zoneinfo_find(z, STR("UTC")) : NULL;
    const struct zone *japan = z ? zoneinfo_find(z, STR("Japan")) : NULL;
    if (CHECK(utc && japan)) {
        CHECK_INT(zone_span_at(utc, JULY_2026).offset_s, 32400);
        CHECK_INT(zone_span_at(japan, JULY_2026).offset_s, 32400);
    }
    (void)unlink(path);
    (void)unlink(broken);
    (void)rmdir(directory);
}

TEST(zoneinfo_nearest_finds_what_was_meant) {
    static const struct {
        const char *typed, *meant;
    } cases[] = {
        {"europe/berlin", "Europe/Berlin"},
        {"Europe/Berln", "Europe/Berlin"},
        {"Berlin", "Europe/Berlin"},
        {"america/new york", "America/New_York"},
        {"utc", "UTC"},
        {"Mars/Olympus", NULL},
        {"PST", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *near = zoneinfo_nearest(str_of(cases[i].typed));
        if (cases[i].meant)
            CHECK_STR(near, cases[i].meant);
        else
            CHECK(near == NULL);
    }
    struct zoneinfo *z cleanup(zoneinfo_freep) = zoneinfo_new(NULL);
    CHECK(z != NULL);
    struct cal_zones zones = zoneinfo_zones(z);
    struct err e = {0};
    CHECK_INT(cal_zone_unknown(&zones, "", STR("europe/berlin"), &e), ERR_INVALID);
    CHECK_STR(e.text, "unknown time zone \"europe/berlin\"; did you mean \"Europe/Berlin\"?");
}

TEST(zoneinfo_local_name_is_that_of_the_variable) {
    char name[ZONEINFO_NAME_MAX];
    CHECK(zoneinfo_local_name("Asia/Tokyo", name));
    CHECK_STR(name, "Asia/Tokyo");
    CHECK(zoneinfo_local_name(":Europe/Berlin", name));
    CHECK_STR(name, "Europe/Berlin");
    CHECK(zoneinfo_local_name("", name));
    CHECK_STR(name, "UTC");
    CHECK(!zoneinfo_local_name("../../etc/passwd", name));
    CHECK(!zoneinfo_local_name("<+03>-3", name));
}

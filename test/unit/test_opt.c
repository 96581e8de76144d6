/* Command lines by table: every way to give a value, every way to get it wrong, and the help. */
#include "harness.h"

#include "base/err.h"
#include "cli/opt.h"

enum { ALPHA_PORT, ALPHA_NAME, ALPHA_LEVEL, ALPHA_QUIET, ALPHA_TAG, ALPHA_COUNT };

static const struct opt alpha_opts[] = {
    [ALPHA_PORT] = {.name = "port",
                    .letter = 'p',
                    .type = OPT_INT,
                    .arg = "PORT",
                    .standard = "7233",
                    .env = "T_PORT",
                    .min = 0,
                    .max = 65535,
                    .help = "The port."},
    [ALPHA_NAME] = {.name = "name",
                    .letter = 'n',
                    .type = OPT_TEXT,
                    .arg = "NAME",
                    .env = "T_NAME|T_TITLE",
                    .alias = "title",
                    .help = "A name."},
    [ALPHA_LEVEL] = {.name = "log-level",
                     .type = OPT_CHOICE,
                     .arg = "LEVEL",
                     .standard = "info",
                     .choices = "debug|info|warn",
                     .help = "How much to log."},
    [ALPHA_QUIET] = {.name = "quiet", .letter = 'q', .type = OPT_FLAG, .help = "Say nothing."},
    [ALPHA_TAG] = {.name = "tag", .type = OPT_LIST, .arg = "K=V", .help = "A tag \"as is\"."},
    [ALPHA_COUNT] = {.name = "count",
                     .type = OPT_INT,
                     .arg = "N",
                     .standard = "-1",
                     .min = -10,
                     .max = 10,
                     .env = "T_COUNT",
                     .help = "How many."},
};
static const struct opt_example alpha_examples[] = {{"prog alpha --port 1", "One"}};
static const struct opt globals[] = {
    {.name = "help", .letter = 'h', .type = OPT_FLAG, .help = "Show help."},
    {.name = "output",
     .letter = 'o',
     .type = OPT_CHOICE,
     .arg = "FORMAT",
     .standard = "text",
     .choices = "text|json",
     .help = "How to print."},
};
static const struct opt_command commands[] = {
    {"", "", "A program.", NULL, 0, NULL, 0},
    {"alpha", "The first", "Does alpha.", alpha_opts, ARRAY_LEN(alpha_opts), alpha_examples, 1},
    {"alpha beta", "The second", "Does beta.", NULL, 0, NULL, 0},
};
static const struct opt_program program = {"prog", commands, ARRAY_LEN(commands), globals,
                                           ARRAY_LEN(globals)};

static const char *env_good(const char *name) {
    return streq(name, "T_PORT") ? "81" : "";
}
static const char *env_bad(const char *name) {
    return streq(name, "T_COUNT") ? "many" : NULL;
}

struct parsed {
    struct opt_args args;
    struct buf problem;
    int rc;
};

#define PARSE(p, env, ...)                                                                                   \
    do {                                                                                                     \
        const char *words_[] = {"prog", __VA_ARGS__};                                                        \
        parse((p), (env), words_, ARRAY_LEN(words_));                                                        \
    } while (0)

static void parse(struct parsed *p, const char *(*env)(const char *), const char **words, size_t count) {
    char *argv[16];
    for (size_t i = 0; i < count; i++)
        memcpy(&argv[i], &words[i], sizeof(argv[i])); /* argv is not const by custom only */
    buf_init(&p->problem, 4096);
    p->rc = opt_parse(&program, (int)count, argv, env, &p->args, &p->problem);
}

static void check_problem(struct parsed *p, const char *want) {
    CHECK_INT(p->rc, ERR_INVALID);
    CHECK_SLICE(buf_str(&p->problem), str_of(want));
    buf_done(&p->problem);
}

TEST(opt_defaults_hold_without_options) {
    struct parsed p;
    PARSE(&p, NULL, "alpha");
    CHECK_INT(p.rc, 0);
    CHECK_STR(p.args.command->path, "alpha");
    CHECK_INT(opt_int(&p.args, ALPHA_PORT), 7233);
    CHECK_INT(opt_int(&p.args, ALPHA_COUNT), -1);
    CHECK(opt_text(&p.args, ALPHA_NAME) == NULL);
    CHECK(!opt_flag(&p.args, ALPHA_QUIET));
    CHECK(!opt_is_given(&p.args, ALPHA_PORT));
    CHECK(opt_list(&p.args, ALPHA_TAG, 0) == NULL);
    CHECK_STR(opt_global_text(&p.args, 1), "text");
    buf_done(&p.problem);
}

TEST(opt_takes_values_in_every_form) {
    struct parsed p;
    PARSE(&p, NULL, "alpha", "--port=1", "--name", "-x", "--log-level=warn", "-q", "-ojson");
    CHECK_INT(p.rc, 0);
    CHECK_INT(opt_int(&p.args, ALPHA_PORT), 1);
    CHECK_STR(opt_text(&p.args, ALPHA_NAME), "-x");
    CHECK_STR(opt_text(&p.args, ALPHA_LEVEL), "warn");
    CHECK(opt_flag(&p.args, ALPHA_QUIET));
    CHECK_STR(opt_global_text(&p.args, 1), "json");
    PARSE(&p, NULL, "alpha", "-p", "2", "--quiet=false", "--name=a=b", "--count", "-10");
    CHECK_INT(p.rc, 0);
    CHECK_INT(opt_int(&p.args, ALPHA_PORT), 2);
    CHECK_INT(opt_int(&p.args, ALPHA_COUNT), -10);
    CHECK(!opt_flag(&p.args, ALPHA_QUIET));
    CHECK_STR(opt_text(&p.args, ALPHA_NAME), "a=b");
    PARSE(&p, NULL, "alpha", "-qp3", "-n=z");
    CHECK_INT(p.rc, 0);
    CHECK_INT(opt_int(&p.args, ALPHA_PORT), 3);
    CHECK_STR(opt_text(&p.args, ALPHA_NAME), "z");
    buf_done(&p.problem);
}

TEST(opt_last_value_wins_and_lists_keep_order) {
    struct parsed p;
    PARSE(&p, NULL, "alpha", "--port", "1", "--tag", "a=1", "--port", "2", "--tag=b=2");
    CHECK_INT(p.rc, 0);
    CHECK_INT(opt_int(&p.args, ALPHA_PORT), 2);
    CHECK_STR(opt_list(&p.args, ALPHA_TAG, 0), "a=1");
    CHECK_STR(opt_list(&p.args, ALPHA_TAG, 1), "b=2");
    CHECK(opt_list(&p.args, ALPHA_TAG, 2) == NULL);
    buf_done(&p.problem);
}

static const char *env_two(const char *name) {
    return streq(name, "T_NAME") ? "first" : streq(name, "T_TITLE") ? "second" : NULL;
}
static const char *env_second(const char *name) {
    return streq(name, "T_NAME") ? "" : streq(name, "T_TITLE") ? "second" : NULL;
}

TEST(opt_the_first_variable_that_is_set_counts) {
    struct parsed p;
    PARSE(&p, env_two, "alpha");
    CHECK_STR(opt_text(&p.args, ALPHA_NAME), "first");
    buf_done(&p.problem);
    PARSE(&p, env_second, "alpha");
    CHECK_STR(opt_text(&p.args, ALPHA_NAME), "second");
    buf_done(&p.problem);
}

TEST(opt_an_alias_is_the_same_option) {
    struct parsed p;
    PARSE(&p, NULL, "alpha", "--title", "one");
    CHECK_STR(opt_text(&p.args, ALPHA_NAME), "one");
    buf_done(&p.problem);
    PARSE(&p, NULL, "alpha", "--title=one", "--name", "two");
    CHECK_STR(opt_text(&p.args, ALPHA_NAME), "two");
    buf_done(&p.problem);
}

TEST(opt_environment_stands_between_flag_and_default) {
    struct parsed p;
    PARSE(&p, env_good, "alpha");
    CHECK_INT(opt_int(&p.args, ALPHA_PORT), 81);
    CHECK(opt_is_given(&p.args, ALPHA_PORT));
    CHECK_INT(opt_int(&p.args, ALPHA_COUNT), -1);
    PARSE(&p, env_good, "alpha", "--port", "82");
    CHECK_INT(opt_int(&p.args, ALPHA_PORT), 82);
    buf_done(&p.problem);
    PARSE(&p, env_bad, "alpha");
    check_problem(&p, "T_COUNT needs a number from -10 to 10, not \"many\"; see prog alpha --help");
}

TEST(opt_longest_command_wins) {
    struct parsed p;
    PARSE(&p, NULL, "alpha", "beta");
    CHECK_STR(p.args.command->path, "alpha beta");
    PARSE(&p, NULL, "--");
    CHECK_INT(p.rc, 0);
    CHECK_STR(p.args.command->path, "");
    buf_done(&p.problem);
}

TEST(opt_mistakes_name_the_word_and_the_way_out) {
    struct parsed p;
    PARSE(&p, NULL, "alpha", "--prot", "1");
    check_problem(&p, "unknown flag --prot (did you mean --port?); see prog alpha --help");
    PARSE(&p, NULL, "alpha", "--zzzzzz=1");
    check_problem(&p, "unknown flag --zzzzzz; see prog alpha --help");
    PARSE(&p, NULL, "alpha", "-x");
    check_problem(&p, "unknown flag -x; see prog alpha --help");
    PARSE(&p, NULL, "alhpa");
    check_problem(&p, "unknown command \"alhpa\" (did you mean alpha?); see prog --help");
    PARSE(&p, NULL, "alpha", "bet");
    check_problem(&p, "unknown command \"bet\" (did you mean beta?); see prog alpha --help");
    PARSE(&p, NULL, "alpha", "beta", "gamma");
    check_problem(&p, "unexpected argument \"gamma\"; see prog alpha beta --help");
    PARSE(&p, NULL, "alpha", "--port");
    check_problem(&p, "--port needs a value: --port PORT; see prog alpha --help");
    PARSE(&p, NULL, "alpha", "--port=65536");
    check_problem(&p, "--port needs a number from 0 to 65535, not \"65536\"; see prog alpha --help");
    PARSE(&p, NULL, "alpha", "--port=7x");
    check_problem(&p, "--port needs a number from 0 to 65535, not \"7x\"; see prog alpha --help");
    PARSE(&p, NULL, "alpha", "--log-level", "inf");
    check_problem(&p, "--log-level takes debug|info|warn, not \"inf\"; see prog alpha --help");
    PARSE(&p, NULL, "alpha", "--quiet=maybe");
    check_problem(&p, "--quiet is on or off: \"maybe\" is neither true nor false; see prog alpha --help");
    PARSE(&p, NULL, "alpha", "--name=");
    check_problem(&p, "--name needs a value that is not empty; see prog alpha --help");
    PARSE(&p, NULL, "alpha", "--", "x");
    check_problem(&p, "unknown command \"x\"; see prog alpha --help");
}

TEST(opt_too_many_options_are_refused) {
    struct parsed p;
    char prog[] = "prog", alpha[] = "alpha", quiet[] = "-q";
    char *argv[OPT_GIVEN_MAX + 3];
    argv[0] = prog;
    argv[1] = alpha;
    for (size_t i = 2; i < ARRAY_LEN(argv); i++)
        argv[i] = quiet;
    buf_init(&p.problem, 4096);
    p.rc = opt_parse(&program, (int)ARRAY_LEN(argv), argv, NULL, &p.args, &p.problem);
    check_problem(&p, "more than 512 options; see prog alpha --help");
}

static void check_help_text(const char *text) {
    for (size_t i = 0; i < ARRAY_LEN(alpha_opts); i++)
        CHECK(strstr(text, alpha_opts[i].name) && strstr(text, alpha_opts[i].help));
    CHECK(strstr(text, "Usage: prog alpha [flags]") != NULL);
    CHECK(strstr(text, "  -p, --port PORT\n") != NULL);
    CHECK(strstr(text, "Default: 7233") && strstr(text, "Environment: T_PORT"));
    CHECK(strstr(text, "  alpha beta  The second\n") != NULL);
    CHECK(strstr(text, "# One\n  prog alpha --port 1\n") != NULL);
}

TEST(opt_help_survives_mistakes_and_lists_everything) {
    struct parsed p;
    struct buf out;
    PARSE(&p, NULL, "alpha", "--nonsense", "--help");
    CHECK_INT(p.rc, 0);
    CHECK(opt_global_flag(&p.args, 0));
    buf_init(&out, 8192);
    opt_help(&p.args, &out);
    buf_add_u8(&out, 0);
    if (CHECK(buf_ok(&out)))
        check_help_text((const char *)out.data);
    buf_done(&out);
    buf_done(&p.problem);
}

TEST(opt_help_as_json) {
    struct parsed p;
    struct buf out;
    PARSE(&p, NULL, "alpha", "beta", "-h", "-o", "json");
    CHECK_STR(opt_global_text(&p.args, 1), "json");
    buf_init(&out, 8192);
    opt_help_json(&p.args, &out);
    CHECK_SLICE(buf_str(&out),
                STR("{\"program\":\"prog\",\"command\":\"alpha beta\",\"help\":\"Does "
                    "beta.\",\"commands\":[],\"flags\":[],"
                    "\"global_flags\":[{\"name\":\"help\",\"letter\":\"h\",\"type\":\"flag\",\"help\":\"Show "
                    "help.\"},"
                    "{\"name\":\"output\",\"letter\":\"o\",\"type\":\"choice\",\"argument\":\"FORMAT\","
                    "\"default\":\"text\","
                    "\"choices\":\"text|json\",\"help\":\"How to print.\"}],\"examples\":[]}\n"));
    buf_done(&out);
    buf_done(&p.problem);
}

TEST(opt_json_strings_are_escaped) {
    struct buf out;
    buf_init(&out, 100);
    opt_json_string(&out, "a\"b\\c\nd\001");
    CHECK_SLICE(buf_str(&out), STR("\"a\\\"b\\\\c\\u000ad\\u0001\""));
    buf_done(&out);
}

TEST(opt_nearest_finds_slips_only) {
    static const char *const names[] = {"port", "ip", "headless"};
    CHECK_STR(opt_nearest("prt", names, 3), "port");
    CHECK_STR(opt_nearest("headles", names, 3), "headless");
    CHECK(opt_nearest("xx", names, 3) == NULL);
    CHECK(opt_nearest("completely-different", names, 3) == NULL);
    CHECK(opt_nearest("port", NULL, 0) == NULL);
}

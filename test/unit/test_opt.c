/* Command lines by table: every way to give a value, every way to get it wrong, and the help. */
#include "harness.h"

#include "base/err.h"
#include "base/mem.h"
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

/* Words, sets and files have a program of their own. */
static const struct opt gamma_opts[] = {
    {.name = "key", .letter = 'k', .type = OPT_WORD, .arg = "KEY", .help = "A key. And more."},
    {.name = "value", .type = OPT_WORD, .arg = "VALUE", .help = "A value."},
    {.name = "place", .type = OPT_TEXT, .arg = "PLACE", .standard = "own", .help = "Its own place."},
};
static const struct opt shared_opts[] = {
    {.name = "place", .type = OPT_TEXT, .arg = "PLACE", .standard = "shared", .help = "Hidden."},
    {.name = "speed",
     .letter = 's',
     .type = OPT_CHOICE,
     .arg = "HOW",
     .env = "T_SPEED",
     .choices = "slow|fast",
     .help = "A speed."},
};
static const struct opt_set sets[] = {{"Shared", shared_opts, ARRAY_LEN(shared_opts)}};
static const struct opt_example gamma_examples[] = {{"prog gamma a", "Look"}};
static const struct opt_command gamma_commands[] = {
    {"", "", "A program.", NULL, 0, NULL, 0},
    {"gamma", "The third", "Does -gamma.\n.Really.", gamma_opts, ARRAY_LEN(gamma_opts), gamma_examples, 1,
     sets, 1},
    {"delta", "A group", "Groups.", NULL, 0, NULL, 0},
    {"delta one", "The fourth", "Does one.", NULL, 0, NULL, 0},
    {"delta other", "The fifth", "Does other.", NULL, 0, NULL, 0},
};
static const struct opt_program gamma_program = {"prog",  gamma_commands,     ARRAY_LEN(gamma_commands),
                                                 globals, ARRAY_LEN(globals), "0: fine.\n1: not.",
                                                 "a file"};

static const char *env_good(const char *name) {
    return cstr_eq(name, "T_PORT") ? "81" : "";
}
static const char *env_bad(const char *name) {
    return cstr_eq(name, "T_COUNT") ? "many" : NULL;
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
    return cstr_eq(name, "T_NAME") ? "first" : cstr_eq(name, "T_TITLE") ? "second" : NULL;
}
static const char *env_second(const char *name) {
    return cstr_eq(name, "T_NAME") ? "" : cstr_eq(name, "T_TITLE") ? "second" : NULL;
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

TEST(opt_flags_of_every_command_may_stand_before_it) {
    struct parsed p;
    PARSE(&p, NULL, "-o", "json", "alpha", "--port", "1");
    CHECK_INT(p.rc, 0);
    CHECK_STR(p.args.command->path, "alpha");
    CHECK_STR(opt_global_text(&p.args, 1), "json");
    CHECK_INT(opt_int(&p.args, ALPHA_PORT), 1);
    PARSE(&p, NULL, "--output=json", "alpha", "beta");
    CHECK_INT(p.rc, 0);
    CHECK_STR(p.args.command->path, "alpha beta");
    PARSE(&p, NULL, "--output", "json", "alhpa");
    check_problem(&p, "unknown command \"alhpa\" (did you mean alpha?); see prog --help");
    PARSE(&p, NULL, "--port", "1", "alpha");
    check_problem(&p, "unknown flag --port; see prog --help");
    PARSE(&p, NULL, "-o", "json");
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
    check_problem(&p, "--quiet must be true or false, not \"maybe\"; see prog alpha --help");
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
    check_problem(&p, "more than 512 options on the command line; see prog alpha --help");
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
                    "\"shared_flags\":[],\"global_flags\":[{\"name\":\"help\",\"letter\":\"h\",\"type\":"
                    "\"flag\",\"help\":\"Show "
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

static int parse_gamma(struct opt_args *a, struct buf *problem, const char **words, size_t count) {
    char *argv[16];
    for (size_t i = 0; i < count; i++)
        memcpy(&argv[i], &words[i], sizeof(argv[i]));
    buf_clear(problem);
    return opt_parse(&gamma_program, (int)count, argv, NULL, a, problem);
}

static const char *file_speed(void *ctx, const struct opt *o) {
    return cstr_eq(o->name, "speed") ? ctx : NULL;
}

TEST(opt_words_sets_and_files) {
    const char *two[] = {"prog", "gamma", "a", "--speed", "slow", "b"};
    const char *named[] = {"prog", "gamma", "-k", "a", "b"};
    const char *three[] = {"prog", "gamma", "a", "b", "c"};
    const char *wrong[] = {"prog", "gamma", "-s", "idle"};
    struct opt_args *a = mem_alloc(sizeof(*a));
    struct buf problem;
    char fast[] = "fast";
    if (!a)
        return;
    buf_init(&problem, 4096);
    CHECK_INT(parse_gamma(a, &problem, two, ARRAY_LEN(two)), 0);
    CHECK_STR(opt_named(a, "key"), "a");
    CHECK_STR(opt_named(a, "value"), "b");
    CHECK_STR(opt_named(a, "speed"), "slow");
    CHECK_STR(opt_named(a, "place"), "own");
    CHECK(!opt_named(a, "none") && !opt_named_flag(a, "none") && !opt_named_list(a, "none", 0));
    CHECK_INT(parse_gamma(a, &problem, named, ARRAY_LEN(named)), 0);
    CHECK_STR(opt_named(a, "value"), "b");
    CHECK(!opt_named(a, "speed") && !opt_named_given(a, "speed"));
    a->file = file_speed;
    a->file_ctx = fast;
    CHECK_STR(opt_named(a, "speed"), "fast");
    CHECK(opt_named_given(a, "speed"));
    CHECK_INT(parse_gamma(a, &problem, three, ARRAY_LEN(three)), ERR_INVALID);
    CHECK_INT(parse_gamma(a, &problem, wrong, ARRAY_LEN(wrong)), ERR_INVALID);
    CHECK(buf_ok(&problem));
    CHECK_SLICE(buf_str(&problem), STR("--speed takes slow|fast, not \"idle\"; see prog gamma --help"));
    buf_done(&problem);
    mem_free(a);
}

static void test_values(unused_arg void *ctx, unused_arg const struct opt_args *a, const struct opt *o,
                        const char *part, struct buf *out) {
    static const char *const words[] = {"red", "blue"};
    for (size_t i = 0; cstr_eq(o->name, "key") && i < ARRAY_LEN(words); i++)
        if (strncmp(words[i], part, strlen(part)) == 0)
            buf_printf(out, "%s\tA key\n", words[i]);
}
static const struct opt_source test_source = {test_values, NULL};

static void check_complete(int line, const char *words, const char *want) {
    char copy[128] = "";
    char *argv[8];
    int argc = 0;
    struct buf out;
    strncat(copy, words, sizeof(copy) - 1);
    for (char *at = copy; at && argc < 8; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        argv[argc++] = at;
    for (char *at = copy; *at; at++)
        if (*at == '|')
            *at = '\0';
    buf_init(&out, 4096);
    opt_complete(&gamma_program, argc, argv, NULL, &test_source, &out);
    buf_add_u8(&out, '\0');
    if (buf_ok(&out))
        test_check_str(str_of((const char *)out.data), str_of(want), __FILE__, line, words);
    buf_done(&out);
}

TEST(opt_completes) {
    static const struct {
        int line;
        const char *words, *want;
    } rows[] = {
        {__LINE__, "", "gamma\tThe third\ndelta\tA group\n"},
        {__LINE__, "ga", "gamma\tThe third\n"},
        {__LINE__, "delta|o", "one\tThe fourth\nother\tThe fifth\n"},
        {__LINE__, "gamma|--k", "--key\tA key\n"},
        {__LINE__, "gamma|--sp", "--speed\tA speed\n"},
        {__LINE__, "gamma|--speed|", "slow\tA speed\nfast\tA speed\n"},
        {__LINE__, "gamma|-s|f", "fast\tA speed\n"},
        {__LINE__, "gamma|--place|", ""},
        {__LINE__, "gamma|--key|", "red\tA key\nblue\tA key\n"},
        {__LINE__, "gamma|--key=b", "--key=blue\tA key\n"},
        {__LINE__, "gamma|r", "red\tA key\n"},
        {__LINE__, "gamma|red|", ""},
        {__LINE__, "gamma|--speed=f", "--speed=fast\tA speed\n"},
        {__LINE__, "-h|ga", "gamma\tThe third\n"},
        {__LINE__, "none|x", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_complete(rows[i].line, rows[i].words, rows[i].want);
    CHECK(true);
}

TEST(opt_man_page_is_roff) {
    struct buf out;
    buf_init(&out, 1u << 16);
    opt_man(&gamma_program, &out);
    buf_add_u8(&out, '\0');
    if (buf_ok(&out)) {
        const char *page = (const char *)out.data;
        CHECK(strstr(page, ".SS prog gamma\nDoes \\-gamma.\n\\&.Really.\n"));
        CHECK(strstr(page, ".SS Shared\n"));
        CHECK(strstr(page, "\\fB\\-s\\fR, \\fB\\-\\-speed\\fR \\fIHOW\\fR\n"));
        CHECK(strstr(page, ".SH EXIT STATUS\n0: fine.\n.br\n1: not.\n.br\n"));
        CHECK(!strstr(page, "delta"));
    }
    CHECK(true);
    buf_done(&out);
}

/* Bytes as a command line of the server: words, each ended by a NUL or a newline.
 *
 * What is refused is refused with one line; what is taken has values that fit its options. Each word is also
 * read as an address, an origin and the key of a limit, and completed as a shell would ask. */
#include "fuzz.h"

#include "cli/opt.h"
#include "core/step/limits.h"
#include "main/program.h"
#include "serve/address.h"
#include "serve/origin.h"

#define INPUT_BYTES_MAX 4096
#define WORDS_MAX 64
#define TEXT_BYTES_MAX ((size_t)1 << 20)

static const struct opt server_settings[] = {
#define SETTING(id, name_, letter_, type_, arg_, standard_, env_, choices_, min_, max_, help_, ...)          \
    [SETTING_##id] = {name_, letter_, OPT_##type_, arg_, standard_, env_, choices_, min_, max_, help_},
#include "main/settings.def"
#undef SETTING
};

static const struct opt dev_flags[] = {
#define DEV_FLAG(id, effect_, name_, letter_, type_, arg_, standard_, choices_, min_, max_, help_)           \
    [DEV_##id] = {name_, letter_, OPT_##type_, arg_, standard_, NULL, choices_, min_, max_, help_},
#include "main/dev_flags.def"
#undef DEV_FLAG
};

static const struct opt globals[] = {{.name = "help", .letter = 'h', .type = OPT_FLAG, .help = "Help."}};

static const struct opt words[] = {
    {.name = "key", .letter = 'k', .type = OPT_WORD, .arg = "KEY", .help = "A word.", .alias = "name|id"},
    {.name = "value", .type = OPT_LIST, .arg = "VALUE", .help = "Values."},
};

static const struct opt_command commands[] = {
    {.path = "", .summary = "", .text = "The program."},
    {.path = "server",
     .summary = "Run",
     .text = "Runs.",
     .opts = server_settings,
     .opt_count = ARRAY_LEN(server_settings)},
    {.path = "server start-dev",
     .summary = "Run",
     .text = "Runs.",
     .opts = dev_flags,
     .opt_count = ARRAY_LEN(dev_flags)},
    {.path = "env get", .summary = "Get", .text = "Gets.", .opts = words, .opt_count = ARRAY_LEN(words)},
};

static const struct opt_program program = {.name = "rondo",
                                           .commands = commands,
                                           .command_count = ARRAY_LEN(commands),
                                           .globals = globals,
                                           .global_count = 1};

/* The words, ended by NULL, in `space`. */
static int split(const uint8_t *data, size_t size, char *space, char **argv) {
    int n = 0;
    size_t at = 0;
    argv[n++] = space;
    space[at++] = 0;
    for (size_t i = 0; i < size && n < WORDS_MAX;) {
        argv[n++] = space + at;
        while (i < size && data[i] && data[i] != '\n')
            space[at++] = (char)data[i++];
        space[at++] = 0;
        i++;
    }
    argv[n] = NULL;
    return n;
}

static void check_value(const struct opt_args *a, size_t row, const struct opt *o) {
    struct buf problem cleanup(buf_done);
    buf_init(&problem, TEXT_BYTES_MAX);
    if (o->type == OPT_INT && opt_text(a, row))
        ensure(opt_int(a, row) >= o->min && opt_int(a, row) <= o->max);
    if (o->type == OPT_FLAG)
        (void)opt_flag(a, row); /* whichever */
    for (size_t n = 0; o->type == OPT_LIST && opt_list(a, row, n);)
        n++;
    if (o->type == OPT_CHOICE && opt_text(a, row))
        ensure(opt_fits(o, "it", opt_text(a, row), &problem));
}

static void check_line(int argc, char **argv) {
    struct opt_args args;
    struct buf problem cleanup(buf_done), text cleanup(buf_done);
    buf_init(&problem, TEXT_BYTES_MAX);
    buf_init(&text, TEXT_BYTES_MAX);
    opt_complete(&program, argc, argv, NULL, NULL, &text);
    ensure(buf_ok(&text));
    if (opt_parse(&program, argc, argv, NULL, &args, &problem) < 0) {
        ensure(buf_ok(&problem) && problem.len > 0);
        return;
    }
    ensure(args.command && args.given_count <= OPT_GIVEN_MAX);
    if (opt_global_flag(&args, 0)) {
        opt_help(&args, &text);
        opt_help_json(&args, &text);
        ensure(buf_ok(&text));
        return;
    }
    for (size_t i = 0; i < args.command->opt_count; i++)
        check_value(&args, i, &args.command->opts[i]);
}

static void check_word(const char *word) {
    struct address a, again;
    char text[ADDRESS_TEXT_MAX];
    struct err e = {0};
    int rc = address_parse(word, &a, &e);
    ensure(rc == 0 || (rc == e.code && e.text[0]));
    if (rc == 0) {
        address_format(&a, text);
        ensure(address_parse(text, &again, &e) == 0);
        ensure(again.port == a.port && cstr_eq(again.host, a.host));
        ensure(address_takes_host(&a, str_of(text)) || !address_is_loopback(&a) || a.port == 0);
        (void)address_takes_host(&a, str_of(word));
    }
    e = (struct err){0};
    rc = origin_validate(word, &e);
    ensure(rc == 0 || (rc == e.code && e.text[0]));
    ensure(limit_by_key(str_of(word)) <= SETTABLE_COUNT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char space[INPUT_BYTES_MAX + WORDS_MAX + 2];
    char *argv[WORDS_MAX + 2];
    if (size > INPUT_BYTES_MAX)
        return 0;
    int argc = split(data, size, space, argv);
    check_line(argc, argv);
    for (int i = 1; i < argc; i++)
        check_word(argv[i]);
    return 0;
}

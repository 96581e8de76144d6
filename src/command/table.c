/* The tables commands.def and shared.def as arrays: options for the parser, rules for requests and output. */
#include "command/command_int.h"
#include "health.pb-c.h"
#include "operatorservice.pb-c.h"
#include "rondo.pb-c.h"
#include "workflowservice.pb-c.h"

#define GROUP(...)
#define COMMAND(...)
#define LOCAL(...)
#define END(...)
const struct opt command_opts[FLAG_ROWS] = {
#define FLAG(command, id, name_, letter_, alias_, type_, needed, arg_, standard_, env_, choices_, min_,      \
             max_, form, field, help_)                                                                       \
    [FLAG_##command##_##id] = {.name = name_,                                                                \
                               .letter = letter_,                                                            \
                               .alias = alias_,                                                              \
                               .type = OPT_##type_,                                                          \
                               .arg = arg_,                                                                  \
                               .standard = standard_,                                                        \
                               .env = env_,                                                                  \
                               .choices = choices_,                                                          \
                               .min = min_,                                                                  \
                               .max = max_,                                                                  \
                               .help = help_},
#include "command/commands.def"
#undef FLAG
};

const struct flag_rule flag_rules[FLAG_ROWS] = {
#define FLAG(command, id, name_, letter_, alias_, type_, needed, arg_, standard_, env_, choices_, min_,      \
             max_, form, field_, help_)                                                                      \
    [FLAG_##command##_##id] = {needed, FORM_##form, field_},
#include "command/commands.def"
#undef FLAG
};
#undef COMMAND
#undef LOCAL

#define FLAG(...)
const struct opt_example command_examples[COMMAND_IDS] = {
#define COMMAND(id, path, call, items, columns, summary, text, example, what)                                \
    [COMMAND_##id] = {example, what},
#define LOCAL(id, path, items, columns, summary, text, example, what) [COMMAND_##id] = {example, what},
#include "command/commands.def"
#undef COMMAND
#undef LOCAL
};

static const ProtobufCMessageDescriptor *const requests[CALL_COUNT] = {
#define RPC(service, name, type, kind, access, bytes_max, handler)                                           \
    [CALL_##name] = &type##_request__descriptor,
#include "wire/methods.def"
#undef RPC
};

const struct command_rule command_rules[COMMAND_IDS] = {
#define COMMAND(id, path, call_, items_, columns_, summary, text, example, what)                             \
    [COMMAND_##id] = {CALL_##call_, items_, columns_},
#define LOCAL(id, path, items_, columns_, summary, text, example, what)                                      \
    [COMMAND_##id] = {CALL_NONE, items_, columns_},
#include "command/commands.def"
#undef COMMAND
#undef LOCAL
};

const ProtobufCMessageDescriptor *request_type(enum client_method call) {
    ensure(call < CALL_COUNT);
    return requests[call];
}

/* Shared flags. */

#define ROW(name_, letter_, type_, arg_, standard_, env_, choices_, help_)                                   \
    {.name = name_,                                                                                          \
     .letter = letter_,                                                                                      \
     .type = OPT_##type_,                                                                                    \
     .arg = arg_,                                                                                            \
     .standard = standard_,                                                                                  \
     .env = env_,                                                                                            \
     .choices = choices_,                                                                                    \
     .help = help_},
#define OF_SETTINGS_SETTINGS(...) ROW(__VA_ARGS__)
#define OF_SETTINGS_CLIENT(...)
#define OF_CLIENT_SETTINGS(...)
#define OF_CLIENT_CLIENT(...) ROW(__VA_ARGS__)

static const struct opt settings_opts[] = {
#define SHARED(set, id, name, letter, type, arg, standard, env, choices, property, help)                     \
    OF_SETTINGS_##set(name, letter, type, arg, standard, env, choices, help)
#include "command/shared.def"
#undef SHARED
};

static const struct opt client_opts[] = {
#define SHARED(set, id, name, letter, type, arg, standard, env, choices, property, help)                     \
    OF_CLIENT_##set(name, letter, type, arg, standard, env, choices, help)
#include "command/shared.def"
#undef SHARED
};

const struct opt_set command_sets[SET_COUNT] = {
    [SET_SETTINGS] = {"Flags for files and formats", settings_opts, ARRAY_LEN(settings_opts)},
    [SET_CLIENT] = {"Flags of the connection", client_opts, ARRAY_LEN(client_opts)},
};

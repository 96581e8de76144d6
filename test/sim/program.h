/* The workflows of the simulated world: small programs made from a number.
 *
 * A program is a list of stages: run activities, sleep, wait for signals, race
 * an activity against a timer, leave a marker, start a child (and maybe signal or
 * cancel it), signal or cancel a neighbour. At its end it completes, fails or
 * continues as new. Its state comes from history events alone, so any worker can
 * rebuild it from the whole history or carry on from where it was. A history that
 * does not fit the program is a bug of the server (G5), which program_apply()
 * reports. */
#pragma once

#include "command.pb-c.h"
#include "history.pb-c.h"
#include "model.h"

struct arena;

#define PROGRAM_STAGES_MAX 6
#define PROGRAM_PENDING_MAX 8 /* what earlier stages left undone stays */
#define PROGRAM_COMMANDS_MAX 16
#define PROGRAM_END_SIGNAL "end" /* lets every wait for signals pass */
#define PROGRAM_UNKNOWN_QUERY "unknown"

#define PROGRAM_UPDATES_MAX 16 /* open at the same time */
#define PROGRAM_CHILD "child" /* the request id in the input of a child */
#define PROGRAM_SCHEDULED "scheduled" /* and of what a schedule starts */
#define PROGRAM_DEPTH_MAX 2 /* children of children */

/* What a start request carries as its input. */
struct program_input {
    char request_id[MODEL_ID_MAX];
    uint64_t program;
    uint32_t lap; /* how often it has continued as new */
};

enum stage_kind {
    STAGE_ACTIVITIES,
    STAGE_TIMER,
    STAGE_SIGNALS,
    STAGE_RACE,
    STAGE_MARKER,
    STAGE_CHILD,
    STAGE_NEIGHBOUR,
    STAGE_KIND_COUNT
};

struct stage {
    enum stage_kind kind;
    uint32_t count; /* activities, signals */
    uint32_t time_ms; /* timers */
    uint32_t mode; /* children, neighbours: see the functions below */
};

/* What a mode means. */
int child_policy(uint32_t mode); /* when the parent closes */
bool child_is_awaited(uint32_t mode); /* until its end, not only until its start */
bool child_is_signalled(uint32_t mode); /* once it has started */
bool child_is_cancelled(uint32_t mode); /* the same */

enum pending_kind { PENDING_ACTIVITY, PENDING_TIMER, PENDING_CHILD, PENDING_SIGNAL, PENDING_CANCEL };

struct pending {
    enum pending_kind kind;
    uint32_t number;
    uint32_t mode; /* of its stage */
    int64_t event_id; /* that scheduled, started or initiated it; 0 until seen */
    bool is_started; /* children */
    bool is_done;
    bool cancel_sent;
};

struct expected {
    int32_t event_type;
    uint32_t number;
};

/* Flat, so that it is copied by assignment. */
struct program {
    char run_id[UUID_TEXT_LEN + 1];
    char workflow_id[MODEL_ID_MAX]; /* without the namespace */
    char request_id[MODEL_ID_MAX]; /* of its input */
    uint64_t seed;
    uint32_t lap;
    uint32_t laps; /* so often it continues as new */
    int32_t attempt; /* of the run */
    struct stage stages[PROGRAM_STAGES_MAX];
    uint32_t stage_count;
    uint32_t at;
    bool is_entered; /* the commands of stage `at` were given */
    bool is_over;
    bool heeds_cancel;
    bool fails;
    bool cancel_requested;
    bool end_signal;
    uint32_t signals;
    uint32_t signals_used;
    uint32_t next_number;
    struct pending pending[PROGRAM_PENDING_MAX];
    uint32_t pending_count;
    uint32_t first_pending; /* of the current stage */
    struct expected expected[PROGRAM_COMMANDS_MAX]; /* events that the last commands must leave */
    uint32_t expected_count;
    uint64_t updates[PROGRAM_UPDATES_MAX]; /* numbers of those that were accepted and not completed */
    uint32_t update_count;
    int64_t last_event_id;
    int64_t activated_for; /* started event id of the last workflow task that ran */
};

/* A command before it becomes a message. */
struct intent {
    int32_t command_type;
    uint32_t number;
    int64_t event_id; /* what it cancels */
    uint32_t time_ms;
    uint32_t mode;
    uint32_t about; /* signal or cancel of a child: its number; UINT32_MAX: of a neighbour */
};

struct intents {
    struct intent items[PROGRAM_COMMANDS_MAX];
    uint32_t count;
};

/* What becomes of an update, decided by its number. */
bool update_parse(const char *id, uint64_t *ret_number); /* "update-12" */
bool update_is_rejected(uint64_t number);
bool update_is_slow(uint64_t number); /* accepted with one workflow task, completed with the next */

/* What an activity does, decided by program and number, sent as its input. */
struct activity_plan {
    uint32_t fails; /* so many attempts fail before one succeeds */
    uint32_t work_ms; /* how long an attempt takes */
    uint32_t heartbeat_ms; /* heartbeat timeout, 0 for none */
};

uint32_t program_number(const char *id); /* "a12", "t12", "x12" -> 12; UINT32_MAX for anything else */
uint32_t program_child_number(const char *workflow_id); /* "w0-1.12" -> 12 */
unsigned program_depth(const char *workflow_id); /* 0 for those that clients start */
int program_input_parse(const char *text, struct program_input *ret) must_check;
void program_init(struct program *p, const char *run_id);
/* The next event. Gives NULL, or says in what way the event does not fit the program. */
const char *program_apply(struct program *p, const History__HistoryEvent *e);
/* Runs the program as far as the events allow. */
void program_activate(struct program *p, int64_t started_event_id, struct intents *ret);
struct activity_plan program_activity(const struct program *p, uint32_t number);
int activity_plan_parse(const char *text, struct activity_plan *ret) must_check;
/* The message for an intent, in the arena. */
Command__Command *program_command(const struct program *p, const struct intent *intent, struct arena *a);

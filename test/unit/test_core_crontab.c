/* Crontabs of DBOS's dialect: what a binding becomes, and which schedules are such. */
#include "core/schedule/crontab.h"

#include "message_text.h"
#include "names.h"

#define BUDGET ((size_t)1 << 20)
#define GOOD "'crontab':'* * * * *','workflowType':'T','taskQueue':'q'"

static int schedule_of(struct arena *a, const char *text, Schedule__Schedule **ret, struct err *err) {
    const Rondo__CrontabBinding *b = message_of(a, &rondo__crontab_binding__descriptor, text);
    return b ? crontab_schedule(b, a, ret, err) : ERR_NO_MEMORY;
}

static void check_refused(const char *text, const char *want) {
    cleanup(arena_done) struct arena a;
    Schedule__Schedule *schedule = NULL;
    struct err err = {0};
    arena_init(&a, BUDGET);
    CHECK_INT(schedule_of(&a, text, &schedule, &err), ERR_INVALID);
    CHECK_STR(err.text, want);
}

TEST(crontab_lacks_something) {
    check_refused("{}", "Crontab is not set on request.");
    check_refused("{'crontab':'* * * * *'}", "WorkflowType is not set on request.");
    check_refused("{'crontab':'* * * * *','workflowType':'T'}", "TaskQueue is not set on request.");
    check_refused("{" GOOD ",'mode':3}", "unknown crontab mode 3");
    check_refused("{" GOOD ",'mode':-1}", "unknown crontab mode -1");
}

TEST(crontab_becomes_a_schedule) {
    cleanup(arena_done) struct arena a;
    Schedule__Schedule *s = NULL;
    struct err err = {0};
    arena_init(&a, BUDGET);
    CHECK_INT(schedule_of(&a, "{" GOOD ",'name':'nightly','timeZone':'Europe/Paris'}", &s, &err), 0);
    REQUIRE(s && !arena_failed(&a));
    CHECK_STR(s->spec->cron_string[0], "@dbos * * * * *");
    CHECK_STR(s->spec->timezone_name, "Europe/Paris");
    CHECK_STR(s->action->start_workflow->workflow_id, "nightly");
    CHECK_STR(s->action->start_workflow->workflow_type->name, "T");
    CHECK_STR(s->action->start_workflow->task_queue->name, "q");
    CHECK_INT(s->policies->overlap_policy, SCHEDULE_OVERLAP_POLICY_ALLOW_ALL);
    CHECK(s->extras->passes_times);
    CHECK(!s->extras->only_while_active);
    CHECK(crontab_is_bound(s));
    s = NULL;
    CHECK_INT(schedule_of(&a, "{" GOOD ",'mode':2}", &s, &err), 0);
    REQUIRE(s && !arena_failed(&a));
    CHECK_STR(s->action->start_workflow->workflow_id, "T"); /* the name of a binding without one */
    CHECK(s->extras->only_while_active);
}

/* Only what a binding makes is bound: whoever made a schedule by hand keeps it. */
TEST(crontab_knows_its_own) {
    static const struct {
        const char *schedule;
        bool is_bound;
    } cases[] = {
        {"{}", false},
        {"{'extras':{'workflowIdFormat':'sched-{schedule}-{time}'}}", false},
        {"{'extras':{'passesTimes':true,'workflowIdFormat':'mine'}}", false},
        {"{'extras':{'passesTimes':true,'workflowIdFormat':'sched-{schedule}-{time}'}}", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(arena_done) struct arena a;
        arena_init(&a, BUDGET);
        const Schedule__Schedule *s = message_of(&a, &schedule__schedule__descriptor, cases[i].schedule);
        REQUIRE(s);
        CHECK_INT(crontab_is_bound(s), cases[i].is_bound);
    }
}

/* A pause was somebody's wish, and outlives a new binding. */
TEST(crontab_keeps_a_pause) {
    cleanup(arena_done) struct arena a;
    arena_init(&a, BUDGET);
    Schedule__Schedule *new = message_of(&a, &schedule__schedule__descriptor, "{'extras':{}}");
    Schedule__Schedule *bare = message_of(&a, &schedule__schedule__descriptor, "{}");
    const Schedule__Schedule *old =
        message_of(&a, &schedule__schedule__descriptor,
                   "{'state':{'paused':true,'notes':'why'},'extras':{'pauseUntil':'2030-01-01T00:00:00Z'}}");
    REQUIRE(new &&bare &&old);
    crontab_keep(new, old, &a);
    REQUIRE(!arena_failed(&a));
    CHECK(new->state->paused);
    CHECK_STR(new->state->notes, "why");
    CHECK_INT(new->extras->pause_until->seconds, 1893456000);
    crontab_keep(bare, old, &a);
    CHECK(bare->state && !bare->extras);
    crontab_keep(new, bare, &a);
    CHECK_INT(new->extras->pause_until->seconds, 1893456000);
}

TEST(crontab_that_does_the_same) {
    static const struct {
        const char *other;
        bool is_same;
    } cases[] = {
        {"{" GOOD "}", true},
        {"{'crontab':'1 * * * *','workflowType':'T','taskQueue':'q'}", false},
        {"{'crontab':'* * * * *','workflowType':'T','taskQueue':'other'}", false},
        {"{" GOOD ",'mode':2}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(arena_done) struct arena a;
        Schedule__Schedule *s = NULL, *other = NULL;
        struct err err = {0};
        arena_init(&a, BUDGET);
        CHECK_INT(schedule_of(&a, "{" GOOD "}", &s, &err), 0);
        CHECK_INT(schedule_of(&a, cases[i].other, &other, &err), 0);
        REQUIRE(s && other && !arena_failed(&a));
        CHECK_INT(crontab_is_same(s, other), cases[i].is_same);
        other->policies->overlap_policy = SCHEDULE_OVERLAP_POLICY_SKIP;
        CHECK(!crontab_is_same(s, other)); /* somebody changed it since */
    }
}

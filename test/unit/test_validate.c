/* The field rules that many requests share, with the texts that clients know. */
#include "core/step/validate.h"

#include "core/step/limits.h"
#include "harness.h"
#include "workflowservice.pb-c.h"

/* A text of this length, in the caller's room. */
static char *text_of(char room[LIMIT_ID_BYTES + 2], size_t len) {
    memset(room, 'x', len);
    room[len] = 0;
    return room;
}

TEST(validate_ids) {
    static const struct {
        size_t len;
        const char *optional, *required;
    } cases[] = {
        {0, "", "Thing is not set on request."},
        {1, "", ""},
        {LIMIT_ID_BYTES, "", ""},
        {LIMIT_ID_BYTES + 1, "Thing length exceeds limit.", "Thing length exceeds limit."},
    };
    char room[LIMIT_ID_BYTES + 2];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err a = {0}, b = {0};
        text_of(room, cases[i].len);
        CHECK_INT(validate_id(room, "Thing", &a), *cases[i].optional ? ERR_INVALID : 0);
        CHECK_STR(a.text, cases[i].optional);
        CHECK_INT(validate_required(room, "Thing", &b), *cases[i].required ? ERR_INVALID : 0);
        CHECK_STR(b.text, cases[i].required);
    }
    CHECK_INT(validate_required(NULL, "Thing", NULL), ERR_INVALID);
}

TEST(validate_executions) {
    static const struct {
        const char *workflow_id, *run_id, *text;
    } cases[] = {
        {"wf", "", ""},
        {"wf", "22222222-2222-4222-8222-222222222222", ""},
        {"wf", "2222222222224222822222222222222", "Invalid RunId."},
        {"wf", "22222222-2222-4222-8222-22222222222", "Invalid RunId."},
        {"wf", "x", "Invalid RunId."},
        {"", "22222222-2222-4222-8222-222222222222", "WorkflowId is not set on request."},
    };
    struct err none = {0};
    CHECK_INT(validate_execution(NULL, &none), ERR_INVALID);
    CHECK_STR(none.text, "Execution is not set on request.");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Common__WorkflowExecution e = COMMON__WORKFLOW_EXECUTION__INIT;
        struct err err = {0};
        e.workflow_id = (char *)(uintptr_t)cases[i].workflow_id;
        e.run_id = (char *)(uintptr_t)cases[i].run_id;
        CHECK_INT(validate_execution(&e, &err), *cases[i].text ? ERR_INVALID : 0);
        CHECK_STR(err.text, cases[i].text);
    }
}

TEST(validate_task_queues) {
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"queue", ""},
        {"", "TaskQueue is not set on request."},
        {"/_sys/", "task queue name cannot start with reserved prefix /_sys/"},
        {"/_sys/queue/1", "task queue name cannot start with reserved prefix /_sys/"},
        {"/_sys", ""},
        {"a/_sys/", ""},
    };
    struct err none = {0};
    CHECK_INT(validate_task_queue(NULL, &none), ERR_INVALID);
    CHECK_STR(none.text, "TaskQueue is not set on request.");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Taskqueue__TaskQueue q = TASKQUEUE__TASK_QUEUE__INIT;
        struct err err = {0};
        q.name = (char *)(uintptr_t)cases[i].name;
        CHECK_INT(validate_task_queue(&q, &err), *cases[i].text ? ERR_INVALID : 0);
        CHECK_STR(err.text, cases[i].text);
    }
}

TEST(fields_with_a_common_name_have_one_rule) {
    char too_long[LIMIT_ID_BYTES + 2];
    memset(too_long, 'x', sizeof too_long - 1);
    too_long[sizeof too_long - 1] = 0;
    struct err e = {0};
    Ws__StartWorkflowExecutionRequest start = WS__START_WORKFLOW_EXECUTION_REQUEST__INIT;
    CHECK_INT(validate_fields(&start.base, &e), 0);
    start.identity = too_long + 1; /* as long as it may be */
    CHECK_INT(validate_fields(&start.base, &e), 0);
    start.identity = too_long;
    CHECK_INT(validate_fields(&start.base, &e), ERR_INVALID);
    CHECK_STR(e.text, "Identity length exceeds limit.");
    start.identity = too_long + 1;
    start.workflow_id_reuse_policy = 99;
    CHECK_INT(validate_fields(&start.base, &e), ERR_INVALID);
    CHECK_STR(e.text, "WorkflowIdReusePolicy is not known.");
    Ws__DescribeTaskQueueRequest describe = WS__DESCRIBE_TASK_QUEUE_REQUEST__INIT;
    CHECK_INT(validate_fields(&describe.base, &e), 0);
    describe.task_queue_type = -1;
    CHECK_INT(validate_fields(&describe.base, &e), ERR_INVALID);
    CHECK_STR(e.text, "TaskQueueType is not known.");
    Ws__GetSystemInfoRequest none = WS__GET_SYSTEM_INFO_REQUEST__INIT;
    CHECK_INT(validate_fields(&none.base, &e), 0);
}

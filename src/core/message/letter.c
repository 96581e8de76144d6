/* The outbox of a run. */
#include "core/message/letter.h"

#include <stdio.h>

void letter_send(struct step *s, enum letter_kind kind, const char *workflow_id, const char *run_id,
                 int64_t event_id) {
    State__Execution *st = s->st;
    State__Letter *l = pb_new(&state__letter__descriptor, &s->failed);
    char request_id[UUID_TEXT_LEN + 32];
    if (!l)
        return;
    l->id = ++st->next_letter_id;
    l->kind = (int32_t)kind;
    l->event_id = event_id;
    /* The same whenever this letter is delivered, and of no other letter. */
    snprintf(request_id, sizeof(request_id), "%s/%lld", st->run_id, (long long)l->id);
    pb_set_string(&l->workflow_id, workflow_id, &s->failed);
    pb_set_string(&l->run_id, run_id, &s->failed);
    pb_set_string(&l->request_id, request_id, &s->failed);
    step_effect(s, EFFECT_LETTER, l->id);
    pb_append_message(&st->n_outbox, &st->outbox, l, &s->failed);
}

State__Letter *letter_find(const State__Execution *st, int64_t id) {
    for (size_t i = 0; i < st->n_outbox; i++)
        if (st->outbox[i]->id == id)
            return st->outbox[i];
    return NULL;
}

void letter_remove(struct step *s, int64_t id) {
    State__Execution *st = s->st;
    for (size_t i = 0; i < st->n_outbox; i++) {
        if (st->outbox[i]->id == id) {
            pb_remove_message(&st->n_outbox, st->outbox, i);
            return;
        }
    }
}

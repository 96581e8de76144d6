/* Building the requests that a dialog sends to the server. The arena remembers a lack of memory. */
#include "base/uuid.h"
#include "mistral/dialog.h"

void *dialog_new_message(struct arena *a, const ProtobufCMessageDescriptor *d) {
    ProtobufCMessage *m = arena_zalloc(a, d->sizeof_message);
    if (m)
        protobuf_c_message_init(d, m);
    return m;
}

char *dialog_copy_text(struct arena *a, struct str text) {
    return arena_strndup(a, text.n ? text.p : "", text.n);
}

char *dialog_text(struct dialog *x, struct str text) {
    return dialog_copy_text(&x->arena, text);
}

char *dialog_namespace(struct dialog *x) {
    return dialog_text(x, str_of(x->namespace));
}

char *dialog_identity(struct dialog *x) {
    return dialog_text(x, STR("mistral-api"));
}

char *dialog_new_id(struct dialog *x) {
    struct uuid_text id = uuid_format(uuid_random(&x->m->rng));
    return arena_strdup(&x->arena, id.s);
}

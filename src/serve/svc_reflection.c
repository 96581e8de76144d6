/* Server reflection: which services there are, and the files that define them.
 *
 * An answer with a file brings the files that it imports, directly or not, so that a client need not ask
 * again. A name that is not found is an error inside the answer; the stream goes on. */
#include "engine/call.h"
#include "reflection.pb-c.h"
#include "serve/ingress.h"
#include "serve/methods.h"
#include "serve/reflection.h"
#include "wire/grpc.h"

#define FILES_MAX 64 /* more than there are */

static void reflection_answer_error(struct arena *a, enum grpc_code code, const char *text,
                                    Reflection__ServerReflectionResponse *r) {
    Reflection__ErrorResponse *e = arena_new(a, Reflection__ErrorResponse);
    if (!e)
        return;
    reflection__error_response__init(e);
    e->error_code = (int32_t)code;
    e->error_message = arena_strdup(a, text);
    r->error_response = e;
    r->message_response_case = REFLECTION__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE;
}

static void reflection_answer_not_found(struct arena *a, const char *what, const char *name,
                                        Reflection__ServerReflectionResponse *r) {
    const char *text = arena_printf(a, "%s not found: %.200s", what, name);
    if (text)
        reflection_answer_error(a, GRPC_NOT_FOUND, text, r);
}

/* Each file once, a file before what it imports. */
static void reflection_answer_file(struct arena *a, const struct reflected_file *f,
                                   Reflection__ServerReflectionResponse *r) {
    const struct reflected_file *list[FILES_MAX] = {f}, *next;
    size_t count = 1;
    Reflection__FileDescriptorResponse *all = arena_new(a, Reflection__FileDescriptorResponse);
    ProtobufCBinaryData *bytes = arena_array(a, ProtobufCBinaryData, FILES_MAX);
    if (!all || !bytes)
        return;
    reflection__file_descriptor_response__init(all);
    for (size_t i = 0; i < count; i++) {
        struct str plain = reflection_unpack(list[i], a);
        bytes[i] = (ProtobufCBinaryData){plain.n, (uint8_t *)(uintptr_t)plain.p};
        for (size_t at = 0; (next = reflection_next_import(plain, &at));) {
            bool is_new = count < FILES_MAX;
            for (size_t k = 0; k < count; k++)
                is_new &= list[k] != next;
            if (is_new)
                list[count++] = next;
        }
    }
    all->n_file_descriptor_proto = count;
    all->file_descriptor_proto = bytes;
    r->file_descriptor_response = all;
    r->message_response_case =
        REFLECTION__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
}

static void reflection_answer_services(struct arena *a, Reflection__ServerReflectionResponse *r) {
    Reflection__ListServiceResponse *all = arena_new(a, Reflection__ListServiceResponse);
    size_t count = 0;
    while (method_services[count])
        count++;
    Reflection__ServiceResponse *services = arena_array(a, Reflection__ServiceResponse, count);
    Reflection__ServiceResponse **list = arena_array(a, Reflection__ServiceResponse *, count);
    if (!all || !services || !list)
        return;
    reflection__list_service_response__init(all);
    for (size_t i = 0; i < count; i++) {
        reflection__service_response__init(&services[i]);
        services[i].name = arena_strdup(a, method_services[i]);
        list[i] = &services[i];
    }
    all->n_service = count;
    all->service = list;
    r->list_services_response = all;
    r->message_response_case =
        REFLECTION__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
}

/* Nothing here can be extended. */
static void reflection_answer_extensions(struct arena *a, const char *type,
                                         Reflection__ServerReflectionResponse *r) {
    Reflection__ExtensionNumberResponse *none = arena_new(a, Reflection__ExtensionNumberResponse);
    if (!none)
        return;
    reflection__extension_number_response__init(none);
    none->base_type_name = arena_strdup(a, type);
    r->all_extension_numbers_response = none;
    r->message_response_case =
        REFLECTION__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ALL_EXTENSION_NUMBERS_RESPONSE;
}

static void reflection_fill_answer(struct arena *a, const Reflection__ServerReflectionRequest *q,
                                   Reflection__ServerReflectionResponse *r) {
    const struct reflected_file *f;
    switch (q->message_request_case) {
    case REFLECTION__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
        if ((f = reflection_by_name(q->file_by_filename)))
            reflection_answer_file(a, f, r);
        else
            reflection_answer_not_found(a, "File", q->file_by_filename, r);
        return;
    case REFLECTION__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
        if ((f = reflection_by_symbol(q->file_containing_symbol, a)))
            reflection_answer_file(a, f, r);
        else
            reflection_answer_not_found(a, "Symbol", q->file_containing_symbol, r);
        return;
    case REFLECTION__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
        reflection_answer_not_found(a, "Extension", q->file_containing_extension->containing_type, r);
        return;
    case REFLECTION__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
        if (reflection_by_symbol(q->all_extension_numbers_of_type, a))
            reflection_answer_extensions(a, q->all_extension_numbers_of_type, r);
        else
            reflection_answer_not_found(a, "Type", q->all_extension_numbers_of_type, r);
        return;
    case REFLECTION__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
        reflection_answer_services(a, r);
        return;
    case REFLECTION__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST__NOT_SET:
    case _REFLECTION__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST__CASE_IS_INT_SIZE:
        break;
    }
    reflection_answer_error(a, GRPC_INVALID_ARGUMENT, "The request asks for nothing.", r);
}

void method_reflect(struct method_context *d unused_arg, struct call *c, const ProtobufCMessage *req) {
    Reflection__ServerReflectionResponse r = REFLECTION__SERVER_REFLECTION_RESPONSE__INIT;
    /* It is only read through this; the generated struct has no const. */
    union {
        const ProtobufCMessage *given;
        Reflection__ServerReflectionRequest *field;
    } original = {.given = req};
    r.valid_host = original.field->host;
    r.original_request = original.field;
    reflection_fill_answer(c->arena, original.field, &r);
    if (arena_failed(c->arena)) {
        struct err e;
        (void)err_std(&e, ERR_NO_MEMORY);
        call_fail(c, &e);
        return;
    }
    if (!ingress_send_part(c, &r.base))
        return; /* the call has failed, for lack of memory */
}

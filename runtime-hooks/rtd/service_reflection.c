/* SPDX-License-Identifier: MIT */
/*
 * service_reflection - implements grpc.reflection.v1.ServerReflection, and v1alpha, which has the
 * same messages: returns the services and their definitions, for clients without a definition.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/rpc/proto/grpc/reflection/v1/reflection.pb-c.h"

#define MODULE "reflection"
#define SERVICES_MAX 16

typedef Grpc__Reflection__V1__ServerReflectionRequest request;
typedef Grpc__Reflection__V1__ServerReflectionResponse response;

#define ASKED(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##name
#define ANSWER(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##name

static void reply_send(struct ntk_rpc_call *call, const request *asked, response *reply)
{
    reply->valid_host = asked->host;
    reply->original_request = (request *)asked;
    ntk_rpc_call_send(call, &reply->base);
}

static void error_send(struct ntk_rpc_call *call, const request *asked, enum ntk_rpc_status code,
                       const char *text)
{
    Grpc__Reflection__V1__ErrorResponse error = GRPC__REFLECTION__V1__ERROR_RESPONSE__INIT;
    response reply = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;

    error.error_code = (int32_t)code;
    error.error_message = (char *)text;
    reply.message_response_case = ANSWER(ERROR_RESPONSE);
    reply.error_response = &error;
    reply_send(call, asked, &reply);
}

/* Sends a file with all imports, so that clients need no second request. */
static void file_send(struct ntk_rpc_call *call, const request *asked,
                      const struct ntk_rpc_files *files, const struct ntk_rpc_file *file)
{
    Grpc__Reflection__V1__FileDescriptorResponse found =
        GRPC__REFLECTION__V1__FILE_DESCRIPTOR_RESPONSE__INIT;
    response reply = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;

    if (!file) {
        error_send(call, asked, NTK_RPC_NOT_FOUND, "unknown file, symbol or extension");
        return;
    }
    const struct ntk_rpc_file **needed = calloc(ntk_rpc_files_count(files), sizeof *needed);
    found.file_descriptor_proto =
        calloc(ntk_rpc_files_count(files), sizeof *found.file_descriptor_proto);
    if (!needed || !found.file_descriptor_proto) {
        error_send(call, asked, NTK_RPC_INTERNAL, "out of memory");
    } else {
        found.n_file_descriptor_proto = ntk_rpc_files_needed(files, file, needed);
        for (size_t i = 0; i < found.n_file_descriptor_proto; i++) {
            found.file_descriptor_proto[i] =
                (ProtobufCBinaryData){ .data = (uint8_t *)needed[i]->bytes,
                                       .len = needed[i]->bytes_count };
        }
        reply.message_response_case = ANSWER(FILE_DESCRIPTOR_RESPONSE);
        reply.file_descriptor_response = &found;
        reply_send(call, asked, &reply);
    }
    free(needed);
    free(found.file_descriptor_proto);
}

/* Sends an empty list, because no type here has extensions. */
static void extensions_send(struct ntk_rpc_call *call, const request *asked,
                            const struct ntk_rpc_files *files)
{
    Grpc__Reflection__V1__ExtensionNumberResponse numbers =
        GRPC__REFLECTION__V1__EXTENSION_NUMBER_RESPONSE__INIT;
    response reply = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;

    if (!ntk_rpc_files_has_message(files, asked->all_extension_numbers_of_type)) {
        error_send(call, asked, NTK_RPC_NOT_FOUND, "unknown type");
        return;
    }
    numbers.base_type_name = asked->all_extension_numbers_of_type;
    reply.message_response_case = ANSWER(ALL_EXTENSION_NUMBERS_RESPONSE);
    reply.all_extension_numbers_response = &numbers;
    reply_send(call, asked, &reply);
}

static int name_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists the services of all paths, without duplicates; returns their number. The caller owns the
 * names. */
static size_t services_get(char *names[SERVICES_MAX])
{
    size_t count = 0;

    for (const struct ntk_rpc_method *method = rtd_methods; method->path; method++) {
        size_t length = (size_t)(strrchr(method->path, '/') - method->path) - 1;
        size_t at = 0;

        while (at < count &&
               (strncmp(names[at], method->path + 1, length) != 0 || names[at][length] != '\0')) {
            at++;
        }
        if (at == count && count < SERVICES_MAX &&
            (names[count] = strndup(method->path + 1, length))) {
            count++;
        }
    }
    qsort(names, count, sizeof *names, name_order);
    return count;
}

static void services_send(struct ntk_rpc_call *call, const request *asked)
{
    Grpc__Reflection__V1__ListServiceResponse list =
        GRPC__REFLECTION__V1__LIST_SERVICE_RESPONSE__INIT;
    response reply = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    Grpc__Reflection__V1__ServiceResponse services[SERVICES_MAX];
    Grpc__Reflection__V1__ServiceResponse *rows[SERVICES_MAX];
    char *names[SERVICES_MAX];
    size_t count = services_get(names);

    for (size_t i = 0; i < count; i++) {
        grpc__reflection__v1__service_response__init(&services[i]);
        services[i].name = names[i];
        rows[i] = &services[i];
    }
    list.service = rows;
    list.n_service = count;
    reply.message_response_case = ANSWER(LIST_SERVICES_RESPONSE);
    reply.list_services_response = &list;
    reply_send(call, asked, &reply);
    for (size_t i = 0; i < count; i++) {
        free(names[i]);
    }
}

bool rtd_reflection_message(struct ntk_rpc_call *call, const ProtobufCMessage *message)
{
    const struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);
    const struct ntk_rpc_files *files = manager->files;
    const request *asked = (const void *)message;

    switch (asked->message_request_case) {
    case ASKED(FILE_BY_FILENAME):
        file_send(call, asked, files, ntk_rpc_files_find(files, asked->file_by_filename));
        break;
    case ASKED(FILE_CONTAINING_SYMBOL):
        file_send(call, asked, files, ntk_rpc_files_of(files, asked->file_containing_symbol));
        break;
    case ASKED(FILE_CONTAINING_EXTENSION):
        file_send(call, asked, files, NULL);
        break;
    case ASKED(ALL_EXTENSION_NUMBERS_OF_TYPE):
        extensions_send(call, asked, files);
        break;
    case ASKED(LIST_SERVICES):
        services_send(call, asked);
        break;
    default:
        error_send(call, asked, NTK_RPC_INVALID_ARGUMENT, "the request is empty");
        break;
    }
    return false; /* the next request is read after the answer is sent */
}

void rtd_reflection_ended(struct ntk_rpc_call *call)
{
    ntk_rpc_call_finish(call, NULL, NTK_RPC_OK, NULL);
}

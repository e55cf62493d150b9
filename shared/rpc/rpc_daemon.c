/* SPDX-License-Identifier: MIT */
#include "shared/rpc/rpc_daemon.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

void ntk_rpc_daemon_details(const Nrt__Status *status, char *text, size_t text_bytes)
{
    const ProtobufCBinaryData *details = &status->details;
    size_t used = 0;

    for (size_t i = 0; i < details->len && used + 3 < text_bytes; i++) {
        bool is_end = details->data[i] == '\n';

        if (is_end && i + 1 == details->len) {
            break;
        }
        text[used++] = is_end ? ';' : (char)details->data[i];
        if (is_end) {
            text[used++] = ' ';
        }
    }
    text[used] = '\0';
}

int ntk_rpc_daemon_check(const Nrt__Status *status, const char *what, struct ntk_err *err)
{
    char details[NTK_ERR_TEXT_BYTES - 128] = "";

    if (!status || status->code == NRT__NERR__NERR_OK) {
        return 0;
    }
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(&nrt__nerr__descriptor, status->code);
    ntk_rpc_daemon_details(status, details, sizeof details);
    return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s: %s (%d)%s%s", what,
                       value ? value->name : "unknown code", (int)status->code,
                       details[0] ? ": " : "", details);
}

/* The status in any reply of the definition; a reply may itself be a status. */
static const Nrt__Status *status_of(const ProtobufCMessage *reply)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(reply->descriptor, "status");
    const Nrt__Status *status = NULL;

    if (reply->descriptor == &nrt__status__descriptor) {
        return (const Nrt__Status *)reply;
    }
    if (field) {
        memcpy(&status, (const char *)reply + field->offset, sizeof(void *));
    }
    return status;
}

int ntk_rpc_daemon_call(struct ntk_rpc_client *client, const char *path,
                        const ProtobufCMessage *request, const ProtobufCMessageDescriptor *type,
                        const char *what, ProtobufCMessage **out_reply, struct ntk_err *err)
{
    ProtobufCMessage *reply = NULL;
    int ret = ntk_rpc_client_call(client, path, request, type, &reply, err);

    if (ret < 0) {
        return ret;
    }
    ret = ntk_rpc_daemon_check(status_of(reply), what, err);
    if (ret < 0 || !out_reply) {
        protobuf_c_message_free_unpacked(reply, NULL);
        return ret;
    }
    *out_reply = reply;
    return 0;
}

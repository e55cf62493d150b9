/* SPDX-License-Identifier: MIT */
/* cli_commands - implements each command with its call. */
#include <errno.h>
#include <stdio.h>

#include "runtime-hooks/rtd/cli/cli.h"
#include "shared/base/json.h"
#include "shared/base/str.h"

int cli_number(const char *operand, uint32_t *out_number, struct ntk_err *err)
{
    uint64_t value;

    if (ntk_str_parse_u64(operand, &value) < 0 || value == 0 || value > UINT32_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "'%.60s': expected a number from 1 to %u", operand, UINT32_MAX);
    }
    *out_number = (uint32_t)value;
    return 0;
}

static int put(const struct cli *cli, struct ntk_err *err)
{
    return ntk_buf_ok(cli->out) ? 0 : ntk_err_no_memory(err);
}

/* Prints {"KEY": number, "nc_count": count} or a message. */
static int say(struct cli *cli, const char *key, uint32_t number, const char *format,
               struct ntk_err *err)
{
    struct ntk_json json;

    if (!cli->as_json) {
        ntk_buf_add_format(cli->out, format, number);
        return put(cli, err);
    }
    ntk_json_init(&json, cli->out, true);
    ntk_json_object_begin(&json);
    if (key) {
        ntk_json_key_u64(&json, key, number);
    }
    ntk_json_object_end(&json);
    ntk_buf_add_text(cli->out, "\n");
    return put(cli, err);
}

/* ---- groups ---- */

static int list_ncg(struct cli *cli, const char *operand, struct ntk_err *err)
{
    Nrt__Empty request = NRT__EMPTY__INIT;
    ProtobufCMessage *reply;
    int ret =
        ntk_rpc_daemon_call(cli->client, "/nrt.nmgr_v1/list_egs", &request.base,
                            &nrt__out_list_egs__descriptor, "cannot list groups", &reply, err);

    (void)operand;
    if (ret < 0) {
        return ret;
    }
    (cli->as_json ? cli_groups_json : cli_groups_text)((const Nrt__OutListEgs *)reply, cli->out);
    protobuf_c_message_free_unpacked(reply, NULL);
    return put(cli, err);
}

static int create_ncg(struct cli *cli, const char *operand, struct ntk_err *err)
{
    Nrt__CreateEgRequest request = NRT__CREATE_EG_REQUEST__INIT;
    ProtobufCMessage *reply;
    struct ntk_json json;
    int ret = operand ? cli_number(operand, &request.nc_count, err) : 0;

    ret = ret < 0 ? ret
                  : ntk_rpc_daemon_call(cli->client, "/nrt.nmgr_v1/create_eg", &request.base,
                                        &nrt__create_eg_response__descriptor,
                                        "cannot create a group", &reply, err);
    if (ret < 0) {
        return ret;
    }
    const Nrt__CreateEgResponse *made = (const Nrt__CreateEgResponse *)reply;
    uint32_t id = made->h_eg ? made->h_eg->id : 0;
    if (cli->as_json) {
        ntk_json_init(&json, cli->out, true);
        ntk_json_object_begin(&json);
        ntk_json_key_u64(&json, "ncg_id", id);
        ntk_json_key_u64(&json, "nc_count", made->nc_count);
        ntk_json_object_end(&json);
        ntk_buf_add_text(cli->out, "\n");
    } else {
        ntk_buf_add_format(cli->out, "Created NCG %u with %u NC%s\n", id, made->nc_count,
                           made->nc_count == 1 ? "" : "s");
    }
    protobuf_c_message_free_unpacked(reply, NULL);
    return put(cli, err);
}

static int destroy_ncg(struct cli *cli, const char *operand, struct ntk_err *err)
{
    Nrt__DestroyEgRequest request = NRT__DESTROY_EG_REQUEST__INIT;
    Nrt__HEg handle = NRT__H_EG__INIT;
    char what[64];
    int ret = cli_number(operand, &handle.id, err);

    request.h_eg = &handle;
    (void)snprintf(what, sizeof what, "cannot destroy NCG %u", handle.id);
    ret = ret < 0 ? ret
                  : ntk_rpc_daemon_call(cli->client, "/nrt.nmgr_v1/destroy_eg", &request.base,
                                        &nrt__destroy_eg_response__descriptor, what, NULL, err);
    return ret < 0 ? ret : say(cli, "ncg_id", handle.id, "Destroyed NCG %u\n", err);
}

/* ---- models ---- */

static int list_model(struct cli *cli, const char *operand, struct ntk_err *err)
{
    Openneuron__Rtd__V1__ListRequest request = OPENNEURON__RTD__V1__LIST_REQUEST__INIT;
    ProtobufCMessage *reply;
    int ret = ntk_rpc_daemon_call(cli->client, "/openneuron.rtd.v1.model_table/list", &request.base,
                                  &openneuron__rtd__v1__list_response__descriptor,
                                  "cannot list models", &reply, err);

    (void)operand;
    if (ret < 0) {
        return ret;
    }
    (cli->as_json ? cli_models_json
                  : cli_models_text)((const Openneuron__Rtd__V1__ListResponse *)reply, cli->out);
    protobuf_c_message_free_unpacked(reply, NULL);
    return put(cli, err);
}

/* Implements start, stop and unload, which have requests that differ only in their names. */
static int of_model(struct cli *cli, const char *operand, const char *verb,
                    ProtobufCMessage *request, Nrt__HNn **in_request,
                    const ProtobufCMessageDescriptor *type, const char *done, struct ntk_err *err)
{
    Nrt__HNn handle = NRT__H_NN__INIT;
    char path[64];
    char what[64];
    int ret = cli_number(operand, &handle.id, err);

    *in_request = &handle;
    (void)snprintf(path, sizeof path, "/nrt.nmgr_v1/%s", verb);
    (void)snprintf(what, sizeof what, "cannot %s model %u", verb, handle.id);
    ret = ret < 0 ? ret : ntk_rpc_daemon_call(cli->client, path, request, type, what, NULL, err);
    *in_request = NULL;
    return ret < 0 ? ret : say(cli, "model_id", handle.id, done, err);
}

static int start(struct cli *cli, const char *operand, struct ntk_err *err)
{
    Nrt__StartRequest request = NRT__START_REQUEST__INIT;

    return of_model(cli, operand, "start", &request.base, &request.h_nn,
                    &nrt__start_response__descriptor, "Started model %u\n", err);
}

static int stop(struct cli *cli, const char *operand, struct ntk_err *err)
{
    Nrt__StopRequest request = NRT__STOP_REQUEST__INIT;

    return of_model(cli, operand, "stop", &request.base, &request.h_nn,
                    &nrt__stop_response__descriptor, "Stopped model %u\n", err);
}

static int unload(struct cli *cli, const char *operand, struct ntk_err *err)
{
    Nrt__UnloadRequest request = NRT__UNLOAD_REQUEST__INIT;

    return of_model(cli, operand, "unload", &request.base, &request.h_nn,
                    &nrt__unload_response__descriptor, "Unloaded model %u\n", err);
}

static int reset(struct cli *cli, const char *operand, struct ntk_err *err)
{
    Nrt__Empty request = NRT__EMPTY__INIT;
    int ret = ntk_rpc_daemon_call(cli->client, "/nrt.nmgr_v1/unload_all", &request.base,
                                  &nrt__status__descriptor, "cannot reset", NULL, err);

    (void)operand;
    return ret < 0 ? ret : say(cli, NULL, 0, "Unloaded all models and destroyed all NCGs\n", err);
}

const struct cli_command cli_commands[] = {
    { "list-ncg", NULL, false, "list NeuronCore groups and their locations", list_ncg },
    { "list-model", NULL, false, "list the loaded models of all clients", list_model },
    { "create-ncg", "NC-COUNT", true,
      "create a group of NC-COUNT cores (default: longest free range)", create_ncg },
    { "destroy-ncg", "NCG-ID", false, "destroy an empty group", destroy_ncg },
    { "load", "FILE.neff", false, "load a NEFF into a group", cli_load },
    { "start", "MODEL-ID", false, "start a loaded model as the running model in its group", start },
    { "stop", "MODEL-ID", false, "stop a model after its posted inferences finish", stop },
    { "unload", "MODEL-ID", false, "unload a stopped model, or a model with a private group",
      unload },
    { "reset", NULL, false, "unload all models and destroy all groups, of all clients", reset },
    { 0 },
};

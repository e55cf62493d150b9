/* SPDX-License-Identifier: MIT */
/* cli_load - streams a NEFF file to the daemon to load it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime-hooks/rtd/cli/cli.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_layout.h"

#define PIECE_BYTES (1u << 20)

/* The parts of the stream, in order. */
enum step { STEP_GROUP, STEP_SIZE, STEP_PARAMS, STEP_FILE };

struct load {
    const struct cli *cli;
    const char *path;
    int fd;
    uint64_t bytes, sent;
    uint32_t group; /* 0 if none */
    enum step step;
    uint8_t *piece;
    /* The current request and the data that it points to. */
    Nrt__LoadRequest request;
    Nrt__HEg handle;
    Nrt__ModelParams params;
    Nrt__U32 timeout, ninfer;
    Nrt__FileChunk chunk;
};

static int cannot_read(const struct load *load, struct ntk_err *err)
{
    int code = errno ? errno : EIO;

    return ntk_err_set(err, -code, NTK_ERR_NO_OFFSET, "cannot read '%s': %s", load->path,
                       strerror(code));
}

static void params_fill(struct load *load)
{
    nrt__model_params__init(&load->params);
    nrt__u32__init(&load->timeout);
    nrt__u32__init(&load->ninfer);
    load->timeout.data = (uint32_t)load->cli->timeout_s;
    load->ninfer.data = (uint32_t)load->cli->ninfer;
    load->params.timeout = load->timeout.data ? &load->timeout : NULL;
    load->params.ninfer = load->ninfer.data ? &load->ninfer : NULL;
    load->request.content_case = NRT__LOAD_REQUEST__CONTENT_MODEL_PARAMS;
    load->request.model_params = &load->params;
}

/* Reads the next part; false if the whole file was sent, or if *out_ret has a read error. */
static bool file_fill(struct load *load, int *out_ret, struct ntk_err *err)
{
    uint64_t left = load->bytes - load->sent;

    if (left == 0) {
        return false;
    }
    if (load->cli->is_direct) {
        load->request.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_FILE;
        load->request.neff_file = (char *)load->path;
        load->sent = load->bytes;
        return true;
    }
    size_t bytes = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
    int ret = ntk_fs_pread(load->fd, load->piece, bytes, load->sent);
    if (ret < 0) {
        errno = -ret;
        *out_ret = cannot_read(load, err);
        return false;
    }
    nrt__file_chunk__init(&load->chunk);
    load->chunk.chunk = (ProtobufCBinaryData){ .len = bytes, .data = load->piece };
    load->request.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_CHUNK;
    load->request.neff_chunk = &load->chunk;
    load->sent += bytes;
    return true;
}

static const ProtobufCMessage *next(void *ctx, int *out_ret, struct ntk_err *err)
{
    struct load *load = ctx;

    nrt__load_request__init(&load->request);
    switch (load->step) {
    case STEP_GROUP:
        load->step++;
        if (load->group > 0) {
            nrt__h_eg__init(&load->handle);
            load->handle.id = load->group;
            load->request.content_case = NRT__LOAD_REQUEST__CONTENT_H_EG;
            load->request.h_eg = &load->handle;
            return &load->request.base;
        }
        /* fall through */
    case STEP_SIZE:
        load->step = STEP_PARAMS;
        if (!load->cli->is_direct) {
            load->request.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_SIZE;
            load->request.neff_size = load->bytes;
            return &load->request.base;
        }
        /* fall through */
    case STEP_PARAMS:
        load->step = STEP_FILE;
        params_fill(load);
        return &load->request.base;
    default:
        return file_fill(load, out_ret, err) ? &load->request.base : NULL;
    }
}

/* Returns the number of cores that the NEFF needs to run all its nodes in parallel. */
static int cores_wanted(const struct load *load, uint32_t *out_count, struct ntk_err *err)
{
    uint8_t start[NTK_NEFF_HEADER_BYTES];
    struct ntk_neff_header header;

    if (ntk_fs_pread(load->fd, start, sizeof start, 0) < 0) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "%s: not a NEFF: the file ends inside the header", load->path);
    }
    header = ntk_neff_header_of(start);
    *out_count = 0;
    for (size_t i = 0; i < sizeof header.tpb_per_node; i++) {
        *out_count += header.tpb_per_node[i];
    }
    /* a file without nodes for cores may be on any core */
    *out_count = *out_count ? *out_count : 1;
    return 0;
}

static int group_make(struct load *load, struct cli *cli, struct ntk_err *err)
{
    Nrt__CreateEgRequest request = NRT__CREATE_EG_REQUEST__INIT;
    ProtobufCMessage *reply;
    int ret = cores_wanted(load, &request.nc_count, err);

    ret = ret < 0 ? ret
                  : ntk_rpc_daemon_call(cli->client, "/nrt.nmgr_v1/create_eg", &request.base,
                                        &nrt__create_eg_response__descriptor,
                                        "cannot create a group", &reply, err);
    if (ret < 0) {
        return ret;
    }
    const Nrt__CreateEgResponse *made = (const Nrt__CreateEgResponse *)reply;
    load->group = made->h_eg ? made->h_eg->id : 0;
    protobuf_c_message_free_unpacked(reply, NULL);
    return load->group ? 0
                       : ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET,
                                     "the daemon returned a group without a number");
}

/* Removes a group that only this process knows, if its model cannot be loaded. */
static void group_remove(struct cli *cli, uint32_t id)
{
    Nrt__DestroyEgRequest request = NRT__DESTROY_EG_REQUEST__INIT;
    Nrt__HEg handle = NRT__H_EG__INIT;
    struct ntk_err ignored = { 0 };

    handle.id = id;
    request.h_eg = &handle;
    (void)ntk_rpc_daemon_call(cli->client, "/nrt.nmgr_v1/destroy_eg", &request.base,
                              &nrt__destroy_eg_response__descriptor, "", NULL, &ignored);
}

static void tell(const struct cli *cli, const struct load *load, uint32_t model)
{
    struct ntk_json json;

    if (!cli->as_json) {
        ntk_buf_add_format(cli->out, "Loaded model %u", model);
        if (load->group > 0) {
            ntk_buf_add_format(cli->out, " on NCG %u", load->group);
        }
        ntk_buf_add_text(cli->out, "\n");
        return;
    }
    ntk_json_init(&json, cli->out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "model_id", model);
    if (load->group > 0) {
        ntk_json_key_u64(&json, "ncg_id", load->group);
    }
    ntk_json_object_end(&json);
    ntk_buf_add_text(cli->out, "\n");
}

static int stream(struct cli *cli, struct load *load, struct ntk_err *err)
{
    char what[NTK_ERR_TEXT_BYTES / 2];
    ProtobufCMessage *reply = NULL;
    int ret = cli->ncg_id == 0 ? group_make(load, cli, err) : 0;

    if (ret < 0) {
        return ret;
    }
    ret = ntk_rpc_client_stream(cli->client, "/nrt.nmgr_v1/load", next, load,
                                &nrt__load_response__descriptor, &reply, err);
    const Nrt__LoadResponse *answer = (const Nrt__LoadResponse *)reply;
    (void)snprintf(what, sizeof what, "cannot load '%s'", load->path);
    ret = ret < 0 ? ret : ntk_rpc_daemon_check(answer->status, what, err);
    if (ret == 0) {
        tell(cli, load, answer->h_nn ? answer->h_nn->id : 0);
    } else if (cli->ncg_id == 0) {
        group_remove(cli, load->group);
    }
    if (reply) {
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    return ret < 0 ? ret : ntk_buf_ok(cli->out) ? 0 : ntk_err_no_memory(err);
}

int cli_load(struct cli *cli, const char *path, struct ntk_err *err)
{
    struct load load = { .cli = cli, .path = path };
    struct stat status;
    int ret;

    load.group = cli->ncg_id > 0 ? (uint32_t)cli->ncg_id : 0;
    load.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (load.fd < 0 || fstat(load.fd, &status) < 0) {
        ret = cannot_read(&load, err);
        if (load.fd >= 0) {
            close(load.fd);
        }
        return ret;
    }
    load.bytes = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    load.piece = malloc(PIECE_BYTES);
    /* The daemon has a different working folder. */
    char *whole = cli->is_direct ? realpath(path, NULL) : strdup(path);
    load.path = whole ? whole : path;
    if (!load.piece || !whole) {
        ret = ntk_err_no_memory(err);
    } else if (load.bytes == 0) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s: %s", path,
                          S_ISREG(status.st_mode) ? "empty file" : "not a regular file");
    } else {
        ret = stream(cli, &load, err);
    }
    free(whole);
    free(load.piece);
    close(load.fd);
    return ret;
}

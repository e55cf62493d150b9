/* SPDX-License-Identifier: MIT */
/*
 * neuron-profile-session - start-session and stop-session: captures of a model that a runtime
 * daemon of the first generation runs for another process.
 *
 * neuron-profile executes this program for these commands, so that no other command loads gRPC.
 *
 * The daemon records, and returns the recording when the capture is stopped. The stopping program
 * only passes the file, as frameworks do, so the daemon's address is stored in "FILE.session", as a
 * line of text.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/rpc/proto/openneuron_rtd.pb-c.h"
#include "shared/rpc/rpc_daemon.h"
#include "shared/rpc/rpc_endpoint.h"

#define WAIT_S 120
#define ENDPOINT_BYTES_MAX 4096

static const char *arg_session;
static const char *arg_address;

#define OPTION_SESSION(text)                                            \
    {                                                                   \
        's', "session-file", "FILE", NTK_OPT_TEXT, &arg_session, (text) \
    }

static const struct ntk_opt start_options[] = {
    OPTION_SESSION("write the capture to FILE"),
    { 'a', "address", "ADDRESS", NTK_OPT_TEXT, &arg_address,
      "connect to the daemon at HOST:PORT, unix:PATH or a path (default: $NEURON_RTD_ADDRESS "
      "or " NTK_RPC_ENDPOINT_DEFAULT ")" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program start_program = {
    .name = "neuron-profile start-session",
    .usage = "-s FILE.ntff [-a ADDRESS] MODEL-ID",
    .summary = "Starts recording a model in a first-generation runtime daemon (neuron-rtd). "
               "stop-session ends the recording.",
    .options = start_options,
};

static const struct ntk_opt stop_options[] = {
    OPTION_SESSION("write the capture that start-session named"),
    { 'a', "address", "ADDRESS", NTK_OPT_TEXT, &arg_address,
      "request the capture from this daemon (default: the daemon of start-session)" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program stop_program = {
    .name = "neuron-profile stop-session",
    .usage = "-s FILE.ntff [-a ADDRESS]",
    .summary = "Stops the recording that start-session started, and writes the capture.",
    .options = stop_options,
};

static int fail(const struct ntk_err *err)
{
    char text[NTK_ERR_TEXT_BYTES + 64];

    fprintf(stderr, "neuron-profile: %s\n", ntk_err_format(err, text, sizeof text));
    return 1;
}

/* ---- the note next to the capture ---- */

struct session {
    char path[PATH_MAX]; /* absolute path: the daemon's name for the capture */
    char note[PATH_MAX + 16];
};

/* Finds the session; the folder must exist, the file need not. */
static int session_find(const char *given, struct session *session, struct ntk_err *err)
{
    const char *slash = strrchr(given, '/');
    const char *name = slash ? slash + 1 : given;
    char *folder = slash == given ? strdup("/")
                   : slash        ? strndup(given, (size_t)(slash - given))
                                  : strdup(".");
    char whole[PATH_MAX];
    int ret = 0;

    if (!folder) {
        return ntk_err_no_memory(err);
    }
    if (!realpath(folder, whole)) {
        ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "%s: %s", given, strerror(errno));
    } else if (*name == '\0' ||
               snprintf(session->path, sizeof session->path, "%s/%s",
                        strcmp(whole, "/") == 0 ? "" : whole, name) >= (int)sizeof session->path) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s does not name a file", given);
    }
    (void)snprintf(session->note, sizeof session->note, "%s.session", session->path);
    free(folder);
    return ret;
}

/* Reads the address in the note, which the caller frees; NULL without a note. -errno: the path is
 * not a regular file. */
static int note_read(const struct session *session, char **out_address, struct ntk_err *err)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    int ret = ntk_fs_read(session->note, ENDPOINT_BYTES_MAX, &bytes, &count, err);

    *out_address = NULL;
    if (ret < 0) {
        return ret == -ENOENT ? 0 : ret;
    }
    bytes[strcspn((const char *)bytes, "\n")] = '\0';
    if (bytes[0] == '\0') {
        free(bytes);
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s contains no address",
                           session->note);
    }
    *out_address = (char *)bytes;
    return 0;
}

/* Finds the endpoint in the option, else in the note of a started session, else in the environment;
 * the caller frees it. Returns NULL if rejected. */
static char *endpoint_find(const struct session *session, bool reads_note, struct ntk_err *err)
{
    const char *named = getenv(NTK_RPC_ENDPOINT_VARIABLE);
    char *noted = NULL;

    if (!arg_address && reads_note && note_read(session, &noted, err) < 0) {
        return NULL;
    }
    char *endpoint = ntk_rpc_endpoint_make(arg_address       ? arg_address
                                           : noted           ? noted
                                           : named && *named ? named
                                                             : NTK_RPC_ENDPOINT_DEFAULT);
    free(noted);
    if (!endpoint) {
        (void)ntk_err_no_memory(err);
    }
    return endpoint;
}

/* ---- commands ---- */

/* Gets the answer, which the caller frees; if out_reply is NULL, the answer is dropped. */
static int stop_call(struct ntk_rpc_client *client, const struct session *session,
                     ProtobufCMessage **out_reply, struct ntk_err *err)
{
    Openneuron__Rtd__V1__StopRequest request = OPENNEURON__RTD__V1__STOP_REQUEST__INIT;

    request.path = (char *)session->path;
    return ntk_rpc_daemon_call(client, "/openneuron.rtd.v1.profile/stop", &request.base,
                               &openneuron__rtd__v1__stop_response__descriptor,
                               "cannot stop the capture", out_reply, err);
}

static int start(struct ntk_rpc_client *client, const struct session *session, const char *endpoint,
                 uint32_t model, struct ntk_err *err)
{
    Openneuron__Rtd__V1__StartRequest request = OPENNEURON__RTD__V1__START_REQUEST__INIT;
    Nrt__HNn handle = NRT__H_NN__INIT;
    struct ntk_err ignored = { 0 };
    char what[64];

    handle.id = model;
    request.h_nn = &handle;
    request.path = (char *)session->path;
    (void)snprintf(what, sizeof what, "cannot record model %u", model);
    int ret =
        ntk_rpc_daemon_call(client, "/openneuron.rtd.v1.profile/start", &request.base,
                            &openneuron__rtd__v1__start_response__descriptor, what, NULL, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_fs_write(session->note, endpoint, strlen(endpoint), err);
    if (ret < 0) {
        (void)stop_call(client, session, NULL, &ignored); /* otherwise no user could stop it */
    }
    return ret;
}

/* Returns 1 if parts of the capture are missing, with their names in err. */
static int stop(struct ntk_rpc_client *client, const struct session *session, struct ntk_err *err)
{
    ProtobufCMessage *reply = NULL;
    char missing[NTK_ERR_TEXT_BYTES] = "";
    int ret = stop_call(client, session, &reply, err);

    if (ret == 0 || ret == -EIO) {
        (void)unlink(session->note); /* the daemon does not have this capture */
    }
    if (ret < 0) {
        return ret;
    }
    const Openneuron__Rtd__V1__StopResponse *answer = (const void *)reply;
    ret = ntk_fs_write(session->path, answer->ntff.data, answer->ntff.len, err);
    if (ret == 0 && answer->status) {
        ntk_rpc_daemon_details(answer->status, missing, sizeof missing);
    }
    if (missing[0]) {
        (void)ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s: %s", session->path, missing);
        ret = 1;
    }
    protobuf_c_message_free_unpacked(reply, NULL);
    return ret;
}

/* Common data of commands: a session, and its owner. */
struct talk {
    struct session session;
    char *endpoint;
    struct ntk_rpc_client *client;
};

/* Begins a command. Returns false with the exit code in *out_code; true if the caller must end
 * it. */
static bool talk_begin(struct talk *talk, const struct ntk_opt_program *program, bool reads_note,
                       int *out_code)
{
    struct ntk_err err = { 0 };

    *talk = (struct talk){ 0 };
    if (!arg_session) {
        *out_code = ntk_opt_usage_error(program, "no capture: use -s FILE");
        return false;
    }
    int ret = session_find(arg_session, &talk->session, &err);
    if (ret == 0) {
        talk->endpoint = endpoint_find(&talk->session, reads_note, &err);
        ret = talk->endpoint ? ntk_rpc_client_create(talk->endpoint, WAIT_S, &talk->client, &err)
                             : -1;
    }
    if (ret < 0) {
        free(talk->endpoint);
        *out_code = fail(&err);
    }
    return ret == 0;
}

static void talk_end(struct talk *talk)
{
    ntk_rpc_client_destroy(talk->client);
    free(talk->endpoint);
}

static int start_session(int argc, char **argv)
{
    struct talk talk;
    struct ntk_err err = { 0 };
    uint64_t model = 0;
    int first = ntk_opt_parse(&start_program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first + 1 != argc) {
        return ntk_opt_argument_error(&start_program, "MODEL-ID",
                                      first < argc ? argv[first + 1] : NULL);
    }
    if (ntk_str_parse_u64(argv[first], &model) < 0 || model == 0 || model > UINT32_MAX) {
        return ntk_opt_usage_error(&start_program, "invalid model number '%s'", argv[first]);
    }
    int code = 1;
    if (!talk_begin(&talk, &start_program, false, &code)) {
        return code;
    }
    int ret = start(talk.client, &talk.session, talk.endpoint, (uint32_t)model, &err);
    talk_end(&talk);
    return ret < 0 ? fail(&err) : 0;
}

static int stop_session(int argc, char **argv)
{
    struct talk talk;
    struct ntk_err err = { 0 };
    int parsed = ntk_opt_parse_all(&stop_program, argc, argv);

    if (parsed < 0) {
        return ntk_opt_exit_code(parsed);
    }
    int code = 1;
    if (!talk_begin(&talk, &stop_program, true, &code)) {
        return code;
    }
    int ret = stop(talk.client, &talk.session, &err);
    talk_end(&talk);
    if (ret >= 0 && (printf("%s\n", arg_session) < 0 || fflush(stdout) != 0)) {
        return 1;
    }
    return ret == 0 ? 0 : fail(&err);
}

int main(int argc, char **argv)
{
    ntk_log_set_program("neuron-profile");
    if (argc > 1 && strcmp(argv[1], "start-session") == 0) {
        return start_session(argc - 1, argv + 1);
    }
    if (argc > 1 && strcmp(argv[1], "stop-session") == 0) {
        return stop_session(argc - 1, argv + 1);
    }
    fputs("neuron-profile-session: run neuron-profile start-session or stop-session\n", stderr);
    return 2;
}

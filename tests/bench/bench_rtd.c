/* SPDX-License-Identifier: MIT */
/*
 * What an inference costs through neuron-rtd, compared with a call of the same sizes that gRPC's
 * core answers without any work, and what pipelining inferences of a model on four cores gains.
 * Finds neuron-rtd in NTK_BIN_DIR.
 *
 * Both servers are separate programs. A child without exec shares the physical pages of its
 * parent's relocated data, and so lines in the caches. It answers in 57 us instead of 74, with 26
 * us of CPU time instead of 33, and the client takes 33 us instead of 43 (best rounds). A server
 * that is started separately cannot be that fast.
 *
 * Client and server run mostly on one core, so a call takes the sum of their CPU times. Best rounds
 * of 31, alternating (load 4): 94 us per inference, of these 46 us in the daemon; 74 us per call.
 * The version before took 121 us, of these 68 us in the daemon. What changed it:
 * - A brief model runs in the thread that received the call. Per inference, `perf stat` counted 5.2
 *   futex calls before and 0.14 now, 0.9 reads and writes of an eventfd and none now, 2 calls of
 *   epoll_wait and 1.2 now, 5.3 context switches and 1.5 now.
 * - gRPC's core reads the message before it reports the call, and the answer and the end of the
 *   call are one batch: 2 events instead of 4. This gained nothing by itself.
 * - One fstat instead of two, no getrlimit: 3 % of the daemon's time. The other fstat, pread and
 *   pwrite take 5 %, the execution 8 %, calls of sockets 40 %, gRPC's core 30 % (`perf`).
 * These did not help: fewer allocations per inference, accepting the next call after the answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/formats/neff/neff_build.h"
#include "shared/rpc/proto/nmgr.pb-c.h"
#include "shared/rpc/rpc_client.h"
#include "tests/bench/grpc_echo.h"
#include "tests/bench/rounds.h"
#include "tests/support/models.h"
#include "tests/support/scratch.h"

#define CALLS ROUNDS_SIZE(2000, 20) /* of a round */
#define ROUND_COUNT 9
#define TARGET 1.3
#define STAGES 4U
#define STAGE_CYCLES 1400000U /* 1 ms of the base clock */
#define PIPELINE_CALLS ROUNDS_SIZE(200U, 8U)
#define DEPTH_MAX 8U
#define GAIN_TARGET 3.0 /* of four cores, depth 8 to depth 1 */

/* ---- servers ---- */

static pid_t pids[3];

static void end(void)
{
    for (int i = 0; i < 3; i++) {
        if (pids[i] > 0) {
            (void)kill(pids[i], SIGTERM);
            (void)waitpid(pids[i], NULL, 0);
        }
    }
}

/* The first argument of the program as the server without work. */
#define ECHO "--echo"

static void echo_run(const char *endpoint)
{
    static const uint8_t answer[] = { 0x0a, 0x00 }; /* infer_response: good */

    grpc_echo_run(endpoint, answer, sizeof answer);
}

static pid_t echo_start(const char *endpoint)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execl("/proc/self/exe", "bench_rtd", ECHO, endpoint, (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* Each has its own machine. */
static pid_t daemon_start(const char *endpoint, const char *folder_of_machine, int is_paced)
{
    const char *folder = getenv("NTK_BIN_DIR");
    char program[4096];

    (void)snprintf(program, sizeof program, "%s/neuron-rtd", folder ? folder : "build/dev/bin");
    if (access(program, X_OK) != 0) {
        rounds_skip("neuron-rtd is missing");
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("NEURON_HOOKS_DIR", folder_of_machine, 1);
        setenv("NEURON_SOFT_PACE", is_paced ? "1" : "0", 1);
        (void)execl(program, program, "-l", "3", "-x", "-g", endpoint, (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* ---- the client ---- */

struct peer {
    struct ntk_rpc_client *client;
    Nrt__InferRequest request;
    uint32_t depth;
};

static ProtobufCMessage *ask(struct peer *peer, const char *path, const ProtobufCMessage *request,
                             const ProtobufCMessageDescriptor *type)
{
    struct ntk_err err = { 0 };
    ProtobufCMessage *reply = NULL;

    rounds_require(ntk_rpc_client_call(peer->client, path, request, type, &reply, &err) == 0,
                   err.text);
    return reply;
}

static void good(const Nrt__Status *status)
{
    rounds_require(!status || status->code == 0, "refused");
}

struct load {
    Nrt__LoadRequest request;
    Nrt__FileChunk chunk;
    Nrt__ModelParams params;
    Nrt__U32 ninfer;
    int step;
};

static const ProtobufCMessage *load_next(void *ctx, int *out_ret, struct ntk_err *err)
{
    struct load *load = ctx;

    (void)out_ret;
    (void)err;
    switch (load->step++) {
    case 0:
        load->request.content_case = NRT__LOAD_REQUEST__CONTENT_MODEL_PARAMS;
        load->request.model_params = &load->params;
        return &load->request.base;
    case 1:
        load->request.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_CHUNK;
        load->request.neff_chunk = &load->chunk;
        return &load->request.base;
    default:
        return NULL;
    }
}

/* In its own group, started; frees the NEFF. */
static uint32_t model_load(struct peer *peer, uint8_t *neff, size_t bytes, uint32_t ninfer)
{
    struct load load = { .request = NRT__LOAD_REQUEST__INIT,
                         .chunk = NRT__FILE_CHUNK__INIT,
                         .params = NRT__MODEL_PARAMS__INIT,
                         .ninfer = NRT__U32__INIT };
    struct ntk_err err = { 0 };
    ProtobufCMessage *reply = NULL;

    load.ninfer.data = ninfer;
    load.params.ninfer = &load.ninfer;
    load.chunk.chunk = (ProtobufCBinaryData){ bytes, neff };
    rounds_require(ntk_rpc_client_stream(peer->client, "/nrt.nmgr_v1/load", load_next, &load,
                                         &nrt__load_response__descriptor, &reply, &err) == 0,
                   err.text);
    const Nrt__LoadResponse *loaded = (const void *)reply;
    good(loaded->status);
    uint32_t id = loaded->h_nn->id;
    protobuf_c_message_free_unpacked(reply, NULL);
    free(neff);
    return id;
}

static void memory_map_at(struct peer *peer, const char *path)
{
    Nrt__ShmMapRequest request = NRT__SHM_MAP_REQUEST__INIT;

    request.data_case = NRT__SHM_MAP_REQUEST__DATA_PATH;
    request.path = (char *)path;
    request.mmap_prot = 3;
    ProtobufCMessage *reply =
        ask(peer, "/nrt.nmgr_v1/shm_map", &request.base, &nrt__shm_map_response__descriptor);
    good(((const Nrt__ShmMapResponse *)reply)->status);
    protobuf_c_message_free_unpacked(reply, NULL);
}

static void memory_map(struct peer *one, struct peer *other, const char *path)
{
    int fd = shm_open(path, O_RDWR | O_CREAT, 0666);

    rounds_require(fd >= 0 && ftruncate(fd, 64) == 0, "shared memory");
    close(fd);
    memory_map_at(one, path);
    memory_map_at(other, path);
    (void)shm_unlink(path);
}

/* ---- what is measured ---- */

static void infer(struct peer *peer)
{
    ProtobufCMessage *reply =
        ask(peer, "/nrt.nmgr_v1/infer", &peer->request.base, &nrt__infer_response__descriptor);

    good(((const Nrt__InferResponse *)reply)->status);
    protobuf_c_message_free_unpacked(reply, NULL);
}

/* ns per call. */
static double measure_infer(void *ctx)
{
    uint64_t start = rounds_now_ns();

    for (int i = 0; i < CALLS; i++) {
        infer(ctx);
    }
    return (double)(rounds_now_ns() - start) / CALLS;
}

static uint64_t post(struct peer *peer)
{
    ProtobufCMessage *reply = ask(peer, "/nrt.nmgr_v1/infer_post", &peer->request.base,
                                  &nrt__infer_post_response__descriptor);
    uint64_t cookie = ((const Nrt__InferPostResponse *)reply)->cookie;

    good(((const Nrt__InferPostResponse *)reply)->status);
    protobuf_c_message_free_unpacked(reply, NULL);
    return cookie;
}

static void collect(struct peer *peer, uint64_t cookie)
{
    Nrt__InferWaitRequest request = NRT__INFER_WAIT_REQUEST__INIT;

    request.cookie = cookie;
    ProtobufCMessage *reply =
        ask(peer, "/nrt.nmgr_v1/infer_wait", &request.base, &nrt__infer_response__descriptor);
    good(((const Nrt__InferResponse *)reply)->status);
    protobuf_c_message_free_unpacked(reply, NULL);
}

/* ns per inference, with depth inferences in progress. */
static double measure_depth(void *ctx)
{
    struct peer *peer = ctx;
    uint64_t cookies[DEPTH_MAX];
    uint32_t depth = peer->depth > 0 ? peer->depth : 1;
    uint64_t start = rounds_now_ns();

    for (uint32_t i = 0; i < PIPELINE_CALLS + depth; i++) {
        if (i >= depth) {
            collect(peer, cookies[i % depth]);
        }
        if (i < PIPELINE_CALLS) {
            cookies[i % depth] = post(peer);
        }
    }
    return (double)(rounds_now_ns() - start) / PIPELINE_CALLS;
}

/* ---- the models ---- */

/* Copies 64 bytes from x to y through this number of cores. */
static uint8_t *pipeline_make(size_t *out_bytes)
{
    static const uint64_t shape[] = { 64 };
    struct ntk_neff_build *build =
        ntk_neff_build_create(&(struct ntk_neff_build_options){ .name = "pipe" });
    struct ntk_neff_kernel *kernel = NULL;
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    char names[2][8] = { "", "x" };

    for (uint32_t i = 0; i < STAGES; i++) {
        kernel =
            kernel ? ntk_neff_build_stage(build, kernel) : ntk_neff_build_kernel(build, "pipe");
        memcpy(names[0], names[1], sizeof names[0]);
        (void)snprintf(names[1], sizeof names[1], i + 1 < STAGES ? "h%u" : "y", i);
        uint32_t x = ntk_neff_kernel_input(kernel, names[0], NTK_DTYPE_UINT8, 1, shape);
        uint32_t y = ntk_neff_kernel_output(kernel, names[1], NTK_DTYPE_UINT8, 1, shape);
        uint32_t queue =
            ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
        struct ntk_isa_instr work = ntk_isa_instr_make(NTK_ISA_OP_NOP);
        work.imm[0] = STAGE_CYCLES;
        ntk_neff_token in =
            ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, 64, 1), 0, 64, NTK_AFTER_NONE);
        ntk_neff_token done = ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_PE, &work, NTK_AFTER(in));
        (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, 64, 1), 0, 64, NTK_AFTER(done));
    }
    rounds_require(ntk_neff_build_bytes(build, &bytes, out_bytes, &err) == 0, err.text);
    ntk_neff_build_destroy(build);
    return bytes;
}

/* The client's first call needs a server that already listens. */
static struct ntk_rpc_client *client_make(const char *endpoint)
{
    struct ntk_rpc_client *client = NULL;
    struct ntk_err err = { 0 };

    for (int i = 0; i < 1000 && access(endpoint + strlen("unix:"), F_OK) != 0; i++) {
        usleep(10000);
    }
    rounds_require(ntk_rpc_client_create(endpoint, 30, &client, &err) == 0, err.text);
    return client;
}

int main(int argc, char **argv)
{
    char *folder;
    char endpoints[3][4096];
    char machines[2][4096];
    char paths[2][64];
    static struct peer small = { .request = NRT__INFER_REQUEST__INIT };
    static struct peer paced;
    static struct peer echo;
    static struct peer deep[4];
    static const uint32_t depths[4] = { 1, 2, 4, 8 };
    static const char *const names[4] = { "four cores of 1 ms, depth 1",
                                          "four cores of 1 ms, depth 2",
                                          "four cores of 1 ms, depth 4",
                                          "four cores of 1 ms, depth 8" };
    struct rounds_subject calls[2] = {
        { .name = "inference of 64 bytes by shared memory", .measure = measure_infer },
        { .name = "the same call of gRPC alone", .measure = measure_infer },
    };
    struct rounds_subject pipelines[4];
    size_t bytes;

    if (argc == 3 && strcmp(argv[1], ECHO) == 0) {
        echo_run(argv[2]);
    }
    rounds_options(argc, argv);
    test_scratch_in_memory(); /* device trees consist of many small files */
    folder = test_scratch_create();
    setenv("NEURON_SOFT_INSTANCE", "inf1.6xlarge", 1);
    atexit(end);
    (void)snprintf(endpoints[0], sizeof endpoints[0], "unix:%s/rtd", folder);
    (void)snprintf(endpoints[1], sizeof endpoints[1], "unix:%s/echo", folder);
    (void)snprintf(endpoints[2], sizeof endpoints[2], "unix:%s/paced", folder);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(machines[i], sizeof machines[i], "%s/machine%d", folder, i);
        rounds_require(mkdir(machines[i], 0700) == 0, "scratch");
    }
    pids[0] = daemon_start(endpoints[0], machines[0], 0);
    pids[1] = echo_start(endpoints[1]);
    pids[2] = daemon_start(endpoints[2], machines[1], 1);
    small.client = client_make(endpoints[0]);
    echo.client = client_make(endpoints[1]);
    paced.client = client_make(endpoints[2]);

    /* x and y in shared memory. */
    static Nrt__HNn handles[2] = { NRT__H_NN__INIT, NRT__H_NN__INIT };
    static Nrt__InferIo ios[2];
    static Nrt__SharedMemBuf memories[2] = { NRT__SHARED_MEM_BUF__INIT, NRT__SHARED_MEM_BUF__INIT };
    static Nrt__InferIo *rows[2] = { &ios[0], &ios[1] };
    for (int i = 0; i < 2; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "/ntk_bench_rtd_%d_%d", (int)getpid(), i);
        memory_map(&small, &paced, paths[i]);
        memories[i].path = paths[i];
        nrt__infer_io__init(&ios[i]);
        ios[i].name = i == 0 ? "x" : "y";
        ios[i].data_case = NRT__INFER_IO__DATA_BUF_SHM;
        ios[i].buf_shm = &memories[i];
    }
    uint8_t *neff = test_model_smallest(&bytes);
    handles[0].id = model_load(&small, neff, bytes, 4);
    neff = pipeline_make(&bytes);
    handles[1].id = model_load(&paced, neff, bytes, DEPTH_MAX);
    small.request.h_nn = &handles[0];
    small.request.n_ifmap = small.request.n_shm_ofmap = 1;
    small.request.ifmap = &rows[0];
    small.request.shm_ofmap = &rows[1];
    echo.request = small.request;
    for (int i = 0; i < 4; i++) {
        deep[i] = small;
        deep[i].client = paced.client;
        deep[i].request.h_nn = &handles[1];
        deep[i].depth = depths[i];
        pipelines[i] =
            (struct rounds_subject){ .name = names[i], .measure = measure_depth, .ctx = &deep[i] };
    }
    calls[0].ctx = &small;
    calls[1].ctx = &echo;
    rounds_run(calls, 2, ROUND_COUNT);
    rounds_print(&calls[0], "ns");
    rounds_print(&calls[1], "ns");
    rounds_print_ratio("inference to call", &calls[0], &calls[1], TARGET);
    rounds_run(pipelines, 4, 3);
    for (int i = 0; i < 4; i++) {
        rounds_print(&pipelines[i], "ns");
    }
    rounds_print_value("rate of depth 8 to that of depth 1",
                       rounds_median(&pipelines[0]) / rounds_median(&pipelines[3]), "x",
                       GAIN_TARGET, 1);
    ntk_rpc_client_destroy(small.client);
    ntk_rpc_client_destroy(echo.client);
    ntk_rpc_client_destroy(paced.client);
    end();
    memset(pids, 0, sizeof pids);
    test_scratch_destroy(folder);
    return rounds_result();
}

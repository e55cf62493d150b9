/* SPDX-License-Identifier: MIT */
/*
 * nrt_sendrecv - sends and receives tensors: communicators are channels of the core, requests are
 * transfers.
 */
#include "runtime-hooks/libnrt/nrt_sendrecv.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime-hooks/core/core_channel.h"
#include "runtime-hooks/libnrt/nrt_front.h"
#include "runtime-hooks/libnrt/nrt_log.h"
#include "runtime-hooks/libnrt/nrt_status_map.h"

#pragma GCC visibility push(default)
#include "nrt/nrt_async_sendrecv.h"
#pragma GCC visibility pop

#define COMMS_PER_CORE_MAX 16U
#define CORES_MAX 128U

struct nrt_async_sendrecv_comm {
    struct ntk_core_handle handle;
    struct ntk_core_channel *channel;
    uint32_t nc; /* core of this process */
    bool is_sender;
};

struct nrt_async_sendrecv_request {
    struct ntk_core_handle handle;
    struct nrt_async_sendrecv_comm *comm; /* reference held by the request */
    pthread_mutex_t lock;
    struct ntk_core_transfer *transfer; /* NULL when done */
};

static void comm_release(struct ntk_core_handle *handle)
{
    struct nrt_async_sendrecv_comm *comm = (struct nrt_async_sendrecv_comm *)handle;

    ntk_core_channel_close(comm->channel);
    comm->channel = NULL;
}

static struct ntk_core_handle_pool comms =
    NTK_CORE_HANDLE_POOL_INIT(struct nrt_async_sendrecv_comm, comm_release);

static void request_release(struct ntk_core_handle *handle)
{
    struct nrt_async_sendrecv_request *request = (struct nrt_async_sendrecv_request *)handle;

    if (request->transfer) {
        ntk_core_transfer_cancel(request->comm->channel, request->transfer);
    }
    pthread_mutex_destroy(&request->lock);
    ntk_core_handle_drop(&comms, request->comm);
}

static struct ntk_core_handle_pool requests =
    NTK_CORE_HANDLE_POOL_INIT(struct nrt_async_sendrecv_request, request_release);

/* The initialised cores and their communicators. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool is_open;
    uint32_t comm_count;
    struct nrt_async_sendrecv_comm *comms[COMMS_PER_CORE_MAX];
} cores[CORES_MAX];

void nrt_sendrecv_close_all(void)
{
    ntk_core_handle_close_all(&requests);
    ntk_core_handle_close_all(&comms);
    memset(cores, 0, sizeof cores);
}

void nrt_sendrecv_forget_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    ntk_core_channels_forget();
    ntk_core_handle_forget(&requests);
    ntk_core_handle_forget(&comms);
    lock = fresh;
    memset(cores, 0, sizeof cores);
}

/* Returns the core with an absolute number; CORES_MAX if this process does not have it. */
static uint32_t core_find(int lnc)
{
    const struct ntk_core *core = nrt_front_core_get();
    uint32_t first = ntk_core_global(core, 0);

    if (lnc < 0 || (uint32_t)lnc < first || (uint32_t)lnc - first >= ntk_core_count(core) ||
        (uint32_t)lnc - first >= CORES_MAX) {
        return CORES_MAX;
    }
    return (uint32_t)lnc - first;
}

/* Enters for core `nc` of this process, until the end of the function. */
#define CORE_SCOPE(lnc, nc)             \
    NRT_FRONT_SCOPE;                    \
    const uint32_t nc = core_find(lnc); \
    if (nc == CORES_MAX) {              \
        return NRT_INVALID;             \
    }

static NRT_STATUS number_tell(int *to, unsigned number)
{
    if (!to) {
        return NRT_INVALID;
    }
    *to = (int)number;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_async_sendrecv_get_max_num_communicators_per_lnc(int *num)
{
    return number_tell(num, COMMS_PER_CORE_MAX);
}

NRT_STATUS nrt_async_sendrecv_get_max_num_pending_request(int *num)
{
    return number_tell(num, NTK_CORE_CHANNEL_TRANSFERS_MAX);
}

NRT_STATUS nrt_async_sendrecv_init(int lnc)
{
    CORE_SCOPE(lnc, nc);
    pthread_mutex_lock(&lock);
    cores[nc].is_open = true;
    pthread_mutex_unlock(&lock);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_async_sendrecv_close(int lnc)
{
    CORE_SCOPE(lnc, nc);
    pthread_mutex_lock(&lock);
    if (!cores[nc].is_open) {
        status = NRT_INVALID;
    }
    for (uint32_t i = 0; i < cores[nc].comm_count; i++) {
        struct nrt_async_sendrecv_comm *comm = cores[nc].comms[i];

        /* Requests may still hold the communicator: they fail. */
        ntk_core_channel_shutdown(comm->channel);
        (void)ntk_core_handle_close(&comms, comm);
    }
    cores[nc].is_open = false;
    cores[nc].comm_count = 0;
    pthread_mutex_unlock(&lock);
    return status;
}

/* Returns true if the text is an address of this machine. */
static bool address_is_ours(const char *text)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
    struct addrinfo *info = NULL;
    struct ifaddrs *interfaces = NULL;
    bool is_ours = false;

    if (strcmp(text, "localhost") == 0) {
        return true;
    }
    if (getaddrinfo(text, NULL, &hints, &info) != 0) {
        return false;
    }
    is_ours = strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0;
    if (!is_ours && getifaddrs(&interfaces) == 0) {
        for (struct ifaddrs *at = interfaces; at && !is_ours; at = at->ifa_next) {
            char name[NI_MAXHOST];
            socklen_t bytes = info->ai_addrlen;

            is_ours =
                at->ifa_addr && at->ifa_addr->sa_family == info->ai_family &&
                getnameinfo(at->ifa_addr, bytes, name, sizeof name, NULL, 0, NI_NUMERICHOST) == 0 &&
                strcmp(name, text) == 0;
        }
        freeifaddrs(interfaces);
    }
    freeaddrinfo(info);
    return is_ours;
}

/* Creates a communicator. The caller holds the lock. */
static NRT_STATUS comm_create(const char *function, uint32_t nc, uint32_t from, uint32_t to,
                              bool is_sender, nrt_async_sendrecv_comm_t **out_comm)
{
    struct ntk_core_channel *channel = NULL;
    struct ntk_err err = { 0 };

    if (!cores[nc].is_open) {
        return NRT_INVALID;
    }
    if (cores[nc].comm_count == COMMS_PER_CORE_MAX) {
        return NRT_RESOURCE;
    }
    int ret = ntk_core_channel_open(nrt_front_core_get(), from, to, is_sender, &channel, &err);
    if (ret < 0) {
        return nrt_front_fail(function, ret, &err);
    }
    struct nrt_async_sendrecv_comm *comm = ntk_core_handle_create(&comms);
    if (!comm) {
        ntk_core_channel_close(channel);
        return NRT_RESOURCE;
    }
    comm->channel = channel;
    comm->nc = nc;
    comm->is_sender = is_sender;
    cores[nc].comms[cores[nc].comm_count++] = comm;
    *out_comm = comm;
    return NRT_SUCCESS;
}

static NRT_STATUS comm_open(const char *function, const char *peer_ip, int peer_lnc, int lnc,
                            bool is_sender, nrt_async_sendrecv_comm_t **out_comm)
{
    CORE_SCOPE(lnc, nc);
    if (!peer_ip || peer_lnc < 0 || !out_comm) {
        status = NRT_INVALID;
    } else if (!address_is_ours(peer_ip)) {
        nrt_log_error(function,
                      "%s is another machine: software cores reach only this machine (NRT_FAILURE)",
                      peer_ip);
        status = NRT_FAILURE;
    } else {
        uint32_t own = (uint32_t)lnc;
        uint32_t peer = (uint32_t)peer_lnc;

        pthread_mutex_lock(&lock);
        status = comm_create(function, nc, is_sender ? own : peer, is_sender ? peer : own,
                             is_sender, out_comm);
        pthread_mutex_unlock(&lock);
    }
    return status;
}

NRT_STATUS nrt_async_sendrecv_connect(const char *peer_ip, int peer_lnc, int lnc,
                                      nrt_async_sendrecv_comm_t **send_comm)
{
    return comm_open("nrt_async_sendrecv_connect", peer_ip, peer_lnc, lnc, true, send_comm);
}

NRT_STATUS nrt_async_sendrecv_accept(const char *peer_ip, int peer_lnc, int lnc,
                                     nrt_async_sendrecv_comm_t **recv_comm)
{
    return comm_open("nrt_async_sendrecv_accept", peer_ip, peer_lnc, lnc, false, recv_comm);
}

NRT_STATUS nrt_async_sendrecv_test_comm(nrt_async_sendrecv_comm_t *comm, bool *done)
{
    NRT_FRONT_SCOPE;
    struct nrt_async_sendrecv_comm *taken = ntk_core_handle_take(&comms, comm);
    if (!taken) {
        status = NRT_INVALID_HANDLE;
    } else if (!done) {
        status = NRT_INVALID;
    } else {
        *done = ntk_core_channel_is_connected(taken->channel);
    }
    if (taken) {
        ntk_core_handle_drop(&comms, taken);
    }
    return status;
}

/* Creates a request. The caller holds tensor and comm. */
static NRT_STATUS request_create(struct nrt_tensor *tensor, size_t offset, size_t length,
                                 struct nrt_async_sendrecv_comm *comm,
                                 nrt_async_sendrecv_request_t **out_request)
{
    struct ntk_core_tensor_info info;
    struct ntk_core_transfer *transfer = NULL;

    ntk_core_tensor_info_get(tensor->core, &info);
    if ((info.placement == NTK_CORE_DEVICE && info.nc != comm->nc) ||
        !ntk_core_channel_is_connected(comm->channel)) {
        return NRT_INVALID;
    }
    int ret = ntk_core_channel_post(comm->channel, tensor->core, offset, length, &transfer);
    if (ret < 0) {
        return ret == -EAGAIN ? NRT_RESOURCE : nrt_status_from_error(ret);
    }
    struct nrt_async_sendrecv_request *request = ntk_core_handle_create(&requests);
    if (!request) {
        ntk_core_transfer_cancel(comm->channel, transfer);
        return NRT_RESOURCE;
    }
    pthread_mutex_init(&request->lock, NULL);
    ntk_core_handle_hold(comm);
    request->comm = comm;
    request->transfer = transfer;
    *out_request = request;
    return NRT_SUCCESS;
}

static NRT_STATUS request_post(nrt_tensor_t *tensor, size_t offset, size_t length,
                               nrt_async_sendrecv_comm_t *comm, bool is_sender,
                               nrt_async_sendrecv_request_t **request)
{
    NRT_FRONT_SCOPE;
    struct nrt_tensor *taken = ntk_core_handle_take(&nrt_front_tensors, tensor);
    struct nrt_async_sendrecv_comm *taken_comm = ntk_core_handle_take(&comms, comm);
    if (!taken_comm) {
        status = NRT_INVALID_HANDLE;
    } else if (!taken || !request || taken_comm->is_sender != is_sender) {
        status = NRT_INVALID;
    } else {
        status = request_create(taken, offset, length, taken_comm, request);
    }
    if (taken_comm) {
        ntk_core_handle_drop(&comms, taken_comm);
    }
    if (taken) {
        ntk_core_handle_drop(&nrt_front_tensors, taken);
    }
    return status;
}

NRT_STATUS nrt_async_sendrecv_send_tensor(nrt_tensor_t *tensor, size_t offset, size_t length,
                                          nrt_async_sendrecv_comm_t *send_comm,
                                          nrt_async_sendrecv_request_t **request)
{
    return request_post(tensor, offset, length, send_comm, true, request);
}

NRT_STATUS nrt_async_sendrecv_recv_tensor(nrt_tensor_t *tensor, size_t offset, size_t length,
                                          nrt_async_sendrecv_comm_t *recv_comm,
                                          nrt_async_sendrecv_request_t **request)
{
    return request_post(tensor, offset, length, recv_comm, false, request);
}

/* Tests a request that the caller holds. Returns 1 if done, 0 if not done, -errno if it failed. */
static int request_test(struct nrt_async_sendrecv_request *request, uint64_t *out_bytes)
{
    int ret = -EINVAL;

    pthread_mutex_lock(&request->lock);
    if (request->transfer) {
        ret = ntk_core_transfer_test(request->comm->channel, request->transfer, out_bytes);
        if (ret != 0) {
            request->transfer = NULL;
        }
    }
    pthread_mutex_unlock(&request->lock);
    return ret;
}

NRT_STATUS nrt_async_sendrecv_test_request(nrt_async_sendrecv_request_t *request, bool *done,
                                           size_t *size)
{
    uint64_t bytes = 0;
    NRT_FRONT_SCOPE;

    struct nrt_async_sendrecv_request *taken = ntk_core_handle_take(&requests, request);
    if (!taken) {
        status = NRT_INVALID_HANDLE;
    } else if (!done) {
        status = NRT_INVALID;
    } else {
        int ret = request_test(taken, &bytes);

        *done = ret == 1;
        if (ret == 1 && size) {
            *size = bytes;
        }
        if (ret < 0) {
            nrt_log_error("nrt_async_sendrecv_test_request", "%s",
                          ret == -EMSGSIZE ? "the message is longer than the receiver's buffer"
                                           : "the other side has exited");
            status = NRT_FAILURE;
        }
        if (ret != 0) {
            (void)ntk_core_handle_close(&requests, taken);
        }
    }
    if (taken) {
        ntk_core_handle_drop(&requests, taken);
    }
    return status;
}

/* The data of a completed request is already in the tensor. */
NRT_STATUS nrt_async_sendrecv_flush(int lnc)
{
    CORE_SCOPE(lnc, nc);
    pthread_mutex_lock(&lock);
    status = cores[nc].is_open ? NRT_SUCCESS : NRT_INVALID;
    pthread_mutex_unlock(&lock);
    return status;
}

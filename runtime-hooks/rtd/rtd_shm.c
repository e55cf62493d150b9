/* SPDX-License-Identifier: MIT */
/*
 * rtd_shm - opens memory of clients on request, because they unlink its name immediately
 * afterwards.
 *
 * The memory is read and written through its descriptor, at the cost of a copy: with a mapping, a
 * client that shortens the memory would crash the daemon and end the work of all clients.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime-hooks/rtd/rtd_manager.h"

/* Opens the path; returns NULL with the reason in errno. */
static struct rtd_shm *shm_open_path(const char *path)
{
    struct rtd_shm *shm = calloc(1, sizeof *shm);
    struct stat status = { 0 };
    int fd = shm ? shm_open(path, O_RDWR | O_CLOEXEC, 0) : -1;

    if (fd < 0) {
        free(shm);
        return NULL;
    }
    shm->path = strdup(path);
    shm->fd = fd;
    shm->use_count = 1;
    if (!shm->path || fstat(fd, &status) != 0 || status.st_size == 0) {
        int error = shm->path && status.st_size == 0 ? EINVAL : errno;
        rtd_shm_give_back(shm);
        errno = error;
        return NULL;
    }
    return shm;
}

/* Half of the descriptors are for mappings; the other half is for connections. */
uint32_t rtd_shm_count_max_get(void)
{
    struct rlimit limit = { 0 };

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur / 2 > UINT32_MAX ? UINT32_MAX : (uint32_t)(limit.rlim_cur / 2);
}

uint64_t rtd_shm_bytes_get(const struct rtd_shm *shm)
{
    struct stat status;

    return fstat(shm->fd, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
}

bool rtd_shm_read(const struct rtd_shm *shm, void *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(shm->fd, (char *)to + done, bytes - done, (off_t)done);

        if (got <= 0) {
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

bool rtd_shm_write(const struct rtd_shm *shm, const void *from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t put = pwrite(shm->fd, (const char *)from + done, bytes - done, (off_t)done);

        if (put <= 0) {
            return false;
        }
        done += (size_t)put;
    }
    return true;
}

static struct rtd_shm **shm_find(struct rtd_manager *manager, const char *path)
{
    struct rtd_shm **at = &manager->shms;

    while (*at && strcmp((*at)->path, path) != 0) {
        at = &(*at)->next;
    }
    return at;
}

static void shm_remove(struct rtd_manager *manager, struct rtd_shm **at)
{
    struct rtd_shm *shm = *at;

    *at = shm->next;
    manager->shm_count--;
    rtd_shm_give_back(shm);
}

struct rtd_shm *rtd_shm_take(struct rtd_manager *manager, const char *path)
{
    struct rtd_shm *shm = *shm_find(manager, path);

    if (shm) {
        shm->use_count++;
        return shm;
    }
    return shm_open_path(path);
}

void rtd_shm_give_back(struct rtd_shm *shm)
{
    if (shm && --shm->use_count == 0) {
        close(shm->fd);
        free(shm->path);
        free(shm);
    }
}

void rtd_shm_forget_session(struct rtd_manager *manager, uint64_t session)
{
    for (struct rtd_shm **at = &manager->shms; *at;) {
        if ((*at)->session == session) {
            shm_remove(manager, at);
        } else {
            at = &(*at)->next;
        }
    }
}

void rtd_shm_forget_all(struct rtd_manager *manager)
{
    while (manager->shms) {
        shm_remove(manager, &manager->shms);
    }
}

/* ---- methods ---- */

void rtd_shm_map(struct rtd_manager *manager, struct ntk_rpc_call *call,
                 const ProtobufCMessage *message)
{
    const Nrt__ShmMapRequest *asked = (const void *)message;

    if (asked->data_case == NRT__SHM_MAP_REQUEST__DATA_PATH_HUGETLB) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID, "hugetlb not supported");
        return;
    }
    if (asked->data_case != NRT__SHM_MAP_REQUEST__DATA_PATH || !asked->path[0]) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID, "no shared memory path");
        return;
    }
    if (!rtd_session_is_known(manager, asked->session_id)) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "Failed to find session: %llu",
                   (unsigned long long)asked->session_id);
        return;
    }
    if (manager->shm_count >= manager->shm_count_max) {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE,
                   "%u shared memory regions are already mapped: unmap one first",
                   manager->shm_count);
        return;
    }
    struct rtd_shm *shm = shm_open_path(asked->path);
    if (!shm) {
        rtd_refuse(call, NRT__NERR__NERR_FAIL, "shared memory %s: %s", asked->path,
                   strerror(errno));
        return;
    }
    struct rtd_shm **at = shm_find(manager, asked->path);
    if (*at) {
        shm_remove(manager, at);
    }
    shm->session = asked->session_id;
    shm->next = manager->shms;
    manager->shms = shm;
    manager->shm_count++;
    rtd_good(call);
}

void rtd_shm_unmap(struct rtd_manager *manager, struct ntk_rpc_call *call,
                   const ProtobufCMessage *message)
{
    const Nrt__ShmUnmapRequest *asked = (const void *)message;
    struct rtd_shm **at = shm_find(manager, asked->path);

    if (!*at) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "shared memory %s was not mapped",
                   asked->path);
        return;
    }
    shm_remove(manager, at);
    rtd_good(call);
}

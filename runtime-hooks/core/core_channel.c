/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_channel.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime-hooks/core/core_state.h"

#define MAGIC UINT64_C(0x314e414843534b4e)
#define RING_BYTES (UINT64_C(1) << 20)
#define LENGTH_BYTES 8U
#define GUARD_BYTE 2
#define OPEN_TRIES 16

/* The beginning of the mapped file, before the ring: docs/formats/channel.md. */
struct shared {
    uint64_t magic;
    uint64_t ring_bytes;
    _Atomic uint32_t was_open[2]; /* by the sender, by the receiver */
    char reserved0[40];
    _Atomic uint64_t written; /* bytes written by the sender */
    char reserved1[56];
    _Atomic uint64_t taken; /* bytes taken by the receiver */
    char reserved2[3960];
};
static_assert(offsetof(struct shared, was_open) == 16, "channel 1");
static_assert(offsetof(struct shared, written) == 64, "channel 1");
static_assert(offsetof(struct shared, taken) == 128, "channel 1");
static_assert(sizeof(struct shared) == 4096, "channel 1");

struct ntk_core_transfer {
    struct ntk_core_transfer *next;
    struct core_tensor_view view;
    char *address;
    uint64_t bytes;  /* available space, or bytes to send */
    uint64_t length; /* length of the message */
    uint64_t moved;  /* bytes of the message moved so far */
    bool has_length; /* the length was sent or received */
    bool is_done;
    int error;
};

struct ntk_core_channel {
    pthread_mutex_t lock;
    int fd; /* -1 after a shutdown */
    struct shared *shared;
    char *ring;
    int own, peer; /* bytes of the file that each end locks while it is alive */
    char path[NTK_PATH_BYTES + 64];
    struct ntk_core_transfer *first; /* list of unfinished transfers, oldest first */
    uint32_t transfer_count;
    struct ntk_core_channel *next_open;
};

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ntk_core_channel *open_channels;

/* --- ends ------------------------------------------------------------------------------------- */

/* Open-file-description locks, because two ends in one process are two owners. */
static int byte_lock(int fd, int byte, short type, bool wait)
{
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };
    int ret = 0;

    do {
        ret = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
    } while (ret < 0 && errno == EINTR);
    return ret < 0 ? -errno : 0;
}

static bool byte_is_held(int fd, int byte)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* The caller holds the guard. */
static int file_prepare(struct ntk_core_channel *channel, struct ntk_err *err)
{
    size_t bytes = sizeof(struct shared) + RING_BYTES;
    bool is_first = !byte_is_held(channel->fd, channel->peer);
    struct stat status;
    int ret = byte_lock(channel->fd, channel->own, F_WRLCK, false);

    if (ret < 0) {
        return ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET,
                           "%s: this end of the channel is already in use", channel->path);
    }
    /* No living process has the file mapped, so its content comes from a dead connection. */
    if (is_first && ftruncate(channel->fd, 0) < 0) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot empty '%s'", channel->path);
    }
    if (is_first && posix_fallocate(channel->fd, 0, (off_t)bytes) != 0) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "no space for '%s'", channel->path);
    }
    if (fstat(channel->fd, &status) < 0 || status.st_size != (off_t)bytes) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s has the wrong size",
                           channel->path);
    }
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, channel->fd, 0);
    if (mapping == MAP_FAILED) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "cannot map '%s'", channel->path);
    }
    channel->shared = mapping;
    channel->ring = (char *)mapping + sizeof(struct shared);
    if (is_first) {
        channel->shared->magic = MAGIC;
        channel->shared->ring_bytes = RING_BYTES;
    }
    if (channel->shared->magic != MAGIC || channel->shared->ring_bytes != RING_BYTES) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s is not a channel", channel->path);
    }
    if (atomic_exchange(&channel->shared->was_open[channel->own], 1) != 0) {
        return ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET,
                           "%s: the other end has not closed its previous connection",
                           channel->path);
    }
    return 0;
}

static void file_leave(struct ntk_core_channel *channel)
{
    if (channel->shared) {
        munmap(channel->shared, sizeof(struct shared) + RING_BYTES);
        channel->shared = NULL;
    }
    if (channel->fd >= 0) {
        /* An opening process waits for the guard, then checks that the file still exists. */
        (void)byte_lock(channel->fd, GUARD_BYTE, F_WRLCK, true);
        (void)byte_lock(channel->fd, channel->own, F_UNLCK, false);
        if (!byte_is_held(channel->fd, channel->peer)) {
            (void)unlink(channel->path);
        }
        close(channel->fd);
        channel->fd = -1;
    }
}

/* Opens the file and takes the guard. */
static int file_open(struct ntk_core_channel *channel, struct ntk_err *err)
{
    for (int i = 0; i < OPEN_TRIES; i++) {
        struct stat status;

        channel->fd = open(channel->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (channel->fd < 0) {
            return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot open '%s': %s", channel->path,
                               strerror(errno));
        }
        if (byte_lock(channel->fd, GUARD_BYTE, F_WRLCK, true) == 0 &&
            fstat(channel->fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1) {
            return 0;
        }
        close(channel->fd); /* it was removed after it was opened */
        channel->fd = -1;
    }
    return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "'%s' disappears repeatedly", channel->path);
}

int ntk_core_channel_open(struct ntk_core *core, uint32_t from, uint32_t to, bool is_sender,
                          struct ntk_core_channel **out_channel, struct ntk_err *err)
{
    struct ntk_core_channel *channel = calloc(1, sizeof *channel);

    if (!channel) {
        return ntk_err_no_memory(err);
    }
    pthread_mutex_init(&channel->lock, NULL);
    channel->own = is_sender ? 0 : 1;
    channel->peer = is_sender ? 1 : 0;
    channel->fd = -1;
    (void)snprintf(channel->path, sizeof channel->path, "%s/channel-%u-%u", core->soft->folder,
                   from, to);
    int ret = file_open(channel, err);
    if (ret == 0) {
        ret = file_prepare(channel, err);
        if (ret == 0) {
            (void)byte_lock(channel->fd, GUARD_BYTE, F_UNLCK, false);
        }
    }
    if (ret < 0) {
        if (channel->shared) {
            munmap(channel->shared, sizeof(struct shared) + RING_BYTES);
        }
        if (channel->fd >= 0) {
            close(channel->fd); /* also releases the locks */
        }
        pthread_mutex_destroy(&channel->lock);
        free(channel);
        return ret;
    }
    pthread_mutex_lock(&open_lock);
    channel->next_open = open_channels;
    open_channels = channel;
    pthread_mutex_unlock(&open_lock);
    *out_channel = channel;
    return 0;
}

/* The caller holds the channel's lock. */
static void transfers_fail(struct ntk_core_channel *channel, int error)
{
    for (struct ntk_core_transfer *t = channel->first; t; t = t->next) {
        core_tensor_view_drop(&t->view);
        t->is_done = true;
        t->error = error;
    }
    channel->first = NULL;
}

void ntk_core_channel_shutdown(struct ntk_core_channel *channel)
{
    pthread_mutex_lock(&open_lock);
    for (struct ntk_core_channel **at = &open_channels; *at; at = &(*at)->next_open) {
        if (*at == channel) {
            *at = channel->next_open;
            break;
        }
    }
    pthread_mutex_unlock(&open_lock);
    pthread_mutex_lock(&channel->lock);
    transfers_fail(channel, -EPIPE);
    file_leave(channel);
    pthread_mutex_unlock(&channel->lock);
}

void ntk_core_channel_close(struct ntk_core_channel *channel)
{
    if (!channel) {
        return;
    }
    ntk_core_channel_shutdown(channel);
    pthread_mutex_destroy(&channel->lock);
    free(channel);
}

void ntk_core_channels_forget(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    for (struct ntk_core_channel *channel = open_channels; channel; channel = channel->next_open) {
        close(channel->fd);
    }
    open_channels = NULL;
    open_lock = fresh;
}

bool ntk_core_channel_is_connected(struct ntk_core_channel *channel)
{
    pthread_mutex_lock(&channel->lock);
    /* Pairs with the exchange in the other end's file_prepare(). */
    bool is_connected =
        channel->shared &&
        atomic_load_explicit(&channel->shared->was_open[channel->peer], memory_order_acquire) != 0;
    pthread_mutex_unlock(&channel->lock);
    return is_connected;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static void ring_copy(char *ring, uint64_t position, char *bytes, uint64_t count, bool to_ring)
{
    uint64_t at = position % RING_BYTES;
    uint64_t until_end = RING_BYTES - at;
    uint64_t part = count < until_end ? count : until_end;

    if (to_ring) {
        memcpy(ring + at, bytes, part);
        memcpy(ring, bytes + part, count - part);
    } else {
        memcpy(bytes, ring + at, part);
        memcpy(bytes + part, ring, count - part);
    }
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Moves as much as possible of the oldest transfer. Returns 1 if done, 0 if not yet, -EBADMSG. */
static int send_some(struct ntk_core_channel *channel, struct ntk_core_transfer *t)
{
    struct shared *shared = channel->shared;
    uint64_t written = atomic_load_explicit(&shared->written, memory_order_relaxed);
    /* Pairs with the release in receive_some(): the bytes that it frees have been read. */
    uint64_t used = written - atomic_load_explicit(&shared->taken, memory_order_acquire);

    if (used > RING_BYTES) {
        return -EBADMSG;
    }
    uint64_t room = RING_BYTES - used;
    if (!t->has_length && room >= LENGTH_BYTES) {
        t->length = t->bytes;
        ring_copy(channel->ring, written, (char *)&t->length, LENGTH_BYTES, true);
        written += LENGTH_BYTES;
        room -= LENGTH_BYTES;
        t->has_length = true;
    }
    if (t->has_length) {
        uint64_t count = smaller(room, t->length - t->moved);

        ring_copy(channel->ring, written, t->address + t->moved, count, true);
        written += count;
        t->moved += count;
    }
    /* Pairs with the acquire in receive_some(): the counted bytes are visible. */
    atomic_store_explicit(&shared->written, written, memory_order_release);
    return t->has_length && t->moved == t->length;
}

static int receive_some(struct ntk_core_channel *channel, struct ntk_core_transfer *t)
{
    struct shared *shared = channel->shared;
    uint64_t taken = atomic_load_explicit(&shared->taken, memory_order_relaxed);
    uint64_t there = atomic_load_explicit(&shared->written, memory_order_acquire) - taken;

    if (there > RING_BYTES) {
        return -EBADMSG;
    }
    if (!t->has_length && there >= LENGTH_BYTES) {
        ring_copy(channel->ring, taken, (char *)&t->length, LENGTH_BYTES, false);
        taken += LENGTH_BYTES;
        there -= LENGTH_BYTES;
        t->has_length = true;
        t->error = t->length > t->bytes ? -EMSGSIZE : 0;
    }
    if (t->has_length) {
        uint64_t count = smaller(there, t->length - t->moved);

        if (t->error == 0) { /* otherwise the data is skipped */
            ring_copy(channel->ring, taken, t->address + t->moved, count, false);
        }
        taken += count;
        t->moved += count;
    }
    atomic_store_explicit(&shared->taken, taken, memory_order_release);
    return t->has_length && t->moved == t->length;
}

/* The caller holds the channel's lock. */
static void progress(struct ntk_core_channel *channel)
{
    while (channel->first && channel->shared) {
        struct ntk_core_transfer *t = channel->first;
        /* Check this before reading the ring, so that the other end's last writes are seen. */
        bool is_alone = !byte_is_held(channel->fd, channel->peer);
        int ret = channel->own == 0 ? send_some(channel, t) : receive_some(channel, t);

        if (ret < 0 || (ret == 0 && is_alone)) {
            transfers_fail(channel, ret < 0 ? ret : -EPIPE);
            return;
        }
        if (ret == 0) {
            return;
        }
        core_tensor_view_drop(&t->view);
        t->is_done = true;
        channel->first = t->next;
    }
}

/* --- transfers -------------------------------------------------------------------------------- */

int ntk_core_channel_post(struct ntk_core_channel *channel, struct ntk_core_tensor *tensor,
                          uint64_t offset, uint64_t bytes, struct ntk_core_transfer **out_transfer)
{
    struct ntk_core_transfer *t = calloc(1, sizeof *t);
    int ret = 0;

    if (!t) {
        return -ENOMEM;
    }
    core_tensor_view_take(tensor, &t->view);
    t->bytes = bytes;
    t->address = t->view.address + offset;
    pthread_mutex_lock(&channel->lock);
    if (!t->view.address || offset > t->view.bytes || bytes > t->view.bytes - offset) {
        ret = -EINVAL;
    } else if (!channel->shared) {
        ret = -EPIPE;
    } else if (channel->transfer_count >= NTK_CORE_CHANNEL_TRANSFERS_MAX) {
        ret = -EAGAIN;
    } else {
        struct ntk_core_transfer **at = &channel->first;

        while (*at) {
            at = &(*at)->next;
        }
        *at = t;
        channel->transfer_count++;
        progress(channel);
        *out_transfer = t;
    }
    pthread_mutex_unlock(&channel->lock);
    if (ret < 0) {
        core_tensor_view_drop(&t->view);
        free(t);
    }
    return ret;
}

int ntk_core_transfer_test(struct ntk_core_channel *channel, struct ntk_core_transfer *transfer,
                           uint64_t *out_bytes)
{
    pthread_mutex_lock(&channel->lock);
    progress(channel);
    bool is_done = transfer->is_done;
    if (is_done) {
        channel->transfer_count--;
    }
    pthread_mutex_unlock(&channel->lock);
    if (!is_done) {
        return 0;
    }
    int ret = transfer->error < 0 ? transfer->error : 1;
    if (ret == 1) {
        *out_bytes = transfer->length;
    }
    free(transfer);
    return ret;
}

void ntk_core_transfer_cancel(struct ntk_core_channel *channel, struct ntk_core_transfer *transfer)
{
    pthread_mutex_lock(&channel->lock);
    for (struct ntk_core_transfer **at = &channel->first; *at; at = &(*at)->next) {
        if (*at == transfer) {
            *at = transfer->next;
            core_tensor_view_drop(&transfer->view);
            break;
        }
    }
    channel->transfer_count--;
    pthread_mutex_unlock(&channel->lock);
    free(transfer);
}

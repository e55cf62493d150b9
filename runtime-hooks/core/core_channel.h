/* SPDX-License-Identifier: MIT */
/*
 * core_channel - sends tensors between cores of this machine, within or between processes.
 *
 * A channel is a file in the hooks folder that both ends map (docs/formats/channel.md): a ring of
 * bytes from one global logical core to another. It has no background thread: each poll of a
 * transfer moves as much as possible, so both ends must poll until done. The transfers of one end
 * complete in order.
 *
 * Owner:   ntk_core_channel_open() allocates, ntk_core_channel_close() frees. A transfer is freed
 *          by the poll that finds it done or failed, or by ntk_core_transfer_cancel().
 * Threads: any; close while no other thread is in a call.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_CHANNEL_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_CHANNEL_H

#include "runtime-hooks/core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CORE_CHANNEL_TRANSFERS_MAX 128U

struct ntk_core_channel;
struct ntk_core_transfer;

/* from and to are global logical cores. Returns -EBUSY if that end is in use, or the other end
 * still holds an earlier connection. */
int ntk_core_channel_open(struct ntk_core *core, uint32_t from, uint32_t to, bool is_sender,
                          struct ntk_core_channel **out_channel, struct ntk_err *err);
/* Ends the connection: running transfers fail with -EPIPE. */
void ntk_core_channel_shutdown(struct ntk_core_channel *channel);
/* Same, and frees the channel; cancels its transfers. */
void ntk_core_channel_close(struct ntk_core_channel *channel);
/* In the child of a fork: closes the parent's files, so that their locks end with the parent. */
void ntk_core_channels_forget(void);

/* Returns true if the other end has connected (it may have disconnected since then). */
bool ntk_core_channel_is_connected(struct ntk_core_channel *channel);
/* Starts a transfer. Returns -EAGAIN if there are too many, -EINVAL beyond the tensor, -EPIPE after
 * a shutdown. */
int ntk_core_channel_post(struct ntk_core_channel *channel, struct ntk_core_tensor *tensor,
                          uint64_t offset, uint64_t bytes, struct ntk_core_transfer **out_transfer);
/* Polls a transfer. Returns 1 with the number of bytes if it is done; 0 if not yet; -EPIPE if the
 * other end has closed; -EMSGSIZE if the received data was larger (it is lost); -EBADMSG if the
 * file is damaged. */
int ntk_core_transfer_test(struct ntk_core_channel *channel, struct ntk_core_transfer *transfer,
                           uint64_t *out_bytes);
void ntk_core_transfer_cancel(struct ntk_core_channel *channel, struct ntk_core_transfer *transfer);

#ifdef __cplusplus
}
#endif
#endif

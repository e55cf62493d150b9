/* SPDX-License-Identifier: MIT */
/*
 * outbox - delivers messages to one peer: in order, one at a time, with retries, and keeps them on
 * disk while the peer is unreachable.
 *
 * put() never waits for the network: a thread sends. A message that the peer rejects for its
 * content is dropped and counted. Other failures are retried, with a slightly random pause that
 * doubles up to a limit. While the peer is unreachable, messages wait in memory up to a limit. With
 * a spool folder, they wait in files after the first failed attempt, as do messages left at exit,
 * and the next run sends them first. Beyond the limits the oldest are dropped and counted.
 *
 * The spool is docs/formats/spool.md; one outbox locks a folder at a time. Files reach the disk
 * within NTK_OUTBOX_SYNC_NS and one delivery, all of them before drain() or destroy() returns. A
 * power cut loses messages of that time, and may repeat a message that was sent in it.
 *
 * Owner:   create / destroy.
 * Threads: put, drain, counts_get, destroy from one thread; send() runs on the thread of the
 *          outbox.
 */
#ifndef NTK_EXPORTERS_TRANSPORT_OUTBOX_H
#define NTK_EXPORTERS_TRANSPORT_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_OUTBOX_MEMORY_BYTES ((size_t)32 * 1024 * 1024)
#define NTK_OUTBOX_SPOOL_BYTES UINT64_C(268435456)
#define NTK_OUTBOX_MESSAGE_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define NTK_OUTBOX_PAUSE_MIN_NS UINT64_C(100000000)
#define NTK_OUTBOX_PAUSE_MAX_NS UINT64_C(30000000000)
#define NTK_OUTBOX_DRAIN_NS UINT64_C(5000000000)
#define NTK_OUTBOX_SYNC_NS UINT64_C(1000000000)

enum ntk_outbox_result {
    NTK_OUTBOX_SENT,    /* the peer has the message */
    NTK_OUTBOX_REFUSED, /* the peer would reject the message again: dropped */
    NTK_OUTBOX_RETRY,
};

struct ntk_outbox_answer {
    uint64_t item_count; /* number of items in the message, set before sending */
    enum ntk_outbox_result result;
    uint64_t retry_after_ns; /* minimum requested by the peer; 0: the outbox decides */
    uint64_t refused_items;  /* for a SENT message: number of items that the peer rejected */
    char text[256];          /* the reason, except for SENT; for SENT a remark of the peer */
};

struct ntk_outbox_options {
    const char *name; /* name of the peer, in log lines and output_counts; borrowed */
    /* Unit of the caller's counts in messages, such as "samples"; NULL for "items"; borrowed */
    const char *items;
    /* Sends one message; fills the response, which is zeroed except for item_count. The function
     * may wait, but must return soon after cancel(). */
    void (*send)(void *ctx, const void *bytes, size_t bytes_count,
                 struct ntk_outbox_answer *answer);
    void (*cancel)(void *ctx); /* called from another thread; NULL if send() never waits long */
    void *ctx;
    bool puts_again; /* the caller puts failed items again; put() does not count them as lost, and
                      * ntk_outbox_give_up() does */
    size_t memory_bytes_max;  /* 0 for NTK_OUTBOX_MEMORY_BYTES */
    const char *spool_folder; /* created if missing, mode 0700; NULL if none */
    uint64_t spool_bytes_max; /* 0 for NTK_OUTBOX_SPOOL_BYTES */
    uint64_t pause_min_ns;    /* 0 for NTK_OUTBOX_PAUSE_MIN_NS */
    uint64_t pause_max_ns;    /* 0 for NTK_OUTBOX_PAUSE_MAX_NS */
    /* Maximum wait of drain() for the peer; 0 for NTK_OUTBOX_DRAIN_NS */
    uint64_t drain_ns;
    uint64_t sync_ns;              /* interval of syncs of the spool; 0 for NTK_OUTBOX_SYNC_NS */
    const struct ntk_clock *clock; /* borrowed; NULL for the system clock */
};

/* Counts of items; the caller defines the items, such as samples or points. */
struct ntk_outbox_counts {
    uint64_t sent_items;
    uint64_t refused_items;
    uint64_t lost_items;    /* beyond the limits, or in an unreadable spool file */
    uint64_t waiting_items; /* in memory and in the spool */
    uint64_t retry_count;   /* number of deliveries that were or will be retried */
};

struct ntk_outbox;

/* err has the problem of the spool folder (-EBUSY: another program uses it). */
int ntk_outbox_create(const struct ntk_outbox_options *options, struct ntk_outbox **out_outbox,
                      struct ntk_err *err);
/* Stops sending. Messages in memory are moved to the spool, or lost. Accepts NULL. */
void ntk_outbox_destroy(struct ntk_outbox *outbox);

/* Takes the bytes of buf, which is empty afterwards. Returns 0, or negative, such as -ENOMEM or
 * -EMSGSIZE: the items are counted as lost, unless the caller puts them again. */
int ntk_outbox_put(struct ntk_outbox *outbox, struct ntk_buf *buf, uint64_t item_count,
                   struct ntk_err *err);
/* Counts items as lost that could not be put and are not put again. */
void ntk_outbox_give_up(struct ntk_outbox *outbox, uint64_t item_count);
/* Called at the end of a program, after the last put. Returns 1 if nothing waits; 0 while messages
 * may still be sent. Sending stops drain_ns after the first call, or if in_haste: then returns 1 if
 * all waiting messages are on disk, else -ETIMEDOUT (-EINTR if in_haste) with a message. */
int ntk_outbox_drain(struct ntk_outbox *outbox, bool in_haste, struct ntk_err *err);
struct ntk_outbox_counts ntk_outbox_counts_get(struct ntk_outbox *outbox);

#ifdef __cplusplus
}
#endif
#endif

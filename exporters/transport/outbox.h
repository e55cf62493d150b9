/* SPDX-License-Identifier: MIT */
/*
 * outbox - delivers messages to one peer: in order, one at a time, with retries, and kept on disk
 * while the peer is unreachable.
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
 * Threads: put, drain, counts_get, destroy from one thread; send() runs on the outbox's own.
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
    NTK_OUTBOX_SENT,    /* the peer has it */
    NTK_OUTBOX_REFUSED, /* and will reject it again: dropped */
    NTK_OUTBOX_RETRY,
};

struct ntk_outbox_answer {
    uint64_t item_count; /* of the message, set before sending */
    enum ntk_outbox_result result;
    uint64_t retry_after_ns; /* requested by the peer as a minimum; 0: the outbox chooses */
    uint64_t refused_items;  /* of a SENT message: items that the peer rejected */
    char text[256];          /* the reason, except for SENT; for SENT the peer's remark */
};

struct ntk_outbox_options {
    const char *name; /* of the peer, in log lines and output_counts; borrowed */
    /* unit of the caller's counts, in messages: "samples"; NULL: "items"; borrowed */
    const char *items;
    /* Sends one message; fills the answer, which is zeroed except for item_count. May wait; must
     * return soon after cancel(). */
    void (*send)(void *ctx, const void *bytes, size_t bytes_count,
                 struct ntk_outbox_answer *answer);
    void (*cancel)(void *ctx); /* from another thread; NULL if send() never waits long */
    void *ctx;
    bool puts_again; /* the caller puts failed items again; put() does not count them as lost, and
                      * ntk_outbox_give_up() does */
    size_t memory_bytes_max;  /* 0: NTK_OUTBOX_MEMORY_BYTES */
    const char *spool_folder; /* created if missing, mode 0700; NULL: none */
    uint64_t spool_bytes_max; /* 0: NTK_OUTBOX_SPOOL_BYTES */
    uint64_t pause_min_ns;    /* 0: NTK_OUTBOX_PAUSE_MIN_NS */
    uint64_t pause_max_ns;    /* 0: NTK_OUTBOX_PAUSE_MAX_NS */
    /* maximum wait of drain() for the peer; 0: NTK_OUTBOX_DRAIN_NS */
    uint64_t drain_ns;
    uint64_t sync_ns;              /* between two syncs of the spool; 0: NTK_OUTBOX_SYNC_NS */
    const struct ntk_clock *clock; /* borrowed; NULL: the system's */
};

/* Items are counted by the caller: samples, points. */
struct ntk_outbox_counts {
    uint64_t sent_items;
    uint64_t refused_items;
    uint64_t lost_items;    /* beyond the limits, or in an unreadable spool file */
    uint64_t waiting_items; /* in memory and in the spool */
    uint64_t retry_count;   /* deliveries that will be, or were, retried */
};

struct ntk_outbox;

/* err names the problem of the spool folder (-EBUSY: another program uses it). */
int ntk_outbox_create(const struct ntk_outbox_options *options, struct ntk_outbox **out_outbox,
                      struct ntk_err *err);
/* Stops sending. Messages in memory go to the spool, or are lost. NULL is fine. */
void ntk_outbox_destroy(struct ntk_outbox *outbox);

/* Takes the bytes of buf, which is empty afterwards. 0; Negative, e.g. -ENOMEM, -EMSGSIZE: the
 * items are counted as lost, unless the caller puts them again. */
int ntk_outbox_put(struct ntk_outbox *outbox, struct ntk_buf *buf, uint64_t item_count,
                   struct ntk_err *err);
/* Counts items as lost that failed to be put and are not put again. */
void ntk_outbox_give_up(struct ntk_outbox *outbox, uint64_t item_count);
/* At the end of a program, after the last put: 1 if nothing waits; 0 while messages may still be
 * sent. Sending stops drain_ns after the first call, or in haste: then 1 if all waiting messages
 * are on disk, else -ETIMEDOUT (-EINTR in haste) with a message. */
int ntk_outbox_drain(struct ntk_outbox *outbox, bool in_haste, struct ntk_err *err);
struct ntk_outbox_counts ntk_outbox_counts_get(struct ntk_outbox *outbox);

#ifdef __cplusplus
}
#endif
#endif

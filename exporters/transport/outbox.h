/* SPDX-License-Identifier: MIT */
/*
 * outbox - messages on their way to one peer: in order, one at a time, again after failures, and
 * kept on disk while the peer is away.
 *
 * put() never waits for the network: a thread sends. A message that the peer takes is done; one it
 * refuses for what it is is dropped and counted; anything else is tried again, with a pause that
 * doubles up to a bound and is a little random. While the peer is away, messages wait in memory up
 * to a bound; with a spool folder they wait in files from the first try that failed on, as does
 * what is left at the end, and the next run sends them first. Beyond the bounds the oldest goes,
 * counted.
 *
 * The spool is docs/formats/spool.md; one outbox holds a folder at a time. Files reach the disk
 * within NTK_OUTBOX_SYNC_NS and one delivery, all of them before drain() or destroy() is done: a
 * power cut takes what came in that while, and may bring back a message that was sent in it.
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
    NTK_OUTBOX_REFUSED, /* and will refuse it again: dropped */
    NTK_OUTBOX_RETRY,
};

struct ntk_outbox_answer {
    uint64_t item_count; /* of the message, set before it is sent */
    enum ntk_outbox_result result;
    uint64_t retry_after_ns; /* at least this long, when the peer asked for it; 0: as the outbox
                              * chooses */
    uint64_t refused_items;  /* of a SENT message: those that the peer did not want */
    char text[256];          /* why, for all but SENT; what the peer has to say about that too */
};

struct ntk_outbox_options {
    const char *name;  /* of the peer, in log lines and output_counts; borrowed */
    const char *items; /* what the caller counts, in messages: "samples"; NULL: "items"; borrowed */
    /* Sends one message; fills the answer, which is zeroed but for item_count. May wait; must end
     * soon after cancel(). */
    void (*send)(void *ctx, const void *bytes, size_t bytes_count,
                 struct ntk_outbox_answer *answer);
    void (*cancel)(void *ctx); /* from another thread; NULL when send() never waits long */
    void *ctx;
    size_t memory_bytes_max;       /* 0: NTK_OUTBOX_MEMORY_BYTES */
    const char *spool_folder;      /* made when missing, mode 0700; NULL: none */
    uint64_t spool_bytes_max;      /* 0: NTK_OUTBOX_SPOOL_BYTES */
    uint64_t pause_min_ns;         /* 0: NTK_OUTBOX_PAUSE_MIN_NS */
    uint64_t pause_max_ns;         /* 0: NTK_OUTBOX_PAUSE_MAX_NS */
    uint64_t drain_ns;             /* how long drain() waits for the peer; 0: NTK_OUTBOX_DRAIN_NS */
    uint64_t sync_ns;              /* between two syncs of the spool; 0: NTK_OUTBOX_SYNC_NS */
    const struct ntk_clock *clock; /* borrowed; NULL: the system's */
};

/* Items are what the caller counts: samples, points. */
struct ntk_outbox_counts {
    uint64_t sent_items;
    uint64_t refused_items;
    uint64_t lost_items;    /* beyond the bounds, or of a spool file that cannot be read */
    uint64_t waiting_items; /* in memory and in the spool */
    uint64_t retry_count;   /* deliveries that will be, or were, retried */
};

struct ntk_outbox;

/* A message says what is wrong with the spool folder (-EBUSY: another program has it). */
int ntk_outbox_create(const struct ntk_outbox_options *options, struct ntk_outbox **out_outbox,
                      struct ntk_err *err);
/* Stops sending. What waits in memory goes to the spool, or is lost. NULL is fine. */
void ntk_outbox_destroy(struct ntk_outbox *outbox);

/* Takes the bytes of buf, which is empty afterwards. 0; -ENOMEM, -EMSGSIZE: the items are lost and
 * counted so. */
int ntk_outbox_put(struct ntk_outbox *outbox, struct ntk_buf *buf, uint64_t item_count,
                   struct ntk_err *err);
/* For the end of a program, after the last put: 1 when nothing waits; 0 while it may still be sent;
 * after drain_ns since the first call, or in haste, sending ends: 1 when all that waited is on the
 * disk, else -ETIMEDOUT (-EINTR in haste) with a message. */
int ntk_outbox_drain(struct ntk_outbox *outbox, bool in_haste, struct ntk_err *err);
struct ntk_outbox_counts ntk_outbox_counts_get(struct ntk_outbox *outbox);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/* day_emitted - counts what exporters pass to their queues. */
#include "tests/e2e/day/day_emitted.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/transport/outbox.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* everything below */
static struct day_emitted emitted[DAY_EMITTED_MAX];
static const struct ntk_outbox *outboxes[DAY_EMITTED_MAX]; /* the last one of each name */
static size_t emitted_count;

int __real_ntk_outbox_create(const struct ntk_outbox_options *options,
                             struct ntk_outbox **out_outbox, struct ntk_err *err);
int __wrap_ntk_outbox_create(const struct ntk_outbox_options *options,
                             struct ntk_outbox **out_outbox, struct ntk_err *err);
int __real_ntk_outbox_put(struct ntk_outbox *outbox, struct ntk_buf *buf, uint64_t item_count,
                          struct ntk_err *err);
int __wrap_ntk_outbox_put(struct ntk_outbox *outbox, struct ntk_buf *buf, uint64_t item_count,
                          struct ntk_err *err);

int __wrap_ntk_outbox_create(const struct ntk_outbox_options *options,
                             struct ntk_outbox **out_outbox, struct ntk_err *err)
{
    struct ntk_outbox_options tuned = *options;

    if (strcmp(options->name, "remote write") == 0) {
        tuned.spool_bytes_max = DAY_SPOOL_BYTES;
    }
    int ret = __real_ntk_outbox_create(&tuned, out_outbox, err);
    size_t i = 0;

    pthread_mutex_lock(&lock);
    while (i < emitted_count && strcmp(emitted[i].name, options->name) != 0) {
        i++;
    }
    if (i == DAY_EMITTED_MAX) {
        abort();
    }
    if (ret >= 0) {
        outboxes[i] = *out_outbox;
        (void)snprintf(emitted[i].name, sizeof emitted[i].name, "%s", options->name);
        emitted_count += i == emitted_count;
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

int __wrap_ntk_outbox_put(struct ntk_outbox *outbox, struct ntk_buf *buf, uint64_t item_count,
                          struct ntk_err *err)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < emitted_count; i++) {
        emitted[i].items += outboxes[i] == outbox ? item_count : 0;
    }
    pthread_mutex_unlock(&lock);
    return __real_ntk_outbox_put(outbox, buf, item_count, err);
}

size_t day_emitted_read(struct day_emitted rows[DAY_EMITTED_MAX])
{
    pthread_mutex_lock(&lock);
    size_t count = emitted_count;
    memcpy(rows, emitted, sizeof emitted);
    pthread_mutex_unlock(&lock);
    return count;
}

/* SPDX-License-Identifier: MIT */
/* output_counts - holds the list of sources in this process. */
#include "exporters/transport/output_counts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"
#include "shared/base/str.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ntk_output_source *sources; /* protected by the lock */

void ntk_output_source_add(struct ntk_output_source *source)
{
    pthread_mutex_lock(&lock);
    source->next = sources;
    sources = source;
    pthread_mutex_unlock(&lock);
}

void ntk_output_source_remove(struct ntk_output_source *source)
{
    pthread_mutex_lock(&lock);
    for (struct ntk_output_source **at = &sources; *at; at = &(*at)->next) {
        if (*at == source) {
            *at = source->next;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* Returns the row with this name, added if there is space. */
static struct ntk_output_counts *row_get(struct ntk_output_counts *rows, size_t *count,
                                         const char *name)
{
    for (size_t i = 0; i < *count; i++) {
        if (!strncmp(rows[i].name, name, sizeof rows[i].name - 1)) {
            return &rows[i];
        }
    }
    if (*count == NTK_OUTPUT_COUNTS_MAX) {
        return NULL;
    }
    struct ntk_output_counts *row = &rows[(*count)++];
    memset(row, 0, sizeof *row);
    ntk_str_copy(row->name, sizeof row->name, name);
    return row;
}

NTK_ORDER(by_name, struct ntk_output_counts, NTK_TEXT(name));

size_t ntk_output_counts_read(struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX])
{
    size_t count = 0;

    pthread_mutex_lock(&lock);
    for (const struct ntk_output_source *source = sources; source; source = source->next) {
        struct ntk_output_counts *row = row_get(rows, &count, source->name);
        if (row) {
            source->read(source->ctx, row);
        }
    }
    pthread_mutex_unlock(&lock);
    qsort(rows, count, sizeof *rows, by_name);
    return count;
}

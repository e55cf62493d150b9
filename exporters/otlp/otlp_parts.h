/* SPDX-License-Identifier: MIT */
/*
 * otlp_parts - creates the common parts of requests for all signals: memory, attributes, resource
 * and scope.
 *
 * Owner:   the caller provides a zeroed struct ntk_otlp_memory; all parts live until its _fini.
 * Threads: one.
 */
#ifndef NTK_EXPORTERS_OTLP_OTLP_PARTS_H
#define NTK_EXPORTERS_OTLP_OTLP_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/otlp/otlp.pb-c.h"
#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_OTLP_SCOPE "neuron-monitor"

struct ntk_otlp_chunk;
/* Memory of one request. */
struct ntk_otlp_memory {
    struct ntk_otlp_chunk *chunks;
    bool is_out; /* something could not be allocated */
};
/* Returns zeroed memory; NULL if out of memory. */
void *ntk_otlp_take(struct ntk_otlp_memory *memory, size_t count, size_t item_bytes);
char *ntk_otlp_take_text(struct ntk_otlp_memory *memory, const char *text);
/* Returns a copy in valid UTF-8, which collectors require, for texts of processes and drivers. */
char *ntk_otlp_take_clean(struct ntk_otlp_memory *memory, const char *text);
void ntk_otlp_memory_fini(struct ntk_otlp_memory *memory);

/* name and value are borrowed until the request is done. Returns NULL if out of memory. */
Ntk__Otlp__KeyValue *ntk_otlp_text_attribute(struct ntk_otlp_memory *memory, const char *name,
                                             const char *value);
Ntk__Otlp__KeyValue *ntk_otlp_number_attribute(struct ntk_otlp_memory *memory, const char *name,
                                               uint64_t value);

/* Size of the hw.id of a device, such as "neuron0". */
#define NTK_OTLP_ID_BYTES 32
void ntk_otlp_device_id(const struct ntk_snapshot *snapshot, uint32_t index,
                        char out[NTK_OTLP_ID_BYTES]);

/* The machine that is the source of a request; texts are borrowed, "" if unknown. */
struct ntk_otlp_machine {
    const char *host_name;
    const char *instance_id;
    const char *instance_type;
    const char *region;
    const char *availability_zone;
};
/* Describes the machine by the conventions; the user's attributes (struct ntk_otlp_pair, may be
 * NULL) have priority. Returns NULL if out of memory. */
Ntk__Otlp__Resource *ntk_otlp_resource(struct ntk_otlp_memory *memory,
                                       const struct ntk_otlp_machine *machine,
                                       const struct ntk_vec *theirs);
Ntk__Otlp__Scope *ntk_otlp_scope(struct ntk_otlp_memory *memory);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/*
 * pod_list - decodes the kubelet's response about pods to rows: a container and one of its cores or
 * devices.
 *
 * The name of a resource determines its kind: struct ntk_pod_resource. The plug-in's names of
 * single devices are undocumented; the decimal number at the end of an id is used ("7", "neuron7",
 * "neuroncore-7"), an id without a number is skipped. A device of dynamic resource allocation
 * counts if its driver's name contains "neuron".
 *
 * Owner:   the caller provides the storage, zeroed or passed to ntk_pod_list_fini() before use;
 *          rows are valid until then.
 * Threads: any; no state.
 */
#ifndef NTK_AGENT_COLLECT_POD_LIST_H
#define NTK_AGENT_COLLECT_POD_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_POD_CORES_MAX 1024u
#define NTK_POD_DEVICES_MAX 64u
#define NTK_POD_ROWS_MAX 8192u /* more rows are skipped */
/* Maximum size of a response: the default of gRPC. */
#define NTK_POD_LIST_BYTES_MAX ((size_t)4 * 1024 * 1024)
#define NTK_POD_RESOURCES_MAX 16
#define NTK_POD_RESOURCE_BYTES 320

enum ntk_pod_kind {
    NTK_POD_CORE = 0,
    NTK_POD_DEVICE = 1,
};

struct ntk_pod_resource {
    char name[NTK_POD_RESOURCE_BYTES]; /* such as "aws.amazon.com/neuroncore"; "" ends a table */
    enum ntk_pod_kind kind;
};

struct ntk_pod_row {
    enum ntk_pod_kind kind;
    uint32_t index;
    const char *pod;
    const char *namespace_name;
    const char *container;
};

struct ntk_pod_list {
    /* Elements are struct ntk_pod_row, sorted by kind, index, namespace, pod, container; without
     * duplicates. */
    struct ntk_vec rows;
    void *message; /* owns the texts */
};

/* Returns the names used by the vendor's plug-ins; an empty name ends the list. Static. */
const struct ntk_pod_resource *ntk_pod_resource_default_get(void);
/* Adds "NAME=core" or "NAME=device" to a zeroed or terminated table of NTK_POD_RESOURCES_MAX rows
 * and a terminator. Returns 0, or -EINVAL or -E2BIG with a message. */
int ntk_pod_resource_add(struct ntk_pod_resource *table, const char *text, struct ntk_err *err);

/* Decodes a message in gRPC framing. Returns 0, -EBADMSG with a message, or -ENOMEM. An empty name
 * ends resources. */
int ntk_pod_list_read(struct ntk_pod_list *list, const struct ntk_pod_resource *resources,
                      const uint8_t *bytes, size_t bytes_count, struct ntk_err *err);
void ntk_pod_list_fini(struct ntk_pod_list *list);

#ifdef __cplusplus
}
#endif
#endif

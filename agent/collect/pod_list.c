/* SPDX-License-Identifier: MIT */
/* pod_list - decodes the kubelet's response about pods. */
#include "agent/collect/pod_list.h"

#include <errno.h>
#include <string.h>

#include "agent/collect/pod_resources.pb-c.h"
#include "shared/base/order.h"

#define FRAME_HEAD_BYTES 5 /* u8 compressed, big-endian u32 length */
#define INDEX_DIGITS_MAX 6
#define DRIVER_WORD "neuron"

static const struct ntk_pod_resource default_resources[] = {
    { "aws.amazon.com/neuroncore", NTK_POD_CORE },
    { "aws.amazon.com/neurondevice", NTK_POD_DEVICE },
    { "aws.amazon.com/neuron", NTK_POD_DEVICE },
    { "", NTK_POD_CORE },
};

const struct ntk_pod_resource *ntk_pod_resource_default_get(void)
{
    return default_resources;
}

int ntk_pod_resource_add(struct ntk_pod_resource *table, const char *text, struct ntk_err *err)
{
    static const char *const kinds[] = { [NTK_POD_CORE] = "core", [NTK_POD_DEVICE] = "device" };
    const char *equals = strrchr(text, '=');
    size_t bytes = equals ? (size_t)(equals - text) : 0;
    size_t count = 0;

    while (table[count].name[0]) {
        count++;
    }
    if (count >= NTK_POD_RESOURCES_MAX) {
        return ntk_err_set(err, -E2BIG, NTK_ERR_NO_OFFSET,
                           "at most %d resource names are supported", NTK_POD_RESOURCES_MAX);
    }
    for (size_t kind = 0; bytes > 0 && bytes < NTK_POD_RESOURCE_BYTES && kind < 2; kind++) {
        if (strcmp(equals + 1, kinds[kind]) == 0) {
            memcpy(table[count].name, text, bytes);
            table[count].name[bytes] = '\0';
            table[count].kind = (enum ntk_pod_kind)kind;
            return 0;
        }
    }
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "expected NAME=core or NAME=device");
}

static bool parse_index(const char *id, uint32_t bound, uint32_t *out)
{
    size_t end = strlen(id);
    size_t begin = end;
    uint32_t index = 0;

    while (begin > 0 && id[begin - 1] >= '0' && id[begin - 1] <= '9') {
        begin--;
    }
    if (begin == end || end - begin > INDEX_DIGITS_MAX) {
        return false;
    }
    for (size_t i = begin; i < end; i++) {
        index = index * 10 + (uint32_t)(id[i] - '0');
    }
    *out = index;
    return index < bound;
}

/* Adds a row. Returns 0 or -ENOMEM. */
static int add_row(struct ntk_pod_list *list, struct ntk_pod_row row, const char *id)
{
    uint32_t bound = row.kind == NTK_POD_CORE ? NTK_POD_CORES_MAX : NTK_POD_DEVICES_MAX;

    if (list->rows.count >= NTK_POD_ROWS_MAX || !parse_index(id, bound, &row.index)) {
        return 0;
    }
    return ntk_vec_push(&list->rows, &row);
}

static int add_container(struct ntk_pod_list *list, const struct ntk_pod_resource *resources,
                         const Ntk__Kubelet__PodResources *pod,
                         const Ntk__Kubelet__ContainerResources *container)
{
    struct ntk_pod_row row = { .pod = pod->name,
                               .namespace_name = pod->namespace_,
                               .container = container->name };
    int ret = 0;

    for (size_t i = 0; i < container->n_devices && ret == 0; i++) {
        const Ntk__Kubelet__ContainerDevices *devices = container->devices[i];
        const struct ntk_pod_resource *resource = resources;
        while (resource->name[0] && strcmp(resource->name, devices->resource_name) != 0) {
            resource++;
        }
        row.kind = resource->kind;
        for (size_t k = 0; resource->name[0] && k < devices->n_device_ids && ret == 0; k++) {
            ret = add_row(list, row, devices->device_ids[k]);
        }
    }
    row.kind = NTK_POD_DEVICE;
    for (size_t i = 0; i < container->n_dynamic_resources && ret == 0; i++) {
        const Ntk__Kubelet__DynamicResource *dynamic = container->dynamic_resources[i];
        for (size_t k = 0; k < dynamic->n_claim_resources && ret == 0; k++) {
            const Ntk__Kubelet__ClaimResource *claim = dynamic->claim_resources[k];
            if (strstr(claim->driver_name, DRIVER_WORD)) {
                ret = add_row(list, row, claim->device_name);
            }
        }
    }
    return ret;
}

NTK_ORDER(compare_rows, struct ntk_pod_row,
          NTK_UP(kind) NTK_UP(index) NTK_TEXT(namespace_name) NTK_TEXT(pod) NTK_TEXT(container));

static void drop_doubles(struct ntk_vec *rows)
{
    struct ntk_pod_row *row = rows->items;
    size_t kept = 0;

    for (size_t i = 0; i < rows->count; i++) {
        if (kept == 0 || compare_rows(&row[kept - 1], &row[i]) != 0) {
            row[kept++] = row[i];
        }
    }
    rows->count = kept;
}

static int unframe(const uint8_t *bytes, size_t bytes_count, struct ntk_err *err)
{
    if (bytes_count < FRAME_HEAD_BYTES) {
        return ntk_err_set(err, -EBADMSG, bytes_count, "the response ends inside a frame header");
    }
    if (bytes[0] != 0) {
        return ntk_err_set(err, -EBADMSG, 0,
                           "the response is compressed, although compression was not requested");
    }
    size_t length =
        (size_t)bytes[1] << 24 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 8 | (size_t)bytes[4];
    if (length > NTK_POD_LIST_BYTES_MAX) {
        return ntk_err_set(err, -EBADMSG, 1, "the response is longer than %zu bytes",
                           NTK_POD_LIST_BYTES_MAX);
    }
    if (length != bytes_count - FRAME_HEAD_BYTES) {
        return ntk_err_set(err, -EBADMSG, 1, "expected a frame of %zu bytes, received %zu", length,
                           bytes_count - FRAME_HEAD_BYTES);
    }
    return 0;
}

int ntk_pod_list_read(struct ntk_pod_list *list, const struct ntk_pod_resource *resources,
                      const uint8_t *bytes, size_t bytes_count, struct ntk_err *err)
{
    struct ntk_pod_list fresh = { .rows = NTK_VEC_INIT(struct ntk_pod_row) };
    int ret = unframe(bytes, bytes_count, err);

    if (ret < 0) {
        return ret;
    }
    Ntk__Kubelet__ListPodResourcesResponse *message =
        ntk__kubelet__list_pod_resources_response__unpack(NULL, bytes_count - FRAME_HEAD_BYTES,
                                                          bytes + FRAME_HEAD_BYTES);
    if (!message) {
        return ntk_err_set(err, -EBADMSG, FRAME_HEAD_BYTES,
                           "cannot decode the list of pods in the response");
    }
    fresh.message = message;
    for (size_t i = 0; i < message->n_pod_resources && ret == 0; i++) {
        const Ntk__Kubelet__PodResources *pod = message->pod_resources[i];
        for (size_t k = 0; k < pod->n_containers && ret == 0; k++) {
            ret = add_container(&fresh, resources, pod, pod->containers[k]);
        }
    }
    if (ret < 0) {
        ntk_pod_list_fini(&fresh);
        return ntk_err_no_memory(err);
    }
    ntk_vec_sort(&fresh.rows, compare_rows);
    drop_doubles(&fresh.rows);
    ntk_pod_list_fini(list);
    *list = fresh;
    return 0;
}

void ntk_pod_list_fini(struct ntk_pod_list *list)
{
    ntk_vec_fini(&list->rows);
    if (list->message) {
        ntk__kubelet__list_pod_resources_response__free_unpacked(list->message, NULL);
    }
    *list = (struct ntk_pod_list){ 0 };
}

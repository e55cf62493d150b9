/* SPDX-License-Identifier: MIT */
/* report_k8s - neuron_k8s_info: which pod has which core and device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"
#include "shared/report/report_part.h"

/* Fields that are written as one key each; container_name is an array in this group. */
#define AT(member) .offset = offsetof(struct ntk_k8s_owner, member)
const struct report_field report_fields_owner[] = {
    REPORT_ROW("pod_name", REPORT_TEXT, AT(pod_name)),
    REPORT_ROW("namespace", REPORT_TEXT, AT(namespace_name)),
    REPORT_END,
};
#undef AT

static int compare_owners_as_text(const void *a, const void *b)
{
    const struct ntk_k8s_owner *const *left = a;
    const struct ntk_k8s_owner *const *right = b;

    return report_compare_as_text(&(*left)->index, &(*right)->index);
}

static void write_owners(struct report_writer *w, const char *key,
                         const struct ntk_k8s_owner *owners, size_t count)
{
    struct ntk_vec order = NTK_VEC_INIT(const struct ntk_k8s_owner *);

    for (size_t i = 0; i < count; i++) {
        const struct ntk_k8s_owner *owner = &owners[i];
        if (ntk_vec_push(&order, &owner) < 0) {
            w->json.buf->failed = true;
        }
    }
    ntk_vec_sort(&order, compare_owners_as_text);
    ntk_json_key_object_begin(&w->json, key);
    for (size_t i = 0; i < order.count; i++) {
        const struct ntk_k8s_owner *owner = ((const struct ntk_k8s_owner **)order.items)[i];
        report_key_number(w, owner->index);
        ntk_json_object_begin(&w->json);
        report_write_fields(w, report_fields_owner, owner);
        ntk_json_key_array_begin(&w->json, "container_name");
        for (size_t k = 0; k < owner->container_count; k++) {
            report_value_text(w, owner->containers[k]);
        }
        ntk_json_array_end(&w->json);
        ntk_json_object_end(&w->json);
    }
    ntk_json_object_end(&w->json);
    ntk_vec_fini(&order);
}

void report_write_k8s(struct report_writer *w)
{
    const struct ntk_k8s *k8s = &w->snapshot->k8s;

    if (k8s->period_ns == NTK_GROUP_ABSENT) {
        return;
    }
    ntk_json_key_object_begin(&w->json, "neuron_k8s_info");
    report_write_period(w, k8s->period_ns);
    write_owners(w, "neuroncores_k8s_info", k8s->cores, k8s->core_count);
    write_owners(w, "neurondevices_k8s_info", k8s->devices, k8s->device_count);
    report_key_text(w, "error", k8s->error);
    ntk_json_object_end(&w->json);
}

NTK_ORDER(compare_owners, struct ntk_k8s_owner, NTK_UP(index));

static void read_containers(struct ntk_snapshot *snapshot, struct ntk_k8s_owner *owner,
                            const json_t *array)
{
    size_t count = report_bounded(json_array_size(array), REPORT_CONTAINERS_MAX);
    const char **containers = ntk_snapshot_alloc(snapshot, count, sizeof *containers);

    for (size_t i = 0; containers && i < count; i++) {
        containers[i] = ntk_snapshot_text(snapshot, json_string_value(json_array_get(array, i)));
    }
    owner->containers = containers;
    owner->container_count = containers ? count : 0;
}

static struct ntk_k8s_owner *read_owners(struct ntk_snapshot *snapshot, const json_t *object,
                                         size_t *out_count)
{
    size_t room = report_bounded(json_object_size(object), REPORT_CORES_MAX);
    struct ntk_k8s_owner *owners = ntk_snapshot_alloc(snapshot, room, sizeof *owners);
    size_t count = 0;
    const char *key;
    json_t *value;

    *out_count = 0;
    if (!owners) {
        return NULL;
    }
    report_each_key(object, key, value)
    {
        uint32_t index;
        if (count < room && json_is_object(value) &&
            report_key_index(key, REPORT_CORES_MAX, &index)) {
            struct ntk_k8s_owner *owner = &owners[count++];
            owner->index = index;
            owner->pod_name = owner->namespace_name = "";
            report_read_fields(snapshot, value, report_fields_owner, owner);
            read_containers(snapshot, owner, report_get_array(value, "container_name"));
        }
    }
    qsort(owners, count, sizeof *owners, compare_owners);
    *out_count = count;
    return owners;
}

void report_read_k8s(struct ntk_snapshot *snapshot, const json_t *object)
{
    struct ntk_k8s *k8s = &snapshot->k8s;

    k8s->period_ns = report_get_period_ns(object);
    k8s->error = report_get_text(snapshot, object, "error");
    k8s->cores =
        read_owners(snapshot, report_get_object(object, "neuroncores_k8s_info"), &k8s->core_count);
    k8s->devices = read_owners(snapshot, report_get_object(object, "neurondevices_k8s_info"),
                               &k8s->device_count);
}

/* SPDX-License-Identifier: MIT */
/* otlp_parts - creates memory, attributes, resource and scope of requests. */
#include "exporters/otlp/otlp_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "exporters/otlp/otlp_config.h"
#include "shared/base/str.h"

struct ntk_otlp_chunk {
    struct ntk_otlp_chunk *next;
    max_align_t bytes[];
};

void *ntk_otlp_take(struct ntk_otlp_memory *memory, size_t count, size_t item_bytes)
{
    struct ntk_otlp_chunk *chunk = calloc(1, sizeof *chunk + count * item_bytes);

    if (!chunk) {
        memory->is_out = true;
        return NULL;
    }
    chunk->next = memory->chunks;
    memory->chunks = chunk;
    return chunk->bytes;
}

char *ntk_otlp_take_text(struct ntk_otlp_memory *memory, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = ntk_otlp_take(memory, bytes, 1);

    return copy ? memcpy(copy, text, bytes) : NULL;
}

char *ntk_otlp_take_clean(struct ntk_otlp_memory *memory, const char *text)
{
    size_t bytes = strlen(text) * sizeof "\xef\xbf\xbd" + 1; /* a bad byte becomes U+FFFD */
    char *copy = ntk_otlp_take(memory, bytes, 1);

    if (copy) {
        ntk_str_copy_clean(copy, bytes, text, strlen(text));
    }
    return copy;
}

void ntk_otlp_memory_fini(struct ntk_otlp_memory *memory)
{
    while (memory->chunks) {
        struct ntk_otlp_chunk *chunk = memory->chunks;
        memory->chunks = chunk->next;
        free(chunk);
    }
    memory->is_out = false;
}

static Ntk__Otlp__KeyValue *make_attribute(struct ntk_otlp_memory *memory, const char *name)
{
    Ntk__Otlp__KeyValue *attribute = ntk_otlp_take(memory, 1, sizeof *attribute);
    Ntk__Otlp__AnyValue *any = ntk_otlp_take(memory, 1, sizeof *any);

    if (!attribute || !any) {
        return NULL;
    }
    ntk__otlp__key_value__init(attribute);
    ntk__otlp__any_value__init(any);
    attribute->key = (char *)(uintptr_t)name;
    attribute->value = any;
    return attribute;
}

Ntk__Otlp__KeyValue *ntk_otlp_text_attribute(struct ntk_otlp_memory *memory, const char *name,
                                             const char *value)
{
    Ntk__Otlp__KeyValue *attribute = make_attribute(memory, name);

    if (attribute) {
        attribute->value->value_case = NTK__OTLP__ANY_VALUE__VALUE_TEXT;
        attribute->value->text = (char *)(uintptr_t)value;
    }
    return attribute;
}

Ntk__Otlp__KeyValue *ntk_otlp_number_attribute(struct ntk_otlp_memory *memory, const char *name,
                                               uint64_t value)
{
    Ntk__Otlp__KeyValue *attribute = make_attribute(memory, name);

    if (attribute) {
        attribute->value->value_case = NTK__OTLP__ANY_VALUE__VALUE_NUMBER;
        attribute->value->number = value <= INT64_MAX ? (int64_t)value : INT64_MAX;
    }
    return attribute;
}

void ntk_otlp_device_id(const struct ntk_snapshot *snapshot, uint32_t index,
                        char out[NTK_OTLP_ID_BYTES])
{
    bool is_card = strncmp(snapshot->hardware.device_type, "mlu", 3) == 0;

    (void)snprintf(out, NTK_OTLP_ID_BYTES, "%s%u", is_card ? "mlu" : "neuron", (unsigned)index);
}

Ntk__Otlp__Resource *ntk_otlp_resource(struct ntk_otlp_memory *memory,
                                       const struct ntk_otlp_machine *machine,
                                       const struct ntk_vec *theirs)
{
    const char *id = machine->instance_id[0] ? machine->instance_id : machine->host_name;
    bool is_aws = machine->instance_id[0] || machine->region[0];
    struct utsname system = { { 0 } };

    (void)uname(&system);
    const char *arch = !strcmp(system.machine, "x86_64")    ? "amd64"
                       : !strcmp(system.machine, "aarch64") ? "arm64"
                                                            : system.machine;
    const struct ntk_otlp_pair ours[] = {
        { "service.name", NTK_OTLP_SCOPE },
        { "service.instance.id", (char *)(uintptr_t)id },
        { "service.version", NTK_VERSION },
        { "host.name", (char *)(uintptr_t)machine->host_name },
        { "host.id", (char *)(uintptr_t)machine->instance_id },
        { "host.type", (char *)(uintptr_t)machine->instance_type },
        { "host.arch", ntk_otlp_take_text(memory, arch) },
        { "os.type", "linux" },
        { "cloud.provider", is_aws ? "aws" : "" },
        { "cloud.platform", is_aws ? "aws_ec2" : "" },
        { "cloud.region", (char *)(uintptr_t)machine->region },
        { "cloud.availability_zone", (char *)(uintptr_t)machine->availability_zone },
    };
    const size_t our_count = sizeof ours / sizeof *ours;
    size_t their_count = theirs ? theirs->count : 0;
    Ntk__Otlp__Resource *resource = ntk_otlp_take(memory, 1, sizeof *resource);
    Ntk__Otlp__KeyValue **rows = ntk_otlp_take(memory, our_count + their_count, sizeof(void *));

    if (memory->is_out) {
        return NULL;
    }
    ntk__otlp__resource__init(resource);
    resource->attributes = rows;
    for (size_t i = 0; i < their_count; i++) {
        const struct ntk_otlp_pair *pair = ntk_vec_at(theirs, i);
        rows[resource->n_attributes++] = ntk_otlp_text_attribute(memory, pair->name, pair->value);
    }
    for (size_t i = 0; i < our_count; i++) {
        bool is_theirs = false;
        for (size_t k = 0; k < their_count && !is_theirs; k++) {
            const struct ntk_otlp_pair *pair = ntk_vec_at(theirs, k);
            is_theirs = !strcmp(pair->name, ours[i].name);
        }
        if (!is_theirs && ours[i].value[0]) {
            rows[resource->n_attributes++] =
                ntk_otlp_text_attribute(memory, ours[i].name, ours[i].value);
        }
    }
    return resource;
}

Ntk__Otlp__Scope *ntk_otlp_scope(struct ntk_otlp_memory *memory)
{
    Ntk__Otlp__Scope *scope = ntk_otlp_take(memory, 1, sizeof *scope);

    if (scope) {
        ntk__otlp__scope__init(scope);
        scope->name = (char *)(uintptr_t)NTK_OTLP_SCOPE;
        scope->version = (char *)(uintptr_t)NTK_VERSION;
    }
    return scope;
}

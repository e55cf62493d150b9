/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_text.h"

#include <stdio.h>
#include <string.h>

#define HERE "core $core of device $device: "
#define AT " (engine $engine, slot $slot)"

static const char *const plain[NTK_CORE_TEXTS] = {
    [NTK_CORE_FAULT_HBM] = HERE "memory error that cannot be corrected or repaired",
    [NTK_CORE_FAULT_HBM_REPAIRABLE] = HERE "memory error that can be repaired",
    [NTK_CORE_FAULT_SRAM] = HERE "error in the core's own memory while running model $model",
    [NTK_CORE_FAULT_DMA_ABORT] = HERE "a DMA engine aborted",
    [NTK_CORE_FAULT_HANG] = HERE "execution timeout ($ms ms) on model $model",
    [NTK_CORE_FAULT_HANG_COLLECTIVE] = HERE "a collective operation of model $model hangs",
    [NTK_CORE_FAULT_QUEUE_OVERFLOW] =
        HERE "a notification queue overflowed while running model $model",
    [NTK_CORE_FAULT_DEVICE] = HERE "the core failed while running model $model",
    [NTK_CORE_FAULT_NC_BUSY] = HERE "another process holds the core; model $model did not run",
    [NTK_CORE_TEXT_OUT_OF_BOUNDS] = HERE "out-of-bounds access while running model $model" AT,
    [NTK_CORE_TEXT_TIMEOUT] = HERE "execution timeout ($ms ms) on model $model: $what" AT,
    [NTK_CORE_TEXT_RUN] = HERE "execution of model $model (id $id): $what" AT,
    [NTK_CORE_TEXT_DEAD] = HERE "after an earlier fatal error, model $model did not run",
    [NTK_CORE_TEXT_DEVICE] = "device $device",
    [NTK_CORE_TEXT_STACK] = "device $device, stack $stack",
    [NTK_CORE_TEXT_CORE] = "core $core",
    [NTK_CORE_TEXT_PLACE] = "core $core of device $device",
    [NTK_CORE_TEXT_TABLE_OF_STACK] = "memory_table_device_$device_stack_$stack.log",
    [NTK_CORE_TEXT_TABLE_OF_CORE] = "memory_table_device_$device_core_$core.log",
    [NTK_CORE_TEXT_LOG_OF_STACK] = "memory_log_device_$device_stack_$stack_$pid.csv",
    [NTK_CORE_TEXT_LOG_OF_DEVICE] = "$what_memory_log_device_$device_$pid.csv",
    [NTK_CORE_TEXT_LIVE_OF_STACK] = "memory_live_device_$device_stack_$stack_$pid.csv",
};

/* Finds the fact that a template begins with, and the length of its name; NULL if there is none. */
static const char *fact_get(const char *name, const struct core_text_facts *facts, char number[24],
                            size_t *out_bytes)
{
    const struct {
        const char *name;
        const char *text;
        const char *format; /* format of a number; NULL for a text */
        uint64_t number;
    } rows[] = {
        { "device", NULL, "%llu", facts->device },
        { "core", NULL, "%llu", facts->core },
        { "stack", NULL, "%llu", facts->stack },
        { "model", facts->model, NULL, 0 },
        { "id", NULL, "%llu", facts->model_id },
        { "ms", NULL, "%llu", facts->timeout_ns / 1000000 },
        { "engine", facts->engine, NULL, 0 },
        { "slot", NULL, "%llu", facts->slot },
        { "what", facts->what, NULL, 0 },
        { "pid", NULL, "%08llx", facts->pid },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *out_bytes = strlen(rows[i].name);
        if (strncmp(name, rows[i].name, *out_bytes) != 0) {
            continue;
        }
        if (!rows[i].format) {
            return rows[i].text ? rows[i].text : "";
        }
        (void)snprintf(number, 24, rows[i].format, (unsigned long long)rows[i].number);
        return number;
    }
    return NULL;
}

const char *core_text_write(const char *const *texts, enum ntk_core_text text,
                            const struct core_text_facts *facts, char *to, size_t bytes)
{
    const char *from = texts && texts[text] ? texts[text] : plain[text];
    size_t used = 0;

    to[0] = '\0';
    while (from && *from && used + 1 < bytes) {
        char number[24];
        size_t name_bytes;
        const char *fact = *from == '$' ? fact_get(from + 1, facts, number, &name_bytes) : NULL;
        size_t length = fact ? strlen(fact) : 1;

        (void)snprintf(to + used, bytes - used, "%.*s", (int)length, fact ? fact : from);
        used += length;
        from += fact ? 1 + name_bytes : 1;
    }
    return to;
}

/* SPDX-License-Identifier: MIT */
/*
 * core_text - how the core names places in the machine, their failures, and files about them.
 *
 * Texts are templates: a front passes those of its interface in ntk_core_options.texts, and the
 * core has plain ones. In a template, $device, $core (of the device), $stack, $model, $id, $ms,
 * $engine, $slot, $what and $pid are replaced by the facts.
 *
 * Owner:   templates and facts belong to the caller.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_TEXT_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "runtime-hooks/core/core_fault.h"

/* Numbers of texts: first the messages of faults, by kind, then these. */
enum ntk_core_text {
    NTK_CORE_TEXT_OUT_OF_BOUNDS = NTK_CORE_FAULT_KINDS,
    NTK_CORE_TEXT_TIMEOUT,
    NTK_CORE_TEXT_RUN, /* any other failure of an execution */
    NTK_CORE_TEXT_DEAD,
    NTK_CORE_TEXT_DEVICE,
    NTK_CORE_TEXT_STACK,
    NTK_CORE_TEXT_CORE,
    NTK_CORE_TEXT_PLACE,          /* names a core and its device */
    NTK_CORE_TEXT_TABLE_OF_STACK, /* the following two are names of files */
    NTK_CORE_TEXT_TABLE_OF_CORE,
    NTK_CORE_TEXT_LOG_OF_STACK,
    NTK_CORE_TEXT_LOG_OF_DEVICE,
    NTK_CORE_TEXT_LIVE_OF_STACK,
    NTK_CORE_TEXTS
};

struct core_text_facts {
    uint32_t device;
    uint32_t core; /* physical number in the device */
    uint32_t stack;
    uint32_t model_id;
    uint32_t slot;
    uint32_t pid;
    uint64_t timeout_ns;
    const char *model;
    const char *engine;
    const char *what;
};

/* Writes the text, NUL-terminated and truncated to `bytes`; "" for a fault without a message. If
 * texts or its entry is NULL, the plain text is used. Returns to. */
const char *core_text_write(const char *const *texts, enum ntk_core_text text,
                            const struct core_text_facts *facts, char *to, size_t bytes);

#endif

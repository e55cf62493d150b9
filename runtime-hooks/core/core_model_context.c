/* SPDX-License-Identifier: MIT */
/* core_model_context - the buffers between the steps of a model: each execution takes a context. */
#include "runtime-hooks/core/core_model_parts.h"

#include <errno.h>
#include <stdlib.h>

#define SLOT_ALIGN 64U

void core_context_plan(struct ntk_core_model *model)
{
    for (uint32_t i = 0; i < model->first_passed; i++) {
        if (model->slots[i].io == CORE_SLOT_NONE && !model->slots[i].param) {
            model->slots[i].offset = model->context_bytes;
            model->context_bytes += core_round_up(model->slots[i].bytes, SLOT_ALIGN);
        }
    }
}

static void context_free(struct ntk_core_model *model, struct core_context *context)
{
    for (uint32_t i = 0; context->passed && i < model->slot_count - model->first_passed; i++) {
        core_memory_release(model->core, &context->passed[i]);
    }
    core_memory_release(model->core, &context->buffer);
    free(context->passed);
    free(context);
}

static struct core_context *context_make(struct ntk_core_model *model, struct ntk_err *err)
{
    uint32_t passed_count = model->slot_count - model->first_passed;
    struct core_context *context = calloc(1, sizeof *context);

    if (!context) {
        ntk_err_no_memory(err);
        return NULL;
    }
    int ret = core_model_memory_take(model, model->core->ncs[model->nc].first_physical,
                                     NTK_MEMORY_HOST_DMA_BUFFERS, model->context_bytes, 0,
                                     model->name, &context->buffer, err);
    if (ret == 0 && passed_count > 0) {
        context->passed = calloc(passed_count, sizeof *context->passed);
        ret = context->passed ? 0 : ntk_err_no_memory(err);
    }
    for (uint32_t i = 0; i < passed_count && ret == 0; i++) {
        const struct core_slot *slot = &model->slots[model->first_passed + i];

        ret = core_model_memory_take(model, slot->physical_core, NTK_MEMORY_SCRATCHPAD, slot->bytes,
                                     SLOT_ALIGN, slot->name, &context->passed[i], err);
    }
    if (ret < 0) {
        context_free(model, context);
        return NULL;
    }
    return context;
}

static bool context_is_needed(const struct ntk_core_model *model)
{
    return model->context_bytes > 0 || model->first_passed < model->slot_count;
}

struct core_context *core_context_take(struct ntk_core_model *model, bool *out_ok,
                                       struct ntk_err *err)
{
    *out_ok = true;
    if (!context_is_needed(model)) {
        return NULL;
    }
    pthread_mutex_lock(&model->context_lock);
    struct core_context *context = model->contexts;
    if (context) {
        model->contexts = context->next;
    }
    pthread_mutex_unlock(&model->context_lock);
    if (context) {
        return context;
    }
    context = context_make(model, err);
    *out_ok = context != NULL;
    return context;
}

int core_contexts_reserve(struct ntk_core_model *model, struct ntk_err *err)
{
    if (!context_is_needed(model)) {
        return 0;
    }
    for (uint32_t i = 0; i < model->depth; i++) {
        struct core_context *context = context_make(model, err);

        if (!context) {
            return -ENOMEM;
        }
        core_context_give_back(model, context);
    }
    return 0;
}

void core_context_give_back(struct ntk_core_model *model, struct core_context *context)
{
    if (context) {
        pthread_mutex_lock(&model->context_lock);
        context->next = model->contexts;
        model->contexts = context;
        pthread_mutex_unlock(&model->context_lock);
    }
}

void core_contexts_fini(struct ntk_core_model *model)
{
    while (model->contexts) {
        struct core_context *context = model->contexts;

        model->contexts = context->next;
        context_free(model, context);
    }
}

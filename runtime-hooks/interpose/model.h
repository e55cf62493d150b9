/* SPDX-License-Identifier: MIT */
/*
 * model - returns known facts about a model of the runtime.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_MODEL_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_MODEL_H

#include "runtime-hooks/interpose/observe.h"

/* Returns false if the handle is invalid, or if the model was loaded before the process was
 * observed. */
bool interpose_model_get(const nrt_model_t *handle, struct interpose_model *out_model);

#endif

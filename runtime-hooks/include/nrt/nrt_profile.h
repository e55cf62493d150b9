/* SPDX-License-Identifier: MIT */
/*
 * nrt_profile - recording what a model does on its core.
 */
#ifndef NRT_NRT_PROFILE_H
#define NRT_NRT_PROFILE_H

#include "nrt/nrt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on executions of the model are recorded; the file is emptied at once. */
NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename);
/* The same name as at the start; writes the NTFF. */
NRT_STATUS nrt_profile_stop(const char *filename);

#ifdef __cplusplus
}
#endif
#endif

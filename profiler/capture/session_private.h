/* SPDX-License-Identifier: MIT */
/* session_private - state shared by the files of a session. Only for profiler/capture. */
#ifndef NTK_PROFILER_CAPTURE_SESSION_PRIVATE_H
#define NTK_PROFILER_CAPTURE_SESSION_PRIVATE_H

#include "runtime-hooks/nrt/nrt_io.h"
#include "profiler/capture/session.h"

struct ntk_session_tensor {
    nrt_tensor_t *tensor; /* borrowed from io */
    const nrt_tensor_info_t *info;
    bool is_filled; /* true if an input was filled */
};

struct ntk_session {
    struct ntk_nrt nrt;
    char library[NTK_NRT_TEXT_BYTES];
    struct ntk_session_options options;
    nrt_tensor_t *shared; /* large tensors are slices of it */
    bool is_initialised;
    nrt_model_t *model;
    struct ntk_nrt_io io;
    struct ntk_session_tensor *tensors;
    size_t tensor_count;
    char *recording; /* file while recording, else NULL */
};

/* Creates all inputs and outputs of the model. */
int ntk_session_make_tensors(struct ntk_session *session, struct ntk_err *err);
void ntk_session_free_tensors(struct ntk_session *session);

#endif

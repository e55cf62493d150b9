/* SPDX-License-Identifier: MIT */
/*
 * A runtime that calls the program back from inside nrt_execute(), and just before nrt_init() and
 * nrt_close() return, if the program has a client_inside(). That function may throw an exception,
 * or end or cancel its thread.
 */
#include <dlfcn.h>
#include <string.h>

#define NRT_CLOSE_RETURNS_STATUS 1
#pragma GCC visibility push(default)
#include "nrt/nrt.h"
#pragma GCC visibility pop

/* The functions of our objects. */
NRT_STATUS nrt_init_own(nrt_framework_type_t framework, const char *fw_version,
                        const char *fal_version);
NRT_STATUS nrt_close_own(void);

static void call_back(const char *where)
{
    void *symbol = dlsym(RTLD_DEFAULT, "client_inside");
    void (*inside)(const char *where);

    memcpy(&inside, &symbol, sizeof inside);
    if (inside) {
        inside(where);
    }
}

NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version, const char *fal_version)
{
    NRT_STATUS status = nrt_init_own(framework, fw_version, fal_version);

    call_back("nrt_init");
    return status;
}

NRT_STATUS nrt_close(void)
{
    NRT_STATUS status = nrt_close_own();

    call_back("nrt_close");
    return status;
}

NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                       nrt_tensor_set_t *output_set)
{
    call_back("nrt_execute");
    return nrt_execute_repeat(model, input_set, output_set, 1);
}

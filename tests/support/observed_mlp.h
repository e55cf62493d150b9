/* SPDX-License-Identifier: MIT */
/* observed_mlp - in the observed process: the software core of a trn1.32xlarge with one model,
 * "mlp", on one core. */
#ifndef NTK_TESTS_SUPPORT_OBSERVED_MLP_H
#define NTK_TESTS_SUPPORT_OBSERVED_MLP_H

#include "runtime-hooks/hooks/hooks.h"

#define OBSERVED_MLP_CORE 3

/* Attaches and loads it: returns 0, or negative without a segment. */
static inline int observed_mlp_begin(struct ntk_hooks_model_ref *out_ref)
{
    const struct ntk_hooks_config config = { .instance_type = "trn1.32xlarge",
                                             .runtime_version = "2.31.24.0",
                                             .lnc = 1,
                                             .device_count = 16,
                                             .cores_per_device = 2,
                                             .process_flags = NTK_PROCESS_SOFTWARE_CORE };
    const struct ntk_hooks_model model = {
        .id = NTK_MODEL_ID_FIRST, .name = "mlp", .core = OBSERVED_MLP_CORE, .core_count = 1
    };
    char note[256];

    if (ntk_hooks_attach(&config, note, sizeof note) < 0) {
        return -1;
    }
    ntk_hooks_core_claim(OBSERVED_MLP_CORE, OBSERVED_MLP_CORE, 1);
    ntk_hooks_model_begin(&model, out_ref);
    ntk_hooks_model_loaded(*out_ref, ntk_hooks_now(), 0, 4096);
    return 0;
}

/* One execution of 100 operations, 80 of them effective. */
static inline void observed_mlp_execute(struct ntk_hooks_model_ref ref, uint64_t execution_id,
                                        uint32_t status)
{
    const struct ntk_hooks_exec_core core = { .flops = 100, .effective_flops = 80 };
    uint64_t call = ntk_hooks_now();
    const struct ntk_hooks_exec exec = { .model = ref,
                                         .execution_id = execution_id,
                                         .call_start_ticks = call,
                                         .core_start_ticks =
                                             ntk_hooks_exec_begin(ref, OBSERVED_MLP_CORE, 1),
                                         .status = status,
                                         .core = OBSERVED_MLP_CORE,
                                         .core_count = 1,
                                         .per_core = &core };

    ntk_hooks_exec_end(&exec);
}

#endif

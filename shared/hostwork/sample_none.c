/* SPDX-License-Identifier: MIT */
/* sample_none - replaces the BPF sampler if the program was built without its dependencies. */
#include <errno.h>

#include "shared/hostwork/sampler.h"

static int sampler_open(const struct ntk_host_sampler_options *options,
                        struct ntk_host_records *records, struct ntk_host_raw *raw,
                        struct ntk_host_sampler **out_sampler, struct ntk_err *err)
{
    (void)options;
    (void)records;
    (void)raw;
    (void)out_sampler;
    return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                       "this program was built without libbpf or a BPF compiler");
}

const struct ntk_host_sampler_kind ntk_host_sampler_bpf = { .poll_ms = 20,
                                                            .poll_ms_max = 20,
                                                            .open = sampler_open };

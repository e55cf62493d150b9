/* SPDX-License-Identifier: MIT */
/*
 * core_collective - collective operations on whole tensors: checks sizes, and runs the steps in a
 * communicator.
 */
#include "runtime-hooks/core/core_collectives.h"

#include <errno.h>

#include "runtime-hooks/core/core_state.h"
#include "shared/formats/neff/neff.h"

/* The number of elements; 0 for a type without elements. */
static uint64_t element_count_of(uint64_t bytes, uint32_t dtype)
{
    uint64_t width = ntk_dtype_bytes(dtype);

    return width > 0 ? bytes / width : 0;
}

/* Checks the sizes for the operation; -EINVAL if they do not match. */
static int collective_check(const struct ntk_core_collective *collective, uint32_t rank_count,
                            uint64_t from_bytes, uint64_t to_bytes, struct ntk_err *err)
{
    bool is_gather = collective->kind == NTK_CORE_ALL_GATHER;
    bool is_scatter = collective->kind == NTK_CORE_REDUCE_SCATTER;
    uint64_t small = is_scatter ? to_bytes : from_bytes;
    uint64_t large = is_scatter ? from_bytes : to_bytes;
    uint64_t times = is_gather || is_scatter ? rank_count : 1;
    int ret =
        is_gather ? 0 : core_comm_reduction_check(collective->dtype, collective->reduction, 0, err);

    if (ret < 0) {
        return ret;
    }
    if (small == 0 || times == 0 || large / times != small || large % times != 0 ||
        (!is_gather && small % ntk_dtype_bytes(collective->dtype) != 0)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "tensors of %llu and %llu bytes do not fit a collective operation of "
                           "%u ranks",
                           (unsigned long long)from_bytes, (unsigned long long)to_bytes,
                           rank_count);
    }
    return 0;
}

int ntk_core_collective_check(const struct ntk_core_comm_options *options,
                              const struct ntk_core_collective *collective,
                              struct ntk_core_tensor *from, struct ntk_core_tensor *to,
                              uint32_t *out_rank, struct ntk_err *err)
{
    struct ntk_core_tensor_info source, target;
    int ret = core_comm_options_check(options, out_rank, err);

    if (ret < 0) {
        return ret;
    }
    ntk_core_tensor_info_get(from, &source);
    ntk_core_tensor_info_get(to, &target);
    return collective_check(collective, options->group ? options->group_count : options->rank_count,
                            source.bytes, target.bytes, err);
}

int ntk_core_comm_run(struct ntk_core_comm *comm, const struct ntk_core_collective *collective,
                      struct ntk_core_tensor *from, struct ntk_core_tensor *to, struct ntk_err *err)
{
    struct core_tensor_view source, target;

    core_tensor_view_take(from, &source);
    core_tensor_view_take(to, &target);
    int ret =
        collective_check(collective, ntk_core_comm_count(comm), source.bytes, target.bytes, err);
    if (ret == 0) {
        switch (collective->kind) {
        case NTK_CORE_ALL_GATHER:
            ret = ntk_core_comm_all_gather(comm, source.address, target.address, source.bytes, err);
            break;
        case NTK_CORE_ALL_REDUCE:
            ret = ntk_core_comm_all_reduce(comm, source.address, target.address,
                                           element_count_of(source.bytes, collective->dtype),
                                           collective->dtype, collective->reduction, err);
            break;
        case NTK_CORE_REDUCE_SCATTER:
            ret = ntk_core_comm_reduce_scatter(comm, source.address, target.address,
                                               element_count_of(target.bytes, collective->dtype),
                                               collective->dtype, collective->reduction, err);
            break;
        }
    }
    core_tensor_view_drop(&target);
    core_tensor_view_drop(&source);
    return ret;
}

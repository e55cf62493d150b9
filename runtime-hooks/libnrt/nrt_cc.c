/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_cc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/libnrt/nrt_log.h"

#define PAIRS_MAX 1024U
#define RENDEZVOUS_BYTES 512U

struct pair {
    struct nrt_tensor *from, *to; /* references held by the context */
};

struct nrt_cc_context {
    struct ntk_core_handle handle;
    struct ntk_core_collective collective;
    struct ntk_core_comm_options options; /* owns its rendezvous and group */
    uint32_t nc;
    struct pair *pairs;
    size_t pair_count;
};

static void context_release(struct ntk_core_handle *handle)
{
    struct nrt_cc_context *context = (struct nrt_cc_context *)handle;

    for (size_t i = 0; i < context->pair_count; i++) {
        if (context->pairs[i].from) {
            ntk_core_handle_drop(&nrt_front_tensors, context->pairs[i].from);
        }
        if (context->pairs[i].to) {
            ntk_core_handle_drop(&nrt_front_tensors, context->pairs[i].to);
        }
    }
    free(context->pairs);
    free((char *)context->options.rendezvous);
    free((uint32_t *)context->options.group);
    context->pairs = NULL;
    context->pair_count = 0;
}

static struct ntk_core_handle_pool contexts =
    NTK_CORE_HANDLE_POOL_INIT(struct nrt_cc_context, context_release);

/* --- requests --------------------------------------------------------------------------------- */

/* Returns NRT_INVALID if the operation is not a collective operation. */
static NRT_STATUS collective_get(nrt_dtype_t dtype, nrt_op_type_t op, nrt_cc_op_type_t cc_op,
                                 struct ntk_core_collective *out_collective)
{
    static const enum ntk_core_collective_kind kinds[] = {
        [NRT_CC_ALLGATHER] = NTK_CORE_ALL_GATHER,
        [NRT_CC_ALLREDUCE] = NTK_CORE_ALL_REDUCE,
        [NRT_CC_REDUCESCATTER] = NTK_CORE_REDUCE_SCATTER,
    };
    static const struct {
        nrt_op_type_t op;
        enum ntk_core_reduction reduction;
    } reductions[] = {
        { NRT_OP_ADD, NTK_CORE_SUM },
        { NRT_OP_MAX, NTK_CORE_MAX },
        { NRT_OP_MIN, NTK_CORE_MIN },
    };

    if ((unsigned)cc_op >= sizeof kinds / sizeof *kinds) {
        return NRT_INVALID;
    }
    *out_collective =
        (struct ntk_core_collective){ .kind = kinds[cc_op], .dtype = (uint32_t)dtype };
    if (cc_op == NRT_CC_ALLGATHER) {
        return NRT_SUCCESS;
    }
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        if (reductions[i].op == op) {
            out_collective->reduction = reductions[i].reduction;
            return NRT_SUCCESS;
        }
    }
    return NRT_INVALID; /* a sum of products is meaningless across ranks */
}

static NRT_STATUS refuse(const char *sentence)
{
    nrt_log_error("nrta_cc_prepare", "%s (NRT_INVALID)", sentence);
    return NRT_INVALID;
}

/* Holds the tensor, which must be reachable from the core. */
static bool tensor_hold(nrt_tensor_t *tensor, uint32_t nc, struct nrt_tensor **out_tensor)
{
    struct ntk_core_tensor_info info;

    *out_tensor = ntk_core_handle_take(&nrt_front_tensors, tensor);
    if (!*out_tensor) {
        return false;
    }
    ntk_core_tensor_info_get((*out_tensor)->core, &info);
    return info.placement != NTK_CORE_DEVICE || info.nc == nc;
}

static NRT_STATUS pairs_make(struct nrt_cc_context *context, const nrt_cc_comm_t *comm,
                             const nrt_tensor_list_t *input, const nrt_tensor_list_t *output)
{
    context->pairs = calloc(input->num_tensors, sizeof *context->pairs);
    if (!context->pairs) {
        return NRT_RESOURCE;
    }
    context->pair_count = input->num_tensors;
    for (size_t i = 0; i < context->pair_count; i++) {
        struct pair *pair = &context->pairs[i];
        struct ntk_err err = { 0 };
        uint32_t rank = 0;

        if (!tensor_hold(input->tensors[i], context->nc, &pair->from) ||
            !tensor_hold(output->tensors[i], context->nc, &pair->to)) {
            return refuse("missing tensor, or a tensor on a different core");
        }
        int ret = ntk_core_collective_check(&context->options, &context->collective,
                                            pair->from->core, pair->to->core, &rank, &err);
        if (ret < 0) {
            return nrt_front_fail("nrta_cc_prepare", ret, &err);
        }
        if (rank != comm->rank) {
            return refuse("the rank has a different position in its group");
        }
    }
    return NRT_SUCCESS;
}

/* Copies arguments that the caller may change later, and arguments that a queue's thread cannot
 * read safely. */
static NRT_STATUS context_fill(struct nrt_cc_context *context, const nrt_cc_comm_t *comm,
                               const nrt_tensor_list_t *input, const nrt_tensor_list_t *output)
{
    struct ntk_core_comm_options options = { .rank = comm->ctx_device_id,
                                             .rank_count = comm->ctx_device_count };
    NRT_STATUS status = nrt_collectives_options_get("nrta_cc_prepare", comm->vnc, &options);

    if (status != NRT_SUCCESS) {
        return status;
    }
    const char *rendezvous = options.rendezvous ? options.rendezvous : "";
    context->nc = comm->vnc;
    context->options = options;
    context->options.rendezvous = strdup(rendezvous);
    if (comm->replica_group) {
        uint32_t *group = calloc(comm->rank_n, sizeof *group);

        if (group) {
            memcpy(group, comm->replica_group, comm->rank_n * sizeof *group);
        }
        context->options.group = group;
        context->options.group_count = comm->rank_n;
    }
    if (!context->options.rendezvous || (comm->replica_group && !context->options.group)) {
        return NRT_RESOURCE;
    }
    return pairs_make(context, comm, input, output);
}

static bool list_is_good(const nrt_tensor_list_t *list)
{
    return list && list->tensors && list->num_tensors > 0 && list->num_tensors <= PAIRS_MAX;
}

/* Creates a context. Called between enter and leave. */
static NRT_STATUS context_make(const nrt_cc_comm_t *comm, const nrt_tensor_list_t *input,
                               const nrt_tensor_list_t *output,
                               const struct ntk_core_collective *collective,
                               struct nrt_cc_context **out_context)
{
    if (!comm || !out_context || !list_is_good(input) || !list_is_good(output) ||
        input->num_tensors != output->num_tensors) {
        return refuse("missing communicator or context pointer, or lists of different lengths");
    }
    if (comm->rank_n == 0 || comm->rank_n > NTK_CORE_RANKS_MAX || comm->rank >= comm->rank_n ||
        (!comm->replica_group && comm->rank_n != comm->ctx_device_count)) {
        return refuse("invalid group");
    }
    struct nrt_cc_context *context = ntk_core_handle_create(&contexts);
    if (!context) {
        return NRT_RESOURCE;
    }
    context->collective = *collective;
    NRT_STATUS status = context_fill(context, comm, input, output);
    if (status != NRT_SUCCESS) {
        (void)ntk_core_handle_close(&contexts, context);
        return status;
    }
    *out_context = context;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_cc_prepare(const nrt_cc_comm_t *comm, const nrt_tensor_list_t *input,
                          const nrt_tensor_list_t *output, nrt_dtype_t dtype, nrt_op_type_t op,
                          nrt_cc_op_type_t cc_op, struct nrt_cc_context **cc_ctx)
{
    struct ntk_core_collective collective;
    NRT_FRONT_SCOPE;

    status = collective_get(dtype, op, cc_op, &collective);
    status = status == NRT_SUCCESS ? context_make(comm, input, output, &collective, cc_ctx)
                                   : refuse("unknown operation, or unknown reduction over ranks");
    return status;
}

/* --- its life --------------------------------------------------------------------------------- */

struct nrt_cc_context *nrt_cc_take(const struct nrt_cc_context *context)
{
    return ntk_core_handle_take(&contexts, context);
}

void nrt_cc_drop(struct nrt_cc_context *context)
{
    ntk_core_handle_drop(&contexts, context);
}

void nrt_cc_close(struct nrt_cc_context *context)
{
    (void)ntk_core_handle_close(&contexts, context);
}

uint32_t nrt_cc_core(const struct nrt_cc_context *context)
{
    return context->nc;
}

static enum ntk_collective operation_of(const struct nrt_cc_context *context)
{
    static const enum ntk_collective operations[] = {
        [NTK_CORE_ALL_GATHER] = NTK_COLLECTIVE_ALL_GATHER,
        [NTK_CORE_ALL_REDUCE] = NTK_COLLECTIVE_ALL_REDUCE,
        [NTK_CORE_REDUCE_SCATTER] = NTK_COLLECTIVE_REDUCE_SCATTER,
    };

    return operations[context->collective.kind];
}

NRT_STATUS nrt_cc_run(struct nrt_cc_context *context, uint32_t queue)
{
    struct ntk_core_comm_options options = context->options;
    struct ntk_core_comm *comm = NULL;
    struct ntk_err err = { 0 };
    char rendezvous[RENDEZVOUS_BYTES];

    /* Queues of one world run in parallel with each other and with calls of the host: each has a
     * separate rendezvous, so that order matters only within a queue. */
    (void)snprintf(rendezvous, sizeof rendezvous, "queue %u of %s", queue, options.rendezvous);
    options.rendezvous = rendezvous;
    int ret = ntk_core_comm_join(nrt_front_core_get(), &options, &comm, &err);
    for (size_t i = 0; ret == 0 && i < context->pair_count; i++) {
        struct ntk_core_trace_span span = { 0 };
        struct ntk_core_tensor_info info;

        ntk_core_tensor_info_get(context->pairs[i].from->core, &info);
        nrt_collectives_trace_begin(&span, operation_of(context), comm, (int32_t)context->nc,
                                    info.bytes);
        ret = ntk_core_comm_run(comm, &context->collective, context->pairs[i].from->core,
                                context->pairs[i].to->core, &err);
        nrt_collectives_trace_end(&span, comm, info.bytes);
    }
    ntk_core_comm_leave(comm);
    return ret < 0 ? nrt_front_fail("nrta_cc_schedule", ret, &err) : NRT_SUCCESS;
}

void nrt_cc_close_all(void)
{
    ntk_core_handle_close_all(&contexts);
}

void nrt_cc_forget_after_fork(void)
{
    ntk_core_handle_forget(&contexts);
}

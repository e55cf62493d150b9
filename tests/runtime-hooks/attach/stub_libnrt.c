/* SPDX-License-Identifier: MIT */
/*
 * A runtime that does what its caller requests and nothing else: the calls that attaching checks,
 * with the vendor's names and signatures. It has no segment.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "tests/runtime-hooks/attach/stub_libnrt.h"

struct stub_model {
    uint64_t executions;
    void *memory;
};

int nrt_init(int framework, const char *version, const char *fal_version)
{
    (void)framework;
    (void)version;
    (void)fal_version;
    return 0;
}

void nrt_close(void)
{
}

int nrt_load(const void *neff, size_t bytes, int32_t vnc, int32_t vnc_count,
             struct stub_model **out_model)
{
    (void)vnc;
    (void)vnc_count;
    if (neff == NULL || bytes < 1024) {
        return 2;
    }
    *out_model = calloc(1, sizeof **out_model);
    return nrt_tensor_allocate(0, 0, 1u << 20, "of its own",
                               &(*out_model)->memory); /* an inner call */
}

int nrt_load_collectives(const void *neff, size_t bytes, int32_t vnc, int32_t vnc_count,
                         uint32_t device, uint32_t device_count, struct stub_model **out_model)
{
    (void)device;
    (void)device_count;
    return nrt_load(neff, bytes, vnc, vnc_count, out_model); /* through the PLT: an inner call */
}

int nrt_unload(struct stub_model *model)
{
    nrt_tensor_free(&model->memory);
    free(model);
    return 0;
}

int nrt_execute_repeat(struct stub_model *model, const struct stub_order *order, void *outputs,
                       int count)
{
    struct timespec begin;
    struct timespec now;

    (void)outputs;
    (void)count;
    __atomic_fetch_add(&model->executions, 1, __ATOMIC_RELAXED);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (order->leave != NULL) {
        longjmp(*order->leave, 1);
    }
    if (order->ends_thread) {
        pthread_exit(NULL);
    }
    if (order->inside != NULL) {
        order->inside();
        return order->status;
    }
    if (order->microseconds >= 1000) {
        struct timespec pause = { order->microseconds / 1000000,
                                  order->microseconds % 1000000 * 1000L };
        nanosleep(&pause, NULL);
        return order->status;
    }
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec <
             order->microseconds * 1000L);
    return order->status;
}

int nrt_execute(struct stub_model *model, const struct stub_order *order, void *outputs)
{
    return nrt_execute_repeat(model, order, outputs, 1); /* an inner call, or a jump */
}

int nrta_execute_schedule(void)
{
    return 0;
}

int nrt_tensor_allocate(int placement, int vnc, size_t bytes, const char *name, void **out_tensor)
{
    (void)placement;
    (void)vnc;
    (void)bytes;
    (void)name;
    *out_tensor = malloc(1);
    return 0;
}

int nrt_tensor_allocate_slice(const void *tensor, size_t offset, size_t bytes, const char *name,
                              void **out_tensor)
{
    (void)tensor;
    (void)offset;
    (void)bytes;
    (void)name;
    *out_tensor = malloc(1);
    return 0;
}

int nrt_tensor_attach_buffer(void *tensor, void *buffer, size_t bytes)
{
    (void)tensor;
    (void)buffer;
    (void)bytes;
    return 0;
}

void nrt_tensor_free(void **tensor)
{
    free(*tensor);
    *tensor = NULL;
}

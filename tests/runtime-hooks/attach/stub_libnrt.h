/* SPDX-License-Identifier: MIT */
/* stub_libnrt - the calls of stub_libnrt.c, and a replacement for tensor sets. */
#ifndef NTK_TESTS_RUNTIME_HOOKS_ATTACH_STUB_LIBNRT_H
#define NTK_TESTS_RUNTIME_HOOKS_ATTACH_STUB_LIBNRT_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

struct stub_model;
struct stub_order {
    int status;
    long microseconds;
    jmp_buf *leave;  /* leaves with a jump, not a return */
    int ends_thread; /* its thread exits inside it */
    void (*inside)(void);
};

int nrt_init(int framework, const char *version, const char *fal_version);
void nrt_close(void);
int nrt_load(const void *neff, size_t bytes, int32_t vnc, int32_t vnc_count,
             struct stub_model **out_model);
int nrt_load_collectives(const void *neff, size_t bytes, int32_t vnc, int32_t vnc_count,
                         uint32_t device, uint32_t device_count, struct stub_model **out_model);
int nrt_unload(struct stub_model *model);
int nrt_execute(struct stub_model *model, const struct stub_order *order, void *outputs);
int nrt_execute_repeat(struct stub_model *model, const struct stub_order *order, void *outputs,
                       int count);
int nrta_execute_schedule(void);
int nrt_tensor_allocate(int placement, int vnc, size_t bytes, const char *name, void **out_tensor);
int nrt_tensor_allocate_slice(const void *tensor, size_t offset, size_t bytes, const char *name,
                              void **out_tensor);
int nrt_tensor_attach_buffer(void *tensor, void *buffer, size_t bytes);
void nrt_tensor_free(void **tensor);

#endif

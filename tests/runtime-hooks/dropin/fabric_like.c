/* SPDX-License-Identifier: MIT */
/*
 * fabric_like - a network test that opens the runtime by its soname and moves bytes in device
 * memory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    NRT_STATUS(*init)
    (nrt_framework_type_t framework, const char *fw_version, const char *fal_version);
    NRT_STATUS(*allocate)
    (nrt_tensor_placement_t placement, int vnc, size_t size, const char *name,
     nrt_tensor_t **tensor);
    void (*free)(nrt_tensor_t **tensor);
    void *(*get_va)(const nrt_tensor_t *tensor);
    NRT_STATUS (*read)(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size);
    NRT_STATUS (*write)(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size);
    NRT_STATUS (*memcpy_to_device)(void *dest, const void *src, size_t size);
    NRT_STATUS (*get_dmabuf_fd)(uint64_t va, uint64_t size, int *fd);
    NRT_STATUS (*get_attached_efa_bdf)(const void *va, char *bdf, size_t *len);
} nrt;

static void *library;

static void *symbol(const char *name)
{
    void *address = dlvsym(library, name, "NRT_2.0.0");

    if (address == NULL) {
        fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    return address;
}

#define TAKE(member, name) *(void **)&nrt.member = symbol(name)

int main(void)
{
    char out[4096], in[4096];
    nrt_tensor_t *tensor = NULL;
    int fd = -1;
    char *va;

    library = dlopen("libnrt.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    TAKE(init, "nrt_init");
    TAKE(allocate, "nrt_tensor_allocate");
    TAKE(free, "nrt_tensor_free");
    TAKE(get_va, "nrt_tensor_get_va");
    TAKE(read, "nrt_tensor_read");
    TAKE(write, "nrt_tensor_write");
    TAKE(memcpy_to_device, "nrt_memcpy_to_device");
    TAKE(get_dmabuf_fd, "nrt_get_dmabuf_fd");
    TAKE(get_attached_efa_bdf, "nrt_get_attached_efa_bdf");

    if (nrt.init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_SUCCESS ||
        nrt.allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, sizeof out, "buffer", &tensor) !=
            NRT_SUCCESS) {
        return 2;
    }
    va = nrt.get_va(tensor);
    memset(out, 0x5a, sizeof out);
    memset(in, 0, sizeof in);
    if (va == NULL || nrt.memcpy_to_device(va, out, sizeof out) != NRT_SUCCESS ||
        nrt.read(tensor, in, 0, sizeof in) != NRT_SUCCESS || memcmp(in, out, sizeof in) != 0) {
        return 3;
    }
    memset(out, 0xa5, sizeof out);
    if (nrt.write(tensor, out, 0, sizeof out) != NRT_SUCCESS || memcmp(va, out, sizeof out) != 0) {
        return 4;
    }
    if (nrt.get_dmabuf_fd((uint64_t)(uintptr_t)va, sizeof out, &fd) == NRT_SUCCESS) {
        return 5; /* no device buffer to share: the caller uses another path */
    }
    nrt.free(&tensor);
    puts("moved");
    return 0;
}

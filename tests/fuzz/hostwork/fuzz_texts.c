/* SPDX-License-Identifier: MIT */
/* Any bytes as the mappings of a process, as the map file of a compiler, as the kernel's symbols,
 * and as the response of the child that resolves stacks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/hostwork/kernel_symbols.h"
#include "shared/hostwork/resolve.h"

#define STACKS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int is_so)
{
    if (!is_so) {
        abort();
    }
}

static char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    check(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static void read_mappings(char *text)
{
    struct ntk_host_modules modules = { .modules = NTK_VEC_INIT(struct ntk_host_module) };
    struct ntk_host_module before = { 0 };

    for (char *line = text; *line;) {
        char *next = line + strcspn(line, "\n");
        bool has_more = *next == '\n';
        *next = '\0';
        if (ntk_host_modules_take_line(&modules, line, &before)) {
            const struct ntk_host_module *module =
                ntk_vec_at(&modules.modules, modules.modules.count - 1);
            check(module->start < module->end && module->base <= module->start);
        }
        line = has_more ? next + 1 : next;
    }
    check(modules.modules.count <= NTK_HOST_MODULES_MAX);
    ntk_host_modules_fini(&modules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_host_modules modules = { 0 };
    struct ntk_host_resolved resolved[STACKS] = { 0 };
    struct ntk_host_records records;
    char *text = text_of(data, size);
    struct ntk_kernel_symbols *kernel = ntk_kernel_symbols_take(text);

    if (kernel) {
        (void)ntk_kernel_symbols_at(kernel, 0xffffffff81000000u);
        (void)ntk_kernel_symbols_is_fault(kernel, UINT64_MAX);
        ntk_kernel_symbols_destroy(kernel);
    }
    read_mappings(text);
    free(text);
    ntk_host_modules_take_map(&modules, text_of(data, size));
    for (uint64_t address = 0; address < 16; address++) {
        const char *name = ntk_host_modules_symbol(&modules, address << 12);
        check(!name || strlen(name) <= size);
    }
    ntk_host_modules_fini(&modules);
    ntk_host_records_init(&records);
    (void)ntk_host_resolve_read(data, size, STACKS, &records.stacks, resolved);
    for (size_t i = 0; i < STACKS; i++) {
        check(resolved[i].stack <= records.stacks.frames.count);
    }
    ntk_host_records_fini(&records);
    return 0;
}

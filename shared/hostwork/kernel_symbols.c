/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/kernel_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/bisect.h"
#include "shared/base/order.h"
#include "shared/base/vec.h"

#define SYMBOLS_MAX (1u << 20)
#define NAME_BYTES 64

struct symbol {
    uint64_t address;
    char name[NAME_BYTES];
};

struct ntk_kernel_symbols {
    struct ntk_vec symbols; /* elements are struct symbol, sorted by address */
};

NTK_ORDER(by_address, struct symbol, NTK_UP(address));

/* Parses a line such as "ffffffff81000000 T name [module]". */
static void take_line(struct ntk_kernel_symbols *symbols, const char *line)
{
    struct symbol symbol;
    unsigned long long address;
    char kind;

    if (sscanf(line, "%llx %c %63s", &address, &kind, symbol.name) == 3 && address != 0 &&
        (kind == 't' || kind == 'T' || kind == 'w' || kind == 'W') &&
        symbols->symbols.count < SYMBOLS_MAX) {
        symbol.address = address;
        (void)ntk_vec_push(&symbols->symbols, &symbol);
    }
}

static struct ntk_kernel_symbols *create(void)
{
    struct ntk_kernel_symbols *symbols = calloc(1, sizeof *symbols);

    if (symbols) {
        ntk_vec_init(&symbols->symbols, sizeof(struct symbol));
    }
    return symbols;
}

static struct ntk_kernel_symbols *finish(struct ntk_kernel_symbols *symbols)
{
    if (symbols->symbols.count == 0) {
        ntk_kernel_symbols_destroy(symbols);
        return NULL;
    }
    ntk_vec_sort(&symbols->symbols, by_address);
    return symbols;
}

struct ntk_kernel_symbols *ntk_kernel_symbols_read(void)
{
    struct ntk_kernel_symbols *symbols = create();
    FILE *file = symbols ? fopen("/proc/kallsyms", "re") : NULL;
    char line[512];

    while (file && fgets(line, sizeof line, file)) {
        take_line(symbols, line);
    }
    if (file) {
        (void)fclose(file);
    }
    return symbols ? finish(symbols) : NULL;
}

struct ntk_kernel_symbols *ntk_kernel_symbols_take(const char *text)
{
    struct ntk_kernel_symbols *symbols = create();

    while (symbols && text && *text) {
        take_line(symbols, text);
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return symbols ? finish(symbols) : NULL;
}

void ntk_kernel_symbols_destroy(struct ntk_kernel_symbols *symbols)
{
    if (symbols) {
        ntk_vec_fini(&symbols->symbols);
        free(symbols);
    }
}

const char *ntk_kernel_symbols_at(const struct ntk_kernel_symbols *symbols, uint64_t address)
{
    const struct symbol *all = symbols->symbols.items;
    size_t low = 0;

    NTK_BISECT(low, symbols->symbols.count, i, all[i].address <= address);
    return low > 0 ? ((const struct symbol *)ntk_vec_at(&symbols->symbols, low - 1))->name : NULL;
}

bool ntk_kernel_symbols_is_fault(const struct ntk_kernel_symbols *symbols, uint64_t address)
{
    static const char *const faults[] = {
        "exc_page_fault",  "asm_exc_page_fault", "do_user_addr_fault",
        "handle_mm_fault", "do_page_fault",      "do_mem_abort",
        "el0_da",
    };
    const char *name = ntk_kernel_symbols_at(symbols, address);

    for (size_t i = 0; name && i < sizeof faults / sizeof *faults; i++) {
        if (strcmp(name, faults[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_usage.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_text.h"
#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"

#define NAME_BYTES 256
#define LABEL_WIDTH 20
#define CELL_WIDTH 11

struct row {
    uint32_t core;
    uint32_t model;
    char model_name[NAME_BYTES];
    uint64_t bytes[NTK_MEMORY_CATEGORY_COUNT];
};

struct core_usage {
    pthread_mutex_t lock;
    /* elements are struct row, only those with bytes; sorted by core, then model */
    struct ntk_vec rows;
};

/* The columns after TOTAL: the same as the vendor's, with a heading of two lines. */
static const struct {
    const char *name; /* name in memory.def; "": always 0 here */
    const char *heading[2];
    bool is_of_models; /* false: a model's cell contains n/a */
} columns[] = {
    { "Model Code", { "Model", "Code" }, true },
    { "Model Constants", { "Model", "Constants" }, true },
    { "Tensors", { "Tensors", "" }, false },
    { "Shared Scratchpad", { "Shared", "Scratchpad" }, false },
    { "Scratchpad", { "Scratchpad", "" }, true },
    { "Runtime", { "Runtime", "" }, true },
    { "DMA Rings IO", { "DMA Rings", "IO" }, true },
    { "DMA Rings Spill", { "DMA Rings", "Spill" }, true },
    { "DMA Rings Collectives", { "DMA Rings", "Coll." }, true },
    { "DMA Rings Runtime", { "DMA Rings", "Runtime" }, true },
    { "Collectives", { "Collectives", "" }, true },
    { "", { "XT CC", "" }, false },
    { "Profiler Buffers", { "Profiler", "Buffers" }, false },
};
#define COLUMN_COUNT (sizeof columns / sizeof *columns)

static const char *const column_of_category[] = {
#define NTK_MEMORY(id, symbol, name, location, sysfs, key, oom, ntff) oom,
#include "shared/abi/memory.def"
#undef NTK_MEMORY
};

struct core_usage *core_usage_create(void)
{
    struct core_usage *usage = calloc(1, sizeof *usage);

    if (usage) {
        pthread_mutex_init(&usage->lock, NULL);
        ntk_vec_init(&usage->rows, sizeof(struct row));
    }
    return usage;
}

void core_usage_destroy(struct core_usage *usage)
{
    if (usage) {
        ntk_vec_fini(&usage->rows);
        pthread_mutex_destroy(&usage->lock);
        free(usage);
    }
}

/* Finds the row of a core and model; NULL if there is none. The caller holds the lock. */
static struct row *row_find(struct core_usage *usage, uint32_t core, uint32_t model)
{
    ntk_vec_each(struct row, row, &usage->rows) {
        if (row->core == core && row->model == model) {
            return row;
        }
    }
    return NULL;
}

NTK_ORDER(row_order, struct row, NTK_UP(core) NTK_UP(model));

void core_usage_take(struct core_usage *usage, const struct core_usage_holder *holder,
                     uint64_t bytes, const char *model_name)
{
    if (!usage) {
        return;
    }
    pthread_mutex_lock(&usage->lock);
    struct row *row = row_find(usage, holder->core, holder->model);
    if (row) {
        row->bytes[holder->category] += bytes;
    } else {
        struct row fresh = { .core = holder->core, .model = holder->model };

        fresh.bytes[holder->category] = bytes;
        if (model_name) {
            (void)ntk_str_copy(fresh.model_name, sizeof fresh.model_name, model_name);
        }
        /* If out of memory, the table lacks the row. */
        if (ntk_vec_push(&usage->rows, &fresh) == 0) {
            qsort(usage->rows.items, usage->rows.count, sizeof fresh, row_order);
        }
    }
    pthread_mutex_unlock(&usage->lock);
}

void core_usage_give_back(struct core_usage *usage, const struct core_usage_holder *holder,
                          uint64_t bytes)
{
    uint64_t left = 0;

    if (!usage) {
        return;
    }
    pthread_mutex_lock(&usage->lock);
    struct row *row = row_find(usage, holder->core, holder->model);
    if (row) {
        uint64_t *cell = &row->bytes[holder->category];

        *cell -= bytes < *cell ? bytes : *cell;
        for (size_t i = 0; i < NTK_MEMORY_CATEGORY_COUNT; i++) {
            left += row->bytes[i];
        }
        if (left == 0) {
            struct row *end = (struct row *)usage->rows.items + usage->rows.count;

            memmove(row, row + 1, (size_t)((char *)end - (char *)(row + 1)));
            usage->rows.count--;
        }
    }
    pthread_mutex_unlock(&usage->lock);
}

const char *core_usage_bytes(char *text, size_t text_bytes, uint64_t bytes)
{
    static const char *const units[] = { "B", "KB", "MB", "GB" };
    size_t unit = 0;

    while (unit + 1 < sizeof units / sizeof *units && bytes >> (10 * (unit + 1)) != 0) {
        unit++;
    }
    (void)snprintf(text, text_bytes, "%.3f%s", (double)bytes / (double)(UINT64_C(1) << (10 * unit)),
                   units[unit]);
    return text;
}

static void line_write(FILE *file, const char *label, const uint64_t *bytes, bool is_model)
{
    uint64_t total = 0;
    uint64_t cells[COLUMN_COUNT] = { 0 };
    char text[32];

    for (size_t i = 0; i < NTK_MEMORY_CATEGORY_COUNT; i++) {
        for (size_t c = 0; c < COLUMN_COUNT; c++) {
            if (*columns[c].name && strcmp(columns[c].name, column_of_category[i]) == 0) {
                cells[c] += bytes[i];
                total += bytes[i];
            }
        }
    }
    (void)fprintf(file, "%-*s|%*s|", LABEL_WIDTH, label, CELL_WIDTH,
                  core_usage_bytes(text, sizeof text, total));
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        (void)fprintf(file, "%*s|", CELL_WIDTH,
                      is_model && !columns[c].is_of_models
                          ? "n/a"
                          : core_usage_bytes(text, sizeof text, cells[c]));
    }
    (void)fputc('\n', file);
}

static void headings_write(FILE *file)
{
    for (size_t line = 0; line < 2; line++) {
        (void)fprintf(file, "%-*s|%*s|", LABEL_WIDTH, "", CELL_WIDTH, line == 0 ? "TOTAL" : "");
        for (size_t c = 0; c < COLUMN_COUNT; c++) {
            (void)fprintf(file, "%*s|", CELL_WIDTH, columns[c].heading[line]);
        }
        (void)fputc('\n', file);
    }
}

static bool row_is_seen(const struct row *row, const struct core_usage_view *view)
{
    uint32_t local = row->core % view->cores_per_device;

    return row->core / view->cores_per_device == view->device &&
           local / view->cores_per_stack == view->stack &&
           (view->core == CORE_USAGE_ALL || local == view->core);
}

static void row_add(uint64_t *sum, const struct row *row)
{
    for (size_t i = 0; i < NTK_MEMORY_CATEGORY_COUNT; i++) {
        sum[i] += row->bytes[i];
    }
}

void core_usage_write(struct core_usage *usage, const struct core_usage_view *view, FILE *file)
{
    uint64_t device[NTK_MEMORY_CATEGORY_COUNT] = { 0 };
    uint64_t stack[NTK_MEMORY_CATEGORY_COUNT] = { 0 };
    uint64_t core[NTK_MEMORY_CATEGORY_COUNT];
    uint64_t own_bytes = 0;
    uint32_t last_core = CORE_USAGE_ALL;
    char name[48];
    char label[64];
    struct core_text_facts facts = { .device = view->device, .stack = view->stack };

    if (!usage) {
        return;
    }
    pthread_mutex_lock(&usage->lock);
    headings_write(file);
    ntk_vec_each(struct row, row, &usage->rows) {
        if (row->core / view->cores_per_device == view->device) {
            row_add(device, row);
            if (row->core % view->cores_per_device / view->cores_per_stack == view->stack) {
                row_add(stack, row);
            }
        }
    }
    (void)snprintf(label, sizeof label, "%s Overall",
                   core_text_write(view->texts, NTK_CORE_TEXT_DEVICE, &facts, name, sizeof name));
    line_write(file, label, device, false);
    line_write(file, core_text_write(view->texts, NTK_CORE_TEXT_STACK, &facts, name, sizeof name),
               stack, false);
    ntk_vec_each(struct row, row, &usage->rows) {
        if (!row_is_seen(row, view)) {
            continue;
        }
        if (row->core != last_core) {
            last_core = row->core;
            memset(core, 0, sizeof core);
            ntk_vec_each(struct row, same, &usage->rows) {
                if (same->core == row->core) {
                    row_add(core, same);
                }
            }
            facts.core = row->core % view->cores_per_device;
            (void)snprintf(
                label, sizeof label, "\\_%s",
                core_text_write(view->texts, NTK_CORE_TEXT_CORE, &facts, name, sizeof name));
            line_write(file, label, core, false);
        }
        if (row->model != 0) {
            (void)snprintf(label, sizeof label, "  \\_NEFF %u", row->model);
            line_write(file, label, row->bytes, true);
        }
    }
    for (size_t i = 0; i < NTK_MEMORY_CATEGORY_COUNT; i++) {
        own_bytes += stack[i];
    }
    if (view->stack_bytes_used > own_bytes) {
        char text[32];

        (void)fprintf(file, "%-*s|%*s|\n", LABEL_WIDTH, "\\_other processes", CELL_WIDTH,
                      core_usage_bytes(text, sizeof text, view->stack_bytes_used - own_bytes));
    }
    (void)fputs("NEFF id to name mapping:\n", file);
    ntk_vec_each(struct row, row, &usage->rows) {
        if (row->model != 0 && row_is_seen(row, view)) {
            (void)fprintf(file, "%u: \"%s\"\n", row->model, row->model_name);
        }
    }
    pthread_mutex_unlock(&usage->lock);
}

/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/engine_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime-hooks/engine/engine_program.h"
#include "runtime-hooks/engine/kernel_blas.h"
#include "runtime-hooks/engine/kernel_matmul.h"

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

int ntk_engine_core_create(unsigned generation, struct ntk_engine_core **out_core,
                           struct ntk_err *err)
{
    const struct ntk_engine_core_spec *spec = ntk_engine_core_spec_get(generation);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct ntk_engine_core *core;
    size_t sbuf_bytes;
    size_t psum_bytes;
    int ret;

    if (!spec) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown core generation %u",
                           generation);
    }
    ret = ntk_kernel_blas_open(err);
    if (ret < 0) {
        return ret;
    }
    core = calloc(1, sizeof *core);
    if (!core) {
        return ntk_err_no_memory(err);
    }
    core->generation = generation;
    ntk_rng_seed(&core->noise, 0);
    core->spec = spec;
    sbuf_bytes = round_up((size_t)spec->partition_count *
                              (spec->sbuf_partition_bytes + NTK_ENGINE_PITCH_EXTRA),
                          page);
    psum_bytes = round_up((size_t)spec->partition_count *
                              (spec->psum_partition_bytes + NTK_ENGINE_PITCH_EXTRA),
                          page);
    core->memory_bytes = page + sbuf_bytes + page + psum_bytes + page;
    core->memory = mmap(NULL, core->memory_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (core->memory == MAP_FAILED) {
        core->memory = NULL;
    }
    if (core->memory) {
        core->sbuf = core->memory + page;
        core->psum = core->sbuf + sbuf_bytes + page;
    }
    if (!core->memory || mprotect(core->sbuf, sbuf_bytes, PROT_READ | PROT_WRITE) != 0 ||
        mprotect(core->psum, psum_bytes, PROT_READ | PROT_WRITE) != 0) {
        ntk_engine_core_destroy(core);
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                           "out of memory for the state buffer of a core");
    }
    *out_core = core;
    return 0;
}

void ntk_engine_core_seed(struct ntk_engine_core *core, uint32_t seed)
{
    ntk_rng_seed(&core->noise, seed);
}

void ntk_engine_core_destroy(struct ntk_engine_core *core)
{
    if (!core) {
        return;
    }
    if (core->memory) {
        munmap(core->memory, core->memory_bytes);
    }
    free(core->row_memory);
    free(core->matmul_memory);
    ntk_tile_packs_destroy(core->packs);
    free(core->bounce);
    free(core->pending);
    free(core->intervals);
    free(core->queue_done_ps);
    free(core->queue_starts);
    free(core->queue_rings);
    free(core->cells);
    free(core);
}

/* --- clearing --------------------------------------------------------------------------------- */

/* Columns of one of the core's memories. */
struct columns {
    uint8_t *memory;
    size_t pitch;
    const uint8_t *partitions; /* number of partitions to clear, by column */
    size_t count;
};

static size_t columns_bytes(const struct columns *columns)
{
    size_t bytes = 0;

    for (size_t c = 0; c < columns->count; c++) {
        bytes += (size_t)columns->partitions[c] * NTK_ENGINE_WRITES_COLUMN_BYTES;
    }
    return bytes;
}

static void columns_clear(const struct columns *columns, size_t partition)
{
    uint8_t *row = columns->memory + partition * columns->pitch;
    size_t c = 0;

    while (c < columns->count) {
        size_t begin;

        while (c < columns->count && columns->partitions[c] <= partition) {
            c++;
        }
        begin = c;
        while (c < columns->count && columns->partitions[c] > partition) {
            c++;
        }
        memset(row + begin * NTK_ENGINE_WRITES_COLUMN_BYTES, 0,
               (c - begin) * NTK_ENGINE_WRITES_COLUMN_BYTES);
    }
}

/* Faulting pages in again costs several times as much as overwriting them, so memory is freed only
 * if a program has used most of it. */
int ntk_engine_core_reset(struct ntk_engine_core *core)
{
    const struct ntk_engine_core_spec *spec = core->spec;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t sbuf_bytes = (size_t)(core->psum - core->sbuf) - page;
    size_t psum_bytes = core->memory_bytes - 3 * page - sbuf_bytes;
    struct columns sbuf = { core->sbuf, spec->sbuf_partition_bytes + NTK_ENGINE_PITCH_EXTRA,
                            core->written.sbuf,
                            round_up(spec->sbuf_partition_bytes, NTK_ENGINE_WRITES_COLUMN_BYTES) /
                                NTK_ENGINE_WRITES_COLUMN_BYTES };
    struct columns psum = { core->psum, spec->psum_partition_bytes + NTK_ENGINE_PITCH_EXTRA,
                            core->written.psum,
                            round_up(spec->psum_partition_bytes, NTK_ENGINE_WRITES_COLUMN_BYTES) /
                                NTK_ENGINE_WRITES_COLUMN_BYTES };

    if (columns_bytes(&sbuf) + columns_bytes(&psum) > (sbuf_bytes + psum_bytes) / 2) {
        if (madvise(core->sbuf, sbuf_bytes, MADV_DONTNEED) != 0 ||
            madvise(core->psum, psum_bytes, MADV_DONTNEED) != 0) {
            return -ENOMEM;
        }
    } else {
        for (size_t p = 0; p < spec->partition_count; p++) {
            columns_clear(&sbuf, p);
            columns_clear(&psum, p);
        }
    }
    memset(&core->written, 0, sizeof core->written);
    return 0;
}

/* Replaces *memory by a larger block if necessary; the content is lost. */
static int grow(void *memory, uint64_t *capacity, uint64_t wanted, size_t item_bytes)
{
    void **block = memory;
    void *fresh;
    size_t bytes;

    if (wanted <= *capacity) {
        return 0;
    }
    if (__builtin_mul_overflow((size_t)wanted, item_bytes, &bytes)) {
        return -ENOMEM;
    }
    fresh = malloc(bytes);
    if (!fresh) {
        return -ENOMEM;
    }
    free(*block);
    *block = fresh;
    *capacity = wanted;
    return 0;
}

int ntk_engine_core_prepare(struct ntk_engine_core *core, const struct ntk_engine_program *program)
{
    uint64_t elements = program->row_elements_max > 8 ? program->row_elements_max : 8;
    uint64_t rows = core->scratch.row_elements;
    uint64_t queues = program->info.queue_count + 1;
    uint64_t starts = core->queue_capacity;
    uint64_t rings = starts;

    if (grow(&core->row_memory, &rows, elements, NTK_TILE_SCRATCH_ROWS * sizeof(int64_t)) < 0) {
        return -ENOMEM;
    }
    core->scratch.row_elements = (uint32_t)rows;
    for (size_t r = 0; r < NTK_TILE_SCRATCH_ROWS; r++) {
        core->scratch.row[r] = (int64_t *)core->row_memory + r * rows;
    }
    if (program->has_matmul && !core->matmul_memory) {
        size_t stationary = (size_t)NTK_TILE_PACK_ROWS * NTK_ISA_STATIONARY_MAX;
        size_t moving = (size_t)NTK_TILE_PACK_ROWS * NTK_ISA_MOVING_MAX;

        core->matmul_memory = aligned_alloc(64, (stationary + 2 * moving) * sizeof(float));
        if (!core->matmul_memory) {
            return -ENOMEM;
        }
        core->packs = ntk_tile_packs_create();
        core->scratch.stationary = core->matmul_memory;
        core->scratch.moving = core->matmul_memory + stationary;
        core->scratch.product = core->scratch.moving + moving;
    }
    if (grow(&core->bounce, &core->bounce_bytes, program->bounce_bytes_max, 1) < 0 ||
        grow(&core->pending, &core->pending_capacity,
             program->dma_start_count + NTK_ENGINE_SEQUENCER_COUNT, sizeof *core->pending) < 0 ||
        grow(&core->intervals, &core->interval_capacity, program->dma_start_count + 1,
             sizeof *core->intervals) < 0 ||
        grow(&core->queue_starts, &starts, queues, sizeof *core->queue_starts) < 0 ||
        grow(&core->queue_rings, &rings, queues, sizeof *core->queue_rings) < 0 ||
        grow(&core->cells, &core->cell_capacity, program->cells.count, sizeof *core->cells) < 0 ||
        grow(&core->queue_done_ps, &core->queue_capacity, queues, sizeof *core->queue_done_ps) <
            0) {
        return -ENOMEM;
    }
    ntk_engine_writes_join(&core->written, &program->writes);
    return 0;
}

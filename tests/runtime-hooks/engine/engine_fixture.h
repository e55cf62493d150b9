/* SPDX-License-Identifier: MIT */
/*
 * engine_fixture - small programs for a software core, built in memory.
 *
 * Everything is deliberately plain: fixed arrays, one core, host buffers as variables. Instructions
 * go through ntk_isa_encode(), so the engine decodes what an assembler would write.
 *
 * Owner: engine_fixture_init()/_fini(). Threads: one at a time per fixture.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_ENGINE_ENGINE_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_ENGINE_ENGINE_FIXTURE_H

#include "runtime-hooks/engine/engine.h"
#include "shared/formats/neff/neff.h"

#define FIXTURE_VARS 12
#define FIXTURE_QUEUES 6
#define FIXTURE_GROUPS 64
#define FIXTURE_SOURCES 16
#define FIXTURE_CODE_BYTES (512 * 1024)

struct engine_fixture {
    struct ntk_neff_subgraph subgraph;
    struct ntk_neff_var vars[FIXTURE_VARS]; /* vars[0] is the state buffer */
    struct ntk_neff_queue_set queue_sets[FIXTURE_QUEUES];
    struct ntk_neff_dma_group groups[NTK_ISA_ENGINE_COUNT][FIXTURE_GROUPS];
    struct ntk_neff_transfer transfers[NTK_ISA_ENGINE_COUNT][FIXTURE_GROUPS];
    struct ntk_neff_pattern patterns[NTK_ISA_ENGINE_COUNT][FIXTURE_GROUPS][FIXTURE_SOURCES];
    float scales[NTK_ISA_ENGINE_COUNT][FIXTURE_GROUPS][FIXTURE_SOURCES];
    uint8_t *code[NTK_ISA_ENGINE_COUNT];
    struct ntk_engine_binding bindings[FIXTURE_VARS];
    unsigned generation;
    struct ntk_engine_core *core;
    struct ntk_engine_program *program;
    struct ntk_engine_result result;
    struct ntk_err err;
    uint16_t next_semaphore;
    const struct ntk_engine_printer *printer; /* NULL: none */
};

void engine_fixture_init(struct engine_fixture *f, unsigned generation);
void engine_fixture_fini(struct engine_fixture *f);

/* Separate zeroed memory; returns the var_id. */
uint32_t engine_fixture_var(struct engine_fixture *f, enum ntk_neff_var_type type, uint64_t bytes);
void *engine_fixture_memory(struct engine_fixture *f, uint32_t var_id);
uint32_t engine_fixture_queue(struct engine_fixture *f, uint32_t queues);
void engine_fixture_emit(struct engine_fixture *f, enum ntk_isa_engine engine,
                         const struct ntk_isa_instr *instr);
/* Appends the binary of a listing to the engine's code; fails the test on invalid text. */
void engine_fixture_assemble(struct engine_fixture *f, enum ntk_isa_engine engine,
                             const char *text);
/* A group of one transfer of one source; the caller may change the result before the program is
 * made. */
struct ntk_neff_transfer *engine_fixture_group(struct engine_fixture *f, enum ntk_isa_engine engine,
                                               uint32_t queue, uint32_t id, uint16_t semaphore);

/* Emit on SP: load a variable densely to SBUF partitions [0, partitions), row_bytes each, and wait
 * for the data; or store it back. Semaphores make the program sequential: one engine after the
 * other. */
void engine_fixture_load(struct engine_fixture *f, uint32_t queue, uint32_t var, uint64_t sbuf,
                         unsigned partitions, uint32_t row_bytes);
void engine_fixture_store(struct engine_fixture *f, uint32_t queue, uint32_t var, uint64_t sbuf,
                          unsigned partitions, uint32_t row_bytes);
/* An instruction that runs after everything emitted by these three functions so far, and before
 * everything emitted later. */
void engine_fixture_step(struct engine_fixture *f, enum ntk_isa_engine engine,
                         struct ntk_isa_instr instr);

/* Makes the program; returns the result of ntk_engine_program_create(). */
int engine_fixture_make(struct engine_fixture *f);
/* Makes it if needed and runs it; asserts that the calls work and returns the outcome. */
enum ntk_engine_outcome engine_fixture_run(struct engine_fixture *f,
                                           const struct ntk_engine_trace *trace,
                                           uint64_t timeout_ns);
/* Removes the program, so that instructions can be emitted again. */
void engine_fixture_clear(struct engine_fixture *f);

/* xorshift64: the same numbers in every run. */
uint64_t engine_fixture_random(uint64_t *state);

#endif

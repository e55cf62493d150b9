/* SPDX-License-Identifier: MIT */
/*
 * neff_positions - the source line, function and loop iterations that each slot of a NEFF comes
 * from. One model per NEFF; texts and rows are kept once.
 *
 *   const struct ntk_neff_position *at = ntk_neff_position_get(positions, core, engine, slot);
 *   if (at && at->file) {                     // the back end's line: sums go by it
 *       printf("%s:%u", ntk_neff_position_file(positions, at), at->line);
 *   }
 *   const struct ntk_neff_kernel_instruction *inst = ntk_neff_position_instruction(positions, at);
 *   if (inst) {                               // the kernel tree: function and iterations too
 *       const struct ntk_neff_function *f = ntk_neff_position_function(positions, inst);
 *       printf("%s:%u in %s", f ? f->file : "", inst->line, f ? f->name : "");
 *       for (const struct ntk_neff_iteration *i = ntk_neff_position_iteration(positions, inst); i;
 *            i = ntk_neff_iteration_parent(positions, i)) { ... }   // innermost first
 *   }
 *   ntk_neff_position_path_add(positions, at, &buf);                // "kv_h=0,s_t=3", "" for none
 *
 * slot is the position in the compiler's program (compiler_pc), core the index of the struct
 * ntk_neff_debug that was given. Programs of the profiler have all of it as program->positions,
 * with ntk_program_position(program, core, instruction) for a row of a trace. All accessors take
 * NULL for a model or position that is absent. Rows of the tree refer to each other by 1 + index,
 * so that 0 is none; ids of tables are these numbers (from 1, in order of the files).
 *
 * Two members describe a line: the back end's (B) and the kernel tree (K). Where they differ both
 * are kept, and counted. Damaged members are warnings and take nothing away from the others.
 *
 * Errors:  -ENOMEM.
 * Owner:   ntk_neff_positions_create() allocates, ntk_neff_positions_destroy() frees; it borrows
 *          the debugs, which must outlive it.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_NEFF_POSITIONS_H
#define NTK_SHARED_FORMATS_NEFF_NEFF_POSITIONS_H

#include "shared/base/buf.h"
#include "shared/formats/neff/neff_debug.h"
#include "shared/formats/neff/neff_frames.h"
#include "shared/formats/neff/neff_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_NEFF_POSITION_CORE_NONE UINT32_MAX

struct ntk_neff_position {
    uint32_t file;        /* 1 + index in files; 0: the back end recorded no file, and line is 0 */
    uint32_t line;        /* counted from 1 */
    uint32_t instruction; /* 1 + index in kernel.instructions; 0: not in the kernel tree */
};

struct ntk_neff_core_positions { /* positions for one struct ntk_neff_debug */
    size_t slot_counts[NTK_ISA_ENGINE_COUNT];
    struct ntk_neff_position *slots[NTK_ISA_ENGINE_COUNT]; /* NULL for engines without positions */
};

struct ntk_neff_positions {
    size_t core_count;
    struct ntk_neff_core_positions *cores;
    struct ntk_map files;          /* key i is file i, in order of first use */
    struct ntk_neff_kernel kernel; /* trees, functions, iterations, instructions, loops */
    uint32_t *tree_cores; /* for each tree, the core that runs it, or NTK_NEFF_POSITION_CORE_NONE */
    struct ntk_neff_frames frames; /* calls in the framework's program */
    size_t line_count;             /* slots for which the back end has a line */
    size_t kernel_count;           /* slots in the kernel tree */
    size_t differing_count;  /* slots with different lines in the back end and in the kernel tree */
    struct ntk_vec warnings; /* char * */
};

/* debugs has an entry for each core, NULL for none; two cores may share one. Sets *out_positions to
 * NULL without positions and warnings. */
int ntk_neff_positions_create(const struct ntk_neff *neff, struct ntk_neff_debug *const *debugs,
                              size_t core_count, struct ntk_neff_positions **out_positions);
void ntk_neff_positions_destroy(struct ntk_neff_positions *positions);

/* NULL if the slot has neither a line nor a kernel instruction. */
static inline const struct ntk_neff_position *
ntk_neff_position_get(const struct ntk_neff_positions *positions, size_t core,
                      enum ntk_isa_engine engine, int64_t slot)
{
    if (!positions || core >= positions->core_count) {
        return NULL;
    }
    const struct ntk_neff_core_positions *of_core = &positions->cores[core];
    if (slot < 0 || (uint64_t)slot >= of_core->slot_counts[engine]) {
        return NULL;
    }
    const struct ntk_neff_position *at = &of_core->slots[engine][slot];
    return at->file || at->instruction ? at : NULL;
}

/* The path that the back end recorded; NULL if there is none. */
static inline const char *ntk_neff_position_file(const struct ntk_neff_positions *positions,
                                                 const struct ntk_neff_position *at)
{
    return at && at->file ? positions->files.entries[at->file - 1].key : NULL;
}

/* The row with this 1 + index; NULL for 0. */
static inline const void *ntk_neff_row_get(const struct ntk_vec *rows, uint32_t number)
{
    return number ? (const char *)rows->items + (size_t)(number - 1) * rows->item_bytes : NULL;
}

static inline const struct ntk_neff_kernel_instruction *
ntk_neff_position_instruction(const struct ntk_neff_positions *positions,
                              const struct ntk_neff_position *at)
{
    return at ? ntk_neff_row_get(&positions->kernel.instructions, at->instruction) : NULL;
}

/* The innermost function; NULL if there is none. Its parent is row function->parent of
 * kernel.functions. */
static inline const struct ntk_neff_function *
ntk_neff_position_function(const struct ntk_neff_positions *positions,
                           const struct ntk_neff_kernel_instruction *instruction)
{
    return instruction ? ntk_neff_row_get(&positions->kernel.functions, instruction->function)
                       : NULL;
}

/* The innermost iteration; NULL outside of loops. */
static inline const struct ntk_neff_iteration *
ntk_neff_position_iteration(const struct ntk_neff_positions *positions,
                            const struct ntk_neff_kernel_instruction *instruction)
{
    return instruction ? ntk_neff_row_get(&positions->kernel.iterations, instruction->iteration)
                       : NULL;
}

static inline const struct ntk_neff_iteration *
ntk_neff_iteration_parent(const struct ntk_neff_positions *positions,
                          const struct ntk_neff_iteration *iteration)
{
    return ntk_neff_row_get(&positions->kernel.iterations, iteration->parent);
}

/* The iterations around a position, outermost first; at most NTK_NEFF_KERNEL_DEPTH_MAX. */
size_t ntk_neff_position_path(const struct ntk_neff_positions *positions,
                              const struct ntk_neff_position *at,
                              const struct ntk_neff_iteration *out_path[NTK_NEFF_KERNEL_DEPTH_MAX]);
/* Appends text such as "kv_h=0,s_t=3". */
void ntk_neff_position_path_add(const struct ntk_neff_positions *positions,
                                const struct ntk_neff_position *at, struct ntk_buf *out);
/* Appends text such as [{"name":"kv_h","value":0,"line":166},{...}], or nothing outside of
 * loops. */
void ntk_neff_position_path_json_add(const struct ntk_neff_positions *positions,
                                     const struct ntk_neff_position *at, struct ntk_buf *out);
/* Appends "<file>:<line>" from the back end, else from the kernel tree; false if neither has it. */
bool ntk_neff_position_line_add(const struct ntk_neff_positions *positions,
                                const struct ntk_neff_position *at, struct ntk_buf *out);
/* Appends "<file>:<line>" from the kernel tree; false if it has none. */
bool ntk_neff_kernel_line_add(const struct ntk_neff_positions *positions,
                              const struct ntk_neff_kernel_instruction *instruction,
                              struct ntk_buf *out);
/* Appends the name, such as "inst.58". */
void ntk_neff_kernel_name_add(const struct ntk_neff_kernel_instruction *instruction,
                              struct ntk_buf *out);
/* Same, with the kernel's Penguin id: "inst.58:8". */
void ntk_neff_kernel_id_add(const struct ntk_neff_positions *positions,
                            const struct ntk_neff_kernel_instruction *instruction,
                            struct ntk_buf *out);
/* Appends the value of an iteration, such as "3". */
void ntk_neff_iteration_value_add(const struct ntk_neff_iteration *iteration, struct ntk_buf *out);

#ifdef __cplusplus
}
#endif
#endif

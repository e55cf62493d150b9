/* SPDX-License-Identifier: MIT */
/*
 * python - reads the frames of a CPython interpreter from outside: versions 3.10 to 3.13.
 *
 * The interpreter's structs are not a stable interface: offsets come from each version's headers,
 * and for 3.13 from the table that the interpreter publishes for debuggers. The process keeps
 * running, so data may be half changed, and a hostile process may contain anything: every pointer
 * is only an address to read, every count is bounded, and inconsistent data is dropped.
 *
 * Owner: the caller's storage. Threads: any; one at a time per struct.
 */
#ifndef NTK_SHARED_HOSTWORK_PYTHON_H
#define NTK_SHARED_HOSTWORK_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NTK_PYTHON_THREADS_MAX 1024u
#define NTK_PYTHON_FRAMES_MAX 128u
#define NTK_PYTHON_TEXT_BYTES 128u

/* Reads bytes of the process. Returns false if they are not mapped. */
struct ntk_host_memory {
    bool (*read)(void *ctx, uint64_t address, void *out, size_t bytes);
    void *ctx;
};

/* Offsets in the structs of one Python version. */
struct ntk_python_offsets {
    uint32_t runtime_interpreters;
    uint32_t interpreter_next, interpreter_threads, interpreter_collecting;
    uint32_t gil; /* offset in the runtime, or at the interpreter's pointer */
    bool gil_is_pointer;
    uint32_t thread_next, thread_native, thread_frame;
    bool thread_has_native; /* otherwise thread_native is the result of pthread_self() */
    bool frame_is_indirect; /* thread_frame points to a pointer to the frame */
    uint32_t frame_of_indirect;
    uint32_t frame_previous, frame_code, frame_owner;
    bool frame_has_owner;
    uint32_t code_file, code_name, code_line;
    uint32_t text_length, text_state, text_ascii, text_compact;
};

struct ntk_python {
    uint32_t minor; /* minor number of version 3.minor */
    uint64_t runtime;
    struct ntk_python_offsets offsets;
};

struct ntk_python_thread {
    uint64_t address;
    uint64_t native; /* the tid, or pthread_self() if the version stores no tid */
};

struct ntk_python_frame {
    char name[NTK_PYTHON_TEXT_BYTES]; /* UTF-8, not cleaned */
    char file[NTK_PYTHON_TEXT_BYTES];
    uint32_t line; /* first line of the function; 0 if unknown */
};

struct ntk_python_gil {
    uint64_t start, end;               /* address range in the process */
    uint64_t holder;                   /* address of the thread state; 0: none */
    uint64_t holder_at, collecting_at; /* addresses of these two words in the process */
    bool is_collecting;
};

/* Returns false for an unknown version, or an invalid table of offsets. */
bool ntk_python_init(struct ntk_python *python, uint32_t minor, uint64_t runtime,
                     const struct ntk_host_memory *memory);
size_t ntk_python_threads(const struct ntk_python *python, const struct ntk_host_memory *memory,
                          struct ntk_python_thread *out_threads, size_t out_count);
/* Reads the frames of a thread, innermost first. */
size_t ntk_python_stack(const struct ntk_python *python, const struct ntk_host_memory *memory,
                        const struct ntk_python_thread *thread, struct ntk_python_frame *out_frames,
                        size_t out_count);
/* Reads the state of the main interpreter's lock. */
bool ntk_python_gil(const struct ntk_python *python, const struct ntk_host_memory *memory,
                    struct ntk_python_gil *out);

#endif

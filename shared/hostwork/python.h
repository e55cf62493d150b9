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
#define NTK_PYTHON_PART_MAX 256u /* maximum bytes of a part of a struct */
#define NTK_PYTHON_WINDOWS_BYTES 32768u
#define NTK_PYTHON_FUNCTIONS 1024u
#define NTK_PYTHON_LINE_MAX 10000000u  /* larger numbers are not lines */
#define NTK_PYTHON_OWNED_BY_C_STACK 3u /* owner of a frame without a function */

struct ntk_host_range {
    uint64_t address;
    size_t bytes;
};

/* Reads ranges of the memory of the process to one place, one after another, with one call of the
 * kernel. Returns the number of bytes up to the first range that is not mapped. */
struct ntk_host_memory {
    size_t (*read)(void *ctx, const struct ntk_host_range *ranges, size_t count, void *out);
    void *ctx;
};

/* Offsets in the structs of one Python version. */
struct ntk_python_offsets {
    uint32_t runtime_interpreters;
    uint32_t interpreter_next, interpreter_threads, interpreter_collecting;
    uint32_t gil; /* offset in the runtime, or at the interpreter's pointer */
    bool gil_is_pointer;
    uint32_t thread_next, thread_native, thread_frame;
    bool thread_has_native; /* otherwise thread_native is the address of a thread descriptor */
    bool frame_is_indirect; /* thread_frame points to a pointer to the frame */
    uint32_t frame_of_indirect;
    uint32_t frame_previous, frame_code, frame_owner;
    bool frame_has_owner;
    uint32_t code_file, code_name, code_line;
    uint32_t text_length, text_state, text_ascii, text_compact;
};

/* The part of a struct that contains all members in use. */
struct ntk_python_part {
    uint32_t start, bytes;
};

struct ntk_python {
    uint32_t minor; /* minor number of version 3.minor */
    uint64_t runtime;
    uint32_t tid_at; /* for 3.10: position of the tid in a thread descriptor; 0: unknown */
    struct ntk_python_offsets offsets;
    struct ntk_python_part thread, frame, code;
};

struct ntk_python_thread {
    uint64_t address;
    uint64_t native; /* the tid, or the thread descriptor if the version stores no tid */
    uint64_t frame;  /* as in its state, so it may be indirect */
};

/* A frame, with addresses in the process. */
struct ntk_python_frame {
    uint64_t address;
    uint64_t code; /* 0: a frame without a function */
    uint64_t name, file;
    uint32_t line; /* first line of the function; 0 if unknown */
};

/* What the code object of a frame contains. */
struct ntk_python_function {
    uint64_t code, name, file;
    uint32_t line;
    uint32_t round; /* in which it was read */
};

/* Working memory. Zeroed by the caller, who increments `round` before each
 * pass over the threads of a process: within it, each function is read only once. */
struct ntk_python_scratch {
    uint32_t round;
    size_t window_count;
    struct ntk_host_range windows[NTK_PYTHON_FRAMES_MAX + 1]; /* memory that is in `bytes` */
    uint8_t bytes[NTK_PYTHON_WINDOWS_BYTES];
    struct ntk_python_function functions[NTK_PYTHON_FUNCTIONS]; /* by address of the code */
};

struct ntk_python_gil {
    uint64_t start, end;               /* address range in the process */
    uint64_t holder;                   /* address of the thread state; 0: none */
    uint64_t holder_at, collecting_at; /* addresses of these two words in the process */
    uint64_t threads_at;               /* address of the pointer to the first thread */
    bool is_collecting;
};

/* Returns false for an unknown version, or an invalid table of offsets. */
bool ntk_python_init(struct ntk_python *python, uint32_t minor, uint64_t runtime,
                     const struct ntk_host_memory *memory);
/* Reads all threads. `threads` contains those of an earlier call, which only save time. */
size_t ntk_python_threads(const struct ntk_python *python, const struct ntk_host_memory *memory,
                          size_t before_count, struct ntk_python_scratch *scratch,
                          struct ntk_python_thread threads[NTK_PYTHON_THREADS_MAX]);
/* Reads the frames of a thread, innermost first. `before` are the frames of an earlier call. Most
 * of them are usually still in use, so their memory is read with one call of the kernel. They only
 * save time; the result is the same without them. */
size_t ntk_python_stack(const struct ntk_python *python, const struct ntk_host_memory *memory,
                        const struct ntk_python_thread *thread,
                        const struct ntk_python_frame *before, size_t before_count,
                        struct ntk_python_scratch *scratch,
                        struct ntk_python_frame out_frames[NTK_PYTHON_FRAMES_MAX]);
/* Reads a compact str of the process; "" for any other object. The text is UTF-8, not cleaned. */
void ntk_python_text(const struct ntk_python *python, const struct ntk_host_memory *memory,
                     uint64_t address, char out[NTK_PYTHON_TEXT_BYTES]);
/* Reads the state of the main interpreter's lock. */
bool ntk_python_gil(const struct ntk_python *python, const struct ntk_host_memory *memory,
                    struct ntk_python_gil *out);

#endif

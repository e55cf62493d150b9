/* SPDX-License-Identifier: MIT */
/*
 * bpf_python - the part of the BPF program (hostwork.bpf.c) that reads Python frames, in the moment
 * of a sample or at the begin of a wait.
 *
 * It is a header, because tests compile it for the machine. The file that includes it defines
 * NTK_HOST_BPF_READ(out, bytes, address), which reads memory of the process and returns 0 on
 * success. All loops have a fixed bound, as the kernel requires; python.h explains why data may be
 * inconsistent.
 */
#ifndef NTK_SHARED_HOSTWORK_BPF_PYTHON_H
#define NTK_SHARED_HOSTWORK_BPF_PYTHON_H

#include "shared/hostwork/bpf_events.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#ifdef NTK_HOST_BPF_READ

/* A word of a part of a struct, at an offset in bytes. The remainder only proves to the kernel that
 * the position is inside; python_offsets.c checks offsets. */
#define PYTHON_MEMBER(part, offset) \
    ((part)[(offset) / 8 % NTK_HOST_BPF_PART_WORDS] >> (offset) % 8 * 8)

static __always_inline uint64_t python_word(uint64_t address)
{
    uint64_t value = 0;

    return address != 0 && NTK_HOST_BPF_READ(&value, sizeof value, address) == 0 ? value : 0;
}

/* The tid of the thread with that state, in the namespace of the process; 0 if unknown. */
static __always_inline uint32_t python_tid_of(const struct ntk_host_bpf_interpreter *interpreter,
                                              uint64_t state)
{
    const struct ntk_python *python = &interpreter->python;
    uint64_t native = state != 0 ? python_word(state + python->offsets.thread_native) : 0;
    uint32_t tid = 0;

    if (python->offsets.thread_has_native) {
        return (uint32_t)native;
    }
    if (native == 0 || python->tid_at == 0 ||
        NTK_HOST_BPF_READ(&tid, sizeof tid, native + python->tid_at) != 0) {
        return 0;
    }
    return tid;
}

/* The state of a thread; 0 if it is not one of the newest threads. New ones come first. */
static __always_inline uint64_t python_state_of(const struct ntk_host_bpf_interpreter *interpreter,
                                                uint32_t tid)
{
    uint64_t state = python_word(interpreter->threads);

    for (uint32_t i = 0; i < NTK_HOST_BPF_STATES && state != 0 && tid != 0; i++) {
        if (python_tid_of(interpreter, state) == tid) {
            return state;
        }
        state = python_word(state + interpreter->python.offsets.thread_next);
    }
    return 0;
}

/* ---- for which waits frames are read ---- */

static __always_inline bool python_has_room(const struct ntk_host_bpf_waiting *wait,
                                            const struct ntk_host_bpf_tick *tick)
{
    return wait->pythons_read < NTK_HOST_BPF_THREAD_PYTHONS &&
           tick->pythons < NTK_HOST_BPF_CPU_PYTHONS;
}

/* Whether the state of the thread is needed at the begin of this wait. If a limit prevents it, sets
 * is_skipped, except for a thread without Python frames, which lacks nothing. */
static __always_inline bool python_is_due(struct ntk_host_bpf_waiting *wait,
                                          const struct ntk_host_bpf_tick *tick)
{
    bool has_room;

    if (wait->pythons_tick != tick->number) {
        wait->pythons_tick = tick->number;
        wait->pythons_read = 0;
        wait->searches = 0;
    }
    has_room = python_has_room(wait, tick);
    if (wait->thread == NTK_HOST_BPF_THREAD_PYTHON) {
        wait->is_skipped = !has_room;
        return has_room;
    }
    return wait->searches < NTK_HOST_BPF_THREAD_SEARCHES &&
           (has_room || wait->thread == NTK_HOST_BPF_THREAD_UNKNOWN);
}

/* The same for its frames, once it is known whether the thread has a state. Counts the wait. */
static __always_inline bool python_is_read(struct ntk_host_bpf_waiting *wait,
                                           struct ntk_host_bpf_tick *tick, bool has_state)
{
    wait->thread = has_state ? NTK_HOST_BPF_THREAD_PYTHON : NTK_HOST_BPF_THREAD_NATIVE;
    if (!has_state) {
        wait->searches++;
        return false;
    }
    if (!python_has_room(wait, tick)) {
        wait->is_skipped = 1;
        return false;
    }
    wait->pythons_read++;
    tick->pythons++;
    return true;
}

/* ---- frames ---- */

/* Reads a frame, and moves *address to its caller; returns false if it is unreadable. `part` is
 * working memory: reading all members with one call takes much less time. */
static __always_inline bool python_frame(const struct ntk_python *python, uint64_t *address,
                                         uint64_t part[NTK_HOST_BPF_PART_WORDS],
                                         struct ntk_host_bpf_frame *out)
{
    const struct ntk_python_offsets *offsets = &python->offsets;
    uint32_t start = python->frame.start;
    uint32_t bytes = python->frame.bytes;

    if (*address == 0 || bytes > NTK_PYTHON_PART_MAX ||
        NTK_HOST_BPF_READ(part, bytes, *address + start) != 0) {
        return false;
    }
    *address = PYTHON_MEMBER(part, offsets->frame_previous - start);
    out->code = PYTHON_MEMBER(part, offsets->frame_code - start);
    if (offsets->frame_has_owner &&
        (uint8_t)PYTHON_MEMBER(part, offsets->frame_owner - start) == NTK_PYTHON_OWNED_BY_C_STACK) {
        out->code = 0;
    }
    return true;
}

/* Fills the members of a frame that come from its code object. */
static __always_inline void python_function(const struct ntk_python *python,
                                            uint64_t part[NTK_HOST_BPF_PART_WORDS],
                                            struct ntk_host_bpf_frame *frame)
{
    const struct ntk_python_offsets *offsets = &python->offsets;
    uint32_t start = python->code.start;
    uint32_t bytes = python->code.bytes;

    frame->name = 0;
    frame->file = 0;
    frame->line = 0;
    if (frame->code != 0 && bytes <= NTK_PYTHON_PART_MAX &&
        NTK_HOST_BPF_READ(part, bytes, frame->code + start) == 0) {
        frame->name = PYTHON_MEMBER(part, offsets->code_name - start);
        frame->file = PYTHON_MEMBER(part, offsets->code_file - start);
        frame->line = (uint32_t)PYTHON_MEMBER(part, offsets->code_line - start);
    }
}

/* Reads the frames of a thread with that state, innermost first. Returns their number. */
static __always_inline uint64_t python_frames(const struct ntk_host_bpf_interpreter *interpreter,
                                              uint64_t state, struct ntk_host_bpf_python *out)
{
    const struct ntk_python *python = &interpreter->python;
    uint64_t address = state != 0 ? python_word(state + python->offsets.thread_frame) : 0;
    uint64_t count = 0;

    if (python->offsets.frame_is_indirect && address != 0) {
        address = python_word(address + python->offsets.frame_of_indirect);
    }
    for (uint32_t i = 0; i < NTK_PYTHON_FRAMES_MAX; i++) {
        struct ntk_host_bpf_frame *frame = &out->frames[i];
        if (!python_frame(python, &address, out->part, frame)) {
            break;
        }
        /* Wrappers make stacks in which the same few functions follow one another. */
        if (i >= 1 && frame[-1].code == frame->code) {
            *frame = frame[-1];
        } else if (i >= 2 && frame[-2].code == frame->code) {
            *frame = frame[-2];
        } else if (i >= 3 && frame[-3].code == frame->code) {
            *frame = frame[-3];
        } else {
            python_function(python, out->part, frame);
        }
        count = i + 1;
    }
    return count;
}

#endif
#endif

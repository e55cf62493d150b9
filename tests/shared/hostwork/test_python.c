/* SPDX-License-Identifier: MIT */
/*
 * Method: a fake interpreter with bytes at the offsets of each version, and the same bytes damaged.
 * For real interpreters see causes.sh and pythons.sh.
 */
#include "shared/hostwork/python.h"

#include <string.h>

#include "shared/hostwork/bpf_events.h"
#include "tests/support/unit.h"

#define BASE UINT64_C(0x7f0000000000)
#include "tests/shared/hostwork/python_image.h"
#define DEEP 100u
#define DEEP_FRAMES 0x20000u
#define DEEP_CODES 0x40000u

static size_t read_count;

static size_t read_image(void *ctx, const struct ntk_host_range *ranges, size_t count, void *out)
{
    size_t done = 0;

    read_count++;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = ranges[i].address - BASE;
        if (ranges[i].address < BASE || at > SIZE || SIZE - at < ranges[i].bytes) {
            break;
        }
        memcpy((uint8_t *)out + done, image + at, ranges[i].bytes);
        done += ranges[i].bytes;
    }
    return done;
}

static const struct ntk_host_memory memory = { read_image, NULL };

/* The part of the BPF program that reads frames, with the same memory. */
static int read_for_bpf(void *out, size_t bytes, uint64_t address)
{
    const struct ntk_host_range range = { address, bytes };

    return read_image(NULL, &range, 1, out) == bytes ? 0 : -1;
}
#define NTK_HOST_BPF_READ(out, bytes, address) read_for_bpf(out, bytes, address)
#include "shared/hostwork/bpf_python.h"

static void begin_of(uint32_t minor, struct ntk_python *python)
{
    memset(image, 0, sizeof image);
    assert_true(ntk_python_init(python, minor, BASE, &memory));
    make(&python->offsets);
}

static struct ntk_python_scratch scratch;

static size_t threads_of(const struct ntk_python *python, struct ntk_python_thread *out,
                         size_t out_count)
{
    static struct ntk_python_thread threads[NTK_PYTHON_THREADS_MAX];
    size_t count = ntk_python_threads(python, &memory, 0, &scratch, threads);

    memcpy(out, threads, (count < out_count ? count : out_count) * sizeof *out);
    return count;
}

/* Names and files of the frames with a function. */
struct named {
    char name[NTK_PYTHON_TEXT_BYTES];
    char file[NTK_PYTHON_TEXT_BYTES];
    uint32_t line;
};

static size_t stack_of(const struct ntk_python *python, const struct ntk_python_thread *thread,
                       struct named *out, size_t out_count)
{
    static struct ntk_python_frame frames[NTK_PYTHON_FRAMES_MAX];
    size_t named = 0;

    scratch.round++;
    size_t count = ntk_python_stack(python, &memory, thread, NULL, 0, &scratch, frames);
    for (size_t i = 0; i < count && named < out_count; i++) {
        if (frames[i].code != 0) {
            ntk_python_text(python, &memory, frames[i].name, out[named].name);
            ntk_python_text(python, &memory, frames[i].file, out[named].file);
            out[named].line = frames[i].line;
            named += out[named].name[0] != '\0';
        }
    }
    return named;
}

static void threads_and_frames_of_each_python_version_are_read(void **state)
{
    struct ntk_python_thread threads[4];
    struct named frames[8];
    struct ntk_python_gil gil;
    struct ntk_python python;
    uint64_t word;

    for (uint32_t minor = 10; minor <= 12; minor++) {
        begin_of(minor, &python);
        assert_int_equal(threads_of(&python, threads, 4), 2);
        assert_int_equal(threads[0].native, 4711);
        assert_int_equal(stack_of(&python, &threads[0], frames, 8), 2);
        assert_string_equal(frames[0].name, "load");
        assert_string_equal(frames[0].file, "/job/loader.py");
        assert_int_equal(frames[0].line, 12);
        assert_string_equal(frames[1].name, "main");
        assert_int_equal(stack_of(&python, &threads[1], frames, 8), 0);
        assert_true(ntk_python_gil(&python, &memory, &gil));
        assert_int_equal(gil.holder, BASE + OTHER_THREAD);
        assert_true(gil.end > gil.start);
        assert_false(gil.is_collecting);
        /* The BPF program reads both words itself. */
        memcpy(&word, image + (gil.holder_at - BASE), sizeof word);
        assert_int_equal(word, BASE + OTHER_THREAD);
        image[gil.collecting_at - BASE] = 1;
        assert_true(ntk_python_gil(&python, &memory, &gil));
        assert_true(gil.is_collecting);
    }
}

static void python_versions_without_known_offsets_are_rejected(void **state)
{
    struct ntk_python python;

    memset(image, 0, sizeof image);
    assert_false(ntk_python_init(&python, 9, BASE, &memory));
    assert_false(ntk_python_init(&python, 14, BASE, &memory));
    assert_false(ntk_python_init(&python, 4000000000u, BASE, &memory));
}

static void an_invalid_offset_table_of_the_interpreter_is_rejected(void **state)
{
    struct ntk_python python;

    memset(image, 0, sizeof image);
    memcpy(image, "xdebugpy", 8);
    put(8, 0x030d00f0);
    assert_true(ntk_python_init(&python, 13, BASE, &memory));
    put(184, UINT64_MAX); /* an offset beyond any struct */
    assert_false(ntk_python_init(&python, 13, BASE, &memory));
    put(184, 4096); /* too far from the other members */
    assert_false(ntk_python_init(&python, 13, BASE, &memory));
    put(184, 0);
    put(8, 0x030e00f0); /* the table of another version */
    assert_false(ntk_python_init(&python, 13, BASE, &memory));
    put(8, 0x030d00f0);
    image[0] = 'y';
    assert_false(ntk_python_init(&python, 13, BASE, &memory));
}

static void circular_thread_and_frame_lists_are_limited(void **state)
{
    static struct ntk_python_thread threads[NTK_PYTHON_THREADS_MAX];
    static struct named frames[NTK_PYTHON_FRAMES_MAX];
    struct ntk_python python;

    begin_of(11, &python);
    put(OTHER_THREAD + python.offsets.thread_next, BASE + THREAD);
    put(INTERPRETER + python.offsets.interpreter_next, BASE + INTERPRETER);
    put(OUTER_FRAME + python.offsets.frame_previous, BASE + FRAME);
    size_t count = threads_of(&python, threads, NTK_PYTHON_THREADS_MAX);
    assert_int_equal(count, NTK_PYTHON_THREADS_MAX);
    count = stack_of(&python, &threads[0], frames, NTK_PYTHON_FRAMES_MAX);
    assert_int_equal(count, NTK_PYTHON_FRAMES_MAX);
}

static void strings_with_wrong_lengths_are_truncated(void **state)
{
    struct ntk_python_thread threads[2];
    struct named frames[8];
    struct ntk_python python;

    begin_of(11, &python);
    put(NAME + python.offsets.text_length, UINT64_MAX);
    put(OUTER_NAME + python.offsets.text_length, 300);
    memset(image + OUTER_NAME + python.offsets.text_ascii, 'a', 300);
    (void)threads_of(&python, threads, 2);
    assert_int_equal(stack_of(&python, &threads[0], frames, 8), 1);
    assert_int_equal(strlen(frames[0].name), NTK_PYTHON_TEXT_BYTES - 1);
}

static void wide_strings_are_utf8(void **state)
{
    const uint16_t wide[] = { 0x6570, 0x636e };
    uint32_t kind = 2u << 2 | 1u << 5;
    struct ntk_python_thread thread;
    struct named frame;
    struct ntk_python python;

    begin_of(12, &python);
    memcpy(image + NAME + python.offsets.text_state, &kind, sizeof kind);
    put(NAME + python.offsets.text_length, 2);
    memcpy(image + NAME + python.offsets.text_compact, wide, sizeof wide);
    (void)threads_of(&python, &thread, 1);
    assert_int_equal(stack_of(&python, &thread, &frame, 1), 1);
    assert_string_equal(frame.name, "\xe6\x95\xb0\xe6\x8d\xae");
}

/* Method: a thread with a hundred frames, each with a code object. */
static void put_deep_stack(const struct ntk_python *python)
{
    const struct ntk_python_offsets *offsets = &python->offsets;

    for (size_t i = 0; i < DEEP; i++) {
        size_t frame = DEEP_FRAMES + i * 96;
        size_t code = DEEP_CODES + i * 160;
        put(frame + offsets->frame_previous, i + 1 < DEEP ? BASE + frame + 96 : 0);
        put(frame + offsets->frame_code, BASE + code);
        put(code + offsets->code_name, BASE + NAME);
        put(code + offsets->code_file, BASE + FILE_NAME);
        image[code + offsets->code_line] = (uint8_t)i;
    }
    put(INDIRECT + offsets->frame_of_indirect, BASE + DEEP_FRAMES);
}

static void frames_of_an_earlier_sample_save_reads_and_change_nothing(void **state)
{
    static struct ntk_python_frame before[NTK_PYTHON_FRAMES_MAX];
    static struct ntk_python_frame frames[NTK_PYTHON_FRAMES_MAX];
    struct ntk_python_thread thread;
    struct ntk_python python;

    begin_of(11, &python);
    put_deep_stack(&python);
    (void)threads_of(&python, &thread, 1);
    scratch.round++;
    assert_int_equal(ntk_python_stack(&python, &memory, &thread, NULL, 0, &scratch, before), DEEP);
    /* One frame now has the function of its caller, and another one has returned. */
    put(DEEP_FRAMES + 96 * 7 + python.offsets.frame_code, BASE + DEEP_CODES + 160 * 8);
    put(DEEP_FRAMES + 96 * 20 + python.offsets.frame_previous, BASE + DEEP_FRAMES + 96 * 22);
    scratch.round++;
    read_count = 0;
    assert_int_equal(ntk_python_stack(&python, &memory, &thread, before, DEEP, &scratch, frames),
                     DEEP - 1);
    assert_true(read_count <= 2);
    assert_int_equal(frames[6].line, 6);
    assert_int_equal(frames[7].line, 8);
    assert_int_equal(frames[8].line, 8);
    assert_int_equal(frames[20].line, 20);
    assert_int_equal(frames[21].line, 22);
    assert_int_equal(frames[DEEP - 2].line, DEEP - 1);
}

static void threads_of_an_earlier_sample_save_reads_and_change_nothing(void **state)
{
    static struct ntk_python_thread threads[NTK_PYTHON_THREADS_MAX];
    struct ntk_python python;

    begin_of(11, &python);
    assert_int_equal(ntk_python_threads(&python, &memory, 0, &scratch, threads), 2);
    put(THREAD + python.offsets.thread_native, 4713);
    read_count = 0;
    assert_int_equal(ntk_python_threads(&python, &memory, 2, &scratch, threads), 2);
    assert_int_equal(threads[0].native, 4713);
    assert_int_equal(threads[1].native, 4712);
    size_t with = read_count;
    threads[0].address = UINT64_MAX;
    read_count = 0;
    assert_int_equal(ntk_python_threads(&python, &memory, 2, &scratch, threads), 2);
    assert_int_equal(threads[0].address, BASE + THREAD);
    assert_int_equal(threads[1].native, 4712);
    assert_int_equal(read_count, with + 2);
}

static void unreadable_earlier_frames_are_ignored(void **state)
{
    static struct ntk_python_frame before[NTK_PYTHON_FRAMES_MAX];
    static struct ntk_python_frame frames[NTK_PYTHON_FRAMES_MAX];
    struct ntk_python_thread thread;
    struct ntk_python python;

    begin_of(11, &python);
    put_deep_stack(&python);
    (void)threads_of(&python, &thread, 1);
    for (size_t i = 0; i < NTK_PYTHON_FRAMES_MAX; i++) {
        before[i].address = i % 3 == 0 ? UINT64_MAX - i : i % 3 == 1 ? BASE - i : BASE + SIZE;
    }
    before[0].address = BASE + DEEP_FRAMES;
    scratch.round++;
    assert_int_equal(ntk_python_stack(&python, &memory, &thread, before, NTK_PYTHON_FRAMES_MAX,
                                      &scratch, frames),
                     DEEP);
    for (uint32_t i = 0; i < DEEP; i++) {
        assert_int_equal(frames[i].line, i);
        assert_int_equal(frames[i].name, BASE + NAME);
    }
    /* A function that cannot be read is not shown. */
    put(DEEP_FRAMES + 96 * 5 + python.offsets.frame_code, 1);
    scratch.round++;
    assert_int_equal(ntk_python_stack(&python, &memory, &thread, frames, DEEP, &scratch, before),
                     DEEP);
    assert_int_equal(before[5].code, 0);
    assert_int_equal(before[6].line, 6);
}

/* ---- the BPF program ---- */

static struct ntk_host_bpf_python seen;

static uint64_t state_seen(const struct ntk_python *python, uint32_t tid)
{
    const struct ntk_host_bpf_interpreter interpreter = {
        .python = *python, .threads = BASE + INTERPRETER + python->offsets.interpreter_threads
    };

    return python_state_of(&interpreter, tid);
}

static uint64_t frames_seen(const struct ntk_python *python, uint64_t state)
{
    const struct ntk_host_bpf_interpreter interpreter = { .python = *python };

    memset(&seen, 0xff, sizeof seen);
    return python_frames(&interpreter, state, &seen);
}

static void the_bpf_program_finds_a_thread_and_its_frames_in_each_python_version(void **state)
{
    struct ntk_python python;

    for (uint32_t minor = 10; minor <= 12; minor++) {
        begin_of(minor, &python);
        if (!python.offsets.thread_has_native) {
            assert_int_equal(state_seen(&python, 4711), 0); /* the position is unknown */
            python.tid_at = 720;
            put(THREAD + python.offsets.thread_native, BASE + DESCRIPTOR);
            put(OTHER_THREAD + python.offsets.thread_native, BASE + DESCRIPTOR + 2048);
            put(DESCRIPTOR + 720, UINT64_C(77) << 32 | 4711);
            put(DESCRIPTOR + 2048 + 720, UINT64_C(77) << 32 | 4712);
        }
        assert_int_equal(state_seen(&python, 4711), BASE + THREAD);
        assert_int_equal(state_seen(&python, 4712), BASE + OTHER_THREAD);
        assert_int_equal(state_seen(&python, 4713), 0);
        assert_int_equal(state_seen(&python, 0), 0);
        assert_int_equal(frames_seen(&python, BASE + THREAD), 2);
        assert_int_equal(seen.frames[0].code, BASE + CODE);
        assert_int_equal(seen.frames[0].name, BASE + NAME);
        assert_int_equal(seen.frames[0].file, BASE + FILE_NAME);
        assert_int_equal(seen.frames[0].line, 12);
        assert_int_equal(seen.frames[1].code, BASE + OUTER_CODE);
        assert_int_equal(seen.frames[1].name, BASE + OUTER_NAME);
        assert_int_equal(seen.frames[1].line, 0);
        assert_int_equal(frames_seen(&python, BASE + OTHER_THREAD), 0);
        if (python.offsets.frame_has_owner) {
            image[FRAME + python.offsets.frame_owner] = NTK_PYTHON_OWNED_BY_C_STACK;
            assert_int_equal(frames_seen(&python, BASE + THREAD), 2);
            assert_int_equal(seen.frames[0].code, 0);
            assert_int_equal(seen.frames[0].name, 0);
        }
    }
}

static void the_bpf_program_reads_the_same_frames_as_the_command(void **state)
{
    static struct ntk_python_frame frames[NTK_PYTHON_FRAMES_MAX];
    struct ntk_python_thread thread;
    struct ntk_python python;

    begin_of(11, &python);
    put_deep_stack(&python);
    (void)threads_of(&python, &thread, 1);
    scratch.round++;
    assert_int_equal(ntk_python_stack(&python, &memory, &thread, NULL, 0, &scratch, frames), DEEP);
    assert_int_equal(frames_seen(&python, BASE + THREAD), DEEP);
    for (size_t i = 0; i < DEEP; i++) {
        assert_int_equal(seen.frames[i].code, frames[i].code);
        assert_int_equal(seen.frames[i].name, frames[i].name);
        assert_int_equal(seen.frames[i].file, frames[i].file);
        assert_int_equal(seen.frames[i].line, frames[i].line);
    }
}

static void garbage_does_not_keep_the_bpf_program(void **state)
{
    struct ntk_python python;

    begin_of(11, &python);
    put(OUTER_FRAME + python.offsets.frame_previous, BASE + FRAME);
    put(CODE + python.offsets.code_name, 1);
    assert_int_equal(frames_seen(&python, BASE + THREAD), NTK_PYTHON_FRAMES_MAX);
    put(OTHER_THREAD + python.offsets.thread_next, BASE + THREAD);
    read_count = 0;
    assert_int_equal(state_seen(&python, 4713), 0);
    assert_true(read_count <= 1 + 2 * NTK_HOST_BPF_STATES);
    put(OUTER_FRAME + python.offsets.frame_previous, UINT64_MAX - 8); /* unreadable */
    assert_int_equal(frames_seen(&python, BASE + THREAD), 2);
    put(FRAME + python.offsets.frame_code, BASE + SIZE); /* an unreadable function */
    assert_int_equal(frames_seen(&python, BASE + THREAD), 2);
    assert_int_equal(seen.frames[0].code, BASE + SIZE);
    assert_int_equal(seen.frames[0].name, 0);
    python.frame.bytes = UINT32_MAX;
    assert_int_equal(frames_seen(&python, BASE + THREAD), 0);
}

/* Whether the BPF program reads frames for a wait of the thread. */
static bool frames_read_for(struct ntk_host_bpf_waiting *wait, struct ntk_host_bpf_tick *tick,
                            bool has_state)
{
    wait->is_skipped = 0;
    return python_is_due(wait, tick) && python_is_read(wait, tick, has_state);
}

static void many_waits_of_a_python_thread_have_no_frames_and_are_counted(void **state)
{
    struct ntk_host_bpf_tick tick = { .number = 1 };
    struct ntk_host_bpf_waiting wait = { 0 };

    for (uint32_t i = 0; i < NTK_HOST_BPF_THREAD_PYTHONS; i++) {
        assert_true(frames_read_for(&wait, &tick, true));
        assert_false(wait.is_skipped);
    }
    assert_int_equal(tick.pythons, NTK_HOST_BPF_THREAD_PYTHONS);
    assert_false(frames_read_for(&wait, &tick, true));
    assert_true(wait.is_skipped);
    tick = (struct ntk_host_bpf_tick){ .number = 2 };
    assert_true(frames_read_for(&wait, &tick, true));
    tick.pythons = NTK_HOST_BPF_CPU_PYTHONS; /* because of other threads */
    assert_false(frames_read_for(&wait, &tick, true));
    assert_true(wait.is_skipped);
    (void)state;
}

static void waits_of_a_native_thread_lack_no_frames_and_use_up_no_limit(void **state)
{
    struct ntk_host_bpf_tick tick = { .number = 1 };
    struct ntk_host_bpf_waiting wait = { 0 };
    uint32_t searches = 0;

    for (uint32_t i = 0; i < 2 * NTK_HOST_BPF_THREAD_PYTHONS; i++) {
        wait.is_skipped = 0;
        if (python_is_due(&wait, &tick)) {
            searches++;
            assert_false(python_is_read(&wait, &tick, false));
        }
        assert_false(wait.is_skipped);
    }
    assert_int_equal(searches, NTK_HOST_BPF_THREAD_SEARCHES);
    assert_int_equal(tick.pythons, 0);
    tick = (struct ntk_host_bpf_tick){ .number = 2, .pythons = NTK_HOST_BPF_CPU_PYTHONS };
    assert_false(frames_read_for(&wait, &tick, false));
    assert_false(wait.is_skipped);
    (void)state;
}

static void a_native_thread_that_enters_the_interpreter_gets_frames(void **state)
{
    struct ntk_host_bpf_tick tick = { .number = 1 };
    struct ntk_host_bpf_waiting wait = { 0 };

    for (uint32_t i = 0; i < NTK_HOST_BPF_THREAD_SEARCHES; i++) {
        assert_false(frames_read_for(&wait, &tick, false));
    }
    assert_false(frames_read_for(&wait, &tick, true)); /* not searched again in this interval */
    tick.number++;
    assert_true(frames_read_for(&wait, &tick, true));
    (void)state;
}

static void a_thread_that_is_new_at_the_limit_is_counted_only_if_it_has_python_frames(void **state)
{
    struct ntk_host_bpf_tick tick = { .number = 1, .pythons = NTK_HOST_BPF_CPU_PYTHONS };
    struct ntk_host_bpf_waiting native = { 0 };
    struct ntk_host_bpf_waiting python = { 0 };

    assert_false(frames_read_for(&native, &tick, false));
    assert_false(native.is_skipped);
    assert_false(frames_read_for(&python, &tick, true));
    assert_true(python.is_skipped);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_frames_of_each_python_version_are_read),
        cmocka_unit_test(python_versions_without_known_offsets_are_rejected),
        cmocka_unit_test(an_invalid_offset_table_of_the_interpreter_is_rejected),
        cmocka_unit_test(circular_thread_and_frame_lists_are_limited),
        cmocka_unit_test(strings_with_wrong_lengths_are_truncated),
        cmocka_unit_test(wide_strings_are_utf8),
        cmocka_unit_test(frames_of_an_earlier_sample_save_reads_and_change_nothing),
        cmocka_unit_test(threads_of_an_earlier_sample_save_reads_and_change_nothing),
        cmocka_unit_test(unreadable_earlier_frames_are_ignored),
        cmocka_unit_test(the_bpf_program_finds_a_thread_and_its_frames_in_each_python_version),
        cmocka_unit_test(the_bpf_program_reads_the_same_frames_as_the_command),
        cmocka_unit_test(garbage_does_not_keep_the_bpf_program),
        cmocka_unit_test(many_waits_of_a_python_thread_have_no_frames_and_are_counted),
        cmocka_unit_test(waits_of_a_native_thread_lack_no_frames_and_use_up_no_limit),
        cmocka_unit_test(a_native_thread_that_enters_the_interpreter_gets_frames),
        cmocka_unit_test(a_thread_that_is_new_at_the_limit_is_counted_only_if_it_has_python_frames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

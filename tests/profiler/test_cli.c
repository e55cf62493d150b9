/* SPDX-License-Identifier: MIT */
/*
 * Method: runs the program as a user does, in a scratch folder that is also the hooks folder; a
 * NEFF that adds, captured on a software core and read back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/analysis/summary.h"
#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/ntff/ntff.h"
#include "tests/support/models.h"
#include "tests/support/ntff_sample.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct fixture {
    char *folder;
    char *neff, *ntff, *sample, *broken;
    char hooks[4200];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ntff_sample sample = { .version = 5 };
    struct ntk_buf file = { 0 };
    size_t neff_bytes = 0;
    uint8_t *neff = test_model_adder(&(struct test_model_options){ 0 }, &neff_bytes);

    f->folder = test_scratch_create();
    f->neff = test_scratch_path(f->folder, "adder.neff");
    f->ntff = test_scratch_path(f->folder, "adder.ntff");
    f->sample = test_scratch_path(f->folder, "sample.ntff");
    f->broken = test_scratch_path(f->folder, "broken.ntff");
    snprintf(f->hooks, sizeof f->hooks, "NEURON_HOOKS_DIR=%s", f->folder);
    assert_int_equal(ntk_fs_write(f->neff, neff, neff_bytes, NULL), 0);
    ntff_sample_build(&sample, &file);
    assert_int_equal(ntk_fs_write(f->sample, file.bytes, file.bytes_count, NULL), 0);
    assert_int_equal(ntk_fs_write(f->broken, file.bytes, file.bytes_count - 100, NULL), 0);
    ntk_buf_fini(&file);
    free(neff);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    test_scratch_destroy(f->folder);
    free(f->neff);
    free(f->ntff);
    free(f->sample);
    free(f->broken);
    free(f);
    return 0;
}

static struct test_run run_with(const struct fixture *f, const char *const *arguments,
                                const char *extra)
{
    const char *argv[24] = { "neuron-profile" };
    const char *environment[] = { f->hooks, "NEURON_LIBNRT=", extra, NULL };
    size_t count = 1;

    while (*arguments && count < 23) {
        argv[count++] = *arguments++;
    }
    return test_run_program(argv, environment);
}

#define RUN(f, ...) run_with((f), (const char *const[]){ __VA_ARGS__, NULL }, NULL)

/* The exit code, and one message on stderr that contains the text. */
static void expect(struct test_run run, int exit_code, const char *text)
{
    if (run.exit_code != exit_code || !strstr(run.err, text)) {
        fail_msg("exit code %d (wanted %d), stderr: %s", run.exit_code, exit_code, run.err);
    }
    test_run_fini(&run);
}

static void usage_errors_print_one_line_and_exit_with_2(void **state)
{
    struct fixture *f = *state;

    expect(RUN(f, "frobnicate"), 2,
           "unknown command 'frobnicate': use capture, view, query, analyze, lines, diff, "
           "baseline, show-session, inspect, trigger");
    expect(run_with(f, (const char *const[]){ NULL }, NULL), 2, "no command");
    expect(RUN(f, "view"), 2, "no capture: use -s FILE");
    expect(RUN(f, "view", "-s", f->sample, "--output-format", "xml"), 2,
           "invalid value 'xml' for --output-format");
    expect(RUN(f, "view", "-s", f->sample, "more"), 2, "unexpected argument 'more'");
    expect(RUN(f, "view", "--frobnicate"), 2, "frobnicate");
    expect(RUN(f, "show-session"), 2, "no capture: use -s FILE");
    expect(RUN(f, "capture", "-n", f->neff, "x"), 2, "missing file for input 'x'");
    expect(RUN(f, "capture", "-n", f->neff, "--num-exec", "0"), 2, "--num-exec");
    expect(RUN(f, "capture", "-n", f->neff, "--profile-nth-exec", "two"), 2, "--profile-nth-exec");
    expect(RUN(f, "capture", "-n", f->neff, "-t", "other"), 2,
           "invalid value 'other' for -t: expected profile or systrace");
}

static void help_is_printed_on_stdout(void **state)
{
    struct fixture *f = *state;
    static const char *const commands[] = { "capture", "view", "show-session" };

    for (size_t i = 0; i < 3; i++) {
        struct test_run run = RUN(f, commands[i], "--help");
        assert_int_equal(run.exit_code, 0);
        assert_non_null(strstr(run.out, "--session-file"));
        assert_string_equal(run.err, "");
        test_run_fini(&run);
    }
}

static void invalid_files_print_one_message_and_exit_with_1(void **state)
{
    struct fixture *f = *state;
    char *blocked = test_scratch_path(f->folder, "adder.neff/profiles"); /* below a file */

    expect(RUN(f, "view", "-s", "/nonexistent.ntff"), 1, "/nonexistent.ntff");
    expect(RUN(f, "show-session", "-s", f->folder), 1, "is a folder");
    expect(RUN(f, "view", "-s", f->neff), 1,
           ".neff is a NEFF, not a capture (NTFF): pass it with -n\n");
    expect(RUN(f, "view", "-s", f->sample, "-n", f->sample), 1,
           ".ntff is a capture (NTFF), not a NEFF\n");
    expect(RUN(f, "view", "-s", f->sample, "-n", f->neff), 1, "do not match");
    expect(RUN(f, "show-session", "-s", f->sample, "-n", f->neff), 1, "do not match");
    expect(RUN(f, "view", "-s", f->sample, "--output-file", "/nonexistent/x"), 1, "/nonexistent/x");
    expect(RUN(f, "capture", "-n", "/nonexistent.neff", "-s", f->ntff), 1, "/nonexistent.neff");
    expect(RUN(f, "capture", "-n", f->sample, "-s", f->ntff), 1,
           "sample.ntff is a capture (NTFF), not a NEFF\n");
    expect(RUN(f, "capture", "-s", f->ntff), 2,
           "no NEFF: use -n FILE (the default, file.neff, is missing from this folder)");
    expect(RUN(f, "inspect", "-o", blocked, "true"), 1,
           ": Not a directory; choose another folder with -o");
    expect(RUN(f, "capture", "-n", f->neff, "-s", f->ntff, "nosuch", f->neff), 1,
           "no input named 'nosuch'");
    expect(RUN(f, "capture", "-n", f->neff, "-s", f->ntff, "x", f->sample), 1,
           "but input 'x' requires");
    expect(RUN(f, "capture", "-n", f->neff, "-s", "/nonexistent/x.ntff"), 1, "/nonexistent/x.ntff");
    expect(run_with(f, (const char *const[]){ "capture", "-n", f->neff, "-s", f->ntff, NULL },
                    "NEURON_LIBNRT=/nonexistent.so"),
           1, "NEURON_LIBNRT");
    assert_int_equal(access(f->ntff, F_OK), -1);
    free(blocked);
}

static void put(const struct fixture *f, const char *name, const void *bytes, size_t count)
{
    char *path = test_scratch_path(f->folder, name);

    assert_int_equal(ntk_fs_write(path, bytes, count, NULL), 0);
    free(path);
}

/* Method: the first bytes of such files, ours and the vendor's, under their own name and under
 * others. */
static void opening_a_system_trace_file_suggests_option_d(void **state)
{
    static const uint8_t ours[] = "\x08\x01\x12\x0fnc_exec_running";
    static const uint8_t vendors[] = "\x4f\x00\x00\x00\x10\x83\xcf\xb5\xc6\xe6\xc7\xf3\xcd\x18";
    static const uint8_t vendors_info[] = "\x08\x02\x10\x87\xc6\x2b\x22\x13i-0";
    struct fixture *f = *state;
    static const struct {
        const char *name;
        const uint8_t *bytes;
        size_t count;
    } files[] = { { "ntrace.pb", (const uint8_t *)"", 0 },
                  { "trace_info.pb", ours, 3 },
                  { "ours.trace", ours, sizeof ours },
                  { "theirs.trace", vendors, sizeof vendors },
                  { "theirs.info", vendors_info, sizeof vendors_info } };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = test_scratch_path(f->folder, files[i].name);

        put(f, files[i].name, files[i].bytes, files[i].count);
        expect(RUN(f, "show-session", "-s", path), 1, "is part of a system trace");
        expect(RUN(f, "view", path), 1, "pass its folder with -d");
        free(path);
    }
    put(f, "other.ntff", "\x08no capture at all, and no trace", 32);
    char *other = test_scratch_path(f->folder, "other.ntff");
    expect(RUN(f, "show-session", "-s", other), 1, "not an NTFF capture");
    free(other);
    expect(RUN(f, "show-session", "-s", f->neff), 1, "is a NEFF, not a capture");
}

static void a_truncated_capture_is_shown_with_a_warning(void **state)
{
    struct fixture *f = *state;
    struct test_run run = RUN(f, "show-session", "-s", f->broken);

    assert_int_equal(run.exit_code, 1);
    assert_non_null(strstr(run.err, "the file ends inside the "));
    assert_non_null(strstr(run.out, "MATMUL"));
    test_run_fini(&run);
}

/* The number of bytes up to the middle of the records of this type. */
static size_t middle_of(const struct ntk_buf *file, uint32_t type)
{
    struct ntk_ntff *ntff;
    size_t bytes_count = 0;

    assert_int_equal(ntk_ntff_open_bytes(file->bytes, file->bytes_count, &ntff, NULL), 0);
    for (size_t s = 0; s < ntff->subgraphs[0].section_count; s++) {
        const struct ntk_ntff_section *section = &ntff->subgraphs[0].sections[s];
        if (section->block == NTK_NTFF_BLOCK_CORE && section->type == type) {
            bytes_count = (size_t)(section->records - (const uint8_t *)file->bytes) +
                          section->record_count / 2 * 16;
        }
    }
    ntk_ntff_close(ntff);
    assert_true(bytes_count > 0);
    return bytes_count;
}

/* Half of the instructions are lost: their totals are unknown, not smaller. */
static void a_summary_does_not_sum_truncated_records(void **state)
{
    static const char *const lost[] = { "tensor_engine_instruction_count", "trace_count",
                                        "total_active_time", "hardware_flops" };
    struct fixture *f = *state;
    struct ntff_sample sample = { .version = 5 };
    struct ntk_buf file = { 0 };

    ntff_sample_build(&sample, &file);
    assert_int_equal(
        ntk_fs_write(f->broken, file.bytes, middle_of(&file, NTK_NTFF_SECTION_INSTRUCTION), NULL),
        0);
    ntk_buf_fini(&file);
    struct test_run whole = RUN(f, "view", "-s", f->sample, "--output-format", "summary-json");
    struct test_run cut = RUN(f, "view", "-s", f->broken, "--output-format", "summary-json");
    assert_int_equal(whole.exit_code, 0);
    assert_int_equal(cut.exit_code, 1);
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        assert_non_null(strstr(whole.out, lost[i]));
        assert_null(strstr(cut.out, lost[i]));
    }
    assert_non_null(strstr(cut.out, "instance_type"));
    test_run_fini(&whole);
    test_run_fini(&cut);
}

static void a_capture_without_a_neff_uuid_is_shown_with_a_warning(void **state)
{
    static const uint8_t uuid[16] = { 0 }; /* an empty uuid */
    struct fixture *f = *state;
    struct ntff_sample sample = { .version = 6, .uuid = uuid, .is_uuid_once = true };
    struct ntk_buf file = { 0 };
    char *path = test_scratch_path(f->folder, "nameless.ntff");

    ntff_sample_build(&sample, &file);
    assert_int_equal(ntk_fs_write(path, file.bytes, file.bytes_count, NULL), 0);
    struct test_run run = RUN(f, "show-session", "-s", path, "-n", f->neff);
    if (run.exit_code != 0) {
        fail_msg("show-session: %s", run.err);
    }
    assert_non_null(strstr(run.out, "MATMUL"));
    char *warning = strstr(run.err, "does not name its NEFF");
    assert_non_null(warning);
    assert_string_equal(strchr(warning, '\n'), "\n");
    test_run_fini(&run);
    free(path);
    ntk_buf_fini(&file);
}

static void single_instructions_and_records_are_listed(void **state)
{
    struct fixture *f = *state;
    struct test_run run = RUN(f, "show-session", "-s", f->sample, "-i");

    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.out,
                           "OPCODE\n0     Tensor         0               0              1"
                           "            0  NOTIFY  hint=0 notification=EXPLICIT  trace=START \n"));
    assert_non_null(strstr(run.out,
                           "0     Tensor         1           10000          20000"
                           "           12  MATMUL  acc_flags=0 src=bfloat16@0x0[0,0,0][512,1,1] "
                           "dst=0x2000000[0,0,0][512,1,1] 128*128 \n"));
    test_run_fini(&run);
    run = RUN(f, "show-session", "-s", f->sample, "--show-trace");
    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.out, "  CHANGE          GpSimd   semaphore 3 sem_inc = 1\n"));
    assert_non_null(
        strstr(run.out, "  CHANGE          DMA      semaphore 4 sem_wr_imm = 7 (bit 30)\n"));
    assert_non_null(strstr(run.out, "  THROTTLE        type 1, limit 4/8\n"));
    assert_null(strstr(run.out, "M2S_SOP"));
    test_run_fini(&run);
    run = RUN(f, "show-session", "-s", f->sample, "--show-dma", "-e", "-n", f->neff);
    assert_int_equal(run.exit_code, 1); /* another NEFF */
    test_run_fini(&run);
    run = RUN(f, "show-session", "-s", f->sample, "--show-dma", "-e");
    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.out, "  M2S_SOP         Q0-E64\n"));
    assert_non_null(strstr(run.out, "  S2M_EOP         Q0-E64  512 bytes, crc 0x5555\n"));
    assert_null(strstr(run.out, "CHANGE"));
    test_run_fini(&run);
    expect(RUN(f, "show-session", "-s", f->sample, "-i", "-j"), 2, "can list only errors");
}

static void output_is_written_to_the_given_file(void **state)
{
    struct fixture *f = *state;
    char *path = test_scratch_path(f->folder, "out.json");
    struct test_run run =
        RUN(f, "view", "-s", f->sample, "--output-format", "summary-json", "--output-file", path);
    uint8_t *bytes = NULL;
    size_t bytes_count = 0;

    assert_int_equal(run.exit_code, 0);
    assert_string_equal(run.out, "");
    assert_int_equal(ntk_fs_read(path, 1 << 20, &bytes, &bytes_count, NULL), 0);
    assert_non_null(strstr((char *)bytes, "\"sample\": {"));
    assert_non_null(strstr((char *)bytes, "\"trace_count\": 17"));
    free(bytes);
    free(path);
    test_run_fini(&run);
}

static const struct ntk_summary_value *value_of(const struct ntk_summary *summary, const char *name)
{
    for (size_t i = 0; i < summary->value_count; i++) {
        if (strcmp(summary->values[i].name, name) == 0 && summary->values[i].is_present) {
            return &summary->values[i];
        }
    }
    fail_msg("%s is absent", name);
    return NULL;
}

static void a_neff_is_captured_and_read_back(void **state)
{
    struct fixture *f = *state;
    struct test_run run = RUN(f, "capture", "-n", f->neff, "-s", f->ntff);
    struct ntk_ntff *ntff = NULL;
    struct ntk_neff *neff = NULL;
    struct ntk_trace *trace = NULL;
    struct ntk_summary summary;
    struct ntk_err err = { 0 };

    if (run.exit_code != 0) {
        fail_msg("capture: %s", run.err);
    }
    assert_non_null(strstr(run.err, "neuron-profile: library /"));
    assert_non_null(strstr(run.out, f->ntff));
    test_run_fini(&run);

    assert_int_equal(ntk_ntff_open(f->ntff, &ntff, &err), 0);
    assert_int_equal(ntk_neff_open(f->neff, &neff, &err), 0);
    assert_int_equal(ntff->version, 6);
    assert_int_equal(ntff->warning_count, 0);
    assert_memory_equal(ntff->neff_uuid, neff->header.uuid, 16);
    assert_int_equal(ntk_trace_create_from_ntff(ntff, neff, NULL, NULL, &trace, &err), 0);
    assert_int_equal(trace->core_count, 1);
    const struct ntk_trace_core *core = &trace->cores[0];
    assert_true(core->instruction_count > 0);
    assert_int_equal(core->outside_window, 0);
    assert_int_equal(core->outside_code, 0);
    assert_int_equal(core->unpaired, 0);
    assert_int_equal(core->unknown, 0);
    /* The execution ends with its last record. */
    int64_t end_ps = core->end_ps;
    for (size_t i = 0; i < core->packet_count; i++) {
        end_ps = core->packets[i].end_ps > end_ps ? core->packets[i].end_ps : end_ps;
    }
    assert_in_range(trace->total_ps - end_ps, 0, 999);

    assert_int_equal(ntk_analysis_summary(trace, &summary), 0);
    /* x in, y out, once each. */
    assert_true(value_of(&summary, "hbm_read_bytes")->count >= TEST_MODEL_BYTES);
    assert_int_equal(value_of(&summary, "hbm_write_bytes")->count, TEST_MODEL_BYTES);
    assert_int_equal(value_of(&summary, "inputs_outputs_weights_size_bytes")->count,
                     value_of(&summary, "weight_size_bytes")->count + 2 * TEST_MODEL_BYTES);
    assert_true(value_of(&summary, "total_active_time_percent")->number <= 1);
    assert_string_equal(value_of(&summary, "instance_type")->text, "trn1.2xlarge");
    ntk_summary_fini(&summary);
    ntk_trace_destroy(trace);
    ntk_neff_close(neff);
    ntk_ntff_close(ntff);

    run = RUN(f, "view", "-s", f->ntff, "-n", f->neff);
    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.out, "hbm_write_bytes"));
    test_run_fini(&run);
    run = RUN(f, "show-session", "-s", f->ntff);
    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.out, "NOTIFY"));
    test_run_fini(&run);
}

static void a_core_pair_is_one_capture_with_two_subgraphs(void **state)
{
    struct fixture *f = *state;
    size_t neff_bytes = 0;
    uint8_t *bytes = test_model_adder(&(struct test_model_options){ .lnc = 2 }, &neff_bytes);
    struct ntk_ntff *ntff = NULL;
    struct ntk_trace *trace = NULL;
    struct ntk_neff *neff = NULL;

    assert_int_equal(ntk_fs_write(f->neff, bytes, neff_bytes, NULL), 0);
    free(bytes);
    expect(run_with(f, (const char *const[]){ "capture", "-n", f->neff, "-s", f->ntff, NULL },
                    "NEURON_SOFT_INSTANCE=trn2.3xlarge"),
           0, "");
    assert_int_equal(ntk_ntff_open(f->ntff, &ntff, NULL), 0);
    assert_int_equal(ntk_neff_open(f->neff, &neff, NULL), 0);
    assert_int_equal(ntk_trace_create_from_ntff(ntff, neff, NULL, NULL, &trace, NULL), 0);
    assert_string_equal(ntff->instance_type, "trn2.3xlarge");
    assert_int_equal(trace->core_count, 2);
    assert_int_equal(trace->cores[0].ntff->core, 0);
    assert_int_equal(trace->cores[1].ntff->core, 1);
    for (size_t c = 0; c < 2; c++) {
        assert_non_null(trace->cores[c].neff);
        assert_true(trace->cores[c].instruction_count > 0);
        assert_int_equal(trace->cores[c].outside_window, 0);
        assert_int_equal(trace->cores[c].unpaired, 0);
    }
    ntk_trace_destroy(trace);
    ntk_neff_close(neff);
    ntk_ntff_close(ntff);
}

static void the_same_neff_produces_the_same_timeline(void **state)
{
    struct fixture *f = *state;
    char *other = test_scratch_path(f->folder, "other.ntff");
    char *outputs[2];

    for (size_t i = 0; i < 2; i++) {
        expect(
            RUN(f, "capture", "-n", f->neff, "-s", i ? other : f->ntff, "--warmup", i ? "1" : "0"),
            0, "");
        struct test_run run = RUN(f, "view", "-s", i ? other : f->ntff);
        assert_int_equal(run.exit_code, 0);
        outputs[i] = strdup(run.out);
        test_run_fini(&run);
    }
    assert_string_equal(outputs[0], outputs[1]);
    free(outputs[0]);
    free(outputs[1]);
    free(other);
}

static void the_capture_of_the_nth_execution_has_its_number_in_the_name(void **state)
{
    struct fixture *f = *state;
    char *numbered = test_scratch_path(f->folder, "adder_exec_3.ntff");
    struct test_run run = RUN(f, "capture", "-n", f->neff, "-s", f->ntff, "--profile-nth-exec", "3",
                              "--check-output-determinism");

    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.out, numbered));
    assert_int_equal(access(numbered, F_OK), 0);
    assert_int_equal(access(f->ntff, F_OK), -1);
    test_run_fini(&run);
    expect(RUN(f, "capture", "-n", f->neff, "-s", f->ntff, "--disable-profile"), 0, "");
    assert_int_equal(access(f->ntff, F_OK), -1);
    free(numbered);
}

static bool is_there(const struct fixture *f, const char *name)
{
    char *path = test_scratch_path(f->folder, name);
    bool is = access(path, F_OK) == 0;

    (void)unlink(path);
    free(path);
    return is;
}

static void every_nth_execution_is_recorded_in_a_file_with_its_number(void **state)
{
    struct fixture *f = *state;
    struct test_run run =
        RUN(f, "capture", "-n", f->neff, "-s", f->ntff, "--num-exec=3", "--warmup", "1");
    const char *first = strstr(run.out, "adder.ntff\n");
    const char *second = strstr(run.out, "adder_exec_2.ntff\n");
    const char *third = strstr(run.out, "adder_exec_3.ntff\n");

    assert_int_equal(run.exit_code, 0);
    assert_true(first && second && third && first < second && second < third);
    test_run_fini(&run);
    assert_true(is_there(f, "adder.ntff"));
    assert_true(is_there(f, "adder_exec_2.ntff"));
    assert_true(is_there(f, "adder_exec_3.ntff"));
    expect(RUN(f, "capture", "-n", f->neff, "-s", f->ntff, "--num-exec=5", "--profile-nth-exec=2",
               "--exec-mode", "async"),
           0, "");
    assert_false(is_there(f, "adder.ntff"));
    assert_true(is_there(f, "adder_exec_2.ntff"));
    assert_false(is_there(f, "adder_exec_3.ntff"));
    assert_true(is_there(f, "adder_exec_4.ntff"));
    assert_false(is_there(f, "adder_exec_5.ntff"));
    expect(RUN(f, "capture", "-n", f->neff, "-s", f->ntff, "-r", "1", "--num-exec=2"), 0, "");
    assert_true(is_there(f, "adder_rank_0.ntff"));
    assert_true(is_there(f, "adder_rank_0_exec_2.ntff"));
    expect(RUN(f, "capture", "-n", f->neff, "-s", f->ntff, "--profile-nth-exec=0"), 0, "");
    assert_false(is_there(f, "adder.ntff"));
}

static void files_of_saved_outputs_contain_the_execution_number(void **state)
{
    struct fixture *f = *state;
    char old[4096];

    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(f->folder), 0);
    struct test_run run =
        RUN(f, "capture", "-n", f->neff, "--disable-profile", "--save-output", "--num-exec", "2");
    assert_int_equal(run.exit_code, 0);
    assert_string_equal(run.out,
                        "saved output \"y\" as \"y.out\"\nsaved output \"y\" as \"y.out.2\"\n");
    test_run_fini(&run);
    assert_true(is_there(f, "y.out"));
    assert_true(is_there(f, "y.out.2"));
    expect(RUN(f, "capture", "-n", f->neff, "--disable-profile", "--save-output-npy", "--num-exec",
               "3", "--save-nth-output=3"),
           0, "");
    assert_false(is_there(f, "y.npy"));
    assert_false(is_there(f, "y.npy.2"));
    assert_true(is_there(f, "y.npy.3"));
    assert_int_equal(chdir(old), 0);
    expect(RUN(f, "capture", "-n", f->neff, "--save-nth-output=2"), 2,
           "--save-nth-output requires --save-output");
}

/* Method: with one buffer for all tensors the output overwrites the input. */
static void inputs_can_be_rewritten_before_each_execution(void **state)
{
    struct fixture *f = *state;

    expect(RUN(f, "capture", "-n", f->neff, "--disable-profile", "--single-io", "--num-exec", "3",
               "--check-output-determinism"),
           1, "differ from those of the first");
    expect(RUN(f, "capture", "-n", f->neff, "--disable-profile", "--single-io", "--num-exec", "3",
               "--check-output-determinism", "--write-tensors-per-exec", "alias"),
           0, "");
    expect(RUN(f, "capture", "-n", f->neff, "--write-tensors-per-exec", "some"), 2,
           "expected none, alias or all");
}

static void execution_errors_are_listed_as_json(void **state)
{
    struct fixture *f = *state;
    struct test_run run = RUN(f, "show-session", "-s", f->sample, "--show-errors", "-j");

    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.out, "\"Errors\": ["));
    assert_non_null(strstr(run.out, "\"NeffNodes\": ["));
    test_run_fini(&run);
    expect(RUN(f, "show-session", "-s", f->sample, "--show-dma", "-j"), 2,
           "-j can list only errors");
}

/* Method: compares both without whitespace. */
static void a_json_profile_can_be_indented(void **state)
{
    struct fixture *f = *state;
    struct test_run plain =
        RUN(f, "view", "-s", f->sample, "--output-format", "json", "--output-file", "-");
    struct test_run pretty = RUN(f, "view", "-s", f->sample, "--output-format", "json",
                                 "--output-file", "-", "--json-pretty-print");
    const char *b = pretty.out;

    assert_int_equal(plain.exit_code, 0);
    assert_non_null(strstr(pretty.out, "\n      \""));
    for (const char *a = plain.out; *a || *b;) {
        if (*a == ' ' || *a == '\n') {
            a++;
        } else if (*b == ' ' || *b == '\n') {
            b++;
        } else {
            assert_int_equal(*a++, *b++);
        }
    }
    test_run_fini(&plain);
    test_run_fini(&pretty);
}

static void a_missing_source_folder_is_rejected(void **state)
{
    struct fixture *f = *state;

    expect(RUN(f, "lines", "-s", f->sample, "-n", "-"), 0, "");
    expect(RUN(f, "lines", "-s", f->sample, "-n", "-", "--nki-source-root", "/nowhere"), 1,
           "cannot open the source folder '/nowhere': No such file or directory");
    expect(RUN(f, "view", "-s", f->sample, "-n", "-", "--output-format", "json", "--output-file",
               "-", "--framework-source-root", "/nowhere"),
           1, "cannot open the source folder '/nowhere'");
    expect(RUN(f, "query", "-s", f->sample, "-n", "-", "--nki-source-root", "/nowhere", "SELECT 1"),
           1, "cannot open the source folder '/nowhere'");
    expect(RUN(f, "view", "-s", f->sample, "-n", "-", "--output-format", "summary-text",
               "--nki-source-root", "."),
           0, "--nki-source-root ignored: summary-text shows no source lines; use page or html,");
    expect(RUN(f, "view", "-s", f->sample, "-n", "-", "--output-format", "perfetto",
               "--output-file", "-", "--framework-source-root", "."),
           0, "--framework-source-root ignored: perfetto shows no source lines");
    expect(RUN(f, "view", "-d", ".", "--output-format", "json", "--nki-source-root", "."), 1,
           "--nki-source-root ignored: json with -d shows no source lines; use page or html, or "
           "neuron-profile lines");
    expect(RUN(f, "view", "-s", f->sample, "--output-format", "json", "--html-size", "1M"), 2,
           "--html-size requires --output-format html");
    expect(RUN(f, "lines", "-s", f->sample, "--by", "name"), 2, "invalid value 'name' for --by");
    expect(RUN(f, "lines"), 2, "no capture: use -s FILE");
}

/* A part of a capture is marked in the output; a window over everything produces the same bytes as
 * the whole. */
static void a_selected_part_of_a_capture_is_shown_and_marked(void **state)
{
    struct fixture *f = *state;
    struct test_run whole =
        RUN(f, "view", "-s", f->sample, "--output-format", "json", "--output-file", "-");
    struct test_run same = RUN(f, "view", "-s", f->sample, "--output-format", "json",
                               "--output-file", "-", "--from", "0", "--to", "1s", "--core", "4");
    struct test_run part = RUN(f, "view", "-s", f->sample, "--output-format", "json",
                               "--output-file", "-", "--from", "25us", "--to", "53us");

    assert_string_equal(same.out, whole.out);
    assert_string_equal(same.err, whole.err);
    assert_int_equal(part.exit_code, 0);
    assert_non_null(strstr(part.err, ": only 25.0us to 53.0us of 100us, NC 4\n"));
    assert_non_null(strstr(part.out, "\"window_start\":25000"));
    assert_non_null(strstr(part.out, "\"window_end\":53000"));
    assert_non_null(strstr(part.out, "\"window_of\":100000"));
    assert_non_null(strstr(part.out, "\"category\":\"Part\""));
    test_run_fini(&whole);
    test_run_fini(&same);
    test_run_fini(&part);
    expect(RUN(f, "analyze", "-s", f->sample, "--from", "25us", "idle"), 0,
           ": only 25.0us to 100us of 100us, NC 4");
    expect(RUN(f, "query", "-s", f->sample, "--to", "25us", "SELECT message FROM Warning"), 0,
           ": only 0ns to 25.0us of 100us, NC 4");
    expect(RUN(f, "view", "-s", f->sample, "--from", "1s"), 1,
           "the execution has already ended at 1.00s: it takes only 100us");
    expect(RUN(f, "diff", f->sample, f->sample, "--core", "5"), 1,
           "unknown core: the capture has 4");
    expect(RUN(f, "view", "-s", f->sample, "--from", "2us", "--to", "1us"), 2,
           "--to must be after --from");
    expect(RUN(f, "view", "-s", f->sample, "--to", "0"), 2, "--to must be after the start");
    expect(RUN(f, "query", "-s", f->sample, "--rows", "-1", "SELECT 1"), 2,
           "invalid value '-1' for --rows: expected a non-negative integer");
    expect(RUN(f, "view", "-s", f->sample, "--to", "2026-11-21T07:30:00Z"), 1,
           "for a capture, --from and --to are durations after the start of the execution");
}

static void inputs_are_read_from_files_and_outputs_written_to_files(void **state)
{
    struct fixture *f = *state;
    char *input = test_scratch_path(f->folder, "x.bin");
    float *x = calloc(TEST_MODEL_ELEMENTS, sizeof *x);
    char old[4096];
    uint8_t *bytes = NULL;
    size_t bytes_count = 0;

    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        x[i] = (float)(2 * i);
    }
    assert_int_equal(ntk_fs_write(input, x, TEST_MODEL_BYTES, NULL), 0);
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(f->folder), 0);
    expect(RUN(f, "capture", "-n", f->neff, "-s", f->ntff, "--save-output", "--save-output-npy",
               "x", input),
           0, "");
    assert_int_equal(ntk_fs_read("y.out", 1 << 20, &bytes, &bytes_count, NULL), 0);
    assert_int_equal(bytes_count, TEST_MODEL_BYTES);
    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i += 97) {
        float y;
        memcpy(&y, bytes + i * sizeof y, sizeof y);
        assert_true(y == (float)(3 * i));
    }
    free(bytes);
    assert_int_equal(ntk_fs_read("y.npy", 1 << 20, &bytes, &bytes_count, NULL), 0);
    struct ntk_neff_npy npy;
    assert_int_equal(ntk_neff_npy_read(bytes, bytes_count, &npy, NULL), 0);
    assert_string_equal(npy.descr, "<f4");
    assert_int_equal(npy.dim_count, 2);
    assert_int_equal(npy.dims[0], TEST_MODEL_ROWS);
    assert_int_equal(npy.data_bytes, TEST_MODEL_BYTES);
    free(bytes);
    /* An output is also an input. */
    expect(RUN(f, "capture", "-n", f->neff, "-s", f->ntff, "x", "y.npy"), 0, "");
    assert_int_equal(chdir(old), 0);
    free(x);
    free(input);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(usage_errors_print_one_line_and_exit_with_2),
        TEST(help_is_printed_on_stdout),
        TEST(invalid_files_print_one_message_and_exit_with_1),
        TEST(opening_a_system_trace_file_suggests_option_d),
        TEST(a_truncated_capture_is_shown_with_a_warning),
        TEST(a_summary_does_not_sum_truncated_records),
        TEST(a_capture_without_a_neff_uuid_is_shown_with_a_warning),
        TEST(single_instructions_and_records_are_listed),
        TEST(output_is_written_to_the_given_file),
        TEST(a_neff_is_captured_and_read_back),
        TEST(a_core_pair_is_one_capture_with_two_subgraphs),
        TEST(the_same_neff_produces_the_same_timeline),
        TEST(the_capture_of_the_nth_execution_has_its_number_in_the_name),
        TEST(every_nth_execution_is_recorded_in_a_file_with_its_number),
        TEST(files_of_saved_outputs_contain_the_execution_number),
        TEST(inputs_can_be_rewritten_before_each_execution),
        TEST(execution_errors_are_listed_as_json),
        TEST(a_json_profile_can_be_indented),
        TEST(a_missing_source_folder_is_rejected),
        TEST(inputs_are_read_from_files_and_outputs_written_to_files),
        TEST(a_selected_part_of_a_capture_is_shown_and_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

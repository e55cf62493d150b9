/* SPDX-License-Identifier: MIT */
/* neuron-packager from a user's view: its output and its exit codes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/formats/neff/neff.h"
#include "tests/support/ntff_sample.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static int setup(void **state)
{
    *state = test_scratch_create();
    return 0;
}

static int teardown(void **state)
{
    test_scratch_destroy(*state);
    return 0;
}

/* Runs neuron-packager with up to seven words and checks its exit code. */
static struct test_run run(int exit_code, const char *a, const char *b, const char *c,
                           const char *d, const char *e, const char *f, const char *g)
{
    const char *argv[] = { "neuron-packager", a, b, c, d, e, f, g, NULL };
    struct test_run result = test_run_program(argv, NULL);

    if (result.exit_code != exit_code) {
        fail_msg("exit %d instead of %d: %s", result.exit_code, exit_code, result.err);
    }
    return result;
}

/* The same, and the first line of stderr. */
static void check_error(int exit_code, const char *line, const char *a, const char *b,
                        const char *c, const char *d, const char *e)
{
    struct test_run result = run(exit_code, a, b, c, d, e, NULL, NULL);

    result.err[strcspn(result.err, "\n")] = '\0';
    assert_string_equal(result.err, line);
    assert_string_equal(result.out, "");
    test_run_fini(&result);
}

static void a_packager_command_on_a_capture_suggests_the_profiler(void **state)
{
    static const char *const commands[] = { "info", "unpack", "disasm" };
    struct ntff_sample sample = { .version = 5 };
    struct ntk_buf capture = { 0 };
    char *file = test_scratch_path(*state, "run.ntff");
    char line[4200];

    ntff_sample_build(&sample, &capture);
    assert_int_equal(ntk_fs_write(file, capture.bytes, capture.bytes_count, NULL), 0);
    ntk_buf_fini(&capture);
    snprintf(line, sizeof line,
             "neuron-packager: %s is a capture (NTFF), not a NEFF: use neuron-profile view -s",
             file);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        check_error(1, line, commands[i], file, NULL, NULL, NULL);
    }
    free(file);
}

/* Method: an example with the version and hash that a vendor's compiler writes. */
static void an_unknown_hash_kind_is_not_reported_as_damage(void **state)
{
    static const char version[20] = "2.23.0.0+abcdef01";
    enum { VERSION_AT = 40, HASH_AT = 172, HASH_BYTES = 16 };
    char *file = test_scratch_path(*state, "vendor.neff");
    struct test_run result = run(0, "example", "mlp", "-o", file, NULL, NULL, NULL);
    uint8_t *bytes = NULL;
    size_t count = 0;

    test_run_fini(&result);
    assert_int_equal(ntk_fs_read(file, SIZE_MAX, &bytes, &count, NULL), 0);
    memcpy(bytes + VERSION_AT, version, sizeof version);
    for (uint8_t i = 0; i < HASH_BYTES; i++) {
        bytes[HASH_AT + i] = i;
    }
    assert_int_equal(ntk_fs_write(file, bytes, count, NULL), 0);
    free(bytes);
    result = run(0, "info", file, NULL, NULL, NULL, NULL, NULL);
    assert_non_null(strstr(result.out, "Hash matches:      not checked (a different kind of hash"));
    test_run_fini(&result);
    free(file);
}

static void info_shows_header_and_tensors(void **state)
{
    char *file = test_scratch_path(*state, "conv.neff");
    struct test_run result =
        run(0, "example", "conv", "-o", file, "--size", "8", "--dtype=float32");

    test_run_fini(&result);
    result = run(0, "info", "-s", "-w", file, NULL, NULL, NULL);
    assert_string_equal(result.err, "");
    assert_non_null(strstr(result.out, "Package Version:   2\n"));
    assert_non_null(strstr(result.out, "Hash matches:      yes\n"));
    assert_non_null(strstr(result.out, "Network Name:      conv\n"));
    assert_non_null(strstr(result.out, "Enabled Features:  N/A\n"));
    assert_non_null(strstr(result.out, "Encoding:          open\n"));
    assert_non_null(
        strstr(result.out,
               "0     Neuron Core  sg00      image:0                    16384  IN      NHC     "
               "[64 8 8]          float32   -\n"));
    assert_non_null(strstr(result.out, "OUT "));
    assert_non_null(strstr(result.out, "weights:0"));
    assert_non_null(strstr(result.out, "Model constants:     295424\n")); /* 9*64*128*4 + 128*4 */
    test_run_fini(&result);
    free(file);
}

static void info_shows_the_subgraph_of_each_tensor(void **state)
{
    char *file = test_scratch_path(*state, "pipeline.neff");
    struct test_run result = run(0, "example", "pipeline", "-o", file, "--size=3", "--lnc=1", NULL);

    test_run_fini(&result);
    result = run(0, "info", file, NULL, NULL, NULL, NULL, NULL);
    assert_non_null(strstr(result.out, "0     Neuron Core  sg00      x:0 "));
    assert_non_null(strstr(result.out, "0     Neuron Core  sg02      y:0 "));
    assert_null(strstr(result.out, "h1")); /* internal, so not shown */
    test_run_fini(&result);
    free(file);
}

static void info_prints_json(void **state)
{
    char *file = test_scratch_path(*state, "json.neff");
    struct test_run result = run(0, "example", "two-node-cpu", "-o", file, "--lnc", "2", NULL);

    test_run_fini(&result);
    result = run(0, "info", "--json", file, NULL, NULL, NULL, NULL);
    assert_non_null(strstr(result.out, "\"lnc_size\": 2"));
    assert_non_null(strstr(result.out, "\"feature_bits\": 3072"));
    assert_non_null(strstr(result.out, "\"hash_matches\": true"));
    assert_non_null(strstr(result.out, "\"executor\": \"CPU\""));
    assert_non_null(strstr(result.out, "\"name\": \"example_row_softmax\""));
    test_run_fini(&result);
    free(file);
}

/* Method: a machine that does not exist: only the name matters. */
static void the_lnc_size_of_an_example_follows_machine_and_options(void **state)
{
    static const struct {
        const char *environment[3];
        const char *asked; /* NULL: not given */
        const char *lnc;
    } cases[] = {
        { { "NEURON_SOFT_INSTANCE=trn2.48xlarge" }, NULL, "LNC size:          2\n" },
        { { "NEURON_SOFT_INSTANCE=trn2.48xlarge", "NEURON_LOGICAL_NC_CONFIG=1" },
          NULL,
          "LNC size:          1\n" },
        { { "NEURON_SOFT_INSTANCE=trn2.48xlarge" }, "--lnc=1", "LNC size:          1\n" },
        { { "NEURON_SOFT_INSTANCE=trn1.2xlarge" }, NULL, "LNC size:          1\n" },
        { { "NEURON_SOFT_INSTANCE=nonsense" }, NULL, "LNC size:          1\n" },
    };
    char *file = test_scratch_path(*state, "lnc.neff");
    const char *const info[] = { "neuron-packager", "info", file, NULL };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const example[] = { "neuron-packager", "example", "mlp", "-o", file,
                                        cases[i].asked,    NULL };
        struct test_run result = test_run_program(example, cases[i].environment);

        assert_int_equal(result.exit_code, 0);
        test_run_fini(&result);
        result = test_run_program(info, NULL);
        if (!strstr(result.out, cases[i].lnc)) {
            fail_msg("case %zu: %s", i, result.out);
        }
        test_run_fini(&result);
    }
    free(file);
}

static void every_listed_example_is_created_and_valid(void **state)
{
    struct test_run list = run(0, "example", "--list", NULL, NULL, NULL, NULL, NULL);
    char *file = test_scratch_path(*state, "example.neff");
    int count = 0;

    for (char *line = strtok(list.out, "\n"); line; line = strtok(NULL, "\n")) {
        struct ntk_neff *neff = NULL;
        struct ntk_err err = { 0 };
        struct test_run made;

        if (line[0] == ' ') {
            continue;
        }
        line[strcspn(line, " ")] = '\0';
        made = run(0, "example", line, "-o", file, NULL, NULL, NULL);
        test_run_fini(&made);
        if (ntk_neff_open(file, &neff, &err) != 0) {
            fail_msg("%s: %s", line, err.text);
        }
        assert_string_equal(neff->header.name, line);
        ntk_neff_close(neff);
        count++;
    }
    assert_int_equal(count, 12);
    test_run_fini(&list);
    free(file);
}

static bool has_member(const struct ntk_neff *neff, const char *name)
{
    return ntk_neff_member_get(neff, name) != NULL;
}

/* Method: a NEFF with debug files of every kind and a def.json that lists one. */
static void optimize_omits_debug_files_and_compression(void **state)
{
    static const char *const debug[] = { "debug_info/debug_info_penguin.dbg_sg000000",
                                         "sg00/debug_info_asm_PE.dbg", "sg00/pe.asm",
                                         "kernel_debug_info.json" };
    char *folder = test_scratch_path(*state, "with");
    char *packed = test_scratch_path(*state, "with.neff");
    char *lean = test_scratch_path(*state, "lean.neff");
    char *kept = test_scratch_path(*state, "kept.neff");
    char path[4096];
    struct ntk_neff *before = NULL;
    struct ntk_neff *after = NULL;
    uint8_t *bytes = NULL;
    size_t count = 0;
    struct test_run result = run(0, "example", "mlp", "-o", kept, NULL, NULL, NULL);

    test_run_fini(&result);
    /* Removes the debug files of the example. */
    result = run(0, "optimize", "-o", packed, kept, NULL, NULL, NULL);
    test_run_fini(&result);
    result = run(0, "unpack", "-o", folder, packed, NULL, NULL, NULL);
    test_run_fini(&result);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, debug[i]);
        *strrchr(path, '/') = '\0';
        assert_int_equal(ntk_fs_make_folders(path, 0777, NULL), 0);
        path[strlen(path)] = '/';
        assert_int_equal(ntk_fs_write(path, "x", 1, NULL), 0);
    }
    snprintf(path, sizeof path, "%s/sg00/def.json", folder);
    assert_int_equal(ntk_fs_read(path, 1 << 20, &bytes, &count, NULL), 0);
    char *text = malloc(count + 100);
    snprintf(text, count + 100, "{\"pe_asm_dbg\": [\"debug_info_asm_PE.dbg\"],%.*s", (int)count - 1,
             strchr((char *)bytes, '{') + 1);
    assert_int_equal(ntk_fs_write(path, text, strlen(text), NULL), 0);
    free(text);
    free(bytes);
    result = run(0, "create", "-i", folder, "-o", packed, "-n", "mlp");
    test_run_fini(&result);

    result = run(0, "info", packed, NULL, NULL, NULL, NULL, NULL);
    assert_non_null(strstr(result.out, "\n      Size  For debuggers\n"));
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "\n         1  %s\n", debug[i]);
        assert_non_null(strstr(result.out, path));
    }
    test_run_fini(&result);
    result = run(0, "info", "--json", packed, NULL, NULL, NULL, NULL);
    assert_non_null(strstr(result.out, "\"name\": \"sg00/pe.asm\""));
    test_run_fini(&result);
    result = run(0, "optimize", "-o", lean, packed, NULL, NULL, NULL);
    assert_int_equal(ntk_fs_read(packed, SIZE_MAX, &bytes, &count, NULL), 0);
    snprintf(path, sizeof path, ", was %zu; 4 debug files removed\n", count);
    assert_non_null(strstr(result.out, path));
    free(bytes);
    test_run_fini(&result);
    assert_int_equal(ntk_neff_open(packed, &before, NULL), 0);
    assert_int_equal(ntk_neff_open(lean, &after, NULL), 0);
    assert_true(before->is_compressed);
    assert_false(after->is_compressed);
    assert_string_equal(after->header.name, "mlp");
    assert_memory_equal(after->header.uuid, before->header.uuid, 16);
    assert_int_equal(after->member_count, before->member_count - 4);
    for (uint32_t i = 0; i < before->member_count; i++) {
        const struct ntk_neff_member *member = &before->members[i];
        bool is_debug = false;
        for (size_t d = 0; d < 4; d++) {
            is_debug = is_debug || strcmp(member->name, debug[d]) == 0;
        }
        assert_int_equal(has_member(after, member->name), !is_debug);
        if (!is_debug && strcmp(member->name, "sg00/def.json") != 0) {
            size_t same = ntk_neff_member_get(after, member->name)->bytes_count;
            assert_int_equal(same, member->bytes_count);
            assert_memory_equal(ntk_neff_member_get(after, member->name)->bytes, member->bytes,
                                same);
        }
    }
    const char *definition = (const char *)ntk_neff_member_get(after, "sg00/def.json")->bytes;
    assert_non_null(strstr(definition, "\"pe_asm_dbg\": []"));
    ntk_neff_close(before);
    ntk_neff_close(after);

    result = run(0, "info", lean, NULL, NULL, NULL, NULL, NULL);
    assert_non_null(strstr(result.out, "Hash matches:      yes\n"));
    assert_null(strstr(result.out, "For debuggers"));
    test_run_fini(&result);
    result = run(0, "optimize", "--keep-debug", "-o", kept, packed, NULL, NULL);
    assert_non_null(strstr(result.out, "; 0 debug files removed\n"));
    test_run_fini(&result);
    assert_int_equal(ntk_neff_open(kept, &after, NULL), 0);
    assert_true(has_member(after, debug[0]));
    ntk_neff_close(after);
    check_error(2, "neuron-packager example: missing argument NAME: --list shows the examples",
                "example", "-o", lean, NULL, NULL);
    check_error(2, "neuron-packager optimize: no output: use --output FILE", "optimize", packed,
                NULL, NULL, NULL);
    check_error(2, "neuron-packager optimize: missing argument FILE", "optimize", "-o", lean, NULL,
                NULL);
    result = run(1, "optimize", "-o", lean, "/nonexistent.neff", NULL, NULL, NULL);
    assert_non_null(strstr(result.err, "/nonexistent.neff"));
    test_run_fini(&result);
    free(folder);
    free(packed);
    free(lean);
    free(kept);
}

static void unpack_and_create_reproduce_the_archive(void **state)
{
    char *file = test_scratch_path(*state, "nan.neff");
    char *again = test_scratch_path(*state, "again.neff");
    char *folder = test_scratch_path(*state, "unpacked");
    char *member = test_scratch_path(*state, "unpacked/sg00/def.json");
    char *payload = test_scratch_path(*state, "unpacked/neff.tgz");
    struct ntk_neff *neff[2];
    uint8_t *bytes;
    size_t count;
    struct test_run result = run(0, "example", "nan", "-o", file, NULL, NULL, NULL);

    test_run_fini(&result);
    result = run(0, "unpack", "-o", folder, file, NULL, NULL, NULL);
    test_run_fini(&result);
    result = run(0, "create", "-i", folder, "-o", again, "-n", "nan");
    test_run_fini(&result);
    assert_int_equal(ntk_neff_open(file, &neff[0], NULL), 0);
    assert_int_equal(ntk_neff_open(again, &neff[1], NULL), 0);
    assert_int_equal(neff[0]->member_count, neff[1]->member_count);
    assert_memory_equal(neff[0]->header.hash, neff[1]->header.hash, 32);
    assert_memory_equal(neff[0]->header.uuid, neff[1]->header.uuid, 16);
    assert_int_equal(ntk_fs_read(member, 1 << 20, &bytes, &count, NULL), 0);
    assert_int_equal(count, ntk_neff_member_get(neff[0], "sg00/def.json")->bytes_count);
    free(bytes);
    assert_int_equal(ntk_fs_read(payload, 1 << 20, &bytes, &count, NULL), 0);
    assert_int_equal(count, neff[0]->header.data_size);
    free(bytes);
    ntk_neff_close(neff[0]);
    ntk_neff_close(neff[1]);
    free(file);
    free(again);
    free(folder);
    free(member);
    free(payload);
}

/* Method: an archive made with non-default options, unpacked and packed again without options. */
static void create_keeps_header_values(void **state)
{
    char *file = test_scratch_path(*state, "first.neff");
    char *featured = test_scratch_path(*state, "featured.neff");
    char *again = test_scratch_path(*state, "second.neff");
    char *folder = test_scratch_path(*state, "kept");
    char *folder_again = test_scratch_path(*state, "kept_again");
    const char *const create[] = { "neuron-packager",
                                   "create",
                                   "-i",
                                   folder,
                                   "-o",
                                   featured,
                                   "-e",
                                   "0xc00",
                                   "--lnc",
                                   "2",
                                   "-n",
                                   "pair",
                                   "-v",
                                   "1.1",
                                   "-t",
                                   "3",
                                   NULL };
    struct ntk_neff *neff = NULL;
    struct test_run result = run(0, "example", "nan", "-o", file, NULL, NULL, NULL);

    test_run_fini(&result);
    result = run(0, "unpack", "-o", folder, file, NULL, NULL, NULL);
    test_run_fini(&result);
    result = test_run_program(create, NULL);
    assert_int_equal(result.exit_code, 0);
    test_run_fini(&result);
    result = run(0, "unpack", "-o", folder_again, featured, NULL, NULL, NULL);
    test_run_fini(&result);
    result = run(0, "create", "-i", folder_again, "-o", again, NULL, NULL);
    test_run_fini(&result);
    assert_int_equal(ntk_neff_open(again, &neff, NULL), 0);
    assert_int_equal(neff->header.feature_bits, 0xc00);
    assert_int_equal(neff->header.lnc_size, 2);
    assert_int_equal(neff->header.version_major, 1);
    assert_int_equal(neff->header.version_minor, 1);
    assert_int_equal(neff->header.requested_tpb_count, 3);
    assert_string_equal(neff->header.name, "pair");
    ntk_neff_close(neff);
    free(file);
    free(featured);
    free(again);
    free(folder);
    free(folder_again);
}

#define SUBCOMMANDS ": use info, unpack, create, optimize, example, disasm or asm"

static void invalid_arguments_are_usage_errors(void **state)
{
    check_error(2, "neuron-packager: no command" SUBCOMMANDS, NULL, NULL, NULL, NULL, NULL);
    check_error(2, "neuron-packager: unknown command 'inform' (did you mean 'info'?)" SUBCOMMANDS,
                "inform", NULL, NULL, NULL, NULL);
    check_error(2, "neuron-packager info: missing argument FILE", "info", NULL, NULL, NULL, NULL);
    check_error(2, "neuron-packager info: unexpected argument 'b'", "info", "a", "b", NULL, NULL);
    check_error(2,
                "neuron-packager example: unknown example 'mpl' (did you mean 'mlp'?): --list "
                "shows the examples",
                "example", "mpl", "-o", "x", NULL);
    check_error(2, "neuron-packager example: no output: use --output FILE", "example", "mlp", NULL,
                NULL, NULL);
    check_error(2, "neuron-packager example: example 'nan' does not support --size", "example",
                "nan", "-ox", "-s", "4");
    check_error(2,
                "neuron-packager example: --size of 'mlp' must be between 128 and 1024 and a "
                "multiple of 128",
                "example", "mlp", "-ox", "-s", "100");
    check_error(2, "neuron-packager example: --dtype must be float32 or bfloat16", "example", "mlp",
                "-ox", "--dtype", "int8");
    check_error(2, "neuron-packager example: --target must be sunda, cayman, mariana or *",
                "example", "mlp", "-ox", "--target", "trn1");
    check_error(2,
                "neuron-packager disasm: unknown engine 'Tensors': expected PE, Activation, Pool, "
                "DVE or SP, or Tensor, Scalar, GpSimd, Vector or Sync",
                "disasm", "-e", "Tensors", "x.neff", NULL);
    check_error(2, "neuron-packager create: no output: use --output FILE", "create", "-i", ".",
                NULL, NULL);
    check_error(2, "neuron-packager create: --package-version must be 1 or 2", "create", "-i.",
                "-ox", "-r", "0");
    check_error(2, "neuron-packager create: --lnc must be 1 or 2", "create", "-i.", "-ox", "--lnc",
                "0");
    check_error(2, "neuron-packager create: --tpb-count must be between 1 and 64", "create", "-i.",
                "-ox", "-t", "0");
    check_error(2, "neuron-packager unpack: x.bin does not end in .neff: use --output FOLDER",
                "unpack", "x.bin", NULL, NULL, NULL);
}

static void a_file_that_is_not_a_neff_fails_with_an_error(void **state)
{
    char *missing = test_scratch_path(*state, "missing.neff");
    char *text = test_scratch_path(*state, "text.neff");
    char *foreign = test_scratch_path(*state, "foreign.neff");
    char *folder = test_scratch_path(*state, "taken-apart");
    char *nowhere = test_scratch_path(*state, "no/such/folder/x.neff");
    char line[1024];
    uint8_t zeros[4096] = { 2 };

    assert_int_equal(ntk_fs_write(text, "hello\n", 6, NULL), 0);
    zeros[9] = 4;
    zeros[17] = 12;
    assert_int_equal(ntk_fs_write(foreign, zeros, sizeof zeros, NULL), 0);
    snprintf(line, sizeof line,
             "neuron-packager: %s: not a NEFF: 6 bytes are too few for its header "
             "(at byte 6)",
             text);
    check_error(1, line, "info", text, NULL, NULL, NULL);
    check_error(1, line, "unpack", "-o", folder, text, NULL);
    check_error(1, line, "disasm", text, NULL, NULL, NULL);
    assert_int_equal(access(folder, F_OK), -1);
    {
        struct test_run result = run(1, "info", missing, NULL, NULL, NULL, NULL, NULL);

        assert_non_null(strstr(result.err, missing));
        assert_non_null(strstr(result.err, "No such file or directory"));
        test_run_fini(&result);
        result = run(1, "info", foreign, NULL, NULL, NULL, NULL, NULL);
        assert_non_null(strstr(result.err, "foreign.neff: "));
        test_run_fini(&result);
        result = run(1, "example", "nan", "-o", nowhere, NULL, NULL, NULL);
        assert_non_null(strstr(result.err, "No such file or directory"));
        test_run_fini(&result);
        result = run(1, "create", "-i", *state, "-o", foreign, NULL, NULL);
        assert_non_null(strstr(result.err, ": the archive has no neff.json"));
        test_run_fini(&result);
    }
    free(missing);
    free(text);
    free(foreign);
    free(folder);
    free(nowhere);
}

/* Method: lists every example without the source lines of its slots, which asm removes with the
 * slots. The listing is assembled into a copy without binaries, which must become byte for byte the
 * original. */
static void asm_reads_the_output_of_disasm(void **state)
{
    static const char *const names[] = { "mlp",          "conv", "attention", "attention-slow",
                                         "memcpy",       "nan",  "oob",       "deadlock",
                                         "two-node-cpu", "spin", "pipeline",  "two-node-core" };
    char *file = test_scratch_path(*state, "listed.neff");
    char *listing = test_scratch_path(*state, "listed.txt");
    char *wipe = test_scratch_path(*state, "wipe.txt");
    char *wiped = test_scratch_path(*state, "wiped.neff");
    char *back = test_scratch_path(*state, "back.neff");
    static const char zeros[] = ".engine PE sg00/PE.bin\n.zero 64\n"
                                ".engine Activation sg00/Activation.bin\n.zero 64\n"
                                ".engine Pool sg00/Pool.bin\n.zero 64\n"
                                ".engine DVE sg00/DVE.bin\n.zero 64\n"
                                ".engine SP sg00/SP.bin\n.zero 64\n";

    assert_int_equal(ntk_fs_write(wipe, zeros, sizeof zeros - 1, NULL), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct test_run result = run(0, "example", names[i], "-o", back, NULL, NULL, NULL);
        uint8_t *bytes[3];
        size_t count[3];

        test_run_fini(&result);
        result = run(0, "optimize", back, "-o", file, NULL, NULL, NULL);
        test_run_fini(&result);
        result = run(0, "disasm", file, "-o", listing, NULL, NULL, NULL);
        test_run_fini(&result);
        result = run(0, "asm", "--into", file, "-o", wiped, wipe, NULL);
        test_run_fini(&result);
        result = run(0, "asm", "--into", wiped, "-o", back, listing, NULL);
        test_run_fini(&result);
        assert_int_equal(ntk_fs_read(file, 1 << 30, &bytes[0], &count[0], NULL), 0);
        assert_int_equal(ntk_fs_read(back, 1 << 30, &bytes[1], &count[1], NULL), 0);
        assert_int_equal(ntk_fs_read(wiped, 1 << 30, &bytes[2], &count[2], NULL), 0);
        assert_int_equal(count[0], count[1]);
        assert_memory_equal(bytes[0], bytes[1], count[0]);
        assert_true(count[2] != count[0] || memcmp(bytes[2], bytes[0], count[0]) != 0);
        for (int b = 0; b < 3; b++) {
            free(bytes[b]);
        }
    }
    free(file);
    free(listing);
    free(wipe);
    free(wiped);
    free(back);
}

/* Method: one slot of the scalar engine becomes another operation, everything else stays. */
static void asm_removes_the_source_lines_of_a_changed_engine(void **state)
{
    static const char other[] = ".engine Activation sg00/Activation.bin\n nop\n";
    char *file = test_scratch_path(*state, "placed.neff");
    char *listing = test_scratch_path(*state, "placed.txt");
    char *changed = test_scratch_path(*state, "moved.neff");
    struct test_run result = run(0, "example", "nan", "-o", file, NULL, NULL, NULL);

    test_run_fini(&result);
    result = run(0, "disasm", file, "-o", listing, NULL, NULL, NULL);
    test_run_fini(&result);
    result = run(0, "asm", "--into", file, "-o", changed, listing, NULL);
    test_run_fini(&result);
    result = run(0, "disasm", "-e", "Activation", changed, NULL, NULL, NULL);
    assert_non_null(strstr(result.out, " @ nan.c:"));
    test_run_fini(&result);
    assert_int_equal(ntk_fs_write(listing, other, sizeof other - 1, NULL), 0);
    result = run(0, "asm", "--into", file, "-o", changed, listing, NULL);
    test_run_fini(&result);
    result = run(0, "disasm", "-e", "Activation", changed, NULL, NULL, NULL);
    assert_null(strstr(result.out, " @ nan.c:"));
    test_run_fini(&result);
    result = run(0, "disasm", "-e", "SP", "-j", changed, NULL, NULL);
    assert_non_null(
        strstr(result.out, "\"bir_debug_info_source_location\": \"shared/kernels/nan.c:"));
    assert_non_null(strstr(result.out, "\"text\": \""));
    test_run_fini(&result);
    free(file);
    free(listing);
    free(changed);
}

static void a_listing_shows_names_groups_and_slots(void **state)
{
    char *file = test_scratch_path(*state, "shown.neff");
    char *folder = test_scratch_path(*state, "binaries");
    char *bad = test_scratch_path(*state, "bad.txt");
    char *looping = test_scratch_path(*state, "looping.neff");
    char *sp = test_scratch_path(*state, "binaries/sg00/SP.bin");
    char *listing = test_scratch_path(*state, "shown.txt");
    struct test_run result = run(0, "example", "memcpy", "-o", file, NULL, NULL, NULL);

    test_run_fini(&result);
    result = run(0, "disasm", file, NULL, NULL, NULL, NULL, NULL);
    assert_non_null(strstr(result.out, "\n.engine SP sg00/SP.bin\n"));
    assert_non_null(strstr(result.out, "\n; group 0 of queue 0 "));
    assert_non_null(strstr(result.out, ";     copy SB(0)+0:uint8["));
    assert_non_null(strstr(result.out, "\n    notify ; 0\n"));
    {
        /* By the name that neuron-profile uses. */
        struct test_run one = run(0, "disasm", "-e", "Sync", file, NULL, NULL, NULL);
        assert_non_null(strstr(one.out, "\n.engine SP sg00/SP.bin\n"));
        assert_null(strstr(one.out, "\n.engine PE "));
        test_run_fini(&one);
    }
    assert_int_equal(ntk_fs_write(listing, result.out, strlen(result.out), NULL), 0);
    test_run_fini(&result);
    result = run(0, "asm", listing, "-o", folder, NULL, NULL, NULL);
    test_run_fini(&result);
    assert_int_equal(access(sp, R_OK), 0);

    assert_int_equal(ntk_fs_write(bad, ".engine PE sg00/PE.bin\n tensor_copy\n", 37, NULL), 0);
    result = run(1, "asm", bad, "-o", folder, NULL, NULL, NULL);
    assert_non_null(strstr(result.err, "line 2: tensor_copy: not an operation of this engine"));
    test_run_fini(&result);
    assert_int_equal(ntk_fs_write(bad, ".engine PE ../PE.bin\n", 21, NULL), 0);
    result = run(1, "asm", bad, "-o", folder, NULL, NULL, NULL);
    assert_non_null(strstr(result.err, "line 1: invalid member name '../PE.bin'"));
    test_run_fini(&result);
    /* Labels are known up to the next .engine, in both directions, and no further. */
    static const char loops[] = ".engine PE sg00/PE.bin\n nop\nback: nop\n compare_branch to=back\n"
                                ".engine SP sg00/SP.bin\n compare_branch to=end\nback: nop\nend:\n";
    static const char stranger[] = ".engine PE sg00/PE.bin\nback: nop\n"
                                   ".engine SP sg00/SP.bin\n nop\n compare_branch to=back\n";
    assert_int_equal(ntk_fs_write(bad, loops, sizeof loops - 1, NULL), 0);
    result = run(0, "asm", "--into", file, "-o", looping, bad, NULL);
    test_run_fini(&result);
    result = run(0, "disasm", looping, NULL, NULL, NULL, NULL, NULL);
    assert_non_null(strstr(result.out, "\nL1:\n    nop ; 1\n    compare_branch to=L1 ; 2\n"));
    assert_non_null(strstr(result.out, "    compare_branch to=L2 ; 0\n    nop ; 1\nL2:\n"));
    test_run_fini(&result);
    assert_int_equal(ntk_fs_write(bad, stranger, sizeof stranger - 1, NULL), 0);
    result = run(1, "asm", bad, "-o", folder, NULL, NULL, NULL);
    assert_non_null(strstr(result.err, "line 5: unknown label 'back'"));
    test_run_fini(&result);
    free(looping);
    free(file);
    free(folder);
    free(bad);
    free(sp);
    free(listing);
}

static void help_and_version_are_printed_on_stdout(void **state)
{
    static const char *const words[] = { "info",    "unpack", "create", "optimize",
                                         "example", "disasm", "asm" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct test_run result = run(0, words[i], "--help", NULL, NULL, NULL, NULL, NULL);

        assert_non_null(strstr(result.out, words[i]));
        assert_string_equal(result.err, "");
        test_run_fini(&result);
    }
    {
        struct test_run result = run(0, "--version", NULL, NULL, NULL, NULL, NULL, NULL);

        assert_non_null(strstr(result.out, "neuron-packager"));
        test_run_fini(&result);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packager_command_on_a_capture_suggests_the_profiler),
        cmocka_unit_test(an_unknown_hash_kind_is_not_reported_as_damage),
        cmocka_unit_test(info_shows_header_and_tensors),
        cmocka_unit_test(info_shows_the_subgraph_of_each_tensor),
        cmocka_unit_test(info_prints_json),
        cmocka_unit_test(every_listed_example_is_created_and_valid),
        cmocka_unit_test(the_lnc_size_of_an_example_follows_machine_and_options),
        cmocka_unit_test(optimize_omits_debug_files_and_compression),
        cmocka_unit_test(unpack_and_create_reproduce_the_archive),
        cmocka_unit_test(create_keeps_header_values),
        cmocka_unit_test(invalid_arguments_are_usage_errors),
        cmocka_unit_test(a_file_that_is_not_a_neff_fails_with_an_error),
        cmocka_unit_test(asm_reads_the_output_of_disasm),
        cmocka_unit_test(asm_removes_the_source_lines_of_a_changed_engine),
        cmocka_unit_test(a_listing_shows_names_groups_and_slots),
        cmocka_unit_test(help_and_version_are_printed_on_stdout),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

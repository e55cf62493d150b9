/* SPDX-License-Identifier: MIT */
/* Any bytes as the contents of an executable: rejected with a message, or programs within its
 * bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/popef/run.h"
#include "shared/formats/popef/popef_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int is_so)
{
    if (!is_so) {
        abort();
    }
}

/* The data as the only executable of a file. */
static uint8_t *file_make(const uint8_t *data, size_t size, size_t *out_count)
{
    struct ntk_popef_info info = { .name = "m" };
    struct ntk_buf buf = { 0 };
    uint64_t info_bytes = 0;

    check(ntk_buf_extend(&buf, 48) != NULL);
    ntk_opef1_put_info(&buf, POPEF_BLOB_EXECUTABLE, &info, &info_bytes);
    ntk_buf_add(&buf, data, size);
    check(ntk_buf_ok(&buf));
    ntk_opef1_header((uint8_t *)buf.bytes, POPEF_BLOB_EXECUTABLE, false, info_bytes, size, size);
    return (uint8_t *)ntk_buf_take(&buf, out_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct popef_reader *reader = NULL;
    struct run_programs programs = { 0 };
    struct ntk_err err = { 0 };
    size_t count = 0;
    volatile unsigned sum = 0;
    uint8_t *file = file_make(data, size, &count);

    check(popef_reader_open(&reader, NULL) == 0);
    check(popef_reader_parse_bytes(reader, file, count, "fuzz", NULL) == 0);
    int ret = run_programs_read(reader, &popef_reader_executable(reader, 0)->blob, &programs, &err);
    check(ret == 0 || (ret == err.code && err.text[0] != '\0'));
    if (ret == 0) {
        ntk_vec_each(struct run_program, program, &programs.list) {
            check(run_programs_find(&programs, program->index) != NULL);
            check((program->kind == RUN_NEFF) == (program->neff != NULL));
            for (size_t i = 0; i < program->neff_bytes; i++) {
                sum += program->neff[i]; /* all of it is readable */
            }
            check(program->kind != RUN_NEFF ||
                  (program->core_count >= 1 && program->core_count <= RUN_REPLICAS_MAX));
        }
        run_programs_fini(&programs);
    }
    popef_reader_close(reader);
    free(file);
    return 0;
}

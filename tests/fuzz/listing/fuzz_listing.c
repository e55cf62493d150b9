/* SPDX-License-Identifier: MIT */
/*
 * fuzz_listing - any text as the lines of an engine in a listing.
 *
 * Input: one byte (the engine), then the text. A rejection has a message; accepted text is printed
 * as a listing that yields the same bytes again.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/formats/neff/isa_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum ntk_isa_engine engine;
    struct ntk_buf code = { 0 };
    struct ntk_buf text = { 0 };
    struct ntk_buf again = { 0 };
    struct ntk_err err = { 0 };
    char *copy;

    if (size < 1 || size > 65536) {
        return 0;
    }
    copy = malloc(size); /* its own allocation, so that asan detects a read beyond its end */
    if (!copy) {
        return 0;
    }
    memcpy(copy, data + 1, size - 1);
    engine = (enum ntk_isa_engine)(data[0] % NTK_ISA_ENGINE_COUNT);
    if (ntk_isa_text_parse_program(copy, size - 1, 1, engine, &code, &err) < 0) {
        demand(err.text[0] != '\0');
    } else {
        demand(code.bytes_count % NTK_ISA_SLOT_BYTES == 0);
        demand(ntk_isa_text_print_program((const uint8_t *)code.bytes, code.bytes_count, engine,
                                          NULL, NULL, &text, &err) == 0);
        demand(ntk_isa_text_parse_program(text.bytes, text.bytes_count, 1, engine, &again, &err) ==
               0);
        demand(again.bytes_count == code.bytes_count &&
               (code.bytes_count == 0 || memcmp(again.bytes, code.bytes, code.bytes_count) == 0));
    }
    ntk_buf_fini(&again);
    ntk_buf_fini(&text);
    ntk_buf_fini(&code);
    free(copy);
    return 0;
}

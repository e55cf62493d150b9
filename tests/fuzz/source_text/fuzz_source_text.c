/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the source member of a NEFF. The first two are the requested line, the third is the
 * length of the recorded path, which follows. No text from outside the member is returned, and all
 * text is valid.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/formats/neff/neff_read_private.h"
#include "shared/formats/neff/source_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void require(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

static void require_clean(const char *line)
{
    size_t bytes = strlen(line);

    require(bytes <= 3 * NTK_SOURCE_TEXT_LINE_BYTES); /* each byte may become U+FFFD */
    for (size_t at = 0; at < bytes;) {
        uint32_t code;
        size_t length = ntk_str_utf8_read(line + at, bytes - at, &code);

        require(length > 0 && !ntk_str_is_unsafe(code));
        at += length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static const char root[] = "/proc/self/fdinfo"; /* a folder in which no path is found */
    struct neff_private data = { 0 };
    struct ntk_neff_member member = { 0 };
    struct ntk_neff neff = { .members = &member, .member_count = 1, .private_data = &data };
    struct ntk_source_text_options options = { .nki_root = root, .neff = &neff };
    struct ntk_source_text *text = NULL;
    char path[256];
    char name[sizeof NTK_SOURCE_TEXT_MEMBER + sizeof path];

    if (count < 3 || count - 3 < bytes[2]) {
        return 0;
    }
    ntk_str_copy_clean(path, sizeof path - 3, (const char *)bytes + 3, bytes[2]);
    strcat(path, ".c");
    snprintf(name, sizeof name, NTK_SOURCE_TEXT_MEMBER, path);
    count -= 3 + (size_t)bytes[2];
    /* A separate allocation, so that an overrun is detected. */
    member = (struct ntk_neff_member){ .name = name,
                                       .bytes = malloc(count ? count : 1),
                                       .bytes_count = count };
    require(member.bytes);
    memcpy(member.bytes, bytes + 3 + bytes[2], count);
    require(ntk_map_put(&data.members, name, &member) == 0);
    require(ntk_source_text_create(&options, &text, NULL) == 0);
    const uint32_t asked[] = { (uint32_t)(bytes[0] | bytes[1] << 8), 1, 0, UINT32_MAX };
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        const char *line = ntk_source_text_line(text, path, asked[i]);

        require(asked[i] > 0 || !line);
        require(asked[i] <= count || !line);
        if (line) {
            require_clean(line);
        }
    }
    ntk_source_text_destroy(text);
    ntk_map_fini(&data.members);
    free(member.bytes);
    return 0;
}

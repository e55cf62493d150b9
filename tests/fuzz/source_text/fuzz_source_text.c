/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the source member of a NEFF. The first two are the requested line, the third is the
 * length of the recorded path, which follows. No text from outside the member is returned, and all
 * text is valid. The same path in a source folder finds no file outside the folder, even if links
 * in it lead there.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
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

static const char secret[] = "secret\n";
static char below[64]; /* contains the folder, and a file outside it */
static char root[sizeof below + 8];

static void folder_remove(void)
{
    (void)ntk_fs_remove_tree(below, NULL);
}

static void file_make(const char *name, const char *content)
{
    char path[sizeof below + 32];

    (void)snprintf(path, sizeof path, "%s/%s", below, name);
    require(ntk_fs_write(path, content, strlen(content), NULL) == 0);
}

/* "a.c" and "in.c" are in the folder; "up", "out.c" and "away.c" lead out of it. */
static void folder_make(void)
{
    char away[sizeof below + 32];
    const struct {
        const char *name, *to;
    } links[] = {
        { "up", ".." }, { "out.c", "../secret.c" }, { "in.c", "a.c" }, { "away.c", away }
    };

    (void)snprintf(below, sizeof below, "/tmp/ntk-fuzz-XXXXXX");
    require(mkdtemp(below) != NULL);
    (void)atexit(folder_remove);
    (void)snprintf(away, sizeof away, "%s/secret.c", below);
    (void)snprintf(root, sizeof root, "%s/root", below);
    require(mkdir(root, 0700) == 0);
    file_make("secret.c", secret);
    file_make("root/a.c", "inside\n");
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        char path[sizeof root + 32];

        (void)snprintf(path, sizeof path, "%s/%s", root, links[i].name);
        require(symlink(links[i].to, path) == 0);
    }
}

static void look_up(struct ntk_source_text *text, const char *path)
{
    size_t count = 0;
    const char *file = ntk_source_text_file(text, path, &count);

    require(!file || count != sizeof secret - 1 || memcmp(file, secret, count) != 0);
}

/* The path as given, and below the folder that contains the secret. */
static void check_folder(const char *path)
{
    struct ntk_source_text_options options = { .nki_root = root };
    struct ntk_source_text *text = NULL;
    char longer[512];

    if (!root[0]) {
        folder_make();
    }
    require(ntk_source_text_create(&options, &text, NULL) == 0);
    look_up(text, path);
    (void)snprintf(longer, sizeof longer, "%s/%s", below, path);
    look_up(text, longer);
    ntk_source_text_destroy(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static const char empty[] = "/proc/self/fdinfo"; /* a folder in which no path is found */
    struct neff_private data = { 0 };
    struct ntk_neff_member member = { 0 };
    struct ntk_neff neff = { .members = &member, .member_count = 1, .private_data = &data };
    struct ntk_source_text_options options = { .nki_root = empty, .neff = &neff };
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
    path[strlen(path) - 2] = '\0'; /* without the ending */
    check_folder(path);
    ntk_source_text_destroy(text);
    ntk_map_fini(&data.members);
    free(member.bytes);
    return 0;
}

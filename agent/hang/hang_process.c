/* SPDX-License-Identifier: MIT */
/* hang_process - reads the activity of a thread without stopping it: its state and its position in
 * the kernel. */
#include "agent/hang/hang.h"

#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"

#define TEXT_BYTES 4096
#define FRAMES_MAX 3

static bool file_read(uint32_t pid, uint32_t tid, const char *name, char *text, size_t text_bytes)
{
    char path[96];
    FILE *file;
    size_t bytes;

    snprintf(path, sizeof path, "/proc/%u/task/%u/%s", pid, tid != 0 ? tid : pid, name);
    file = fopen(path, "re");
    if (!file) {
        return false;
    }
    bytes = fread(text, 1, text_bytes - 1, file);
    fclose(file);
    text[bytes] = '\0';
    return bytes > 0;
}

/* Describes the letter after the name in parentheses; the name may contain any character. */
static const char *state_word(const char *stat)
{
    static const struct {
        char letter;
        const char *word;
    } states[] = {
        { 'R', "runs" },
        { 'S', "sleeps" },
        { 'D', "is waiting for a device or a disk" },
        { 'T', "is stopped" },
        { 't', "is stopped by a debugger" },
        { 'Z', "has exited" },
        { 'X', "has exited" },
    };
    const char *end = strrchr(stat, ')');

    for (size_t i = 0; end && end[1] == ' ' && i < sizeof states / sizeof *states; i++) {
        if (end[2] == states[i].letter) {
            return states[i].word;
        }
    }
    return "";
}

/* Adds kernel functions, innermost first, such as " in futex_wait < do_futex". Root may read all,
 * other users at most the first. */
static void frames_add(uint32_t pid, uint32_t tid, char *out, size_t out_bytes)
{
    char text[TEXT_BYTES];
    char *save = NULL;
    size_t at = strlen(out);
    int count = 0;

    if (!file_read(pid, tid, "stack", text, sizeof text)) {
        if (file_read(pid, tid, "wchan", text, sizeof text) && strcmp(text, "0") != 0) {
            snprintf(out + at, out_bytes - at, " in %.64s", text);
        }
        return;
    }
    for (char *line = strtok_r(text, "\n", &save); line && count < FRAMES_MAX;
         line = strtok_r(NULL, "\n", &save)) {
        char *name = strchr(line, ' ');
        char *end = name ? strchr(name, '+') : NULL;

        if (end) {
            *end = '\0';
            if (strncmp(name + 1, "do_syscall", 10) == 0 || strncmp(name + 1, "entry_", 6) == 0) {
                break; /* entry into the kernel */
            }
            at += (size_t)snprintf(out + at, out_bytes - at, "%s%.48s",
                                   count++ > 0 ? " < " : " in ", name + 1);
            if (at >= out_bytes) {
                return;
            }
        }
    }
}

void ntk_hang_process(uint32_t pid, uint32_t tid, char *out, size_t out_bytes)
{
    char stat[TEXT_BYTES];

    out[0] = '\0';
    if (!file_read(pid, tid, "stat", stat, sizeof stat)) {
        return;
    }
    snprintf(out, out_bytes, "%s", state_word(stat));
    if (out[0] && strcmp(out, "runs") != 0 && strncmp(out, "has exited", 10) != 0) {
        frames_add(pid, tid, out, out_bytes);
    }
    ntk_str_clean(out, strlen(out));
}

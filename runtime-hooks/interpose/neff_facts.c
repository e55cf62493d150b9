/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/neff_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/formats/neff/neff_layout.h"

#define MAPS_LINE_BYTES 1024

/* Returns the path of the file mapped at the address; "" for anonymous memory. */
static void mapped_path(uintptr_t address, char *path, size_t path_bytes)
{
    char line[MAPS_LINE_BYTES];
    FILE *maps = fopen("/proc/self/maps", "re");

    while (maps && fgets(line, sizeof line, maps)) {
        uintptr_t first = 0;
        uintptr_t end = 0;
        int at = 0;

        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &first, &end, &at) >= 2 &&
            address >= first && address < end) {
            line[strcspn(line, "\n")] = '\0';
            if (at > 0 && line[at] == '/') {
                (void)snprintf(path, path_bytes, "%s", line + at);
            }
            break;
        }
    }
    if (maps) {
        (void)fclose(maps);
    }
}

void interpose_neff_facts_get(const void *bytes, size_t size,
                              struct interpose_neff_facts *out_facts)
{
    struct ntk_neff_layout_header header;

    memset(out_facts, 0, sizeof *out_facts);
    if (!bytes || size < sizeof header) {
        return;
    }
    memcpy(&header, bytes, sizeof header);
    if (header.header_size != NTK_NEFF_HEADER_BYTES) {
        return;
    }
    memcpy(out_facts->uuid, header.uuid, sizeof out_facts->uuid);
    memcpy(out_facts->name, header.name, sizeof header.name);
    out_facts->name[sizeof out_facts->name - 1] = '\0';
    mapped_path((uintptr_t)bytes, out_facts->path, sizeof out_facts->path);
}

/* SPDX-License-Identifier: MIT */
/* cgroup - finds the container that a process runs in. */
#include "shared/collect/cgroup.h"

#include <string.h>

#define ID_DIGITS (NTK_CONTAINER_ID_BYTES - 1)
#define UID_DIGITS 32
#define UID_CHARS (NTK_POD_UID_BYTES - 1)

struct span {
    const char *at;
    size_t bytes;
};

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool all_hex(struct span text)
{
    for (size_t i = 0; i < text.bytes; i++) {
        if (!is_hex(text.at[i])) {
            return false;
        }
    }
    return true;
}

bool ntk_cgroup_is_container_id(const char *text, size_t text_bytes)
{
    return text_bytes == ID_DIGITS && all_hex((struct span){ text, text_bytes });
}

static bool cut_end(struct span *text, const char *end)
{
    size_t bytes = strlen(end);

    if (text->bytes < bytes || memcmp(text->at + text->bytes - bytes, end, bytes) != 0) {
        return false;
    }
    text->bytes -= bytes;
    return true;
}

static bool begins_with(struct span text, const char *begin)
{
    size_t bytes = strlen(begin);

    return text.bytes >= bytes && memcmp(text.at, begin, bytes) == 0;
}

/* Cuts off the part before the first divider, and the divider itself. */
static bool next_part(struct span *rest, const char *dividers, struct span *out)
{
    if (!rest->at) {
        return false;
    }
    size_t bytes = 0;
    while (bytes < rest->bytes && !(rest->at[bytes] && strchr(dividers, rest->at[bytes]))) {
        bytes++;
    }
    *out = (struct span){ rest->at, bytes };
    if (bytes == rest->bytes) {
        rest->at = NULL;
    } else {
        rest->at += bytes + 1;
        rest->bytes -= bytes + 1;
    }
    return true;
}

/* Parses "<id>", "cri-containerd-<id>.scope" or "docker-<id>.scope". */
static bool read_container(struct span part, char out[NTK_CONTAINER_ID_BYTES])
{
    cut_end(&part, ".scope");
    /* The supervisor of a CRI-O container has a separate scope next to it. */
    if (part.bytes < ID_DIGITS || begins_with(part, "crio-conmon-") ||
        begins_with(part, "libpod-conmon-")) {
        return false;
    }
    const char *id = part.at + part.bytes - ID_DIGITS;
    if (!ntk_cgroup_is_container_id(id, ID_DIGITS) || (part.bytes > ID_DIGITS && id[-1] != '-')) {
        return false;
    }
    memcpy(out, id, ID_DIGITS);
    out[ID_DIGITS] = '\0';
    return true;
}

/* Parses "0f1e...": 8-4-4-4-12 digits separated by dashes or (with the systemd driver) underscores.
 * A pod from a file on the node has 32 digits without separators. */
static bool read_uid(struct span text, char out[NTK_POD_UID_BYTES])
{
    if (text.bytes == UID_DIGITS && all_hex(text)) {
        memcpy(out, text.at, text.bytes);
        out[text.bytes] = '\0';
        return true;
    }
    if (text.bytes != UID_CHARS) {
        return false;
    }
    char uid[NTK_POD_UID_BYTES];
    for (size_t i = 0; i < UID_CHARS; i++) {
        bool is_divider = i == 8 || i == 13 || i == 18 || i == 23;
        char c = text.at[i];
        if (is_divider ? c != '-' && c != '_' : !is_hex(c)) {
            return false;
        }
        uid[i] = is_divider ? '-' : c;
    }
    uid[UID_CHARS] = '\0';
    memcpy(out, uid, sizeof uid);
    return true;
}

/* Parses "pod<uid>" or "kubepods-burstable-pod<uid>.slice". */
static bool read_pod(struct span part, char out[NTK_POD_UID_BYTES])
{
    static const size_t lengths[] = { UID_DIGITS, UID_CHARS };

    cut_end(&part, ".slice");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t before = part.bytes - lengths[i]; /* wraps around if the part is too short */
        if (part.bytes < lengths[i] + 3 || memcmp(part.at + before - 3, "pod", 3) != 0 ||
            (before > 3 && part.at[before - 4] != '-')) {
            continue;
        }
        if (read_uid((struct span){ part.at + before, lengths[i] }, out)) {
            return true;
        }
    }
    return false;
}

/* containerd without systemd writes colons: "kubepods-pod<uid>.slice:cri-containerd:<id>". */
static void read_path(struct span path, struct ntk_cgroup_place *out)
{
    struct span part;

    *out = (struct ntk_cgroup_place){ "", "" };
    while (next_part(&path, "/:", &part)) {
        char uid[NTK_POD_UID_BYTES];
        if (out->pod_uid[0] == '\0' && read_pod(part, uid)) {
            memcpy(out->pod_uid, uid, sizeof uid);
            out->container_id[0] = '\0'; /* the node itself may be a container */
        } else if (out->container_id[0] == '\0') {
            read_container(part, out->container_id);
        }
    }
}

bool ntk_cgroup_parse(const char *text, size_t text_bytes, struct ntk_cgroup_place *out)
{
    struct span rest = { text, text_bytes };
    struct span line;

    *out = (struct ntk_cgroup_place){ "", "" };
    while (next_part(&rest, "\n", &line)) {
        struct ntk_cgroup_place place;
        struct span field;
        /* A line is "<number>:<controllers>:<path>". */
        bool has_path = next_part(&line, ":", &field);
        has_path = has_path && next_part(&line, ":", &field);
        if (!has_path || !line.at) {
            continue;
        }
        read_path(line, &place);
        bool is_pods = place.pod_uid[0] && place.container_id[0];
        if (is_pods || (place.container_id[0] && !out->container_id[0]) ||
            (place.pod_uid[0] && !out->container_id[0] && !out->pod_uid[0])) {
            *out = place;
        }
        if (is_pods) {
            break;
        }
    }
    return out->container_id[0] || out->pod_uid[0];
}

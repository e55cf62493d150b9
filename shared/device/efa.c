/* SPDX-License-Identifier: MIT */
/* efa - ports of EFA adapters in the kernel's infiniband class. An EFA adapter has Amazon's vendor
 * id (0x1d0f) and a device id that begins with 0xefa. */
#include "shared/device/adapter.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/str.h"

#define VALUE_BYTES 64

/* Reads a short text without its line break; "" if the file cannot be read. */
static void text_read(int folder, const char *name, char *text, size_t bytes)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    ssize_t got = -1;

    if (fd >= 0) {
        got = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? read(fd, text, bytes - 1) : -1;
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
}

static bool is_efa(int class, const char *name)
{
    char path[PATH_MAX];
    char text[VALUE_BYTES];

    (void)snprintf(path, sizeof path, "%s/device/vendor", name);
    text_read(class, path, text, sizeof text);
    if (strcmp(text, "0x1d0f") != 0) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/device/device", name);
    text_read(class, path, text, sizeof text);
    return strncmp(text, "0xefa", 5) == 0;
}

static void port_read(int counters, struct ntk_adapter_port *port)
{
    static const struct {
        enum ntk_adapter_counter at;
        const char *file;
    } files[] = {
#define NTK_ADAPTER_COUNTER(family, symbol, name, metric) { NTK_##family##_##symbol, name },
#include "shared/abi/adapter.def"
    };
    char text[VALUE_BYTES];

    for (size_t i = NTK_EFA_FIRST; i < NTK_EFA_END; i++) {
        text_read(counters, files[i].file, text, sizeof text);
        if (ntk_str_parse_u64(text, &port->counter[i]) == 0) {
            port->has |= UINT64_C(1) << i;
        }
    }
}

static int is_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strlen(entry->d_name) < NTK_ADAPTER_NAME_BYTES;
}

static int compare_numbers(const struct dirent **a, const struct dirent **b)
{
    unsigned long x = strtoul((*a)->d_name, NULL, 10);
    unsigned long y = strtoul((*b)->d_name, NULL, 10);

    return x < y ? -1 : x > y;
}

static size_t device_read(int class, const char *name, struct ntk_adapter_port *out, size_t max)
{
    char path[2 * NTK_ADAPTER_NAME_BYTES + 32];
    struct dirent **ports = NULL;
    size_t count = 0;

    (void)snprintf(path, sizeof path, "%s/ports", name);
    int found = scandirat(class, path, &ports, is_name, compare_numbers);
    for (int i = 0; i < found; i++) {
        uint64_t number = 0;
        int counters = -1;

        if (count < max && ntk_str_parse_u64(ports[i]->d_name, &number) == 0 &&
            number <= UINT32_MAX) {
            (void)snprintf(path, sizeof path, "%s/ports/%s/hw_counters", name, ports[i]->d_name);
            counters = openat(class, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
        if (counters >= 0) {
            out[count] =
                (struct ntk_adapter_port){ .family = NTK_ADAPTER_EFA, .port = (uint32_t)number };
            (void)ntk_str_copy(out[count].device, sizeof out[count].device, name);
            port_read(counters, &out[count]);
            count += out[count].has != 0;
            close(counters);
        }
        free(ports[i]);
    }
    free(ports);
    return count;
}

size_t ntk_efa_read(const char *root, struct ntk_adapter_port *out_ports, size_t max)
{
    char path[PATH_MAX];
    struct dirent **devices = NULL;
    size_t count = 0;

    if ((size_t)snprintf(path, sizeof path, "%s/class/infiniband", root) >= sizeof path) {
        return 0;
    }
    int class = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (class < 0) {
        return 0;
    }
    int found = scandirat(class, ".", &devices, is_name, alphasort);
    for (int i = 0; i < found; i++) {
        if (is_efa(class, devices[i]->d_name)) {
            count += device_read(class, devices[i]->d_name, out_ports + count, max - count);
        }
        free(devices[i]);
    }
    free(devices);
    close(class);
    return count;
}

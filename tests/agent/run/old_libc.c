/* SPDX-License-Identifier: MIT */
/* old_libc - a preloaded library that simulates the C library of Debian 11 for a program. */
__attribute__((visibility("default"))) const char *gnu_get_libc_version(void);

const char *gnu_get_libc_version(void)
{
    return "2.31";
}

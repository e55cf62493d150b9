/* SPDX-License-Identifier: MIT */
/* A library, also an audit library, that does nothing: it takes the place of the hooks and of a
 * runtime. */
unsigned int la_version(unsigned int version);
int nrt_init(void);

__attribute__((visibility("default"))) int nrt_init(void)
{
    return 1;
}

__attribute__((visibility("default"))) unsigned int la_version(unsigned int version)
{
    return version;
}

/* SPDX-License-Identifier: MIT */
/* A library, and an audit library, that does nothing: what stands in the place of the hooks. */
unsigned int la_version(unsigned int version);

__attribute__((visibility("default"))) unsigned int la_version(unsigned int version)
{
    return version;
}

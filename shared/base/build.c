/* SPDX-License-Identifier: MIT */
/* build - build facts for libraries and tests, which do not record their commit. */
#include "shared/base/build.h"

const char ntk_build_commit[] = "unknown";
const char ntk_build_options[] = "unknown";

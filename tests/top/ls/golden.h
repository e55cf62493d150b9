/* SPDX-License-Identifier: MIT */
/* golden - expected texts in tests/top/ls/golden/<name>.txt; NTK_GOLDEN_UPDATE=1 writes them. */
#ifndef NTK_TESTS_TOP_LS_GOLDEN_H
#define NTK_TESTS_TOP_LS_GOLDEN_H

#include "shared/base/buf.h"

/* Fails, with the text on stderr, if it differs. Empties the buffer. */
void golden_assert(struct ntk_buf *text, const char *name);

#endif

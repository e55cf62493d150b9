#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The recorder must write the same on every run; otherwise comparing before and after a change would prove nothing.
set -eu
recorder=$NTK_BUILD_DIR/tests/tests_freeze_recorder
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$recorder" "$scratch/one" none sample2 mixed trn2.3xlarge-busy trn2.3xlarge-idle
"$recorder" "$scratch/two" none sample2 mixed trn2.3xlarge-busy trn2.3xlarge-idle
diff -r "$scratch/one" "$scratch/two"
[ "$(find "$scratch/one" -size +0 | wc -l)" -gt 120 ]

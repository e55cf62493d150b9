# test_frames - the bytes that the real program sends to a terminal, frame by frame (frames.py).
. "$(dirname "$0")/../e2e/lib.sh"
needs python3
unset NEURON_SOFT_INSTANCE
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # as in test_terminal.sh
python3 "$NTK_SOURCE_DIR/tests/top/frames.py" "$NTK_BUILD_DIR/tests/tests_top_scene_program"

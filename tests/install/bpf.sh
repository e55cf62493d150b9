#!/bin/bash
# bpf.sh - a BPF program that does not compile is omitted with the compiler's error, or fails the build with NTK_WERROR.
. "$(dirname "$0")/../e2e/lib.sh"
needs cc clang
clang -target bpf -x c -c /dev/null -o /dev/null 2>/dev/null || skip "clang has no BPF target"

mkdir project
cat >project/CMakeLists.txt <<TEXT
cmake_minimum_required(VERSION 3.22)
project(programs C)
list(APPEND CMAKE_MODULE_PATH $NTK_SOURCE_DIR/cmake)
include(ntk_bpf)
add_library(PkgConfig::bpf INTERFACE IMPORTED)
ntk_bpf_object(object program.bpf.c)
if(object)
    file(WRITE \${CMAKE_BINARY_DIR}/main.c "int main(void) { return 0; }")
    add_executable(main \${CMAKE_BINARY_DIR}/main.c)
    ntk_bpf_embed(main \${CMAKE_BINARY_DIR}/main.c OBJECT \${object})
else()
    message(STATUS "omitted: needs \${object_needs}")
endif()
TEXT
configured() { # FOLDER [OPTION]
    cmake -S project -B "$@" >"$1.log" 2>&1 || fail "see $1.log"
}
built() { cmake --build "$1" >>"$1.log" 2>&1; }

echo 'int program(void) { return unknown_name; }' >project/program.bpf.c
configured lenient
grep -q 'program.bpf.c does not compile' lenient.log || fail "no warning: $(cat lenient.log)"
grep -q "undeclared identifier 'unknown_name'" lenient.log || fail "the compiler's error is not shown: $(cat lenient.log)"
grep -qFx -- '-- omitted: needs a compiler and libbpf that can compile program.bpf.c (see the warning above)' lenient.log ||
    fail "the reason is not named: $(cat lenient.log)"
built lenient || fail "see lenient.log"
configured strict -DNTK_WERROR=ON
! built strict || fail "the build does not fail"
grep -q "undeclared identifier 'unknown_name'" strict.log || fail "the compiler's error is not shown: $(cat strict.log)"

echo 'int program(void) { int unused; return 0; }' >project/program.bpf.c
! built strict || fail "a warning does not fail the build"
configured lenient
built lenient && [ -s lenient/generated/program.bpf.o ] || fail "see lenient.log"

echo 'int program(void) { return 0; }' >project/program.bpf.c
built strict || fail "see strict.log"
[ -s strict/generated/program.bpf.o ] || fail "the program is not built"

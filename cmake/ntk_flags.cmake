# One interface target, ntk_flags, carries the compiler settings of every target of the project.

option(NTK_WERROR "treat warnings as errors" OFF)
option(NTK_FUZZ "build the fuzz targets with libFuzzer (clang only)" OFF)
option(NTK_OPTIMIZE_DEBUG "debug builds with -Og and assertions" OFF)
set(NTK_SANITIZE "" CACHE STRING "address, undefined or thread")

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

add_library(ntk_flags INTERFACE)
target_include_directories(ntk_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_definitions(ntk_flags INTERFACE _GNU_SOURCE NTK_VERSION="${PROJECT_VERSION}")
# No fused multiply-add: the software cores must compute the same bits on every machine.
target_compile_options(ntk_flags INTERFACE -Wall -Wextra -Wshadow -Wpointer-arith -Wvla -Wformat=2
                       -Wno-format-nonliteral -Wno-unknown-warning-option -Wno-format-truncation
                       -Wno-missing-field-initializers -ffp-contract=off
                       $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
                       $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
# A program depends on the libraries that it calls, not on those of unused functions in its modules. A sanitizer defines
# wrappers of library functions, so the libraries behind them look unused.
if(NOT NTK_SANITIZE AND NOT NTK_FUZZ)
    target_link_options(ntk_flags INTERFACE -Wl,--as-needed)
endif()
if(NTK_WERROR)
    target_compile_options(ntk_flags INTERFACE -Werror)
endif()
if(NTK_OPTIMIZE_DEBUG)
    target_compile_options(ntk_flags INTERFACE -O1 -fno-omit-frame-pointer)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    # The same bytes in any folder. The last matching prefix counts. Files of the build folder are relative to it, as
    # ccache makes them.
    cmake_path(RELATIVE_PATH CMAKE_SOURCE_DIR BASE_DIRECTORY ${CMAKE_BINARY_DIR} OUTPUT_VARIABLE up)
    target_compile_options(ntk_flags INTERFACE -g1 -ffile-prefix-map=${up}=. -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.
                           -ffile-prefix-map=${CMAKE_BINARY_DIR}=build -ffile-prefix-map=${CMAKE_BINARY_DIR}/=)
    target_compile_definitions(ntk_flags INTERFACE _FORTIFY_SOURCE=2)
endif()
if(NTK_SANITIZE)
    # With instrumentation, GCC misses what it detects in plain builds.
    target_compile_options(ntk_flags INTERFACE $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_compile_options(ntk_flags INTERFACE -fsanitize=${NTK_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(ntk_flags INTERFACE -fsanitize=${NTK_SANITIZE})
endif()
if(NTK_FUZZ)
    target_compile_options(ntk_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined
                           -fno-sanitize-recover=all -fno-sanitize=function)
    target_link_options(ntk_flags INTERFACE -fsanitize=address,undefined)
endif()

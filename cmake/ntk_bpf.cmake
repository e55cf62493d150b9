# Programs for the kernel. They need clang for the BPF target and libbpf; without these, modules are
# built without them.
find_program(NTK_BPF_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    set(NTK_BPF_ARCH x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(NTK_BPF_ARCH arm64)
endif()

# ntk_bpf_object(out source [flag...]): sets `out` to the path of the object of a BPF program in
# this folder, or "" if it cannot be built; then `out`_needs says what is missing. The command of
# ntk_bpf_embed() builds it. A source that does not compile is an error of the build with
# NTK_WERROR; otherwise it is a warning, as the compiler or libbpf may be too old.
function(ntk_bpf_object out source)
    set(${out} "" PARENT_SCOPE)
    set(${out}_needs "package bpf (libbpf-dev) and clang for the BPF target" PARENT_SCOPE)
    if(NOT NTK_BPF_ARCH OR NOT NTK_BPF_CLANG OR NOT TARGET PkgConfig::bpf)
        return()
    endif()
    execute_process(COMMAND ${NTK_BPF_CLANG} -target bpf -x c -c /dev/null -o /dev/null
        RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed)
        return()
    endif()
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    string(REGEX REPLACE "\\.c$" ".o" object ${CMAKE_BINARY_DIR}/generated/${folder}/${source})
    # For the target machine: <linux/...> includes its <asm/...>.
    set(headers "")
    foreach(include /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} /usr/${CMAKE_LIBRARY_ARCHITECTURE}/include)
        if(EXISTS ${include}/asm/types.h)
            list(APPEND headers -I${include})
        endif()
    endforeach()
    foreach(include IN LISTS bpf_INCLUDE_DIRS)
        list(APPEND headers -I${include})
    endforeach()
    set(error "")
    if(NTK_WERROR)
        set(error -Werror)
    endif()
    set(compile ${NTK_BPF_CLANG} -target bpf -ffreestanding -mcpu=v2 -O2 -g -Wall -Wextra ${ARGN} ${error}
        -D__TARGET_ARCH_${NTK_BPF_ARCH} -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -I${CMAKE_SOURCE_DIR} ${headers}
        -c ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/${folder})
    if(NOT NTK_WERROR)
        execute_process(COMMAND ${compile} -o ${object} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE errors)
        if(failed)
            string(REPLACE "\n" "\n    " errors "\n${errors}") # CMake wraps lines that are not indented
            message(WARNING "${source} does not compile for the BPF target:${errors}")
            set(${out}_needs "a compiler and libbpf that can compile ${source} (see the warning above)" PARENT_SCOPE)
            return()
        endif()
    endif()
    add_custom_command(OUTPUT ${object}
        COMMAND ${compile} -o ${object} -MD -MF ${object}.d -MT ${object}
        DEPENDS ${source} DEPFILE ${object}.d VERBATIM)
    set(${out} ${object} PARENT_SCOPE)
endfunction()

# ntk_bpf_embed(module source macro object): passes the object's path to the source in the macro.
function(ntk_bpf_embed module source macro object)
    add_custom_target(${module}_object DEPENDS ${object})
    add_dependencies(${module} ${module}_object)
    set_source_files_properties(${source} PROPERTIES
        COMPILE_DEFINITIONS ${macro}="${object}"
        OBJECT_DEPENDS ${object})
endfunction()

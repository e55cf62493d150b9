# The output of `--version`: version (project() in CMakeLists.txt), commit and options of the build.
# The commit is in one small object, ntk_build, which every program links and which changes only
# with the commit. Every build reads the commit again.

set(ntk_build_source ${CMAKE_BINARY_DIR}/generated/build_commit.c)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)
add_custom_target(ntk_build_commit BYPRODUCTS ${ntk_build_source}
    COMMAND ${CMAKE_SOURCE_DIR}/cmake/source.sh write ${ntk_build_source} VERBATIM)
add_library(ntk_build OBJECT ${ntk_build_source})
add_dependencies(ntk_build ntk_build_commit)
target_link_libraries(ntk_build PRIVATE ntk_flags)

# Call it after the last program.
function(ntk_build_options)
    set(options "${CMAKE_BUILD_TYPE}" ${CMAKE_SYSTEM_PROCESSOR} "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
    if(NTK_SANITIZE OR NTK_FUZZ)
        list(APPEND options "sanitizer ${NTK_SANITIZE}$<$<BOOL:${NTK_FUZZ}>:fuzz>")
    endif()
    get_target_property(libraries runtime_hooks_attach LINK_LIBRARIES)
    if("PkgConfig::bpf" IN_LIST libraries)
        list(APPEND options attach)
    else()
        list(APPEND options "no attach")
    endif()
    list(JOIN options ", " options)
    target_compile_definitions(ntk_build PRIVATE "NTK_BUILD_OPTIONS=\"${options}\"")
endfunction()

# The content of the package with the headers, for programs that build against the libraries: NAME.pc for pkg-config and
# neuron-toolkit-config.cmake for find_package(neuron-toolkit), which defines neuron-toolkit::NAME. Both find the libraries
# relative to themselves, so that they work below any prefix.

include(CMakePackageConfigHelpers)

# Called by ntk_install_library(): lib<file>.so or .a in the folder below that of libraries.
function(ntk_dev_library target name description file folder requires include)
    set(prefix /p)
    cmake_path(RELATIVE_PATH prefix BASE_DIRECTORY /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig OUTPUT_VARIABLE up)
    get_target_property(type ${target} TYPE)
    set(kind SHARED)
    set(suffix .so)
    set(more "")
    if(type STREQUAL "STATIC_LIBRARY")
        set(kind STATIC)
        set(suffix .a)
        set(more " -pthread -lm")
    endif()
    set(places "${CMAKE_INSTALL_LIBDIR}")
    if(folder)
        string(APPEND places "/${folder}")
    endif()
    set(headers "${CMAKE_INSTALL_INCLUDEDIR}")
    if(include)
        string(APPEND headers "/${include}")
    endif()
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/lib/pkgconfig/${name}.pc @ONLY CONTENT
"prefix=\${pcfiledir}/@up@
libdir=\${prefix}/@places@
includedir=\${prefix}/@headers@

Name: @name@
Description: @description@
Version: @PROJECT_VERSION@
Requires: @requires@
Cflags: -I\${includedir}
Libs: -L\${libdir} -l@file@@more@
")
    install(FILES ${CMAKE_BINARY_DIR}/lib/pkgconfig/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

    set(links "")
    if(requires)
        set(links neuron-toolkit::${requires})
    elseif(kind STREQUAL "STATIC")
        set(links "Threads::Threads;m")
    endif()
    set_property(GLOBAL APPEND_STRING PROPERTY NTK_DEV_TARGETS "
add_library(neuron-toolkit::${name} ${kind} IMPORTED)
set_target_properties(neuron-toolkit::${name} PROPERTIES
    IMPORTED_LOCATION \"\${PACKAGE_PREFIX_DIR}/${places}/lib${file}${suffix}\"
    INTERFACE_INCLUDE_DIRECTORIES \"\${PACKAGE_PREFIX_DIR}/${headers}\"
    INTERFACE_LINK_LIBRARIES \"${links}\")
")
endfunction()

# Call it after the last library.
function(ntk_install_dev_config)
    get_property(targets GLOBAL PROPERTY NTK_DEV_TARGETS)
    set(made ${CMAKE_BINARY_DIR}/lib/cmake/neuron-toolkit)
    set(destination ${CMAKE_INSTALL_LIBDIR}/cmake/neuron-toolkit)
    set(PACKAGE_INIT "@PACKAGE_INIT@") # for the next step
    file(CONFIGURE OUTPUT ${made}/neuron-toolkit-config.cmake.in @ONLY CONTENT
"@PACKAGE_INIT@
include(CMakeFindDependencyMacro)
find_dependency(Threads)
@targets@")
    configure_package_config_file(${made}/neuron-toolkit-config.cmake.in ${made}/neuron-toolkit-config.cmake
        INSTALL_DESTINATION ${destination} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
    write_basic_package_version_file(${made}/neuron-toolkit-config-version.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${made}/neuron-toolkit-config.cmake ${made}/neuron-toolkit-config-version.cmake
        DESTINATION ${destination} COMPONENT dev)
endfunction()

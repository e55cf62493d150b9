# `cpack` (./dev package) makes packages out of what is installed. The files of a package are those that install() gives
# its component; a folder whose files belong to another package than "tools" sets CMAKE_INSTALL_DEFAULT_COMPONENT_NAME.
# dpkg-shlibdeps finds what a package depends on, so packages made on one release of Debian are for that release.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME neuron-toolkit)
set(CPACK_PACKAGE_VENDOR "the Neuron toolkit developers")
set(CPACK_PACKAGE_CONTACT "${CPACK_PACKAGE_VENDOR} <neuron-toolkit@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL "")
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY OFF)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(ntk_deb_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

# A package: component, name, section and the two parts of its description. DEPENDS, SUGGESTS: in addition to the
# libraries that its files need. Packages with the same files in older versions: one package, neuron-toolkit.
macro(ntk_package component name section summary description)
    cmake_parse_arguments(package "" "DEPENDS;SUGGESTS" "" ${ARGN})
    string(TOUPPER ${component} key)
    list(APPEND CPACK_COMPONENTS_ALL ${component})
    set(CPACK_COMPONENT_${key}_DESCRIPTION "${summary}\n${description}")
    set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
    set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
    set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${package_DEPENDS}")
    set(CPACK_DEBIAN_${key}_PACKAGE_SUGGESTS "${package_SUGGESTS}")
    set(CPACK_DEBIAN_${key}_PACKAGE_BREAKS neuron-toolkit)
    set(CPACK_DEBIAN_${key}_PACKAGE_REPLACES neuron-toolkit)
endmacro()

ntk_package(tools neuron-tools utils
    "tools to watch and profile AWS Neuron accelerators"
    "neuron-monitor (agent and exporters), neuron-top, neuron-ls, neuron-profile, neuron-packager, and the hooks that
neuron-monitor loads into the jobs that it observes."
    SUGGESTS "neuron-soft-runtime, neuron-rtd")
# libopenblas.so.0 is loaded by the first core, so dpkg-shlibdeps does not find it.
if(TARGET runtime_hooks_libnrt)
    ntk_package(soft_runtime neuron-soft-runtime utils
        "software NeuronCores that run NEFFs without a Neuron device"
        "A libnrt.so.1 with software NeuronCores in /usr/${CMAKE_INSTALL_LIBDIR}/neuron-soft, which the loader does not search,
neuron-bench to run NEFFs, libcnrt and libcnml over the same cores, and programs for PopEF."
        DEPENDS libopenblas0)
endif()
if(TARGET neuron-rtd)
    ntk_package(rtd neuron-rtd utils
        "runtime daemon of the first generation on software NeuronCores"
        "neuron-rtd serves the gRPC interface of the Neuron runtime 1.x. neuron-cli is its client. The package also has what
neuron-profile start-session and stop-session need."
        DEPENDS libopenblas0)
endif()
if(TARGET runtime_hooks_libnrt)
    ntk_package(dev neuron-toolkit-dev libdevel
        "headers and libraries to build against the Neuron toolkit"
        "Headers, links for the linker, libnds.a, and files for pkg-config and CMake."
        DEPENDS "neuron-soft-runtime (= ${ntk_deb_version})")
endif()
include(CPack)

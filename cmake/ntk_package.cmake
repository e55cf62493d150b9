# `cpack` (./dev package) makes packages from the installed files. The files of a package are those
# that install() gives its component; a folder with files of a package other than "tools" sets
# CMAKE_INSTALL_DEFAULT_COMPONENT_NAME. dpkg-shlibdeps finds the dependencies, so packages are for the Debian release on
# which they were made.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME neuron-toolkit)
set(CPACK_PACKAGE_VENDOR "the Neuron toolkit developers")
set(NTK_PACKAGE_CONTACT "${CPACK_PACKAGE_VENDOR} <neuron-toolkit@localhost>" CACHE STRING "maintainer that packages name")
set(CPACK_PACKAGE_CONTACT "${NTK_PACKAGE_CONTACT}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL "")
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY OFF)

set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/cmake/package/kind.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# `cpack -G RPM`: the names of libraries are the same on all systems, but not the symbol versions
# that Debian adds. Libraries with a vendor's soname are not for other packages.
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
set(CPACK_RPM_COMPRESSION_TYPE xz)
set(CPACK_RPM_PACKAGE_AUTOREQ ON)
set(CPACK_RPM_PACKAGE_AUTOPROV ON)
set(CPACK_RPM_SPEC_MORE_DEFINE "%global __provides_exclude ^lib(nrt|cnrt|cnml|neuron-hooks|neuron-hooks-audit)[.]so
%global __requires_exclude [(]NCURSES.*[)]|^lib(nrt|cnrt|cnml)[.]so
%global __elf_exclude_path ^$
%global __elf_flags %{nil}
%global _build_id_links none
%global _buildhost localhost
%global use_source_date_epoch_as_buildtime 1
%global clamp_mtime_to_source_date_epoch 1
%global _use_internal_dependency_generator 1")
foreach(folder . /doc /man /man/man1 /lintian /lintian/overrides /licenses /bash-completion /bash-completion/completions /zsh
        /zsh/site-functions /fish /fish/vendor_completions.d)
    list(APPEND CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share${folder})
endforeach()
list(APPEND CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /etc /etc/default /usr/libexec /usr/lib/sysusers.d /usr/lib/systemd /usr/lib/systemd/system
    /usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig /usr/${CMAKE_INSTALL_LIBDIR}/cmake)

set(ntk_deb_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

# A package: component, name, section and the two parts of its description. DEPENDS, SUGGESTS: in
# addition to the libraries that its files need. LOADS: a library that they load at run time; an RPM
# requires it. Every package replaces neuron-toolkit, which had the files of all in older versions.
macro(ntk_package component name section summary description)
    cmake_parse_arguments(package "" "DEPENDS;SUGGESTS;RPM_NAME;RPM_REQUIRES;LOADS" "" ${ARGN})
    if(NOT package_RPM_NAME)
        set(package_RPM_NAME ${name})
    endif()
    if(package_LOADS)
        list(APPEND package_RPM_REQUIRES "${package_LOADS}()(64bit)")
    endif()
    string(TOUPPER ${component} key)
    list(APPEND CPACK_COMPONENTS_ALL ${component})
    set(ntk_loads_${component} "${package_LOADS}")
    set(CPACK_COMPONENT_${key}_DESCRIPTION "${summary}\n${description}")
    set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
    set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
    set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${package_DEPENDS}")
    set(CPACK_DEBIAN_${key}_PACKAGE_SUGGESTS "${package_SUGGESTS}")
    set(CPACK_RPM_${key}_PACKAGE_NAME ${package_RPM_NAME})
    set(CPACK_RPM_${key}_PACKAGE_SUMMARY "${summary}")
    set(CPACK_RPM_${key}_PACKAGE_DESCRIPTION "${description}")
    set(CPACK_RPM_${key}_PACKAGE_REQUIRES "${package_RPM_REQUIRES}")
    set(CPACK_RPM_${key}_PACKAGE_OBSOLETES neuron-toolkit)
    set(CPACK_DEBIAN_${key}_PACKAGE_BREAKS neuron-toolkit)
    set(CPACK_DEBIAN_${key}_PACKAGE_REPLACES neuron-toolkit)
endmacro()

# Libraries that are loaded when they are first needed: dpkg-shlibdeps does not find them. A static libcurl is linked.
if(NTK_CURL_IS_LOADED)
    set(ntk_curl DEPENDS "libcurl4 (>= 7.70)" LOADS libcurl.so.4)
endif()
set(ntk_blas DEPENDS libopenblas0 LOADS libopenblas.so.0)
ntk_package(tools neuron-tools utils
    "tools to watch and profile AWS Neuron accelerators"
    "neuron-monitor (agent and exporters), neuron-top, neuron-ls, neuron-profile,
neuron-packager, and the hooks that neuron-monitor loads into the jobs that it
observes."
    ${ntk_curl} SUGGESTS "neuron-soft-runtime, neuron-rtd")
if(TARGET runtime_hooks_libnrt)
    ntk_package(soft_runtime neuron-soft-runtime utils
        "software NeuronCores that run NEFFs without a Neuron device"
        "A libnrt.so.1 with software NeuronCores in a folder that the loader does not
search, neuron-bench to run NEFFs, libcnrt and libcnml over the same cores, and
programs for PopEF."
        ${ntk_blas})
endif()
if(TARGET neuron-rtd)
    ntk_package(rtd neuron-rtd utils
        "runtime daemon of the first generation on software NeuronCores"
        "neuron-rtd serves the gRPC interface of the Neuron runtime 1.x. neuron-cli is
its client. The package also has what neuron-profile start-session and
stop-session need."
        ${ntk_blas})
endif()
if(TARGET runtime_hooks_libnrt)
    ntk_package(dev neuron-toolkit-dev libdevel
        "headers and libraries to build against the Neuron toolkit"
        "Headers, links for the linker, libnds.a, and files for pkg-config and CMake."
        DEPENDS "neuron-soft-runtime (= ${ntk_deb_version})"
        RPM_NAME neuron-toolkit-devel RPM_REQUIRES "neuron-soft-runtime = ${PROJECT_VERSION}")
endif()

# Additional files of each package: copyright, changelog, and scripts if it has a service.
ntk_service_scripts(tools neuron-monitor.service neuron-monitor.service "var/lib/neuron-monitor etc/systemd/system/neuron-monitor.service.d"
    neuron-monitor.conf)
ntk_service_scripts(rtd "neuron-rtd-soft.service 'neuron-rtd-soft@*.service'" "neuron-rtd-soft*.service"
    "etc/systemd/system/neuron-rtd-soft.service.d etc/systemd/system/neuron-rtd-soft@*.service.d")
set(ntk_package_folder ${CMAKE_BINARY_DIR}/package)
execute_process(COMMAND awk -f ${CMAKE_SOURCE_DIR}/cmake/package/copyright.awk ${CMAKE_SOURCE_DIR}/LICENSE
    OUTPUT_FILE ${ntk_package_folder}/copyright COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND env LC_ALL=C TZ=UTC date -d @${NTK_EPOCH} -R OUTPUT_VARIABLE ntk_date
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND awk -v version=${ntk_deb_version} -v date=${ntk_date} -v by=${CPACK_PACKAGE_CONTACT}
        -f ${CMAKE_SOURCE_DIR}/cmake/package/changelog.awk ${CMAKE_SOURCE_DIR}/CHANGELOG.md
    COMMAND gzip -9n OUTPUT_FILE ${ntk_package_folder}/changelog.Debian.gz COMMAND_ERROR_IS_FATAL ANY)
# libpopef.so.1, libcnrt.so.4 and libcnml.so.7 are where the loader searches.
configure_file(${CMAKE_SOURCE_DIR}/cmake/package/triggers ${ntk_package_folder}/soft_runtime/triggers COPYONLY)
foreach(name post postun) # of an RPM
    configure_file(${CMAKE_SOURCE_DIR}/cmake/package/ldconfig ${ntk_package_folder}/soft_runtime/${name} COPYONLY)
endforeach()
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} key)
    foreach(file copyright changelog.Debian.gz)
        ntk_install_packaged(${ntk_package_folder}/${file} share/doc/${CPACK_DEBIAN_${key}_PACKAGE_NAME}/${file}
            COMPONENT ${component} KINDS DEB)
    endforeach()
    ntk_install_packaged(${CMAKE_SOURCE_DIR}/LICENSE share/licenses/${CPACK_RPM_${key}_PACKAGE_NAME}/LICENSE
        COMPONENT ${component} KINDS RPM)
    # The overrides of all packages, then those of this one.
    set(name ${CPACK_DEBIAN_${key}_PACKAGE_NAME})
    set(extra)
    if(EXISTS ${CMAKE_SOURCE_DIR}/cmake/package/lintian-${component})
        file(READ ${CMAKE_SOURCE_DIR}/cmake/package/lintian-${component} extra)
    endif()
    configure_file(${CMAKE_SOURCE_DIR}/cmake/package/lintian.in ${ntk_package_folder}/lintian/${name} @ONLY)
    ntk_install_packaged(${ntk_package_folder}/lintian/${CPACK_DEBIAN_${key}_PACKAGE_NAME}
        share/lintian/overrides/${CPACK_DEBIAN_${key}_PACKAGE_NAME} COMPONENT ${component} KINDS DEB)
    set(CPACK_DEBIAN_${key}_PACKAGE_CONTROL_EXTRA "")
    foreach(file conffiles postinst prerm postrm triggers)
        if(EXISTS ${ntk_package_folder}/${component}/${file})
            list(APPEND CPACK_DEBIAN_${key}_PACKAGE_CONTROL_EXTRA ${ntk_package_folder}/${component}/${file})
        endif()
    endforeach()
    foreach(pair post=POST_INSTALL preun=PRE_UNINSTALL postun=POST_UNINSTALL)
        string(REPLACE "=" ";" pair ${pair})
        list(GET pair 0 file)
        list(GET pair 1 variable)
        if(EXISTS ${ntk_package_folder}/${component}/${file})
            set(CPACK_RPM_${key}_${variable}_SCRIPT_FILE ${ntk_package_folder}/${component}/${file})
        endif()
    endforeach()
    if(EXISTS ${ntk_package_folder}/${component}/conffiles)
        file(STRINGS ${ntk_package_folder}/${component}/conffiles files)
        list(TRANSFORM files PREPEND "%config(noreplace) ")
        set(CPACK_RPM_${key}_USER_FILELIST "${files}")
    endif()
endforeach()
# The bill of materials of a package, after all its files.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} key)
    install(CODE "
        set(name_DEB ${CPACK_DEBIAN_${key}_PACKAGE_NAME})
        set(name_RPM ${CPACK_RPM_${key}_PACKAGE_NAME})
        set(name \"\${name_\$ENV{NTK_PACKAGE_KIND}}\")
        if(name)
            set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc/\${name}\")
            set(file \"\${folder}/\${name}.spdx.json\")
            file(MAKE_DIRECTORY \"\${folder}\")
            execute_process(COMMAND ${CMAKE_SOURCE_DIR}/cmake/package/sbom.sh \"\$ENV{DESTDIR}\" \${name} ${PROJECT_VERSION} ${NTK_EPOCH}
                    ${ntk_loads_${component}}
                OUTPUT_FILE \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)
            list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")
        endif()" COMPONENT ${component})
endforeach()
include(CPack)

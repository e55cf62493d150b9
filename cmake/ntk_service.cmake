# Files that only packages contain, and the scripts of services.

# The timestamp of all packaged files: SOURCE_DATE_EPOCH, or that of the commit.
set(NTK_EPOCH "$ENV{SOURCE_DATE_EPOCH}")
if(NOT NTK_EPOCH)
    execute_process(COMMAND ${CMAKE_SOURCE_DIR}/cmake/source.sh time OUTPUT_VARIABLE NTK_EPOCH
        OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()

# Installs a file at a place in packages of the given KINDS (default: all), otherwise at ELSE or
# nowhere. Places are relative to the prefix. cmake/package/kind.cmake sets the kind.
function(ntk_install_packaged file place)
    cmake_parse_arguments(ARG "" "ELSE;COMPONENT" "KINDS" ${ARGN})
    set(component ${CMAKE_INSTALL_DEFAULT_COMPONENT_NAME})
    if(ARG_COMPONENT)
        set(component ${ARG_COMPONENT})
    endif()
    if(NOT ARG_KINDS)
        set(ARG_KINDS DEB RPM)
    endif()
    install(CODE "
        set(place \"${place}\")
        if(NOT \";${ARG_KINDS};\" MATCHES \";\$ENV{NTK_PACKAGE_KIND};\")
            set(place \"${ARG_ELSE}\")
        endif()
        if(place)
            if(NOT IS_ABSOLUTE \"\${place}\")
                set(place \"\${CMAKE_INSTALL_PREFIX}/\${place}\")
            endif()
            get_filename_component(folder \"\${place}\" DIRECTORY)
            get_filename_component(name \"\${place}\" NAME)
            file(INSTALL \"${file}\" DESTINATION \"\${folder}\" RENAME \"\${name}\")
        endif()" COMPONENT ${component})
endfunction()

# The configuration file of a service, with every option of its program as a comment: ntk_install_defaults(PROGRAM
# VARIABLE UNIT EXAMPLE). A package keeps changes to it.
function(ntk_install_defaults program variable unit example)
    set(made ${CMAKE_BINARY_DIR}/share/default/${program})
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/default)
    set(script ${CMAKE_SOURCE_DIR}/cmake/package/defaults.awk)
    add_custom_command(OUTPUT ${made}
        COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${program}> --help | awk -v variable=${variable} -v unit=${unit} -v example=${example}
            -f ${script} >${made}
        DEPENDS ${program} ${script})
    add_custom_target(${program}_defaults ALL DEPENDS ${made})
    ntk_install_packaged(${made} /etc/default/${program} ELSE share/neuron-toolkit/default/${program})
    file(WRITE ${CMAKE_BINARY_DIR}/package/${CMAKE_INSTALL_DEFAULT_COMPONENT_NAME}/conffiles "/etc/default/${program}\n")
endfunction()

# The maintainer scripts of a package, in <build>/package/COMPONENT: ntk_service_scripts(COMPONENT
# "UNITS" "LINKS" "PURGED" [USERS]). UNITS are the services, LINKS enable them, PURGED are folders below /
# that the service wrote, USERS is a file of sysusers.d.
function(ntk_service_scripts component units links purged)
    set(users ${ARGN})
    foreach(name postinst prerm postrm post preun postun)
        configure_file(${CMAKE_SOURCE_DIR}/cmake/package/${name}.in
            ${CMAKE_BINARY_DIR}/package/${component}/${name} @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
            GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    endforeach()
endfunction()

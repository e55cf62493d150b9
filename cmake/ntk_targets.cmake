# ntk_module, ntk_shared_library, ntk_program, ntk_test, ntk_fuzz, ntk_proto: one line makes one
# target. USES names other targets of the project (the arrows of docs/architecture.md), PACKAGES the
# system libraries of ntk_packages.cmake. A target with a missing dependency is omitted, with all
# targets that need it; the summary at the end of the configuration gives the reason.

set(NTK_BIN_DIR ${CMAKE_BINARY_DIR}/bin)
set(NTK_LIB_DIR ${CMAKE_BINARY_DIR}/lib)

# Sets <out> to what <name> lacks, empty when it can be built.
function(ntk_missing out uses packages)
    set(missing "")
    foreach(use IN LISTS uses)
        if(use AND NOT TARGET ${use})
            list(APPEND missing "target ${use}")
        endif()
    endforeach()
    foreach(package IN LISTS packages)
        if(package AND NOT TARGET PkgConfig::${package})
            list(APPEND missing "package ${package}")
        endif()
    endforeach()
    set(${out} "${missing}" PARENT_SCOPE)
endfunction()

function(ntk_leave_out name missing)
    list(JOIN missing ", " reason)
    set_property(GLOBAL APPEND PROPERTY NTK_OMITTED "${name}: needs ${reason}")
endfunction()

function(ntk_link name uses packages)
    target_link_libraries(${name} PUBLIC ntk_flags ${uses})
    foreach(package IN LISTS packages)
        if(package)
            target_link_libraries(${name} PUBLIC PkgConfig::${package})
        endif()
    endforeach()
endfunction()

# A static library from one folder, named after its path: ntk_module(shared_base SOURCES err.c ...).
# HEADERS: packages with libraries that are loaded at run time: only their headers are needed.
function(ntk_module name)
    cmake_parse_arguments(ARG "" "" "SOURCES;USES;PACKAGES;HEADERS" ${ARGN})
    ntk_missing(missing "${ARG_USES}" "${ARG_PACKAGES};${ARG_HEADERS}")
    if(missing)
        ntk_leave_out(${name} "${missing}")
        return()
    endif()
    add_library(${name} STATIC ${ARG_SOURCES})
    ntk_link(${name} "${ARG_USES}" "${ARG_PACKAGES}")
    foreach(package IN LISTS ARG_HEADERS)
        target_include_directories(${name} PRIVATE
            $<TARGET_PROPERTY:PkgConfig::${package},INTERFACE_INCLUDE_DIRECTORIES>)
    endforeach()
    target_link_libraries(${name} PUBLIC Threads::Threads m ${CMAKE_DL_LIBS})
endfunction()

# An installed library, in <build>/lib.
function(ntk_shared_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;USES;PACKAGES" ${ARGN})
    ntk_missing(missing "${ARG_USES}" "${ARG_PACKAGES}")
    if(missing)
        ntk_leave_out(${name} "${missing}")
        return()
    endif()
    add_library(${name} SHARED ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE ntk_flags ${ARG_USES} Threads::Threads m ${CMAKE_DL_LIBS})
    foreach(package IN LISTS ARG_PACKAGES)
        target_link_libraries(${name} PRIVATE PkgConfig::${package})
    endforeach()
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${NTK_LIB_DIR})
endfunction()

# Installs a library in the folder of libraries, or in FOLDER below it, which the loader does not search. DEV NAME
# DESCRIPTION [REQUIRES name] [INCLUDE folder]: programs may link it, so the package with the headers gets its link for the
# linker, NAME.pc for pkg-config and a target for find_package(neuron-toolkit).
function(ntk_install_library target)
    cmake_parse_arguments(ARG "" "FOLDER;REQUIRES;INCLUDE" "DEV" ${ARGN})
    set(folder ${CMAKE_INSTALL_LIBDIR})
    if(ARG_FOLDER)
        string(APPEND folder /${ARG_FOLDER})
    endif()
    install(TARGETS ${target}
        LIBRARY DESTINATION ${folder} NAMELINK_COMPONENT dev
        ARCHIVE DESTINATION ${folder} COMPONENT dev)
    if(ARG_DEV)
        list(POP_FRONT ARG_DEV name description)
        get_target_property(file ${target} OUTPUT_NAME)
        if(NOT file)
            set(file ${target})
        endif()
        ntk_dev_library(${target} ${name} "${description}" ${file} "${ARG_FOLDER}" "${ARG_REQUIRES}" "${ARG_INCLUDE}")
    endif()
endfunction()

# An installed program with its man page (MAN, the template that man.awk reads), in <build>/bin.
# INTERNAL: run by other programs only, in <build>/libexec/neuron-toolkit.
function(ntk_program name)
    cmake_parse_arguments(ARG "INTERNAL" "MAN" "SOURCES;USES;PACKAGES" ${ARGN})
    ntk_missing(missing "${ARG_USES}" "${ARG_PACKAGES}")
    if(missing)
        ntk_leave_out(${name} "${missing}")
        return()
    endif()
    set(folder bin)
    if(ARG_INTERNAL)
        set(folder libexec/neuron-toolkit)
    endif()
    add_executable(${name} ${ARG_SOURCES})
    ntk_link(${name} "${ARG_USES}" "${ARG_PACKAGES}")
    target_link_libraries(${name} PUBLIC Threads::Threads m ${CMAKE_DL_LIBS})
    target_link_libraries(${name} PRIVATE ntk_build)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
    install(TARGETS ${name} RUNTIME DESTINATION ${folder})
    if(ARG_MAN)
        ntk_install_man(${name} ${ARG_MAN})
        ntk_install_completions(${name})
    endif()
endfunction()

# A link, created when the project is installed: ntk_install_link(TARGET path/below/the/prefix [component]).
function(ntk_install_link to path)
    set(component ${CMAKE_INSTALL_DEFAULT_COMPONENT_NAME})
    if(ARGN)
        set(component ${ARGN})
    endif()
    get_filename_component(folder ${path} DIRECTORY)
    install(CODE "
        set(link \"\${CMAKE_INSTALL_PREFIX}/${path}\")
        file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}\")
        file(CREATE_LINK ${to} \"\$ENV{DESTDIR}\${link}\" SYMBOLIC)
        list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${link}\")
        message(STATUS \"Installing: \$ENV{DESTDIR}\${link}\")" COMPONENT ${component})
endfunction()

# The vendor's name of a program, as a link with its own man page, so that existing pipelines and
# units still work.
function(ntk_install_vendor_name name vendor_name)
    ntk_install_link(${name} bin/${vendor_name})
    ntk_install_link(${name}.1.gz share/man/man1/${vendor_name}.1.gz)
endfunction()

# A second name of a program, as a link in <build>/bin and where it is installed, with its man page and completions.
function(ntk_second_name name second)
    add_custom_command(TARGET ${name} POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink ${name} ${NTK_BIN_DIR}/${second})
    ntk_install_vendor_name(${name} ${second})
    file(CREATE_LINK ${name}.1 ${CMAKE_BINARY_DIR}/share/man/man1/${second}.1 SYMBOLIC)
    ntk_install_completions(${name} ${second})
endfunction()

# A systemd unit. @bindir@ in it becomes the folder of the programs at installation.
function(ntk_install_unit unit)
    ntk_install_with_prefix(${unit} lib/systemd/system @bindir@ /bin)
endfunction()

# Installs a text file in a folder below the prefix, in which a word is replaced by a path below the prefix.
function(ntk_install_with_prefix file folder word path)
    get_filename_component(name ${file} NAME)
    get_filename_component(source ${file} ABSOLUTE)
    install(CODE "
        file(READ \"${source}\" text)
        string(REPLACE \"${word}\" \"\${CMAKE_INSTALL_PREFIX}${path}\" text \"\${text}\")
        set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}\")
        file(MAKE_DIRECTORY \"\${folder}\")
        file(WRITE \"\${folder}/${name}\" \"\${text}\")
        list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${CMAKE_INSTALL_PREFIX}/${folder}/${name}\")
        message(STATUS \"Installing: \${folder}/${name}\")")
endfunction()

# Installed pages lie alone: of a link to a file of the source tree, only the text stays.
function(ntk_install_unlink_sources folder)
    set(changes "s#\\]\\(\\.\\./CHANGELOG\\.md#](CHANGELOG.md#g; s#\\]\\(docs/#](#g")
    set(link "\\[([^]]*)\\]")
    install(CODE "
        set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}\")
        file(GLOB pages \"\${folder}/*.md\")
        execute_process(COMMAND sed -i -E [==[${changes}]==] \${pages} COMMAND_ERROR_IS_FATAL ANY)
        execute_process(COMMAND sed -i -E [==[s#${link}\\(\\.\\./[^)]*\\)#\\1#g]==] \${pages} COMMAND_ERROR_IS_FATAL ANY)
        file(GLOB pages \"\${folder}/*/*.md\")
        execute_process(COMMAND sed -i -E [==[s#${link}\\(\\.\\./\\.\\./[^)]*\\)#\\1#g]==] \${pages} COMMAND_ERROR_IS_FATAL ANY)")
endfunction()

# <build>/share/man/man1/NAME.1: the template with the options of the program's table.
function(ntk_install_man name template)
    set(made ${CMAKE_BINARY_DIR}/share/man/man1/${name}.1)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/man/man1)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    add_custom_command(OUTPUT ${made}
        COMMAND awk -v "emulator=${emulator}" -v program=$<TARGET_FILE:${name}> -f ${CMAKE_SOURCE_DIR}/cmake/man.awk
            ${CMAKE_CURRENT_SOURCE_DIR}/${template} >${made}
        DEPENDS ${name} ${template} ${CMAKE_SOURCE_DIR}/cmake/man.awk)
    set(packed ${CMAKE_BINARY_DIR}/share/man-gz/${name}.1.gz)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/man-gz)
    add_custom_command(OUTPUT ${packed} COMMAND gzip -9nc ${made} >${packed} DEPENDS ${made})
    add_custom_target(${name}_man ALL DEPENDS ${packed})
    install(FILES ${packed} DESTINATION share/man/man1)
endfunction()

# Completions, printed by the program itself for each shell and installed where the shell searches;
# ARGN: for a second name.
function(ntk_install_completions name)
    set(as ${name})
    if(ARGN)
        set(as ${ARGN})
    endif()
    foreach(place bash:bash-completion/completions/${as} zsh:zsh/site-functions/_${as}
                  fish:fish/vendor_completions.d/${as}.fish)
        string(REPLACE ":" ";" place ${place})
        list(GET place 0 shell)
        list(GET place 1 file)
        set(made ${CMAKE_BINARY_DIR}/share/${file})
        get_filename_component(folder ${made} DIRECTORY)
        file(MAKE_DIRECTORY ${folder})
        add_custom_command(TARGET ${name} POST_BUILD
            COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${name}> --completion ${shell} | sed s/${name}/${as}/g >${made})
        get_filename_component(destination share/${file} DIRECTORY)
        install(FILES ${made} DESTINATION ${destination})
    endforeach()
endfunction()

# The name of a target, from the path of its file: tests/shared/base/test_err.c ->
# tests_shared_base_test_err.
function(ntk_name_by_path out file)
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR}
               OUTPUT_VARIABLE folder)
    get_filename_component(stem ${file} NAME_WE)
    string(REPLACE "/" "_" name "${folder}_${stem}")
    set(${out} ${name} PARENT_SCOPE)
endfunction()

# A cmocka test program of one file: ntk_test(test_err.c USES shared_base [SOURCES more.c]
# [NEEDS program ...] [LABELS ...] [LOCK name] [COST seconds]). NEEDS builds other targets first; tests
# with the same LOCK run one at a time; a test with COST starts early, so that no long one runs
# alone at the end; ./dev test leaves out those with the label long. The environment of the test has NTK_BIN_DIR, NTK_LIB_DIR, NTK_SOURCE_DIR.
function(ntk_test file)
    cmake_parse_arguments(ARG "" "COST;LOCK" "SOURCES;USES;PACKAGES;NEEDS;LABELS" ${ARGN})
    ntk_name_by_path(name ${file})
    ntk_missing(missing "${ARG_USES};${ARG_NEEDS}" "${ARG_PACKAGES};cmocka")
    if(missing)
        ntk_leave_out(${name} "${missing}")
        return()
    endif()
    add_executable(${name} ${file} ${ARG_SOURCES})
    ntk_link(${name} "${ARG_USES}" "${ARG_PACKAGES};cmocka")
    target_link_libraries(${name} PUBLIC Threads::Threads m ${CMAKE_DL_LIBS})
    if(ARG_NEEDS)
        add_dependencies(${name} ${ARG_NEEDS})
    endif()
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    ntk_test_properties(${name})
endfunction()

# A test that is a script: ntk_script_test(name SCRIPT file.sh [NEEDS ...] ...).
function(ntk_script_test name)
    cmake_parse_arguments(ARG "" "COST;LOCK;SCRIPT" "NEEDS;LABELS;ARGS" ${ARGN})
    ntk_missing(missing "${ARG_NEEDS}" "")
    if(missing)
        ntk_leave_out(${name} "${missing}")
        return()
    endif()
    add_test(NAME ${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SCRIPT} ${ARG_ARGS}
             WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    ntk_test_properties(${name})
endfunction()

# First in the PATH of tests: the distribution's Python with the modules of cmake/packages.txt. The
# shim of a version manager starts six times slower, and tests run it often.
set(NTK_TEST_PATH ${CMAKE_BINARY_DIR}/tests/path)
if(EXISTS /usr/bin/python3)
    file(MAKE_DIRECTORY ${NTK_TEST_PATH})
    file(CREATE_LINK /usr/bin/python3 ${NTK_TEST_PATH}/python3 SYMBOLIC)
endif()

# The properties of every test; reads the ARG_* of its caller.
macro(ntk_test_properties test_name)
    set_property(TEST ${test_name} PROPERTY ENVIRONMENT
                 "NTK_BIN_DIR=${NTK_BIN_DIR};NTK_LIB_DIR=${NTK_LIB_DIR};NTK_SOURCE_DIR=${CMAKE_SOURCE_DIR};NTK_BUILD_DIR=${CMAKE_BINARY_DIR};NTK_SANITIZE=${NTK_SANITIZE}$<$<BOOL:${NTK_FUZZ}>:fuzz>;UBSAN_OPTIONS=print_stacktrace=1;TSAN_OPTIONS=second_deadlock_stack=1:suppressions=${CMAKE_SOURCE_DIR}/tests/support/tsan_suppressions.txt;OPENBLAS_NUM_THREADS=1;AWS_EC2_METADATA_DISABLED=true")
    set_property(TEST ${test_name} PROPERTY SKIP_RETURN_CODE 77)
    if(CMAKE_CROSSCOMPILING_EMULATOR)
        set_property(TEST ${test_name} APPEND PROPERTY ENVIRONMENT "NTK_EMULATED=1")
    endif()
    if(EXISTS ${NTK_TEST_PATH})
        set_property(TEST ${test_name} PROPERTY ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${NTK_TEST_PATH}")
    endif()
    if(ARG_COST)
        set_property(TEST ${test_name} PROPERTY COST ${ARG_COST})
    endif()
    if(ARG_LABELS)
        set_property(TEST ${test_name} PROPERTY LABELS ${ARG_LABELS})
    endif()
    if(ARG_LOCK)
        set_property(TEST ${test_name} PROPERTY RESOURCE_LOCK ${ARG_LOCK})
    endif()
endmacro()

# A fuzz target: LLVMFuzzerTestOneInput in one file. With the fuzz preset it is a libFuzzer program;
# in every preset its corpus (tests/corpus/<target's CORPUS>) runs as a plain test.
function(ntk_fuzz file)
    cmake_parse_arguments(ARG "" "CORPUS" "USES;SOURCES" ${ARGN})
    ntk_name_by_path(name ${file})
    ntk_missing(missing "${ARG_USES}" "")
    if(missing)
        ntk_leave_out(${name} "${missing}")
        return()
    endif()
    add_executable(${name} ${file} ${ARG_SOURCES})
    ntk_link(${name} "${ARG_USES}" "")
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    set(corpus ${CMAKE_SOURCE_DIR}/tests/corpus/${ARG_CORPUS})
    if(NTK_FUZZ)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        add_test(NAME ${name} COMMAND ${name} -runs=20000 -max_total_time=20 -timeout=10 -rss_limit_mb=4096
                 ${CMAKE_BINARY_DIR}/fuzz/found_${name} ${corpus})
        file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz/found_${name})
    else()
        target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/fuzz_corpus_main.c)
        add_test(NAME ${name} COMMAND ${name} ${corpus})
    endif()
    ntk_test_properties(${name})
endfunction()

# C code from .proto files, in the build folder: ntk_proto(shared_formats_ntff ntff.proto) lets the
# target include "<folder>/ntff.pb-c.h" by its path from the root. Files that import one another are
# named in one call, with IMPORTS_FROM the folder that their imports are relative to.
function(ntk_proto name)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "IMPORTS_FROM" "")
    if(NOT TARGET ${name})
        return()
    endif()
    find_program(NTK_PROTOC_C NAMES protoc-c REQUIRED)
    set(out ${CMAKE_BINARY_DIR}/generated)
    set(root ${CMAKE_SOURCE_DIR})
    if(ARG_IMPORTS_FROM)
        cmake_path(ABSOLUTE_PATH ARG_IMPORTS_FROM NORMALIZE OUTPUT_VARIABLE root)
    endif()
    cmake_path(RELATIVE_PATH root BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE root_folder)
    cmake_path(APPEND out ${root_folder} OUTPUT_VARIABLE root_out)
    cmake_path(NORMAL_PATH root_out)
    list(TRANSFORM ARG_UNPARSED_ARGUMENTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
    foreach(file IN LISTS files)
        cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE made)
        cmake_path(REPLACE_EXTENSION made LAST_ONLY .pb-c OUTPUT_VARIABLE made)
        cmake_path(GET made PARENT_PATH folder)
        file(MAKE_DIRECTORY ${out}/${folder})
        add_custom_command(OUTPUT ${out}/${made}.c ${out}/${made}.h
            COMMAND ${NTK_PROTOC_C} --proto_path=${root} --c_out=${root_out} ${file}
            DEPENDS ${files} VERBATIM)
        set_source_files_properties(${out}/${made}.c PROPERTIES COMPILE_OPTIONS "-w")
        target_sources(${name} PRIVATE ${out}/${made}.c)
    endforeach()
    target_include_directories(${name} PUBLIC ${out} PRIVATE ${root_out})
endfunction()

# The same files as protobuf's descriptors, bytes of the target: ntk_descriptors(shared_rpc HEADER path/of/header.h
# ARRAY name IMPORTS_FROM folder files), where the header declares "const unsigned char name[]" and
# "const size_t name_bytes".
function(ntk_descriptors name)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "HEADER;ARRAY;IMPORTS_FROM" "")
    if(NOT TARGET ${name})
        return()
    endif()
    cmake_path(ABSOLUTE_PATH ARG_IMPORTS_FROM NORMALIZE OUTPUT_VARIABLE root)
    list(TRANSFORM ARG_UNPARSED_ARGUMENTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${ARG_ARRAY}.c)
    set(script ${CMAKE_SOURCE_DIR}/cmake/ntk_embed.cmake)
    add_custom_command(OUTPUT ${source}
        COMMAND ${NTK_PROTOC_C} --proto_path=${root} --descriptor_set_out=${ARG_ARRAY}.bin --include_imports ${files}
        COMMAND ${CMAKE_COMMAND} -DFILES=${ARG_ARRAY}.bin -DHEADER=${ARG_HEADER} -DARRAY=${ARG_ARRAY} -DOUT=${source}
                -P ${script}
        DEPENDS ${files} ${script} VERBATIM)
    target_sources(${name} PRIVATE ${source})
endfunction()

function(ntk_summary)
    get_property(missing GLOBAL PROPERTY NTK_MISSING_PACKAGES)
    get_property(omitted GLOBAL PROPERTY NTK_OMITTED)
    foreach(line IN LISTS missing)
        message(STATUS "missing package: ${line}")
    endforeach()
    foreach(line IN LISTS omitted)
        # Targets with a dependency that is defined later in the order of folders are lost silently: report them.
        if(line MATCHES "target ([A-Za-z0-9_-]+)" AND TARGET ${CMAKE_MATCH_1})
            message(SEND_ERROR "omitted because of its place in the order of folders: ${line}")
        endif()
        message(STATUS "omitted: ${line}")
    endforeach()
    if(NOT missing AND NOT omitted)
        message(STATUS "all parts are built")
    endif()
endfunction()

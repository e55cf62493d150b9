# Files as bytes of a program. Included: ntk_embed(OUT_VARIABLE HEADER path/of/header.h TABLE name [TYPE name] FILES a b),
# which sets the variable to the C source that the build makes; HEADER declares
# "const struct TYPE TABLE[]", by default ntk_http_file (shared/http/http_files.h). A file is known by its last name.
# As a script it writes that source: cmake -DFILES="a;b" -DHEADER=... -DTABLE=... -DTYPE=... -DOUT=x.c -P ntk_embed.cmake; with
# -DARRAY=name in place of the table, one file as "const unsigned char name[]" and "const size_t name_bytes".
if(NOT CMAKE_SCRIPT_MODE_FILE)
    function(ntk_embed out)
        cmake_parse_arguments(ARG "" "HEADER;TABLE;TYPE" "FILES" ${ARGN})
        if(NOT ARG_TYPE)
            set(ARG_TYPE ntk_http_file)
        endif()
        get_filename_component(folder ${ARG_HEADER} DIRECTORY)
        set(source ${CMAKE_BINARY_DIR}/generated/${folder}/${ARG_TABLE}.c)
        file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/${folder})
        set(paths "")
        foreach(file IN LISTS ARG_FILES)
            get_filename_component(path ${file} ABSOLUTE)
            list(APPEND paths ${path})
        endforeach()
        set(script ${CMAKE_SOURCE_DIR}/cmake/ntk_embed.cmake)
        add_custom_command(OUTPUT ${source}
            COMMAND ${CMAKE_COMMAND} "-DFILES=${paths}" -DHEADER=${ARG_HEADER} -DTABLE=${ARG_TABLE}
                    -DTYPE=${ARG_TYPE} -DOUT=${source} -P ${script}
            DEPENDS ${paths} ${script} VERBATIM)
        set(${out} ${source} PARENT_SCOPE)
    endfunction()
    return()
endif()

if(ARRAY)
    file(READ ${FILES} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    file(WRITE ${OUT} "/* Made by cmake/ntk_embed.cmake. */\n#include \"${HEADER}\"\nconst unsigned char ${ARRAY}[] = { ${bytes} };\nconst size_t ${ARRAY}_bytes = sizeof ${ARRAY};\n")
    return()
endif()

set(arrays "")
set(rows "")
set(index 0)
foreach(file IN LISTS FILES)
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    get_filename_component(name ${file} NAME)
    string(APPEND arrays "static const unsigned char file_${index}[] = { ${bytes} };\n")
    string(APPEND rows "    { \"${name}\", file_${index}, sizeof file_${index} },\n")
    math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUT} "/* Made by cmake/ntk_embed.cmake. */\n#include \"${HEADER}\"\n${arrays}const struct ${TYPE} ${TABLE}[] = {\n${rows}    { 0 },\n};\n")

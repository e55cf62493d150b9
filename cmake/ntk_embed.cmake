# Writes C source in which each of FILES (names in FOLDER) is an array of bytes, and a table of them:
# cmake -DFOLDER=... -DFILES="a;b" -DHEADER=path/of/header.h -DTABLE=struct_and_name -DOUT=x.c -P ntk_embed.cmake
# HEADER declares "struct <TABLE without its last s>" with name, bytes, bytes_count, and the table itself.
string(REGEX REPLACE "s$" "" struct "${TABLE}")
set(arrays "")
set(rows "")
set(index 0)
foreach(file IN LISTS FILES)
    file(READ ${FOLDER}/${file} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND arrays "static const unsigned char file_${index}[] = { ${bytes} };\n")
    string(APPEND rows "    { \"${file}\", file_${index}, sizeof file_${index} },\n")
    math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUT} "/* Made by cmake/ntk_embed.cmake. */\n#include \"${HEADER}\"\n${arrays}const struct ${struct} ${TABLE}[] = {\n${rows}    { 0 },\n};\n")

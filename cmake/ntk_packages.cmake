# The packages of docs/decisions/libraries.md, each found once through pkg-config. PACKAGES <name>
# of a target below means: link PkgConfig::<name>; a target whose package is missing is omitted and
# named in the summary.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(ntk_find_package name module)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${module})
    if(NOT ${name}_FOUND)
        set_property(GLOBAL APPEND PROPERTY NTK_MISSING_PACKAGES "${name} (pkg-config ${module})")
    endif()
endfunction()

ntk_find_package(ncursesw ncursesw)
ntk_find_package(microhttpd libmicrohttpd)
ntk_find_package(gnutls gnutls)
ntk_find_package(yaml yaml-0.1)
ntk_find_package(crypt libcrypt)
ntk_find_package(curl libcurl)
ntk_find_package(sqlite3 sqlite3)
ntk_find_package(protobuf_c libprotobuf-c)
ntk_find_package(grpc_unsecure grpc_unsecure)
ntk_find_package(jansson jansson)
ntk_find_package(archive libarchive)
ntk_find_package(crypto libcrypto)
ntk_find_package(zstd libzstd)
ntk_find_package(zlib zlib)
ntk_find_package(snappy snappy)
ntk_find_package(openblas openblas)
# Not in the list of missing ones: what needs it is a part of a program, which says so itself.
pkg_check_modules(bpf QUIET IMPORTED_TARGET GLOBAL libbpf)
ntk_find_package(cmocka cmocka)

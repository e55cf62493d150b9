# The packages of docs/decisions/libraries.md, each found once through pkg-config. PACKAGES <name>
# links PkgConfig::<name>; a target with a missing package is omitted and named in the summary.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# The oldest version with the functions that we call, or of a supported system (Ubuntu 22.04, Amazon
# Linux 2023). pkg-config knows gRPC by its library version.
function(ntk_find_package name module oldest)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${module}>=${oldest})
    if(NOT ${name}_FOUND)
        execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --modversion ${module} OUTPUT_VARIABLE found ERROR_QUIET
            OUTPUT_STRIP_TRAILING_WHITESPACE)
        set(reason "pkg-config ${module}, version ${oldest} or later")
        if(found)
            string(APPEND reason ", but this is ${found}")
        endif()
        set_property(GLOBAL APPEND PROPERTY NTK_MISSING_PACKAGES "${name} (${reason})")
    endif()
endfunction()

ntk_find_package(ncursesw ncursesw 6.2)
ntk_find_package(microhttpd libmicrohttpd 0.9.71) # enum MHD_Result
ntk_find_package(gnutls gnutls 3.7)
ntk_find_package(yaml yaml-0.1 0.2.2)
ntk_find_package(crypt libcrypt 4.4)
ntk_find_package(curl libcurl 7.70) # cainfo of curl_version_info()
ntk_find_package(sqlite3 sqlite3 3.37) # STRICT tables
ntk_find_package(protobuf_c libprotobuf-c 1.3.3)
ntk_find_package(grpc_unsecure grpc_unsecure 9)
ntk_find_package(jansson jansson 2.13)
ntk_find_package(archive libarchive 3.5)
ntk_find_package(crypto libcrypto 3.0)
ntk_find_package(zstd libzstd 1.4.8)
ntk_find_package(zlib zlib 1.2.11)
ntk_find_package(snappy snappy 1.1.8)
ntk_find_package(openblas openblas 0.3.13)
# Not in the list of missing packages: the program without this part reports it itself.
pkg_check_modules(bpf QUIET IMPORTED_TARGET GLOBAL libbpf>=0.5)
pkg_check_modules(dw QUIET IMPORTED_TARGET GLOBAL libdw>=0.176)
ntk_find_package(cmocka cmocka 1.1.5)

# The shared libcurl is loaded by the first client (shared/http/http_curl.h).
if(TARGET PkgConfig::curl)
    get_target_property(ntk_curl_libraries PkgConfig::curl INTERFACE_LINK_LIBRARIES)
    string(FIND "${ntk_curl_libraries}" "libcurl.so" ntk_curl_found)
    if(NOT ntk_curl_found EQUAL -1)
        set(NTK_CURL_IS_LOADED ON)
    endif()
endif()

# The shared libarchive needs libxml2, which needs ICU, for formats that are not used. If a static libarchive exists,
# the linker takes only the used functions from it; tar_write.c replaces the one function that would need libxml2.
find_library(NTK_ARCHIVE_STATIC NAMES libarchive.a HINTS ${archive_LIBRARY_DIRS})
if(archive_FOUND AND NTK_ARCHIVE_STATIC AND NOT archive_LINK_LIBRARIES MATCHES "libarchive[.]a")
    set(ntk_archive_needs ${NTK_ARCHIVE_STATIC} nettle lzma bz2 zstd z)
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_LIBRARIES -Wl,--as-needed ${ntk_archive_needs})
    check_c_source_compiles("
        #include <archive.h>
        int archive_write_set_format_xar(struct archive *archive) { return archive != 0; }
        int main(void)
        {
            struct archive *archive = archive_write_new();
            archive_write_set_format_pax_restricted(archive);
            archive_write_add_filter_gzip(archive);
            archive_read_support_format_tar(archive);
            return archive_read_support_format_zip_seekable(archive);
        }" NTK_ARCHIVE_STATIC_LINKS)
    unset(CMAKE_REQUIRED_LIBRARIES)
    if(NTK_ARCHIVE_STATIC_LINKS)
        set_target_properties(PkgConfig::archive PROPERTIES
            INTERFACE_LINK_LIBRARIES "${ntk_archive_needs}" INTERFACE_LINK_OPTIONS -Wl,--exclude-libs,libarchive.a)
    endif()
endif()

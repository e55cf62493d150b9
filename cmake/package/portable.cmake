# Included by project() in the portable build (portable_root.sh): libraries are linked statically where /opt/libs has them, and
# programs find the shared ones relative to themselves.

set(ntk_bundled "$ORIGIN/../lib/neuron-toolkit" "$ORIGIN/../neuron-toolkit" "$ORIGIN/neuron-toolkit" "$ORIGIN/../lib" "$ORIGIN")
set(CMAKE_INSTALL_RPATH "${ntk_bundled}")
set(CMAKE_LIBRARY_PATH /opt/libs/lib)
# RPATH, not RUNPATH: it also applies to the dependencies of libraries. Symbols of static libraries stay private.
add_link_options(-Wl,--disable-new-dtags -static-libgcc)
foreach(name ssl crypto curl nghttp2 archive z zstd jansson sqlite3)
    add_link_options(-Wl,--exclude-libs,lib${name}.a)
endforeach()

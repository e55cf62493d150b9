#!/bin/bash
# portable_root.sh VERSION EPOCH - runs in the Debian 11 of portable.sh: builds the toolkit with static libraries and packs it
# with the shared ones that it needs. Libraries that are too old there are those of Debian 12 as static ones, linked with the
# C library of Debian 11, and libcurl has only what we call. A test reads which symbols of the C library the result needs.
set -euo pipefail
version=$1 epoch=$2
libs=/opt/libs
jobs=-j${NTK_JOBS:-2}
arch=$(gcc -dumpmachine 2>/dev/null || echo "$(uname -m)-linux-gnu")
export DEBIAN_FRONTEND=noninteractive PKG_CONFIG_PATH=$libs/lib/pkgconfig
packages=(gcc g++ make ninja-build pkg-config protobuf-c-compiler jq clang dpkg-dev xz-utils zstd file ca-certificates
    libncurses-dev libmicrohttpd-dev libprotobuf-c-dev libgnutls28-dev libyaml-dev libcrypt-dev libsnappy-dev
    libdw-dev libelf-dev libbz2-dev liblzma-dev libopenblas-dev)
# Linked statically: of Debian 11, and the packages with those of Debian 12.
static=(ncursesw tinfo microhttpd protobuf-c yaml crypt snappy dw elf bz2 lzma)
newer=(zlib1g-dev libzstd-dev libssl-dev libnghttp2-dev libsqlite3-dev libbpf-dev)

# logged NAME COMMAND...: keeps what it prints in /opt/NAME.log, and shows the end of that where it fails.
logged() {
    local log=/opt/$1.log
    "${@:2}" >"$log" 2>&1 || {
        tail -20 "$log" >&2
        exit 1
    }
}
if [ ! -e /opt/packages.done ]; then
    logged update apt-get update -qq
    logged packages apt-get install -y -qq --no-install-recommends "${packages[@]}"
    touch /opt/packages.done
fi

# pc NAME PACKAGE LIBRARIES: how pkg-config knows a library below $libs.
pc() {
    printf 'Name: %s\nDescription: of Debian 12\nVersion: %s\nCflags: -I%s/include\nLibs: -L%s/lib %s\n' "$1" \
        "$(sed 's/^[0-9]*://; s/[+-].*//' /opt/"$2".version)" $libs $libs "$3" >$libs/lib/pkgconfig/"$1".pc
}
if [ ! -e /opt/newer.done ]; then
    logged update apt-get update -qq
    rm -rf $libs /opt/newer
    mkdir -p $libs/{lib/pkgconfig,include} /opt/newer
    for package in "${newer[@]}"; do
        (cd /opt/newer && rm -f ./*.deb && apt-get download -qq "$package/bookworm" && dpkg -x "$package"_*.deb . &&
            dpkg-deb --field "$package"_*.deb Version >/opt/"$package".version)
        cp /opt/newer/usr/share/doc/"$package"/copyright /opt/"$package".copyright
    done
    cp -r /opt/newer/usr/include/. $libs/include
    if [ -d $libs/include/"$arch" ]; then cp -r $libs/include/"$arch"/. $libs/include; fi
    cp /opt/newer/usr/lib/"$arch"/*.a $libs/lib
    for name in "${static[@]}"; do cp /usr/lib/"$arch"/lib"$name".a $libs/lib; done
    cp "$(gcc -print-file-name=libstdc++.a)" $libs/lib
    pc zlib zlib1g-dev -lz
    pc libzstd libzstd-dev -lzstd
    pc libcrypto libssl-dev '-lcrypto -ldl -lpthread'
    pc libnghttp2 libnghttp2-dev -lnghttp2
    pc sqlite3 libsqlite3-dev '-lsqlite3 -lm -ldl -lpthread'
    pc libbpf libbpf-dev '-lbpf -lelf -lz'
    touch /opt/newer.done
fi
# built NAME OPTION...: a source package of Debian 12 as a static and position-independent library, in /opt/source/NAME-*/made.
built() {
    local name=$1
    shift
    [ ! -e /opt/"$name".done ] || return 0
    echo "portable: $name" >&2
    rm -rf /opt/source/"$name"-* && mkdir -p /opt/source
    logged "$name" build_library "$name" "$@"
    touch /opt/"$name".done
}
build_library() (
    name=$1
    cd /opt/source && apt-get source -qq --only-source -t bookworm "$name" && cd ./"$name"-*/ &&
        dpkg-parsechangelog -S Version >/opt/"$name".version && cp debian/copyright /opt/"$name".copyright &&
        cmake -S . -B made -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=$libs -DCMAKE_INSTALL_LIBDIR=lib \
            -DCMAKE_PREFIX_PATH=$libs -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF "${@:2}" &&
        ninja "$jobs" -C made "${target:-install}"
)
# libnrt links these, and Debian's static ones are only for programs.
built jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON
pc jansson jansson -ljansson
off=(LIBXML2 EXPAT OPENSSL NETTLE MBEDTLS LIBB2 LZ4 LZO LZMA ZSTD BZip2 ACL XATTR PCREPOSIX LIBGCC WERROR TEST TAR CPIO CAT)
off=("${off[@]/#/-DENABLE_}")
# It has no switch that leaves its shared library out.
target=archive_static built libarchive "${off[@]/%/=OFF}"
cp /opt/source/libarchive-*/made/libarchive/libarchive.a $libs/lib
cp /opt/source/libarchive-*/libarchive/archive{,_entry}.h $libs/include
pc libarchive libarchive '-larchive -lz'
built curl -DBUILD_CURL_EXE=OFF -DBUILD_TESTING=OFF -DHTTP_ONLY=ON -DCURL_USE_OPENSSL=ON -DUSE_NGHTTP2=ON -DCURL_USE_LIBSSH2=OFF \
    -DUSE_LIBIDN2=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF -DCURL_DISABLE_LDAP=ON -DCURL_USE_GSSAPI=OFF -DENABLE_MANUAL=OFF \
    -DCURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt -DCURL_CA_PATH=none
pc libcurl curl '-lcurl -lnghttp2 -lssl -lcrypto -lz -ldl -lpthread'
# Debian 11 has these static, but pkg-config names the folder of the shared ones.
for name in libprotobuf-c ncursesw libmicrohttpd yaml-0.1 libcrypt libdw snappy; do
    sed "s|^libdir=.*|libdir=$libs/lib|; /^Libs:/s|-lsnappy|-lsnappy -lstdc++|; /^Libs:/s|-lncursesw|-L$libs/lib -lncursesw|" \
        /usr/lib/"$arch"/pkgconfig/$name.pc >$libs/lib/pkgconfig/$name.pc
done
sed '/[.]private:/d' /usr/lib/"$arch"/pkgconfig/gnutls.pc >$libs/lib/pkgconfig/gnutls.pc # always shared

# The toolkit: /opt/neuron-toolkit, wherever it is unpacked.
rm -f /build/CMakeCache.txt # libraries may have changed
logged configure cmake -S /src -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DPKG_CONFIG_ARGN=--static -DCMAKE_PREFIX_PATH=$libs \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PROJECT_INCLUDE=/src/cmake/package/portable.cmake
echo "portable: the toolkit" >&2
ninja "$jobs" -k 0 -C /build >/opt/build.log || {
    grep -A20 '^FAILED' /opt/build.log | head -60 >&2
    exit 1
}
rm -rf /out
DESTDIR=/out/tree logged install cmake --install /build --prefix /opt/neuron-toolkit --strip
name=neuron-toolkit-$version-$(uname -m)
mv /out/tree/opt/neuron-toolkit /out/"$name"

# Shared libraries that every system has stay out.
own=/out/$name/lib/neuron-toolkit doc=/out/$name/share/doc/neuron-toolkit/libraries
mkdir -p "$own" "$doc"
blas=$(ldconfig -p | sed -n 's/.*libopenblas.so.0 .*=> //p' | head -1)
{ find /out/"$name" -type f -exec ldd {} + 2>/dev/null || true; echo "	libopenblas.so.0 => $blas (0)"; ldd "$blas"; } |
    sed -nE 's/^\t(lib[^ ]*) => (\/[^ ]*) .*/\1 \2/p' | sort -u |
    grep -vE '^lib(c|m|dl|pthread|rt|util|resolv|gcc_s)\.so| /out/' | while read -r soname path; do
        cp -L "$path" "$own/$soname"
        strip --strip-unneeded "$own/$soname"
        echo "$path"
    done >/opt/shared
# Record the versions and licences of these libraries.
for file in $(cat /opt/shared) "${static[@]/#/lib}"; do
    [[ $file == /* ]] || file=/usr/lib/$(gcc -dumpmachine)/$file.a
    { dpkg -S "$(readlink -f "$file")" || dpkg -S "$(readlink -f "$file" | sed 's|^/usr||')" || dpkg -S "$file" ; } 2>/dev/null | sed -n '1s/: .*//p'
done | sort -u | while read -r package; do
    cp -L /usr/share/doc/"${package%:*}"/copyright "$doc/${package%:*}"
    dpkg-query -W -f '${Package}\t${Version}\tpkg:deb/debian/${Package}@${Version}?arch=${Architecture}\n' "$package"
done >/opt/libraries
for file in /opt/*.copyright; do
    library=${file##*/} library=${library%.copyright}
    cp "$file" "$doc/$library"
    printf '%s\t%s\tpkg:deb/debian/%s@%s?arch=source\n' "$library" "$(cat /opt/"$library".version)" "$library" "$(cat /opt/"$library".version)"
done >>/opt/libraries
NTK_SBOM_LIBRARIES=/opt/libraries /src/cmake/package/sbom.sh /out/"$name" neuron-toolkit "$version" "$epoch" >/opt/sbom
mv /opt/sbom /out/"$name"/share/doc/neuron-toolkit/neuron-toolkit.spdx.json
cp /src/LICENSE /src/README.md /out/"$name"/
tar -C /out --sort=name --mtime=@"$epoch" --owner=0 --group=0 --numeric-owner --format=gnu -c "$name" | zstd -q -19 -o /out/"$name".tar.zst

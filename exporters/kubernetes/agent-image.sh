#!/bin/bash
# agent-image.sh BUILD FOLDER - collects the content of the image of Dockerfile.agent: neuron-monitor of a build, the
# libraries that it names or loads, the loader, and the certificates of authorities.
set -euo pipefail
build=$1 folder=$2
mkdir -p "$folder"/{usr/bin,usr/lib,etc,tmp,var/tmp,proc,sys,dev}
for name in bin lib; do ln -sfn usr/$name "$folder/$name"; done
ln -sfn usr/lib "$folder/lib64"
chmod 1777 "$folder/tmp" "$folder/var/tmp"
install -s "$build/bin/neuron-monitor" "$folder/usr/bin/"
PATH=$PATH:/usr/sbin:/sbin
curl=$(ldconfig -p | sed -n '/x86-64\|AArch64/s/.*libcurl\.so\.4 .*=> //p' | head -1) # where it is a shared library
{ ldd "$build/bin/neuron-monitor"; [ "$curl" = "" ] || { echo "libcurl.so.4 => $curl (0x0)" && ldd "$curl"; }; } | sed -nE 's/^[^/]*(\/[^ ]*) \(0x.*/\1/p' | sort -u | while read -r library; do
    cp -L "$library" "$folder/usr/lib/"
done
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
    mkdir -p "$folder/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"
fi
echo "hosts: files dns" >"$folder/etc/nsswitch.conf"

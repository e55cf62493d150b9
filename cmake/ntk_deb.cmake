# `cpack` (./dev package) makes one .deb out of what is installed. dpkg-shlibdeps finds what it depends
# on, so a package made on one release of Debian is for that release.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME neuron-toolkit)
set(CPACK_PACKAGE_VENDOR "the Neuron toolkit developers")
set(CPACK_PACKAGE_CONTACT "${CPACK_PACKAGE_VENDOR} <neuron-toolkit@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "tools to watch and profile AWS Neuron accelerators")
set(CPACK_PACKAGE_DESCRIPTION "neuron-monitor, neuron-top, neuron-ls, neuron-profile, neuron-packager, neuron-rtd and neuron-cli, with a
libnrt.so.1 that runs NEFFs on software NeuronCores where there is no Neuron device. It lies in
/usr/lib/neuron-soft, which the loader does not search.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS libopenblas0) # loaded by the first core, which dpkg-shlibdeps cannot see
include(CPack)

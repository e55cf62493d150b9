# Read by cpack before each kind of package; the install rules use it.
set(ENV{NTK_PACKAGE_KIND} ${CPACK_GENERATOR})

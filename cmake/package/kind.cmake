# Read by cpack before each kind of package: the rules of installation see it.
set(ENV{NTK_PACKAGE_KIND} ${CPACK_GENERATOR})

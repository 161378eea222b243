# What is installed beside the programs (the unit, its settings, the manual page), and the Debian
# packages: `cpack --config build/release/CPackConfig.cmake -G DEB` makes epochd_VERSION-DISTRIBUTION_ARCH.deb,
# and epochd-cuda_… where the plug-in was built; docker/deb does so in a bare root. Included after everything that installs a program.

# The component of a file is the package that it goes into.
set(EPOCHD_FILES ${CMAKE_CURRENT_LIST_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/docs/epochd.8 DESTINATION share/man/man8 COMPONENT epochd)
install(FILES ${EPOCHD_FILES}/debian/copyright DESTINATION share/doc/epochd COMPONENT epochd)
install(CODE "set(EPOCHD_FILES \"${EPOCHD_FILES}\")" COMPONENT epochd)
install(SCRIPT ${EPOCHD_FILES}/service.cmake COMPONENT epochd)
set(components epochd)
if(TARGET ep_backend_cuda)
  list(APPEND components cuda)
  install(FILES ${EPOCHD_FILES}/epochd-cuda.conf DESTINATION lib/systemd/system/epochd.service.d COMPONENT cuda)
  install(FILES ${EPOCHD_FILES}/debian/copyright DESTINATION share/doc/epochd-cuda COMPONENT cuda)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME epochd)
set(CPACK_PACKAGE_VENDOR "epochd")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trains neural networks for anyone who can send JSON")
set(CPACK_COMPONENT_EPOCHD_DESCRIPTION
    "epochd is a daemon with a durable queue of training jobs. It takes a job
as JSON over HTTP, streams every epoch's error while it trains, and hands
back the weights and the test metrics. This package has the daemon, its
worker for the CPU, its command line client, and its service.")
set(CPACK_COMPONENT_CUDA_DESCRIPTION "epochd's plug-in for NVIDIA's GPUs. It needs their driver and cuBLASLt.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_STRIP_FILES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# The distribution is in the version, such as 0.1.0-debian12: its packages fit no other, and a later one's replace them.
cmake_host_system_information(RESULT EPOCHD_DISTRIBUTION QUERY DISTRIB_ID DISTRIB_VERSION_ID)
list(JOIN EPOCHD_DISTRIBUTION "" CPACK_DEBIAN_PACKAGE_RELEASE)
set(EPOCHD_MAINTAINER "the maintainers of epochd <epochd@localhost>" CACHE STRING
    "Who answers for the Debian package: NAME <ADDRESS>")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${EPOCHD_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_EPOCHD_PACKAGE_NAME epochd)
set(CPACK_DEBIAN_EPOCHD_PACKAGE_SHLIBDEPS ON) # from the libraries that the programs name
set(CPACK_DEBIAN_EPOCHD_PACKAGE_SUGGESTS "epochd-cuda")
set(CPACK_DEBIAN_EPOCHD_PACKAGE_CONTROL_EXTRA ${EPOCHD_FILES}/debian/conffiles ${EPOCHD_FILES}/debian/postinst
                                              ${EPOCHD_FILES}/debian/prerm ${EPOCHD_FILES}/debian/postrm)
# NVIDIA's libraries come in packages of several names, and from elsewhere; the plug-in says what it
# misses when it is opened, and epochd goes on without it.
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME epochd-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "epochd (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), libc6, libstdc++6, libgcc-s1")
include(CPack)

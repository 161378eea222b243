# Runs while installing: the unit with this prefix in it, its settings, and the changelog as Debian wants
# it. Below /usr the settings of the machine belong into /etc, elsewhere into etc/ of the prefix: nothing
# leaves a prefix of its own. Settings that are there already are not overwritten.
set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
file(READ "${EPOCHD_FILES}/epochd.service" unit)
if(CMAKE_INSTALL_PREFIX MATCHES "/usr/?$")
  string(REGEX REPLACE "usr/?$" "etc/epochd" settings "${root}")
  set(share "${root}/share/doc/epochd")
  file(MAKE_DIRECTORY "${share}")
  execute_process(COMMAND gzip -9nc "${EPOCHD_FILES}/../CHANGELOG.md" OUTPUT_FILE "${share}/changelog.gz"
                          COMMAND_ERROR_IS_FATAL ANY)
else()
  set(settings "${root}/etc/epochd")
  string(REPLACE "/usr/" "${CMAKE_INSTALL_PREFIX}/" unit "${unit}")
  string(REPLACE "/etc/epochd" "${CMAKE_INSTALL_PREFIX}/etc/epochd" unit "${unit}")
endif()
file(MAKE_DIRECTORY "${root}/lib/systemd/system")
file(WRITE "${root}/lib/systemd/system/epochd.service" "${unit}")
message(STATUS "Installing: ${root}/lib/systemd/system/epochd.service")
file(MAKE_DIRECTORY "${settings}")
if(NOT EXISTS "${settings}/config.json")
  configure_file("${EPOCHD_FILES}/service.json" "${settings}/config.json" COPYONLY)
  message(STATUS "Installing: ${settings}/config.json")
endif()

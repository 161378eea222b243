# Runs while installing: the unit with this prefix in it, its settings, and below /usr the manual pages and
# the changelog compressed, as Debian wants them.
#
# Below /usr the settings belong into /etc, elsewhere into etc/ of the prefix: nothing leaves a prefix of
# its own. The token is the machine's, in /etc/epochd, wherever the programs are. Settings that are there
# already are not overwritten.
set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
file(READ "${EPOCHD_FILES}/epochd.service" unit)
if(CMAKE_INSTALL_PREFIX MATCHES "/usr/?$")
  string(REGEX REPLACE "usr/?$" "etc/epochd" settings "${root}")
  set(share "${root}/share/doc/epochd")
  file(MAKE_DIRECTORY "${share}")
  execute_process(COMMAND gzip -9nc "${EPOCHD_FILES}/../CHANGELOG.md" OUTPUT_FILE "${share}/changelog.gz"
                          COMMAND_ERROR_IS_FATAL ANY)
  foreach(page man8/epochd.8 man1/epochctl.1)
    if(EXISTS "${root}/share/man/${page}")
      execute_process(COMMAND gzip -9nf "${root}/share/man/${page}" COMMAND_ERROR_IS_FATAL ANY)
    endif()
  endforeach()
else()
  set(settings "${root}/etc/epochd")
  string(REPLACE "/usr/" "${CMAKE_INSTALL_PREFIX}/" unit "${unit}")
  string(REPLACE "--config /etc/" "--config ${CMAKE_INSTALL_PREFIX}/etc/" unit "${unit}")
endif()
file(MAKE_DIRECTORY "${root}/lib/systemd/system")
file(WRITE "${root}/lib/systemd/system/epochd.service" "${unit}")
message(STATUS "Installing: ${root}/lib/systemd/system/epochd.service")
file(MAKE_DIRECTORY "${settings}")
if(NOT EXISTS "${settings}/config.json")
  configure_file("${EPOCHD_FILES}/service.json" "${settings}/config.json" COPYONLY)
  message(STATUS "Installing: ${settings}/config.json")
endif()

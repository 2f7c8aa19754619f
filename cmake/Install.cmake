# Install.cmake - what a package holds.
include(GNUInstallDirs)
if(TARGET readyfs)
    install(TARGETS readyfs RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES docs/man/readyfs.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)

# What `cmake --install` installs where. Everything is within the prefix: lib/tmpfiles.d creates files in /etc and /var.
# The tree can be moved: the program finds its libraries and Soapy modules relative to itself.
include(GNUInstallDirs)

# No other program links to them, so they have their own folder.
set(own_libraries ${CMAKE_INSTALL_LIBDIR}/iqd)
file(RELATIVE_PATH to_libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/iqd)
set_target_properties(iqd PROPERTIES INSTALL_RPATH "$ORIGIN/${to_libraries}" INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS iqd RUNTIME)
install(TARGETS iqd_base LIBRARY DESTINATION ${own_libraries})
if(TARGET iqd_cuda)
  set_target_properties(iqd_cuda PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS iqd_cuda LIBRARY DESTINATION ${own_libraries})
endif()

# Every program with SoapySDR looks here if the prefix is SoapySDR's own or /usr/local.
find_path(soapy_headers SoapySDR/Version.h HINTS ${SoapySDR_INCLUDE_DIRS} REQUIRED)
file(STRINGS ${soapy_headers}/SoapySDR/Version.h soapy_abi REGEX "define SOAPY_SDR_ABI_VERSION ")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" soapy_abi "${soapy_abi}")
set(soapy_modules SoapySDR/modules${soapy_abi})
file(RELATIVE_PATH to_modules ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/${soapy_modules})
target_compile_definitions(iqd_daemon PUBLIC IQD_INSTALLED_MODULES="${to_modules}")
get_property(modules DIRECTORY ${CMAKE_SOURCE_DIR}/radio/soapy-modules PROPERTY BUILDSYSTEM_TARGETS)
foreach(module IN LISTS modules)
  get_target_property(type ${module} TYPE)
  if(type STREQUAL MODULE_LIBRARY)
    set_target_properties(${module} PROPERTIES INSTALL_RPATH "$ORIGIN/../../iqd" INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${soapy_modules})
  endif()
endforeach()
install(TARGETS warp_guard RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/${soapy_modules})

# Examples are programs to start, so they keep their permissions.
install(DIRECTORY pipelines examples DESTINATION ${CMAKE_INSTALL_DATADIR}/iqd USE_SOURCE_PERMISSIONS
  FILES_MATCHING PATTERN "*.yaml" PATTERN "*.cu" PATTERN "*.py" PATTERN "*.cpp")
install(DIRECTORY tools/grafana tools/prometheus DESTINATION ${CMAKE_INSTALL_DATADIR}/iqd
  FILES_MATCHING PATTERN "*.json" PATTERN "*.yaml" PATTERN "*.yml" PATTERN "*-test.yml" EXCLUDE)
include(IqdDocumentation)

# systemd and udev look below lib, even if the folder of libraries has another name. Files that name the prefix are
# written at install time, since `cmake --install --prefix` may choose another.
install(FILES systemd/iqd.sysusers DESTINATION lib/sysusers.d RENAME iqd.conf)
install(FILES systemd/iqd.sysctl DESTINATION lib/sysctl.d RENAME 60-iqd.conf)
install(FILES systemd/iqd.udev DESTINATION lib/udev/rules.d RENAME 59-iqd.rules)
install(CODE "
  set(bindir ${CMAKE_INSTALL_BINDIR})
  set(datadir ${CMAKE_INSTALL_DATADIR})
  set(docdir ${CMAKE_INSTALL_DOCDIR})
  foreach(folder bindir datadir docdir)
    cmake_path(ABSOLUTE_PATH \${folder} BASE_DIRECTORY \${CMAKE_INSTALL_PREFIX})
  endforeach()
  set(unit \${CMAKE_INSTALL_PREFIX}/lib/systemd/system/iqd@.service)
  set(tmpfiles \${CMAKE_INSTALL_PREFIX}/lib/tmpfiles.d/iqd.conf)
  message(STATUS \"Installing: \$ENV{DESTDIR}\${unit}, \$ENV{DESTDIR}\${tmpfiles}\")
  configure_file(${CMAKE_SOURCE_DIR}/systemd/iqd@.service.in \$ENV{DESTDIR}\${unit} @ONLY)
  configure_file(${CMAKE_SOURCE_DIR}/systemd/iqd.tmpfiles.in \$ENV{DESTDIR}\${tmpfiles} @ONLY)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${unit} \${tmpfiles})
")

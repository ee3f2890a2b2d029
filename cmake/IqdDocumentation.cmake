# Installs pages, manual and completion. The pages lie as in the source tree, so their links lead to the same places;
# tests/system/install_test.py follows all of them.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Named one by one: install(DIRECTORY) would create every folder that has no page, too.
set(patterns)
foreach(folder bench docs pipeline radio)
  list(APPEND patterns ${folder}/*.md ${folder}/*.svg ${folder}/*.png)
endforeach()
file(GLOB_RECURSE pages RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${patterns})
foreach(page IN LISTS pages)
  cmake_path(GET page PARENT_PATH folder)
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
# What the pages link to and is installed elsewhere.
install(CODE "
  set(datadir ${CMAKE_INSTALL_DATADIR})
  set(docdir ${CMAKE_INSTALL_DOCDIR})
  foreach(folder datadir docdir)
    cmake_path(ABSOLUTE_PATH \${folder} BASE_DIRECTORY \${CMAKE_INSTALL_PREFIX})
  endforeach()
  foreach(folder pipelines examples)
    set(link \${docdir}/\${folder})
    file(RELATIVE_PATH target \${docdir} \${datadir}/iqd/\${folder})
    message(STATUS \"Installing: \$ENV{DESTDIR}\${link}\")
    file(CREATE_LINK \${target} \$ENV{DESTDIR}\${link} SYMBOLIC)
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${link})
  endforeach()
")

foreach(section 1 5 8)
  file(GLOB manuals CONFIGURE_DEPENDS docs/man/*.${section})
  install(FILES ${manuals} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

# Those of zsh and fish run that of bash, which they find by these folders.
install(FILES tools/completion/iqd DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES tools/completion/_iqd DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES tools/completion/iqd.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# What the daemon serves of a file of daemon/page/: scripts without comments, and little white space. So comments cost a
# viewer nothing, and the build needs no Node.js. In a script, `/**`, two spaces before `//`, and `//` at the start of a
# line begin comments; they are never part of a string.
# Run as a script it writes all files of ROOT so into OUTPUT: cmake -DROOT=daemon/page -DOUTPUT=… -P IqdPageText.cmake
function(iqd_page_text path result)
  file(READ "${path}" text)
  if(path MATCHES "\\.js$")
    string(REGEX REPLACE "/\\*\\*([^*]|\\*+[^*/])*\\*+/ ?" "" text "${text}")
    string(REGEX REPLACE "(\n *|  )//[^\n]*" "" text "\n${text}")
  endif()
  string(REGEX REPLACE "\n[ \n]+" "\n" text "${text}")
  string(REGEX REPLACE "([,({;])\n" "\\1" text "${text}")
  if(path MATCHES "\\.css$")
    string(REGEX REPLACE " *([{};]) *" "\\1" text "${text}")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(GLOB paths "${ROOT}/*")
  foreach(path IN LISTS paths)
    iqd_page_text("${path}" text)
    get_filename_component(name "${path}" NAME)
    file(WRITE "${OUTPUT}/${name}" "${text}")
  endforeach()
endif()

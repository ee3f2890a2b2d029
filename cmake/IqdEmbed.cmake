# Run as a script: writes files into a source, as a table of their names and texts. With -DTYPED=ON each row also has the
# MIME type by the file's suffix, and a hash; scripts are served without comments.
#   cmake -DROOT=… -DLIST=… -DOUTPUT=… -DHEADER=… -DNAMESPACE=… -DFUNCTION=… -DTYPE=… [-DTYPED=ON] -P IqdEmbed.cmake
# LIST is a file with a path below ROOT on each line.
include(${CMAKE_CURRENT_LIST_DIR}/IqdPageText.cmake)
file(STRINGS ${LIST} paths REGEX "^[^#]")
set(type_of_html "text/html; charset=utf-8")
set(type_of_css "text/css; charset=utf-8")
set(type_of_js "text/javascript; charset=utf-8")
set(type_of_svg "image/svg+xml")
set(type_of_json "application/json")
set(rows)
foreach(path IN LISTS paths)
  file(READ ${ROOT}/${path} text)
  set(typed)
  if(TYPED)
    string(REGEX REPLACE ".*\\." "" suffix ${path})
    if(NOT DEFINED type_of_${suffix})
      message(FATAL_ERROR "${path}: no MIME type is known for .${suffix}")
    endif()
    iqd_page_text(${ROOT}/${path} text)
    string(SHA256 hash "${text}")
    string(SUBSTRING ${hash} 0 16 hash)
    set(typed "\"${type_of_${suffix}}\", \"${hash}\", ")
  endif()
  string(APPEND rows "    {\"${path}\", ${typed}R\"~iqd~(${text})~iqd~\"},\n")
endforeach()
list(LENGTH paths count)
file(WRITE ${OUTPUT} "// Made by cmake/IqdEmbed.cmake.
#include <array>

#include \"${HEADER}\"

namespace ${NAMESPACE} {

std::span<const ${TYPE}> ${FUNCTION}() {
  static constexpr std::array<${TYPE}, ${count}> rows{{
${rows}  }};
  return rows;
}

}  // namespace ${NAMESPACE}
")

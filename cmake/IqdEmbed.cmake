# Run as a script: writes files into a source, as a table of their names and texts.
#   cmake -DROOT=… -DLIST=… -DOUTPUT=… -P IqdEmbed.cmake
file(STRINGS ${LIST} paths REGEX "^[^#]")
set(rows)
foreach(path IN LISTS paths)
  file(READ ${ROOT}/${path} text)
  string(APPEND rows "    {\"${path}\", R\"~iqd~(${text})~iqd~\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by cmake/IqdEmbed.cmake.
#include \"pipeline/plan/fusion/device_headers.hpp\"

namespace iqd::fusion {

std::span<const gpu::Header> device_headers() {
  static constexpr gpu::Header headers[] = {
${rows}  };
  return headers;
}

}  // namespace iqd::fusion
")

# Run as a script: writes a source with a hash of the files that decide how long stages take.
#   cmake -DROOT=… -DLIST=… -DBUILD=… -DOUTPUT=… -P IqdKernelMark.cmake
# LIST is a file with a path below ROOT on each line; BUILD is hashed, too.
file(STRINGS ${LIST} paths)
set(all "${BUILD}")
foreach(path IN LISTS paths)
  file(SHA256 ${ROOT}/${path} hash)
  string(APPEND all "\n${path} ${hash}")
endforeach()
string(SHA256 mark "${all}")
string(SUBSTRING ${mark} 0 12 mark)
file(WRITE ${OUTPUT} "// Made by cmake/IqdKernelMark.cmake.
#include \"pipeline/backend/kernel_mark.hpp\"

namespace iqd {

std::string_view kernel_mark() {
  return \"${mark}\";
}

}  // namespace iqd
")

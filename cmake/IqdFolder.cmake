# Each folder is a library, and its *_test.cpp are one test program: the build follows the layout of the sources.

add_library(iqd_options INTERFACE)
target_include_directories(iqd_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(iqd_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:
  -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
  $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local;-Wunused-const-variable=1,-Wshadow>
  $<$<BOOL:${IQD_WARNINGS_ARE_ERRORS}>:-Werror>
  # In batches GCC 12 inlines a lot, and then gives false warnings about uninitialized variables.
  $<$<AND:$<BOOL:${IQD_BATCHES}>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>>)
if(IQD_SANITIZE)
  target_compile_options(iqd_options INTERFACE -fsanitize=${IQD_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(iqd_options INTERFACE -fsanitize=${IQD_SANITIZE})
endif()
if(IQD_FUZZ)
  # Without libFuzzer the fuzzers only run existing inputs.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
  check_cxx_source_compiles("extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }"
    IQD_HAS_FUZZER)
  unset(CMAKE_REQUIRED_FLAGS)
  target_compile_options(iqd_options INTERFACE $<$<BOOL:${IQD_HAS_FUZZER}>:-fsanitize=fuzzer-no-link>
    # These checks at each access cost a quarter of the compile time, and the address sanitizer finds the same faults.
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=null,alignment,vptr,object-size>)
  # Highway's code is compiled for one kind of CPU, which takes a fifth of the time for all kinds.
  file(STRINGS /proc/cpuinfo has_avx2 REGEX " avx2 " LIMIT_COUNT 1)
  target_compile_options(iqd_options INTERFACE -march=x86-64-v2 -maes -mpclmul)
  if(has_avx2)
    target_compile_options(iqd_options INTERFACE -march=x86-64-v3)
  endif()
  target_compile_definitions(iqd_options INTERFACE HWY_COMPILE_ONLY_STATIC)
endif()

# iqd_batches(<target>): compiles up to IQD_BATCHES sources as one; batches.py decides which. Most compile time goes
# into headers, so this halves the time (pipeline, daemon and their tests take 260 s of CPU time, not 615), but a change
# of one source recompiles its whole batch.
function(iqd_batches target)
  if(NOT IQD_BATCHES)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  execute_process(
    COMMAND ${IQD_PYTHON} -B cmake/batches.py . ${IQD_BATCHES} ${sources}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([0-9]+) (.*)$" line "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${target}_${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# iqd_folder(<name> [SHARED|STATIC] LIBRARIES … [SOURCES …] [TESTS …]): the library iqd_<name> from all *.cpp of this
# folder and its rooms (or SOURCES), and the program <name>_test from its *_test.cpp (or TESTS).
function(iqd_folder name)
  cmake_parse_arguments(arg "SHARED" "" "LIBRARIES;SOURCES;TESTS;TEST_LIBRARIES" ${ARGN})
  if(NOT arg_SOURCES)
    file(GLOB_RECURSE arg_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    list(FILTER arg_SOURCES EXCLUDE REGEX "_(test|bench)\\.cpp$")
  endif()
  if(NOT arg_TESTS)
    file(GLOB_RECURSE arg_TESTS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  endif()
  if(arg_SOURCES)
    if(arg_SHARED)
      add_library(iqd_${name} SHARED ${arg_SOURCES})
    else()
      add_library(iqd_${name} STATIC ${arg_SOURCES})
    endif()
    target_link_libraries(iqd_${name} PUBLIC iqd_options ${arg_LIBRARIES})
    iqd_batches(iqd_${name})
  else()
    add_library(iqd_${name} INTERFACE)
    target_link_libraries(iqd_${name} INTERFACE iqd_options ${arg_LIBRARIES})
  endif()
  if(IQD_TESTS AND arg_TESTS)
    iqd_test(${name} SOURCES ${arg_TESTS} LIBRARIES iqd_${name} ${arg_TEST_LIBRARIES})
  endif()
endfunction()

# iqd_test(<name> SOURCES … LIBRARIES … [LABELS …]): the program <name>_test; each of its cases is a separate test.
function(iqd_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  set(properties TIMEOUT 300)
  if(arg_LABELS)
    list(APPEND properties LABELS ${arg_LABELS})
  endif()
  if(IQD_SANITIZE STREQUAL "thread")
    list(APPEND arg_SOURCES ${PROJECT_SOURCE_DIR}/tools/sanitizers/timed_locks.cpp)
  endif()
  add_executable(${name}_test ${arg_SOURCES})
  iqd_batches(${name}_test)
  target_link_libraries(${name}_test PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest GTest::gtest_main)
  gtest_discover_tests(${name}_test TEST_PREFIX ${name}/ DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()

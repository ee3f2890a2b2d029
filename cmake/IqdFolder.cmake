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
  # Not in programs of tests, which no fuzzer runs.
  target_compile_options(iqd_options INTERFACE
    $<$<AND:$<BOOL:${IQD_HAS_FUZZER}>,$<NOT:$<BOOL:$<TARGET_PROPERTY:IQD_IS_TEST>>>>:-fsanitize=fuzzer-no-link>
    # These checks at each access cost a quarter of the compile time, and the address sanitizer finds the same faults.
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=null,alignment,vptr,object-size>)
endif()
if(IQD_SANITIZE)
  # Highway's code is compiled for one kind of CPU, which takes a fifth of the time for all kinds.
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    file(STRINGS /proc/cpuinfo has_avx2 REGEX " avx2 " LIMIT_COUNT 1)
    target_compile_options(iqd_options INTERFACE -march=x86-64-v2 -maes -mpclmul)
    if(has_avx2)
      target_compile_options(iqd_options INTERFACE -march=x86-64-v3)
    endif()
  endif()
  target_compile_definitions(iqd_options INTERFACE HWY_COMPILE_ONLY_STATIC)
endif()

# iqd_computes(<target>): its comparisons are of samples. Where fuzzers report the operands of each to find inputs, they
# are those of keys and shapes, not of samples: a call per comparison makes a correlator several times slower.
function(iqd_computes target)
  if(IQD_FUZZ AND IQD_HAS_FUZZER)
    target_compile_options(${target} PRIVATE -fno-sanitize-coverage=trace-cmp)
  endif()
endfunction()

# iqd_batches(<target>): compiles the sources of a room (folders within it included) as one, IQD_BATCHES at most. Most
# compile time goes into headers, so this halves the time, but a change of one source recompiles its whole batch. Names
# in a room have to be unique, even in unnamed namespaces: the compiler reports those that are not. Sources that Highway
# compiles once per instruction set, and those that include other sources, stay alone.
function(iqd_batches target)
  if(NOT IQD_BATCHES)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(SORT sources)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source)
    if(EXISTS ${source})  # others are written by the build
      file(STRINGS ${source} alone REGEX "^ *#include .*(hwy/|\\.cpp)|^ *using namespace |^namespace [a-z_]+ = " LIMIT_COUNT 1)
    endif()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE room)
    string(REGEX REPLACE "/?[^/]+$" "" room "${room}")
    string(REGEX REPLACE "^([^/]+/[^/]+)/.*" "\\1" room "${room}")
    string(MAKE_C_IDENTIFIER "${room}" room)
    if(NOT EXISTS ${source} OR alone)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    else()
      math(EXPR batch "0${in_${room}} / ${IQD_BATCHES}")
      math(EXPR in_${room} "0${in_${room}} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${room}_${batch})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# iqd_cuda_batches(<list>): replaces the CUDA sources of a room of stages in this list by one that includes them, as
# iqd_batches does; CMake's own batches know no CUDA before 3.31. It takes a quarter of the time.
function(iqd_cuda_batches list)
  if(NOT IQD_BATCHES)
    return()
  endif()
  set(rooms "")
  set(kept "")
  foreach(source IN LISTS ${list})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE path)
    if(path MATCHES "^pipeline/stages/([^/]+)/.*\\.cu$")
      list(APPEND rooms ${CMAKE_MATCH_1})
      list(APPEND in_${CMAKE_MATCH_1} ${path})
    else()
      list(APPEND kept ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room IN LISTS rooms)
    list(TRANSFORM in_${room} REPLACE "(.+)" "#include \"\\1\"\n")
    list(JOIN in_${room} "" text)
    set(batch ${CMAKE_CURRENT_BINARY_DIR}/batches/${room}.cu)
    file(CONFIGURE OUTPUT ${batch} CONTENT "${text}" @ONLY)
    list(APPEND kept ${batch})
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
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

# iqd_test(<name> SOURCES … LIBRARIES … [LABEL …]): the program <name>_test; each of its cases is a separate test with
# this label (`unit`).
function(iqd_test name)
  cmake_parse_arguments(arg "" "LABEL" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(IQD_SANITIZE STREQUAL "thread")
    list(APPEND arg_SOURCES ${PROJECT_SOURCE_DIR}/tools/sanitizers/timed_locks.cpp)
  endif()
  add_executable(${name}_test ${arg_SOURCES})
  set_target_properties(${name}_test PROPERTIES IQD_IS_TEST ON)
  iqd_batches(${name}_test)
  # Tests are two thirds of a full build; without optimization and line numbers they compile a fifth faster. With a
  # sanitizer, where -O1 is the rule, -O0 takes a third of the time: 10 instead of 28 s for a batch (Clang 14). Tests
  # that compute their own references would run too long.
  if(IQD_SANITIZE AND NOT name MATCHES "^(stages|signal|conformance)$")
    target_compile_options(${name}_test PRIVATE -O0)
  endif()
  target_compile_options(${name}_test PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1;-g0>)
  target_link_libraries(${name}_test PRIVATE ${arg_LIBRARIES} iqd_test_main)
  gtest_discover_tests(${name}_test TEST_PREFIX ${name}/ DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 300 LABELS ${arg_LABEL})
endfunction()

# A folder is a library, and its *_test.cpp are one test program: the layout of the sources is the build.

add_library(iqd_options INTERFACE)
target_include_directories(iqd_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(iqd_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:
  -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
  $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local;-Wunused-const-variable=1,-Wshadow>
  $<$<BOOL:${IQD_WARNINGS_ARE_ERRORS}>:-Werror>>)
if(IQD_SANITIZE)
  target_compile_options(iqd_options INTERFACE -fsanitize=${IQD_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(iqd_options INTERFACE -fsanitize=${IQD_SANITIZE})
endif()

# iqd_keep_apart(<source>…): tools/check examines several sources as one, but not what Highway compiles once for each
# instruction set, nor what clang-tidy speaks of in a main file only: aliases, names from elsewhere, sources included.
function(iqd_keep_apart)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} reasons LIMIT_COUNT 1
      REGEX "hwy/foreach_target\\.h|^ *using [a-z:]*::|^ *namespace [a-z_]+ = |^#include .*\\.cpp")
    if(reasons)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# iqd_folder(<name> [SHARED|STATIC] LIBRARIES … [SOURCES …] [TESTS …]): the library iqd_<name> from all *.cpp of this
# folder (or SOURCES), and the program <name>_test from its *_test.cpp (or TESTS).
function(iqd_folder name)
  cmake_parse_arguments(arg "SHARED" "" "LIBRARIES;SOURCES;TESTS;TEST_LIBRARIES" ${ARGN})
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    list(FILTER arg_SOURCES EXCLUDE REGEX "_(test|bench)\\.cpp$")
  endif()
  if(NOT arg_TESTS)
    file(GLOB arg_TESTS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  endif()
  if(arg_SOURCES)
    if(arg_SHARED)
      add_library(iqd_${name} SHARED ${arg_SOURCES})
    else()
      add_library(iqd_${name} STATIC ${arg_SOURCES})
    endif()
    target_link_libraries(iqd_${name} PUBLIC iqd_options ${arg_LIBRARIES})
    iqd_keep_apart(${arg_SOURCES})
  else()
    add_library(iqd_${name} INTERFACE)
    target_link_libraries(iqd_${name} INTERFACE iqd_options ${arg_LIBRARIES})
  endif()
  if(IQD_TESTS AND arg_TESTS)
    iqd_test(${name} SOURCES ${arg_TESTS} LIBRARIES iqd_${name} ${arg_TEST_LIBRARIES})
  endif()
endfunction()

# iqd_test(<name> SOURCES … LIBRARIES … [LABELS …]): the program <name>_test, each of its cases a test of its own.
function(iqd_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  set(properties TIMEOUT 300)
  if(arg_LABELS)
    list(APPEND properties LABELS ${arg_LABELS})
  endif()
  add_executable(${name}_test ${arg_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest GTest::gtest_main)
  gtest_discover_tests(${name}_test TEST_PREFIX ${name}/ DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()

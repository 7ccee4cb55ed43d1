# Functions that define Sluice's own targets: libraries, tests, benchmarks and embedded files.

# sluice_unity(TARGET)
# With SLUICE_UNITY, eight of TARGET's files are compiled together. Headers are then read once, which halves the time.
# So names in the anonymous namespace of a file must differ from those in other files of its folder or program.
function(sluice_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SLUICE_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# sluice_unity_by_room(TARGET)
# Files are compiled together only with files of the same room (the first folder below this folder). So a new file in
# one room does not change how the other rooms are compiled. Call this after the last target_sources().
function(sluice_unity_by_room target)
  sluice_unity(${target})
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(files ${target} SOURCES)
  foreach(file ${files})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE name)
    string(REGEX REPLACE "/.*" "" room "${name}")
    math(EXPR count_${room} "0${count_${room}} + 1")
    math(EXPR batch "(${count_${room}} - 1) / 8")
    set_source_files_properties("${file}" TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "${room}_${batch}")
  endforeach()
endfunction()

# sluice_ship(TARGET)
# Call this for a TARGET that users get. Its debug information and the names of its functions go to TARGET.debug beside
# it, which debuggers find by themselves. The names would take a fifth of the file.
function(sluice_ship target)
  set(file "$<TARGET_FILE:${target}>")
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND "${CMAKE_OBJCOPY}" --only-keep-debug "${file}" "${file}.debug"
    COMMAND "${CMAKE_OBJCOPY}" --strip-all "--add-gnu-debuglink=${file}.debug" "${file}")
endfunction()

# sluice_library(NAME [SOURCES file...] [LINK target...])
# Defines a static library. Sub-folders may add files with target_sources(). Without sources it is an interface library.
function(sluice_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC sluice_options ${arg_LINK})
    sluice_unity(${name})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE sluice_options ${arg_LINK})
  endif()
endfunction()

# sluice_test(NAME SOURCES file... [OPTIMISED file...] [LINK target...] [LABELS label...] [SLOW suite...] [SPAWNS suite...])
# Defines a GoogleTest program. NAME is "test_" and the name of the tested code. Each suite is one test of ctest (see
# cmake/discover_tests.cmake). OPTIMISED lists sources whose own code takes most of the time. All suites get LABELS.
# SLOW lists the suites that take more than about two seconds, SPAWNS the suites that start Sluice's programs. Tests
# find the source tree as SLUICE_SOURCE_DIR and the build tree as SLUICE_BINARY_DIR.
function(sluice_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;OPTIMISED;LINK;LABELS;SLOW;SPAWNS")
  set(parts ${name})
  set(objects "")
  if(arg_OPTIMISED)
    # If many files contain the same inline function, the linker takes the first, and objects of a library come before
    # those of the program's own sources.
    add_library(${name}_optimised OBJECT ${arg_OPTIMISED})
    target_compile_options(${name}_optimised PRIVATE $<$<CONFIG:RelWithDebInfo>:-Og>)
    list(APPEND parts ${name}_optimised)
    set(objects $<TARGET_OBJECTS:${name}_optimised>)
  endif()
  add_executable(${name} ${objects} ${arg_SOURCES})
  sluice_unity(${name})
  # The tested code is optimised. The tests themselves need not be, which halves the time to build them.
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
  foreach(part ${parts})
    target_link_libraries(${part} PRIVATE sluice_options ${arg_LINK} GTest::gmock GTest::gtest GTest::gtest_main)
    target_compile_definitions(${part} PRIVATE SLUICE_SOURCE_DIR="${SLUICE_ROOT}" SLUICE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  endforeach()
  string(REGEX REPLACE "^test_" "" short "${name}")
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  file(GENERATE OUTPUT "${list}.discover.cmake" CONTENT "include([=[${SLUICE_ROOT}/cmake/discover_tests.cmake]=])
if(EXISTS [=[$<TARGET_FILE:${name}>]=])
  sluice_discover_tests(${short} [=[$<TARGET_FILE:${name}>]=] [=[${list}.tests.cmake]=]
    LABELS ${arg_LABELS} SLOW ${arg_SLOW} SPAWNS ${arg_SPAWNS})
  include([=[${list}.tests.cmake]=])
else()
  add_test(${short}.is_not_built ${name})
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${list}.discover.cmake")
endfunction()

# sluice_benchmark(NAME SOURCES file... [LINK target...])
# Defines a Google Benchmark program. ./dev bench runs all of them.
function(sluice_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE sluice_options ${arg_LINK} benchmark::benchmark benchmark::benchmark_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  add_dependencies(sluice_benchmarks ${name})
endfunction()
add_custom_target(sluice_benchmarks)

# sluice_embed(TARGET SYMBOL FILE)
# Embeds FILE, a source file or a file that the build makes, in TARGET. C++ code accesses it as
#   extern "C" const unsigned char <SYMBOL>[], <SYMBOL>_end[];
function(sluice_embed target symbol file)
  cmake_path(ABSOLUTE_PATH file)
  set(embedded "${CMAKE_CURRENT_BINARY_DIR}/${symbol}.embedded.cpp")
  file(CONFIGURE OUTPUT "${embedded}" CONTENT [[
__asm__(
    ".section .rodata\n.balign 16\n"
    ".global @symbol@\n@symbol@:\n.incbin \"@file@\"\n"
    ".global @symbol@_end\n@symbol@_end:\n.byte 0\n.previous\n");
]] @ONLY)
  # In a unity file, or if set in another folder than the target's, the dependency would be lost.
  set_source_files_properties("${embedded}" TARGET_DIRECTORY ${target}
    PROPERTIES OBJECT_DEPENDS "${file}" SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${embedded}")
endfunction()

# The shapes our own targets come in.

# sluice_unity(TARGET)
# With SLUICE_UNITY, TARGET's files are compiled eight at a time: headers are read once, which halves the time. So names in the
# anonymous namespace of a file must differ from those in other files of its folder or program.
function(sluice_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SLUICE_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# sluice_unity_by_room(TARGET)
# Files are compiled together with files of the same room only (the first folder below this one), so a new file in one room does not change
# what is compiled in the others. To be called after the last target_sources().
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
# TARGET is given to users: its debug information goes to TARGET.debug beside it, which debuggers find by themselves.
function(sluice_ship target)
  set(file "$<TARGET_FILE:${target}>")
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND "${CMAKE_OBJCOPY}" --only-keep-debug "${file}" "${file}.debug"
    COMMAND "${CMAKE_OBJCOPY}" --strip-debug "--add-gnu-debuglink=${file}.debug" "${file}")
endfunction()

# sluice_library(NAME [SOURCES file...] [LINK target...])
# A static library; sub-folders may add to it with target_sources(). Without sources it is an interface library.
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
# A GoogleTest program, NAME "test_" and what it tests. Each of its suites is one test of ctest's: see cmake/discover_tests.cmake.
# OPTIMISED are sources whose own work takes most of the time. LABELS are those of all suites, SLOW are the suites that take more than some two seconds, SPAWNS those that start programs of ours.
# Tests find the source tree as SLUICE_SOURCE_DIR and the build tree as SLUICE_BINARY_DIR.
function(sluice_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;OPTIMISED;LINK;LABELS;SLOW;SPAWNS")
  set(parts ${name})
  set(objects "")
  if(arg_OPTIMISED)
    # Of an inline function that many files have the program takes the first, and objects of a library come before those of its own sources.
    add_library(${name}_optimised OBJECT ${arg_OPTIMISED})
    target_compile_options(${name}_optimised PRIVATE $<$<CONFIG:RelWithDebInfo>:-Og>)
    list(APPEND parts ${name}_optimised)
    set(objects $<TARGET_OBJECTS:${name}_optimised>)
  endif()
  add_executable(${name} ${objects} ${arg_SOURCES})
  sluice_unity(${name})
  # What is tested is optimised, the tests themselves need not be: that halves the time to build them.
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
  foreach(part ${parts})
    target_link_libraries(${part} PRIVATE sluice_options ${arg_LINK} GTest::gmock GTest::gtest GTest::gtest_main)
    target_compile_definitions(${part} PRIVATE SLUICE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" SLUICE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  endforeach()
  string(REGEX REPLACE "^test_" "" short "${name}")
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  file(GENERATE OUTPUT "${list}.discover.cmake" CONTENT "include([=[${CMAKE_SOURCE_DIR}/cmake/discover_tests.cmake]=])
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
# A Google Benchmark program; ./dev bench runs them all.
function(sluice_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE sluice_options ${arg_LINK} benchmark::benchmark benchmark::benchmark_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  add_dependencies(sluice_benchmarks ${name})
endfunction()
add_custom_target(sluice_benchmarks)

# sluice_embed(TARGET SYMBOL FILE)
# Embeds FILE, a source or something that the build makes, in TARGET. In C++:
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
  # In a unity file, or said in another folder than the target's, the dependency would be lost.
  set_source_files_properties("${embedded}" TARGET_DIRECTORY ${target}
    PROPERTIES OBJECT_DEPENDS "${file}" SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${embedded}")
endfunction()

# The runtime as shared libraries, for other languages. Their files are compiled once more, as position-independent code.
# `sluice record` records the calls of these libraries.
set(parts "")
foreach(library sluice_base sluice_capture_setup sluice_backend sluice_runtime)
  get_target_property(sources ${library} SOURCES)
  get_target_property(folder ${library} SOURCE_DIR)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}")
    list(APPEND parts "${source}")
  endforeach()
endforeach()
add_library(sluice_runtime_shared_parts STATIC EXCLUDE_FROM_ALL ${parts})
sluice_unity(sluice_runtime_shared_parts)
target_link_libraries(sluice_runtime_shared_parts PUBLIC sluice_options expected sluice_ring Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(sluice_runtime_shared_parts SYSTEM PUBLIC "${SLUICE_FMT_INCLUDE}")
target_compile_definitions(sluice_runtime_shared_parts PUBLIC FMT_HEADER_ONLY)
set_target_properties(sluice_runtime_shared_parts PROPERTIES POSITION_INDEPENDENT_CODE ON)
if(SLUICE_HAVE_CUDA)
  target_link_libraries(sluice_runtime_shared_parts PRIVATE cuda_headers)
endif()
add_dependencies(sluice_runtime_shared_parts sluice_backend)  # builds the kernels that are embedded

# sluice_runtime_library(NAME SOURCES file...)
# Defines a shared library of the runtime, beside the program. It exports C functions for other languages and nothing
# else.
function(sluice_runtime_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  add_library(${name} SHARED ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE sluice_runtime_shared_parts)
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}" POSITION_INDEPENDENT_CODE ON)
  # The library is never unloaded, because ending threads still call its functions.
  set(exports "${SLUICE_ROOT}/instrumentation/runtime/exports.map")
  # libgcc_s exists on every system. The static libgcc requires a C library as new as that of the build machine, and so
  # do unused functions of libstdc++.
  target_link_options(${name} PRIVATE -static-libstdc++ -Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,-z,nodelete "-Wl,--version-script=${exports}")
  set_target_properties(${name} PROPERTIES LINK_DEPENDS "${exports}")
endfunction()

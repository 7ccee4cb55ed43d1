# CMake reads this file for find_package(sluice). It defines these targets:
#
#   sluice::runtime      the C++ runtime as a static library: devices, streams, buffers, pools, copies; for programs only:
#                        a shared library uses sluice::pool, because this one is not position independent
#   sluice::recording    the same, for a program that records itself (recording.hpp)
#   sluice::pool         the runtime's memory pool as C functions (sluice_pool.h), a shared library
#   sluice::annotations  only sluice.h, with which a program annotates its recording; links nothing
#
# They need GCC 12 or later, C++20, and glibc 2.35 or later.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
get_filename_component(_sluice_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET sluice::annotations)
  add_library(sluice::annotations INTERFACE IMPORTED)
  set_target_properties(sluice::annotations PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${_sluice_prefix}/include/sluice")
  set_property(TARGET sluice::annotations PROPERTY INTERFACE_LINK_LIBRARIES ${CMAKE_DL_LIBS})

  add_library(sluice::pool SHARED IMPORTED)
  set_target_properties(sluice::pool PROPERTIES
    IMPORTED_LOCATION "${_sluice_prefix}/lib/sluice/libsluice_pool.so"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${_sluice_prefix}/include/sluice")

  foreach(_sluice_part runtime recording)
    add_library(sluice::${_sluice_part} STATIC IMPORTED)
    set_target_properties(sluice::${_sluice_part} PROPERTIES
      IMPORTED_LOCATION "${_sluice_prefix}/lib/libsluice_${_sluice_part}.a"
      INTERFACE_INCLUDE_DIRECTORIES "${_sluice_prefix}/include/sluice"
      INTERFACE_COMPILE_FEATURES cxx_std_20)
  endforeach()
  # A recorded program finds the capture library through this run path. The linker drops the code that the program does
  # not use, which is most of the archives.
  set_target_properties(sluice::runtime PROPERTIES
    INTERFACE_LINK_LIBRARIES "Threads::Threads;m;${CMAKE_DL_LIBS}"
    INTERFACE_LINK_OPTIONS "LINKER:-rpath,${_sluice_prefix}/lib/sluice;LINKER:--gc-sections")
  # The libraries that the writer contains, in the versions with which it was built.
  set(_sluice_parts "")
  foreach(_sluice_part zstd dw elf z iberty)
    list(APPEND _sluice_parts "${_sluice_prefix}/lib/sluice/static/lib${_sluice_part}.a")
  endforeach()
  set_property(TARGET sluice::recording PROPERTY INTERFACE_LINK_LIBRARIES "sluice::runtime;${_sluice_parts}")
endif()

foreach(_sluice_file lib/libsluice_runtime.a lib/libsluice_recording.a include/sluice/instrumentation/runtime/device.hpp)
  if(NOT EXISTS "${_sluice_prefix}/${_sluice_file}")
    set(sluice_FOUND FALSE)
    set(sluice_NOT_FOUND_MESSAGE "${_sluice_prefix}/${_sluice_file} is missing: install Sluice again")
  endif()
endforeach()

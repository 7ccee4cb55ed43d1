# Third-party code that the runtime needs, with or without the rest of Sluice. It is compiled without warnings, and is
# optimised in debug builds, too.

find_package(Threads REQUIRED)

function(third_party_library name)
  add_library(${name} STATIC ${ARGN})
  target_compile_options(${name} PRIVATE -w $<$<CONFIG:Debug>:-O2>)
endfunction()

# Debian's libfmt has no archive, but ships the implementation as a header. One file instantiates it.
find_path(SLUICE_FMT_INCLUDE fmt/format-inl.h REQUIRED)
third_party_library(fmt "${SLUICE_ROOT}/cmake/fmt.cpp")
target_include_directories(fmt SYSTEM PUBLIC "${SLUICE_FMT_INCLUDE}")

find_path(SLUICE_EXPECTED_INCLUDE tl/expected.hpp REQUIRED)
add_library(expected INTERFACE)
target_include_directories(expected SYSTEM INTERFACE "${SLUICE_EXPECTED_INCLUDE}")

if(SLUICE_TESTS)
  find_package(GTest REQUIRED)
endif()

# Third-party code as ordinary targets. Debian packages where they are new enough; the window's libraries come from the pinned
# sources that ./dev setup unpacks. Warnings are off in all of it, and it is optimised in debug builds too.
#
# To use other copies: SLUICE_SIMDJSON_DIR, SLUICE_IMGUI_DIR, SLUICE_IMPLOT_DIR, SLUICE_IMGUI_TEST_ENGINE_DIR, SLUICE_GLFW_DIR, SLUICE_PFD_DIR.

find_package(Threads REQUIRED)

function(third_party_library name)
  add_library(${name} STATIC ${ARGN})
  target_compile_options(${name} PRIVATE -w $<$<CONFIG:Debug>:-O2>)
endfunction()

# A library archive with a header beside it, from the system; linked statically, so that the program runs where it is not installed.
function(system_archive name archive header)
  find_library(SLUICE_${name}_ARCHIVE NAMES ${archive} REQUIRED)
  find_path(SLUICE_${name}_INCLUDE ${header} REQUIRED)
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE "${SLUICE_${name}_ARCHIVE}" ${ARGN})
  target_include_directories(${name} SYSTEM INTERFACE "${SLUICE_${name}_INCLUDE}")
endfunction()

system_archive(zstd libzstd.a zstd.h)
system_archive(zlib libz.a zlib.h)
system_archive(png libpng16.a png.h zlib m)
# libdw without libdwfl, its part that asks servers and unpacks kernels: libelf and zlib are all that it then needs.
system_archive(elf libelf.a libelf.h zlib)
system_archive(elfutils libdw.a elfutils/libdw.h elf)
system_archive(sqlite libsqlite3.a sqlite3.h Threads::Threads m)

# Only its demangler of C++ names.
system_archive(iberty libiberty.a libiberty/demangle.h)

# Debian's libfmt has no archive, but ships the implementation as a header: one file instantiates it.
find_path(SLUICE_FMT_INCLUDE fmt/format-inl.h REQUIRED)
third_party_library(fmt "${CMAKE_SOURCE_DIR}/cmake/fmt.cpp")
target_include_directories(fmt SYSTEM PUBLIC "${SLUICE_FMT_INCLUDE}")

# xxHash as inline functions: hot loops inline them, and nothing is linked.
find_path(SLUICE_XXHASH_INCLUDE xxhash.h REQUIRED)
add_library(xxhash INTERFACE)
target_include_directories(xxhash SYSTEM INTERFACE "${SLUICE_XXHASH_INCLUDE}")
target_compile_definitions(xxhash INTERFACE XXH_INLINE_ALL)

# Protocol buffers as headers only, without schemas: Perfetto's field numbers are in the export.
find_path(SLUICE_PROTOZERO_INCLUDE protozero/pbf_writer.hpp REQUIRED)
add_library(protozero INTERFACE)
target_include_directories(protozero SYSTEM INTERFACE "${SLUICE_PROTOZERO_INCLUDE}")

find_path(SLUICE_EXPECTED_INCLUDE tl/expected.hpp REQUIRED)
add_library(expected INTERFACE)
target_include_directories(expected SYSTEM INTERFACE "${SLUICE_EXPECTED_INCLUDE}")

find_path(SLUICE_CLI11_INCLUDE CLI/CLI.hpp REQUIRED)
add_library(cli11 INTERFACE)
target_include_directories(cli11 SYSTEM INTERFACE "${SLUICE_CLI11_INCLUDE}")

find_path(SLUICE_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
add_library(json INTERFACE)
target_include_directories(json SYSTEM INTERFACE "${SLUICE_JSON_INCLUDE}")

# HTTP, as headers only, with the Asio below it. One file of the program includes them, which are long.
find_path(SLUICE_BOOST_INCLUDE boost/beast/core/tcp_stream.hpp REQUIRED)
add_library(beast INTERFACE)
target_include_directories(beast SYSTEM INTERFACE "${SLUICE_BOOST_INCLUDE}")
target_compile_definitions(beast INTERFACE BOOST_ASIO_NO_DEPRECATED)
target_link_libraries(beast INTERFACE Threads::Threads)

# Chooses the widest instructions of the machine that it runs on. One core file includes its header, which is long.
set(SLUICE_SIMDJSON_DIR "${SLUICE_DEPS_DIR}/simdjson-3.12.3" CACHE PATH "simdjson.h and simdjson.cpp")
if(NOT EXISTS "${SLUICE_SIMDJSON_DIR}/simdjson.cpp")
  message(FATAL_ERROR "simdjson is not in ${SLUICE_SIMDJSON_DIR}: run ./dev setup, or set SLUICE_SIMDJSON_DIR")
endif()
third_party_library(simdjson "${SLUICE_SIMDJSON_DIR}/simdjson.cpp")
target_include_directories(simdjson SYSTEM PUBLIC "${SLUICE_SIMDJSON_DIR}")

if(SLUICE_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()

if(SLUICE_GUI)
  include(third_party_gui)
endif()

# Defines third-party code as ordinary targets. Debian packages are used if they are new enough. The window's libraries
# come from the pinned sources that ./dev setup unpacks. Third-party code is compiled without warnings, and is optimised
# in debug builds, too.
#
# These variables name other copies: SLUICE_SIMDJSON_DIR, SLUICE_IMGUI_DIR,
# SLUICE_IMGUI_TEST_ENGINE_DIR, SLUICE_GLFW_DIR, SLUICE_PFD_DIR.

include(third_party_base)

# Finds one of the system's library archives and its header. The archive is linked statically, so that the program runs
# on systems without the library.
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
# libdw is used without libdwfl, its part that asks servers and unpacks kernels. It then needs only libelf and zlib.
system_archive(elf libelf.a libelf.h zlib)
system_archive(elfutils libdw.a elfutils/libdw.h elf)
system_archive(sqlite libsqlite3.a sqlite3.h Threads::Threads m)

# Only this library's demangler of C++ names is used.
system_archive(iberty libiberty.a libiberty/demangle.h)

# xxHash is used as inline functions. Hot loops inline them, and nothing is linked.
find_path(SLUICE_XXHASH_INCLUDE xxhash.h REQUIRED)
add_library(xxhash INTERFACE)
target_include_directories(xxhash SYSTEM INTERFACE "${SLUICE_XXHASH_INCLUDE}")
target_compile_definitions(xxhash INTERFACE XXH_INLINE_ALL)

# Protocol buffers are used as headers only, without schemas. The export contains Perfetto's field numbers.
find_path(SLUICE_PROTOZERO_INCLUDE protozero/pbf_writer.hpp REQUIRED)
add_library(protozero INTERFACE)
target_include_directories(protozero SYSTEM INTERFACE "${SLUICE_PROTOZERO_INCLUDE}")

find_path(SLUICE_CLI11_INCLUDE CLI/CLI.hpp REQUIRED)
add_library(cli11 INTERFACE)
target_include_directories(cli11 SYSTEM INTERFACE "${SLUICE_CLI11_INCLUDE}")

find_path(SLUICE_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
add_library(json INTERFACE)
target_include_directories(json SYSTEM INTERFACE "${SLUICE_JSON_INCLUDE}")

# The HTTP library and Asio, on which it is based, consist of headers only. One file of the program includes them,
# because they are long.
find_path(SLUICE_BOOST_INCLUDE boost/beast/core/tcp_stream.hpp REQUIRED)
add_library(beast INTERFACE)
target_include_directories(beast SYSTEM INTERFACE "${SLUICE_BOOST_INCLUDE}")
target_compile_definitions(beast INTERFACE BOOST_ASIO_NO_DEPRECATED)
target_link_libraries(beast INTERFACE Threads::Threads)

# simdjson selects the widest instructions of the machine at run time. One file of core includes its header, because it
# is long.
set(SLUICE_SIMDJSON_DIR "${SLUICE_DEPS_DIR}/simdjson-3.12.3" CACHE PATH "simdjson.h and simdjson.cpp")
if(NOT EXISTS "${SLUICE_SIMDJSON_DIR}/simdjson.cpp")
  message(FATAL_ERROR "simdjson is not in ${SLUICE_SIMDJSON_DIR}: run ./dev setup, or set SLUICE_SIMDJSON_DIR")
endif()
third_party_library(simdjson "${SLUICE_SIMDJSON_DIR}/simdjson.cpp")
target_include_directories(simdjson SYSTEM PUBLIC "${SLUICE_SIMDJSON_DIR}")

if(SLUICE_TESTS)
  find_package(benchmark REQUIRED)
endif()

if(SLUICE_GUI)
  include(third_party_gui)
endif()

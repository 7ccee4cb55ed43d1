# Defines the libraries that the window needs in a browser, for Emscripten. The targets are those of
# cmake/third_party.cmake. But instead of Debian's libraries, this file compiles the pinned sources that ./dev web
# unpacks. Libraries that consist of headers only are Debian's.
find_package(Threads REQUIRED)

set(SLUICE_WEB_DIR "${SLUICE_DEPS_DIR}" CACHE PATH "Folder with zstd-1.5, sqlite-3.50 and zlib-ng-2.3")
foreach(folder zstd-1.5 sqlite-3.50 zlib-ng-2.3)
  if(NOT IS_DIRECTORY "${SLUICE_WEB_DIR}/${folder}")
    message(FATAL_ERROR "${folder} is not in ${SLUICE_WEB_DIR}: run ./dev web, which fetches it")
  endif()
endforeach()

function(third_party_library name)
  add_library(${name} STATIC ${ARGN})
  target_compile_options(${name} PRIVATE -w)
endfunction()

# headers_only(NAME PATH): defines a target with the headers at /usr/include/PATH. It uses a link, so that the compiler
# finds no other header of the system.
set(headers "${CMAKE_BINARY_DIR}/headers")
file(MAKE_DIRECTORY "${headers}")
function(headers_only name)
  foreach(path ${ARGN})
    if(NOT EXISTS "/usr/include/${path}")
      message(FATAL_ERROR "no /usr/include/${path}: run ./dev setup")
    endif()
    file(CREATE_LINK "/usr/include/${path}" "${headers}/${path}" SYMBOLIC)
  endforeach()
  add_library(${name} INTERFACE)
  target_include_directories(${name} SYSTEM INTERFACE "${headers}")
endfunction()
headers_only(expected tl)
headers_only(json nlohmann)
headers_only(protozero protozero)
headers_only(xxhash xxhash.h xxh3.h)
target_compile_definitions(xxhash INTERFACE XXH_INLINE_ALL)
headers_only(fmt_headers fmt)
third_party_library(fmt "${CMAKE_SOURCE_DIR}/cmake/fmt.cpp")
target_link_libraries(fmt PUBLIC fmt_headers)

third_party_library(zstd "${SLUICE_WEB_DIR}/zstd-1.5/zstd.c")
target_include_directories(zstd SYSTEM PUBLIC "${SLUICE_WEB_DIR}/zstd-1.5")
third_party_library(sqlite "${SLUICE_WEB_DIR}/sqlite-3.50/sqlite3.c")
target_include_directories(sqlite SYSTEM PUBLIC "${SLUICE_WEB_DIR}/sqlite-3.50")
# The distribution's file ends with a function that loads its extensions, which are not included.
file(WRITE "${CMAKE_BINARY_DIR}/third_party/sqlite/init.h" "static int sqlite3_sqlean_init(void) { return 0; }\n")
target_include_directories(sqlite PRIVATE "${CMAKE_BINARY_DIR}/third_party/sqlite")
target_compile_definitions(sqlite PRIVATE SQLITE_OMIT_LOAD_EXTENSION SQLITE_ENABLE_COLUMN_METADATA SQLITE_DQS=0 SQLITE_ENABLE_MATH_FUNCTIONS)

# The target of this library is called zlib.
foreach(option ZLIB_COMPAT)
  set(${option} ON CACHE INTERNAL "")
endforeach()
foreach(option BUILD_SHARED_LIBS BUILD_TESTING ZLIB_ENABLE_TESTS ZLIBNG_ENABLE_TESTS WITH_GTEST WITH_GZFILEOP WITH_OPTIM WITH_RUNTIME_CPU_DETECTION)
  set(${option} OFF CACHE INTERNAL "")
endforeach()
add_subdirectory("${SLUICE_WEB_DIR}/zlib-ng-2.3" "${CMAKE_BINARY_DIR}/third_party/zlib" EXCLUDE_FROM_ALL SYSTEM)

set(SLUICE_SIMDJSON_DIR "${SLUICE_DEPS_DIR}/simdjson-3.12.3" CACHE PATH "simdjson.h and simdjson.cpp")
third_party_library(simdjson "${SLUICE_SIMDJSON_DIR}/simdjson.cpp")
target_include_directories(simdjson SYSTEM PUBLIC "${SLUICE_SIMDJSON_DIR}")

# Dear ImGui with its backends uses Emscripten's GLFW and WebGL 2.
set(gui_sources "${SLUICE_DEPS_DIR}/gui-1.93.0")
set(SLUICE_IMGUI_DIR "${gui_sources}/imgui" CACHE PATH "Sources of imgui")
set(SLUICE_FONTS_DIR "${gui_sources}/assets/fonts" CACHE PATH "Roboto/Roboto-{Regular,Bold}.ttf, Font_Awesome_6_Free-Solid-900.otf")
add_library(glfw INTERFACE)
target_link_options(glfw INTERFACE -sUSE_GLFW=3)
target_compile_definitions(glfw INTERFACE GLFW_INCLUDE_NONE)
add_library(glad INTERFACE)
target_link_options(glad INTERFACE -sMIN_WEBGL_VERSION=2 -sMAX_WEBGL_VERSION=2)
add_library(portable_file_dialogs INTERFACE)
target_include_directories(portable_file_dialogs SYSTEM INTERFACE "${gui_sources}/portable_file_dialogs")
add_library(png INTERFACE)  # A page writes no pictures yet.
include(imgui_library)
imgui_library(imgui)
target_compile_definitions(imgui PRIVATE IMGUI_IMPL_OPENGL_ES3)

# The files that `cmake --install` installs. They work under any prefix, because none of them contains the prefix.
# `./dev package` makes packages of them.
#
#   bin/sluice                   the program
#   lib/sluice/                  files that it loads: the capture library, Python modules, shared libraries of the runtime
#   include/sluice, lib/libsluice_*.a, lib/cmake/sluice    the runtime, for find_package(sluice)
#   share/                       desktop entry, file type, icon, man page, completions, licences, the window as a page
#
# Build the target `installable` first.
if(SLUICE_SANITIZE OR NOT TARGET sluice)
  return()
endif()
include(CMakePackageConfigHelpers)

set(package_files "${CMAKE_SOURCE_DIR}/cmake/package")
set(made "${CMAKE_BINARY_DIR}/package")
file(MAKE_DIRECTORY "${made}")

# The program itself makes the man page and the completions.
set(manuals "")
foreach(form man bash zsh fish)
  add_custom_command(OUTPUT "${made}/sluice.${form}" DEPENDS sluice VERBATIM
    COMMAND sh -c "\"$1\" manual ${form} > \"$2.part\" && mv \"$2.part\" \"$2\"" sh "$<TARGET_FILE:sluice>" "${made}/sluice.${form}")
  list(APPEND manuals "${made}/sluice.${form}")
endforeach()

# sluice_archive(NAME part...)
# Makes lib<NAME>.a of the static libraries `part`, without debug information.
function(sluice_archive name)
  set(archive "${made}/lib${name}.a")
  set(script "create ${archive}\n")
  foreach(part ${ARGN})
    string(APPEND script "addlib $<TARGET_FILE:${part}>\n")
  endforeach()
  file(GENERATE OUTPUT "${made}/${name}.mri" CONTENT "${script}save\nend\n")
  add_custom_command(OUTPUT "${archive}" DEPENDS ${ARGN} "${made}/${name}.mri" VERBATIM
    COMMAND "${CMAKE_COMMAND}" -E rm -f "${archive}"
    COMMAND sh -c "\"$1\" -M < \"$2\"" sh "${CMAKE_AR}" "${made}/${name}.mri"
    COMMAND "${CMAKE_OBJCOPY}" --strip-debug "${archive}")
endfunction()
# Two archives contain the runtime, what it needs, and what a program needs to record itself.
sluice_archive(sluice_runtime sluice_runtime sluice_backend sluice_capture_setup sluice_base fmt sluice_ring)
sluice_archive(sluice_recording sluice_recording sluice_writer sluice_unwind sluice_core)
set(archives "${made}/libsluice_runtime.a" "${made}/libsluice_recording.a")
add_custom_target(installable DEPENDS program sluice_pool sluice_interchange ${manuals} ${archives})

install(TARGETS sluice RUNTIME DESTINATION bin)
if(TARGET sluice_capture)
  install(TARGETS sluice_capture LIBRARY DESTINATION lib/sluice)
endif()
install(TARGETS sluice_pool sluice_interchange LIBRARY DESTINATION lib/sluice)
set(python instrumentation/capture/python)
install(FILES ${python}/sluice.py ${python}/sitecustomize.py ${python}/sluice_pytest.py
              instrumentation/runtime/pool_library/sluice_pool.py instrumentation/runtime/interchange/sluice_arrays.py
        DESTINATION lib/sluice/python)

# The public headers, Sluice's headers that they include, and the headers of other libraries that they include.
install(FILES instrumentation/capture/sluice.h instrumentation/runtime/pool_library/sluice_pool.h
              instrumentation/runtime/interchange/sluice_interchange.h DESTINATION include/sluice)
file(GLOB public_headers CONFIGURE_DEPENDS instrumentation/runtime/*.hpp instrumentation/runtime/*.h)
install(FILES ${public_headers} DESTINATION include/sluice/instrumentation/runtime)
foreach(header core/trace/model/ids.hpp core/trace/model/kinds.hpp core/trace/model/model.hpp instrumentation/backend/device.hpp
               instrumentation/backend/device_types.hpp instrumentation/backend/kernel.hpp instrumentation/backend/device_result.hpp)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION include/sluice/${folder})
endforeach()
install(FILES "${SLUICE_EXPECTED_INCLUDE}/tl/expected.hpp" DESTINATION include/sluice/tl)
install(FILES ${archives} DESTINATION lib)
install(FILES "${SLUICE_zstd_ARCHIVE}" "${SLUICE_elfutils_ARCHIVE}" "${SLUICE_elf_ARCHIVE}" "${SLUICE_zlib_ARCHIVE}"
              "${SLUICE_iberty_ARCHIVE}" DESTINATION lib/sluice/static)
write_basic_package_version_file("${made}/sluiceConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${package_files}/sluiceConfig.cmake" "${made}/sluiceConfigVersion.cmake" DESTINATION lib/cmake/sluice)

install(FILES "${package_files}/sluice.desktop" DESTINATION share/applications)
install(FILES "${package_files}/sluice.xml" DESTINATION share/mime/packages)
install(FILES assets/icons/sluice.svg DESTINATION share/icons/hicolor/scalable/apps)
install(FILES "${made}/sluice.man" DESTINATION share/man/man1 RENAME sluice.1)
install(FILES "${made}/sluice.bash" DESTINATION share/bash-completion/completions RENAME sluice)
install(FILES "${made}/sluice.zsh" DESTINATION share/zsh/site-functions RENAME _sluice)
install(FILES "${made}/sluice.fish" DESTINATION share/fish/vendor_completions.d)

# Sluice's licence, and the licences of the libraries that the program links, from the place where this system keeps
# them.
install(FILES LICENSE THIRD_PARTY.md README.md DESTINATION share/doc/sluice)
install(DIRECTORY instrumentation/runtime/examples/outside DESTINATION share/doc/sluice/examples)
foreach(package zstd-dev:zstd sqlite3-dev:sqlite dw-dev:elfutils iberty-dev:libiberty png-dev:libpng fmt-dev:fmt cli11-dev:CLI11
                protozero-dev:protozero xxhash-dev:xxHash expected-dev:expected boost1.81-dev:Boost)
  string(REPLACE ":" ";" package "${package}")
  list(GET package 0 name)
  list(GET package 1 title)
  install(FILES /usr/share/doc/lib${name}/copyright DESTINATION share/doc/sluice/licences RENAME ${title} OPTIONAL)
endforeach()
install(FILES /usr/share/doc/zlib1g-dev/copyright DESTINATION share/doc/sluice/licences RENAME zlib OPTIONAL)
install(FILES /usr/share/doc/nlohmann-json3-dev/copyright DESTINATION share/doc/sluice/licences RENAME nlohmann-json OPTIONAL)
# The full texts to which Debian's licence files refer.
foreach(text GPL-2 GPL-3 LGPL-3)
  install(FILES /usr/share/common-licenses/${text} DESTINATION share/doc/sluice/licences OPTIONAL)
endforeach()
if(SLUICE_GUI)
  install(FILES "${SLUICE_IMGUI_DIR}/LICENSE.txt" DESTINATION share/doc/sluice/licences RENAME imgui OPTIONAL)
  install(FILES "${SLUICE_GLFW_DIR}/LICENSE.md" DESTINATION share/doc/sluice/licences RENAME glfw OPTIONAL)
  install(FILES "${SLUICE_FONTS_DIR}/Roboto/LICENSE.txt" DESTINATION share/doc/sluice/licences RENAME Roboto OPTIONAL)
  # The text of this licence comes with another font, so its first line names that font.
  if(EXISTS "${SLUICE_FONTS_DIR}/Inconsolata-LICENSE-OFL.txt")
    file(READ "${SLUICE_FONTS_DIR}/Inconsolata-LICENSE-OFL.txt" open_font_licence)
    string(REGEX REPLACE "^[^\n]+" "Copyright (c) Font Awesome (https://fontawesome.com)" open_font_licence "${open_font_licence}")
    file(WRITE "${CMAKE_BINARY_DIR}/Font-Awesome" "${open_font_licence}")
    install(FILES "${CMAKE_BINARY_DIR}/Font-Awesome" DESTINATION share/doc/sluice/licences)
  endif()
endif()

# SQL queries for data sets of Parquet files.
install(DIRECTORY assets/sql DESTINATION share/sluice)

# The window as a page, if ./dev web has built it.
set(page "${CMAKE_SOURCE_DIR}/build/web/site")
install(FILES ${page}/index.html ${page}/page_start.js ${page}/page.js.gz ${page}/page.wasm.gz ${page}/page.worker.js
        DESTINATION share/sluice/web OPTIONAL)
install(DIRECTORY "${page}/samples" DESTINATION share/sluice/web OPTIONAL)

# Defines the window's libraries: Dear ImGui, GLFW, portable-file-dialogs and, only for the tests, a second Dear
# ImGui with its test engine.

set(gui_sources "${SLUICE_DEPS_DIR}/gui-1.93.0")
foreach(library IMGUI IMGUI_TEST_ENGINE GLFW PFD)
  if(library STREQUAL "PFD")
    set(folder portable_file_dialogs)
  else()
    string(TOLOWER ${library} folder)
  endif()
  set(SLUICE_${library}_DIR "${gui_sources}/${folder}" CACHE PATH "Sources of ${folder}")
  if(NOT IS_DIRECTORY "${SLUICE_${library}_DIR}")
    message(FATAL_ERROR "${folder}: no folder ${SLUICE_${library}_DIR}. Run ./dev setup, point SLUICE_${library}_DIR at a copy, "
                        "or build without the window (-DSLUICE_GUI=OFF).")
  endif()
endforeach()

# GLFW supports X11 and Wayland, and opens their libraries at run time.
set(GLFW_BUILD_DOCS OFF CACHE INTERNAL "")
set(GLFW_BUILD_TESTS OFF CACHE INTERNAL "")
set(GLFW_BUILD_EXAMPLES OFF CACHE INTERNAL "")
set(GLFW_INSTALL OFF CACHE INTERNAL "")
set(GLFW_LIBRARY_TYPE STATIC CACHE INTERNAL "")
add_subdirectory("${SLUICE_GLFW_DIR}" "${CMAKE_BINARY_DIR}/third_party/glfw" EXCLUDE_FROM_ALL SYSTEM)
target_compile_options(glfw PRIVATE -w $<$<CONFIG:Debug>:-O2>)
target_compile_definitions(glfw INTERFACE GLFW_INCLUDE_NONE)

# The OpenGL loader that GLFW contains is a header, <glad/gl.h>. One of Sluice's files defines GLAD_GL_IMPLEMENTATION.
add_library(glad INTERFACE)
target_include_directories(glad SYSTEM INTERFACE "${SLUICE_GLFW_DIR}/deps")

add_library(portable_file_dialogs INTERFACE)
target_include_directories(portable_file_dialogs SYSTEM INTERFACE "${SLUICE_PFD_DIR}")

# Dear ImGui's backend and Sluice share one OpenGL loader. Dear ImGui's own loader would look for libGL, which a machine
# with EGL may lack.
set_source_files_properties("${SLUICE_IMGUI_DIR}/backends/imgui_impl_opengl3.cpp" PROPERTIES COMPILE_OPTIONS "-include;glad/gl.h")

include(imgui_library)

# imgui_target(NAME [definition...]): defines Dear ImGui with its GLFW and OpenGL backends.
function(imgui_target name)
  imgui_library(${name} ${ARGN})
  target_compile_definitions(${name} PRIVATE IMGUI_IMPL_OPENGL_LOADER_CUSTOM)
  target_link_libraries(${name} PUBLIC ${CMAKE_DL_LIBS})
endfunction()

imgui_target(imgui)

if(SLUICE_TESTS)
  imgui_target(imgui_test IMGUI_ENABLE_TEST_ENGINE IMGUI_TEST_ENGINE_ENABLE_COROUTINE_STDTHREAD_IMPL=1)
  set(engine "${SLUICE_IMGUI_TEST_ENGINE_DIR}/imgui_test_engine")
  third_party_library(imgui_test_engine
    "${engine}/imgui_capture_tool.cpp"
    "${engine}/imgui_te_context.cpp"
    "${engine}/imgui_te_coroutine.cpp"
    "${engine}/imgui_te_engine.cpp"
    "${engine}/imgui_te_exporters.cpp"
    "${engine}/imgui_te_perftool.cpp"
    "${engine}/imgui_te_ui.cpp"
    "${engine}/imgui_te_utils.cpp")
  target_include_directories(imgui_test_engine SYSTEM PUBLIC "${SLUICE_IMGUI_TEST_ENGINE_DIR}" "${engine}")
  # The test engine calls hooks in Dear ImGui, and Dear ImGui calls the engine.
  target_link_libraries(imgui_test_engine PUBLIC imgui_test Threads::Threads)
  target_link_libraries(imgui_test PUBLIC imgui_test_engine)
endif()

# The typefaces, for embedding: Roboto (Apache-2.0) and the icons of Font Awesome (OFL).
set(SLUICE_FONTS_DIR "${gui_sources}/assets/fonts" CACHE PATH "Roboto/Roboto-{Regular,Bold}.ttf, Font_Awesome_6_Free-Solid-900.otf")
if(NOT EXISTS "${SLUICE_FONTS_DIR}/Roboto/Roboto-Regular.ttf")
  message(FATAL_ERROR "fonts: no ${SLUICE_FONTS_DIR}/Roboto. Run ./dev setup, point SLUICE_FONTS_DIR at a copy, "
                      "or build without the window (-DSLUICE_GUI=OFF).")
endif()

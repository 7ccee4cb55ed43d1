# imgui_library(NAME [definition...]): defines a library of Dear ImGui with its GLFW and OpenGL backends, from
# SLUICE_IMGUI_DIR. Targets that link the library get the definitions, too.
function(imgui_library name)
  third_party_library(${name}
    "${SLUICE_IMGUI_DIR}/imgui.cpp"
    "${SLUICE_IMGUI_DIR}/imgui_draw.cpp"
    "${SLUICE_IMGUI_DIR}/imgui_stacklayout.cpp"
    "${SLUICE_IMGUI_DIR}/imgui_tables.cpp"
    "${SLUICE_IMGUI_DIR}/imgui_widgets.cpp"
    "${SLUICE_IMGUI_DIR}/misc/cpp/imgui_stdlib.cpp"
    "${SLUICE_IMGUI_DIR}/backends/imgui_impl_glfw.cpp"
    "${SLUICE_IMGUI_DIR}/backends/imgui_impl_opengl3.cpp")
  target_include_directories(${name} SYSTEM PUBLIC "${SLUICE_IMGUI_DIR}" "${SLUICE_IMGUI_DIR}/backends" "${SLUICE_IMGUI_DIR}/misc/cpp")
  target_compile_definitions(${name} PUBLIC IMGUI_DISABLE_OBSOLETE_FUNCTIONS IMGUI_DEFINE_MATH_OPERATORS ${ARGN})
  # The linker leaves out what the window does not use, 270 kB: --gc-sections.
  target_compile_options(${name} PRIVATE -ffunction-sections -fdata-sections)
  target_link_libraries(${name} PUBLIC glfw glad)
endfunction()

#pragma once

#include <string>

// OpenGL 3.3 through the loader that comes with GLFW's sources. Nothing links libGL: functions are looked up when a
// window or picture is first needed, so the recording and reporting commands also run on machines without OpenGL. In a
// browser, WebGL 2 is used, whose functions are those of OpenGL ES 3.0 and need no loader.
#ifdef __EMSCRIPTEN__
#include <GLES3/gl3.h>
#else
#include <glad/gl.h>
#endif

namespace sluice::gui::gl {

using proc_address = void (*)();
using proc_loader = proc_address (*)(const char* name);

/// Looks up all functions for the current context. Returns false if the context's version is lower than OpenGL 3.3.
[[nodiscard]] bool load(proc_loader loader);

/// The driver's name for the renderer of the current context, such as "llvmpipe (LLVM 15.0.6, 256 bits)".
[[nodiscard]] std::string renderer_name();

}  // namespace sluice::gui::gl

#pragma once

// OpenGL 3.3 through the loader that comes with GLFW's sources. Nothing links libGL: the functions are looked up when a
// window or a picture is asked for, so that the recording and reporting verbs start on a machine that has none.
#include <glad/gl.h>

namespace sluice::gui::gl {

using proc_address = void (*)();
using proc_loader = proc_address (*)(const char* name);

/// Looks every function up for the context that is current. False when the context is older than OpenGL 3.3.
[[nodiscard]] bool load(proc_loader loader);

/// "4.5 (Core Profile) Mesa 22.3.6, llvmpipe (LLVM 15)" of the current context.
[[nodiscard]] const char* renderer_name();

}  // namespace sluice::gui::gl

#define GLAD_GL_IMPLEMENTATION
#include "app/gui/gl/gl.hpp"

namespace sluice::gui::gl {

bool load(proc_loader loader) {
  const int version = gladLoadGL(loader);
  return version >= GLAD_MAKE_VERSION(3, 3);
}

const char* renderer_name() {
  const GLubyte* name = glGetString(GL_RENDERER);
  return name != nullptr ? reinterpret_cast<const char*>(name) : "unknown renderer";
}

}  // namespace sluice::gui::gl

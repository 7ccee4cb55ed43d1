#define GLAD_GL_IMPLEMENTATION
#include "app/gui/gl/gl.hpp"

namespace sluice::gui::gl {

bool load(proc_loader loader) {
  const int version = gladLoadGL(loader);
  return version >= GLAD_MAKE_VERSION(3, 3);
}

std::string renderer_name() {
  const auto* name = reinterpret_cast<const char*>(glGetString(GL_RENDERER));
  return name == nullptr ? "an unknown renderer" : name;
}

}  // namespace sluice::gui::gl

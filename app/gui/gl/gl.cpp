#define GLAD_GL_IMPLEMENTATION
#include "app/gui/gl/gl.hpp"

namespace sluice::gui::gl {

bool load(proc_loader loader) {
  const int version = gladLoadGL(loader);
  return version >= GLAD_MAKE_VERSION(3, 3);
}

}  // namespace sluice::gui::gl

#include "app/gui/gl/program.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "app/gui/gl/gl.hpp"

namespace sluice::gui::gl {
namespace {

result<GLuint> compile(std::string_view name, GLenum kind, std::string_view source) {
  const GLuint shader = glCreateShader(kind);
#ifdef __EMSCRIPTEN__
  // WebGL's shading language is the same here except for the first line.
  source.remove_prefix(std::min(source.find('\n'), source.size()));
  constexpr std::string_view version = "#version 300 es\nprecision highp float;\nprecision highp int;\n";
#else
  constexpr std::string_view version = "";
#endif
  const std::array<const char*, 2> texts = {version.data(), source.data()};
  const std::array<GLint, 2> lengths = {static_cast<GLint>(version.size()), static_cast<GLint>(source.size())};
  glShaderSource(shader, static_cast<GLsizei>(texts.size()), texts.data(), lengths.data());
  glCompileShader(shader);
  GLint good = 0;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
  if (good != 0) return shader;
  char log[512] = {};
  glGetShaderInfoLog(shader, sizeof log, nullptr, log);
  glDeleteShader(shader);
  return fail(error_code::unavailable, "the driver rejected a shader: " + std::string(log), std::string(name));
}

}  // namespace

result<program> program::build(std::string_view name, std::string_view vertex, std::string_view fragment) {
  const auto front = compile(name, GL_VERTEX_SHADER, vertex);
  if (!front) return tl::unexpected(front.error());
  const auto back = compile(name, GL_FRAGMENT_SHADER, fragment);
  if (!back) return tl::unexpected(back.error());
  program new_program;
  new_program.id_ = glCreateProgram();
  glAttachShader(new_program.id_, *front);
  glAttachShader(new_program.id_, *back);
  glLinkProgram(new_program.id_);
  glDeleteShader(*front);
  glDeleteShader(*back);
  GLint good = 0;
  glGetProgramiv(new_program.id_, GL_LINK_STATUS, &good);
  if (good == 0) {
    char log[512] = {};
    glGetProgramInfoLog(new_program.id_, sizeof log, nullptr, log);
    return fail(error_code::unavailable, "the driver could not link a shader: " + std::string(log), std::string(name));
  }
  return new_program;
}

program::~program() {
  if (id_ != 0) glDeleteProgram(id_);
}

program& program::operator=(program&& other) noexcept {
  std::swap(id_, other.id_);
  return *this;
}

int program::uniform(const char* name) const { return glGetUniformLocation(id_, name); }

}  // namespace sluice::gui::gl

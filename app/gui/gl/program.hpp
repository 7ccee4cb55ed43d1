#pragma once

#include <string_view>

#include "core/base/error.hpp"

namespace sluice::gui::gl {

/// A linked shader program of the current context. Movable; the destructor deletes the program.
class program {
 public:
  program() = default;
  /// Compiles and links the shaders. On failure, the error contains the driver's log.
  [[nodiscard]] static result<program> build(std::string_view name, std::string_view vertex, std::string_view fragment);
  ~program();
  program(program&& other) noexcept : id_(other.id_) { other.id_ = 0; }
  program& operator=(program&& other) noexcept;

  [[nodiscard]] unsigned id() const { return id_; }
  [[nodiscard]] int uniform(const char* name) const;

 private:
  unsigned id_ = 0;
};

}  // namespace sluice::gui::gl

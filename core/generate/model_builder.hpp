#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/generate/model.hpp"

namespace sluice::generate {

/// Puts a model together: tensors, stacks by their frames, and operations with what most of them have in common.
class model_builder {
 public:
  explicit model_builder(stack_choice stacks) : choice_(stacks) { made.stacks.emplace_back(); }

  model made;

  slot tensor() { return made.slots++; }
  std::uint32_t kernel(const std::string& name);
  std::uint32_t frame(const std::string& function, const std::string& file, std::uint64_t line);
  std::uint32_t native_frame(const std::string& module, std::uint64_t address);

  /// Frames of Python that every stack from here on begins with.
  void enter(std::uint32_t f) { python_.push_back(f); }
  void leave() { python_.pop_back(); }

  /// The stack of what is entered, with `inner` inside: natively deeper if native frames are wanted; none where the
  /// choice is none, or on a thread that runs no Python.
  std::uint32_t stack(std::initializer_list<std::uint32_t> inner, bool has_python = true);

  std::vector<operation>* into = nullptr;  ///< Where operations go.
  bool autograd = false;
  std::uint32_t gap = 12'000;

  struct shape {
    std::string kernel;
    std::uint32_t duration;  ///< ns
    std::uint32_t grid_x, grid_y = 1, block_x = 128, registers = 32, shared = 0;
  };
  /// A launch; `births` come before it, `deaths` after it.
  operation& launch(const shape& s, std::vector<birth> births, std::vector<slot> touches, std::vector<slot> deaths = {},
                    std::initializer_list<std::uint32_t> inner = {});
  operation& copy(work_kind direction, std::uint64_t bytes, slot device_tensor, std::vector<birth> births = {});
  operation& fill(std::uint64_t bytes, slot tensor);
  operation& plain() { return next({}); }

 private:
  operation& next(std::initializer_list<std::uint32_t> inner);
  stack_choice choice_;
  std::vector<std::uint32_t> python_;
};

}  // namespace sluice::generate

#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/generate/model.hpp"

namespace sluice::generate {

/// Builds a model: its tensors, stacks and frames, and operations with common defaults.
class model_builder {
 public:
  explicit model_builder(stack_choice stacks) : choice_(stacks) { made.stacks.emplace_back(); }

  model made;

  slot tensor() { return made.slots++; }
  std::uint32_t kernel(const std::string& name);
  std::uint32_t frame(const std::string& function, const std::string& file, std::uint64_t line);
  std::uint32_t native_frame(const std::string& module, std::uint64_t address);

  /// Adds frame number `f`, a Python frame, to the outer frames of all following stacks, until `leave`.
  void enter(std::uint32_t f) { python_.push_back(f); }
  void leave() { python_.pop_back(); }

  /// Creates a stack of the entered frames and `inner`, plus native frames for stack_choice::all. Returns 0 (no stack)
  /// for stack_choice::none, or for a thread without Python under stack_choice::python.
  std::uint32_t stack(std::initializer_list<std::uint32_t> inner, bool has_python = true);

  std::vector<operation>* into = nullptr;  ///< The list to which operations are appended.
  bool autograd = false;
  std::uint32_t gap = 12'000;

  struct shape {
    std::string kernel;
    std::uint32_t duration;  ///< ns
    std::uint32_t grid_x, grid_y = 1, block_x = 128, registers = 32, shared = 0;
  };
  /// Appends a kernel launch. `births` are allocated before it, `deaths` freed after it.
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

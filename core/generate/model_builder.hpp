#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/generate/model.hpp"

namespace sluice::generate {

/// Builds a model (model.hpp) with its tensors, frames, stacks and operations. Has common defaults for them.
class model_builder {
 public:
  explicit model_builder(stack_choice stacks) : choice_(stacks) { built.stacks.emplace_back(); }

  model built;

  slot tensor() { return built.slots++; }
  std::uint32_t kernel(const std::string& name);
  std::uint32_t frame(const std::string& function, const std::string& file, std::uint64_t line);
  std::uint32_t native_frame(const std::string& module, std::uint64_t address);

  /// Adds the Python frame number `f` to the outer frames of all stacks created later, until `leave` is called.
  void enter(std::uint32_t f) { python_.push_back(f); }
  void leave() { python_.pop_back(); }

  /// Creates a stack from the entered frames and `inner`; with stack_choice::all, also adds native frames. Returns 0
  /// (no stack) for stack_choice::none, and also for stack_choice::python if the thread has no Python.
  std::uint32_t stack(std::initializer_list<std::uint32_t> inner, bool has_python = true);

  /// Creates a stack as samples have it, whatever the stack_choice: the entered frames, `inner`, and a native function.
  std::uint32_t sampled_stack(std::initializer_list<std::uint32_t> inner, const std::string& native_function,
                              const std::string& module);
  /// Returns an operation in which only the host works, for about `gap` ns.
  static operation host_work(std::uint32_t gap, std::uint32_t stack,
                             trace::host_state state = trace::host_state::running, std::int64_t system_call = -1);

  std::vector<operation>* into = nullptr;  ///< The list to which operations are appended.
  bool autograd = false;
  std::uint32_t gap = 12'000;

  struct shape {
    std::string kernel;
    std::uint32_t duration;  ///< The time on the device, in ns.
    std::uint32_t grid_x, grid_y = 1, block_x = 128, registers = 32, shared = 0;
  };
  /// Appends a kernel launch. `births` are allocated before the launch, and `deaths` are freed after it.
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

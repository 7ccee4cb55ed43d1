#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/generate/options.hpp"
#include "core/trace/model/kinds.hpp"

/// A generated program as data. It has the operations of the program's setup and of one step, in the order in which the
/// host threads run them. The model is built once, and `program` runs it repeatedly and adds random variation.
namespace sluice::generate {

using slot = std::uint32_t;  ///< The number of a tensor in the model. While the tensor is live, it has a memory block.

struct birth {
  slot tensor = 0;
  std::uint64_t bytes = 0;
};

enum class work_kind : std::uint8_t { none, kernel, memset, copy_in, copy_out, graph };

struct operation {
  bool autograd = false;    ///< True if the operation runs on the thread of the backward pass.
  std::uint32_t gap = 0;    ///< The host time before the operation, in ns.
  std::uint32_t stack = 0;  ///< The index in `stacks`; 0: no stack.
  work_kind work = work_kind::none;
  std::uint32_t name = 0;      ///< For a kernel, its index in `kernels`.
  std::uint32_t duration = 0;  ///< The time on the device, in ns.
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{128, 1, 1};
  std::uint32_t registers = 32;
  std::uint32_t static_shared = 0, dynamic_shared = 0;
  std::uint64_t bytes = 0;    ///< The size of a copy or memset, in bytes.
  std::vector<birth> births;  ///< The tensors that are allocated before the work.
  std::vector<slot> touches;
  std::vector<slot> deaths;  ///< The tensors that are freed after the work.
  bool cached = false;       ///< True if the operation also uses the cache blocks of all active requests.
  bool collective = false;   ///< True if the operation ends at the same time in every process.
  bool waits = false;        ///< True if the host waits for the device after the operation.
  /// The state of the host thread in samples, and its system call if it is blocked.
  trace::host_state state = trace::host_state::running;
  std::int64_t system_call = -1;
};

struct frame_model {
  trace::frame_kind kind = trace::frame_kind::python;
  std::string function, file, module;
  std::uint64_t line = 0, address = 0;
};

struct model {
  std::vector<frame_model> frames;
  std::vector<std::vector<std::uint32_t>> stacks;  ///< The frames of each stack, outermost first. The first stack is
                                                   ///< empty.
  std::vector<std::string> kernels;
  std::vector<operation> setup, forward, backward, update;
  /// What the host of a sampled training does while the device is idle: in the first step, before each step, and after
  /// some steps.
  operation compile, load, save;
  std::uint32_t autograd_stack = 0;  ///< The stack in samples of the thread of the backward pass.
  slot slots = 0;
  std::uint64_t cache_bytes = 0;  ///< The size of one cache block in bytes. A request has several cache blocks.
  std::uint64_t graph_nodes = 0;
};

[[nodiscard]] model training_model(stack_choice stacks);
[[nodiscard]] model inference_model(stack_choice stacks);

}  // namespace sluice::generate

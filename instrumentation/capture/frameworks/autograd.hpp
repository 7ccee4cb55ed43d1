#pragma once

#include <cstddef>
#include <cstdint>

/// Call stacks for PyTorch's autograd threads. These threads have no Python frames, but each tensor they allocate comes
/// from a line of the program: the forward line whose backward runs, or else the line that called backward().
///
/// Three functions of libtorch_cpu are interposed. `at::sequence_number::get_and_increment` runs for each node that a
/// forward operation creates, right before the operation allocates its result. So the stack of that allocation belongs
/// to the node; it is found again by the node's sequence number and thread. `Engine::execute_with_graph_task` starts a
/// backward pass, on the thread that called backward(). `Engine::evaluate_function` runs one node, on any thread. The
/// stacks found are used only for threads without Python frames, and marked as inferred. An operation that allocates
/// nothing (a view) has no forward line. If a line runs such an operation and an allocating one, and different callers
/// reached it, the outer frames may be another caller's.
namespace sluice::capture::autograd {

/// Looks up the interposed functions in libtorch, if it is loaded. Takes the loader's lock.
void find_real_functions() noexcept;

/// Call when this thread has taken a stack with Python frames; `key`: that stack's key. No lock, no allocation; O(1).
void note_stack(std::uint64_t key) noexcept;

/// True if the calling thread evaluates a node of a backward pass.
[[nodiscard]] bool runs_here() noexcept;

/// The stack key for a thread of PyTorch's backward pass: `native` frames (may be none), the autograd node that it
/// evaluates, and the stack that created the node in the forward pass (if unknown, that of the call of backward()).
/// Without a node only the `native` frames; 0 for an empty stack. No lock, no allocation; O(count).
[[nodiscard]] std::uint64_t stack_of_this_thread(const std::uint64_t* native, std::size_t count) noexcept;

}  // namespace sluice::capture::autograd

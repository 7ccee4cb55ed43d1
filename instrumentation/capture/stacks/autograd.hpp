#pragma once

#include <cstddef>
#include <cstdint>

/// Call stacks for PyTorch's autograd threads. These threads have no Python frames, but each tensor they allocate comes
/// from a line of the program: the line of the forward pass whose gradient is being computed, or else the line that
/// called backward().
///
/// Three functions of libtorch_cpu are interposed. `at::sequence_number::get_and_increment` runs for each node that a
/// forward operation creates, right before the operation allocates its result. So the stack of that allocation belongs
/// to the node. The node's sequence number and thread identify the stack later. `Engine::execute_with_graph_task`
/// starts a backward pass, on the thread that called backward(). `Engine::evaluate_function` runs one node, on any
/// thread. The stacks found this way are used only for threads without Python frames, and are marked as inferred. An
/// operation that allocates nothing (a view) has no forward line. If a line runs both such an operation and an
/// allocating operation, and is reached from different callers, the outer frames may be those of another caller.
namespace sluice::capture::autograd {

/// Looks up the interposed functions in libtorch, if it is loaded. Takes the loader's lock.
void find_real_functions() noexcept;

/// Call when this thread has taken a stack with Python frames; `key` is that stack's key. Takes no lock, allocates
/// nothing. O(1).
void note_stack(std::uint64_t key) noexcept;

/// True while the calling thread evaluates a node of a backward pass.
[[nodiscard]] bool runs_here() noexcept;

/// The stack key for a thread of PyTorch's backward pass. The stack consists of the `count` frames in `native` (`count`
/// may be 0), the autograd node being evaluated, and the stack that created the node in the forward pass (if unknown,
/// the stack that called backward()). Without a node, the stack has only the frames in `native`. Returns 0 for an empty
/// stack. Takes no lock, allocates nothing. O(count).
[[nodiscard]] std::uint64_t stack_of_this_thread(const std::uint64_t* native, std::size_t count) noexcept;

}  // namespace sluice::capture::autograd

#pragma once

#include <cstddef>
#include <cstdint>

/// Call stacks for PyTorch's autograd threads. These threads have no Python frames, but each tensor they allocate comes
/// from a line of the program: the forward line whose backward runs, or else the line that called backward().
///
/// Three functions of libtorch_cpu are interposed. `at::sequence_number::get_and_increment` runs for each node that a
/// forward operation creates, right before the operation allocates its result. So that allocation's stack belongs to
/// the node; it is found again by the node's sequence number and thread. `Engine::execute_with_graph_task` starts a
/// backward pass, on the thread that called backward(). `Engine::evaluate_function` runs one node, on any thread. These
/// stacks are used only for threads without Python frames, and marked as inferred. The forward line of an operation
/// that allocates nothing (a view) is not found. If one line runs such an operation and one that allocates, reached by
/// two paths, outer frames may be of the wrong path.
namespace sluice::capture::autograd {

/// Looks up the interposed functions in libtorch, if it is loaded. Takes the loader's lock.
void find_real_functions() noexcept;

/// Tells this module that the calling thread has just taken a stack with Python frames. No lock, no allocation; O(1).
void note_stack(std::uint64_t key) noexcept;

/// The stack key for a thread without Python frames: `native` frames (may be none), then the node being evaluated, then
/// the stack of its forward line or of the call of backward(). Without a node, the `native` frames alone; 0 for an
/// empty stack. No lock, no allocation; O(count).
[[nodiscard]] std::uint64_t stack_of_this_thread(const std::uint64_t* native, std::size_t count) noexcept;

}  // namespace sluice::capture::autograd

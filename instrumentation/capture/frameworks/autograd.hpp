#pragma once

#include <cstddef>
#include <cstdint>

/// Whose backward pass it is that PyTorch's autograd threads run: they have no Python frames, yet each tensor they make is asked
/// for by a line of the program's: the forward line whose backward it is, or else the one that called backward().
///
/// How: three functions of libtorch_cpu are interposed. `at::sequence_number::get_and_increment` is called for each node that a
/// forward operation makes, right before the operation allocates its result: the stack of that allocation is the node's, found
/// again by the node's own sequence number and thread. `Engine::execute_with_graph_task` begins a backward pass, on the thread that
/// called backward(). `Engine::evaluate_function` runs one node, on whichever thread. What they note is only read where a thread
/// has no Python frames of its own, and is marked as inferred in the stack. An operation that allocates nothing (a view) is not
/// found by its forward line; in a program that runs the same line for it and for one that does, and by two ways, it may be given
/// the other way's outer frames.
namespace sluice::capture::autograd {

/// Finds libtorch's own functions, if it is loaded by now. Takes the loader's lock.
void find_real_functions() noexcept;

/// The calling thread's stack has just been taken, and has Python frames: `key`. No lock, no allocation; O(1).
void note_stack(std::uint64_t key) noexcept;

/// The key of a stack for a thread that has no Python frames: `native` (may be none), the node that the thread evaluates, and from
/// there on the forward line's stack or that of the call of backward(); without a node, of `native` alone; 0 for an empty
/// stack. No lock, no allocation; O(count).
[[nodiscard]] std::uint64_t stack_of_this_thread(const std::uint64_t* native, std::size_t count) noexcept;

}  // namespace sluice::capture::autograd

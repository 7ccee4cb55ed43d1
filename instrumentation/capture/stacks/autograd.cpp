#include "instrumentation/capture/stacks/autograd.hpp"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "core/trace/model/inferred_frames.hpp"
#include "core/trace/model/kinds.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/stacks/python_stack.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"

// Interposed functions: libtorch calls these first, and they then call the originals.
#define INTERPOSED extern "C" __attribute__((visibility("default")))
INTERPOSED void*
sluice_execute_with_graph_task(void* result, void* engine, void* task, void* node, void* inputs) __asm__(
    "_ZN5torch8autograd6Engine23execute_with_graph_taskERKSt10shared_ptrINS0_9GraphTaskEES2_INS0_4NodeEEONS0_"
    "11InputBufferE");
INTERPOSED void sluice_evaluate_function(void* engine, void* task, void* node, void* inputs, void* queue) __asm__(
    "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferERKS2_"
    "INS0_10ReadyQueueEE");
INTERPOSED std::uint64_t sluice_sequence_number() __asm__("_ZN2at15sequence_number17get_and_incrementEv");

namespace sluice::capture::autograd {

namespace {

// -------------------------------------------------------------------------------------------- libtorch's own functions

// Their parameters are references, pointers, and objects passed by address: one word each, in registers.
// `execute_function` returns an object through an address that comes before the other parameters.
using execute_function = void* (*)(void*, void*, void*, void*, void*);
using evaluate_function = void (*)(void*, void*, void*, void*, void*);
using sequence_function = std::uint64_t (*)();

constexpr const char* execute_symbol =
    "_ZN5torch8autograd6Engine23execute_with_graph_taskERKSt10shared_ptrINS0_9GraphTaskEES2_INS0_4NodeEEONS0_"
    "11InputBufferE";
constexpr const char* evaluate_symbol =
    "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferERKS2_"
    "INS0_10ReadyQueueEE";
constexpr const char* sequence_symbol = "_ZN2at15sequence_number17get_and_incrementEv";
constexpr const char* thread_symbol = "_ZN2at14RecordFunction15currentThreadIdEv";

std::atomic<execute_function> real_execute{nullptr};
std::atomic<evaluate_function> real_evaluate{nullptr};
std::atomic<sequence_function> real_sequence{nullptr};
std::atomic<sequence_function> thread_number{nullptr};

template <class Function>
const void* get_address(Function* function) {
  return reinterpret_cast<const void*>(function);
}

/// Python loads libtorch with local scope, so RTLD_NEXT does not find it.
template <class Function>
void find(void* library, const char* symbol, const void* ours, std::atomic<Function>& function) {
  void* found = library != nullptr ? dlsym(library, symbol) : nullptr;
  if (found == nullptr || found == ours) found = dlsym(RTLD_NEXT, symbol);
  if (found != nullptr && found != ours) function.store(reinterpret_cast<Function>(found), std::memory_order_release);
}

/// `caller`: an address in the calling code. The function that this code calls is in its own library or in one of that
/// library's dependencies.
template <class Function>
Function real(std::atomic<Function>& function, const char* symbol, const void* ours, const void* caller) {
  Function found = function.load(std::memory_order_acquire);
  if (__builtin_expect(found != nullptr, 1)) return found;
  find_real_functions();
  found = function.load(std::memory_order_acquire);
  if (found != nullptr) return found;
  Dl_info where{};
  if (dladdr(caller, &where) != 0 && where.dli_fname != nullptr) {
    find(dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD), symbol, ours, function);
  }
  found = function.load(std::memory_order_acquire);
  if (found == nullptr)
    abort();  // This cannot happen: without this library, the program would not have been linked to the function.
  return found;
}

// --------------------------------------------------------------------------------------------------- remembered stacks

// Odd numbers without a pattern (from XXH64).
constexpr std::uint64_t odd1 = 0x9E3779B185EBCA87U, odd2 = 0xC2B2AE3D27D4EB4FU;

/// Stacks, keyed by a 64-bit number; later entries may replace earlier entries. Lock-free: if two threads write the
/// same slot at the same time, the entry becomes invalid (R. Hyatt's technique for hash tables in chess programs).
template <std::size_t Size>
class stack_table {
 public:
  void put(std::uint64_t number, std::uint64_t stack) noexcept {
    slot& s = slots_[place(number)];
    s.stack.store(stack, std::memory_order_relaxed);
    s.check.store(number ^ stack * odd1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t find(std::uint64_t number) const noexcept {
    const slot& s = slots_[place(number)];
    const std::uint64_t stack = s.stack.load(std::memory_order_relaxed);
    return s.check.load(std::memory_order_relaxed) == (number ^ stack * odd1) ? stack : 0;
  }

 private:
  struct slot {
    std::atomic<std::uint64_t> stack{0}, check{0};
  };
  static std::size_t place(std::uint64_t number) noexcept { return (number ^ number >> 32) % Size; }
  slot slots_[Size];
};

/// A thread's sequence numbers are consecutive, so the table keeps the last 65536 forward nodes. 1 MiB; only used pages
/// take RAM.
constinit stack_table<1 << 16> forward_stacks;
constinit stack_table<1 << 8> backward_stacks;  ///< Keyed by graph task.

std::uint64_t to_number(std::uint64_t sequence, std::uint64_t thread) { return sequence + 1 + thread * odd2; }
std::uint64_t to_number(const void* task) { return reinterpret_cast<std::uint64_t>(task) * odd2; }

struct thread_state {
  /// True if this thread called backward(), which runs some nodes on the calling thread. The thread's later allocations
  /// do not belong to these nodes.
  bool caller = false;
  // The node being evaluated.
  const void* task = nullptr;
  std::uint64_t kind = 0;   ///< The node's class: the address of its vtable; 0 if no node is evaluated.
  std::uint64_t node = 0;   ///< `to_number` the node's sequence number; 0 if unknown.
  std::uint64_t stack = 0;  ///< Key of the stack of the node's allocations; 0: not computed yet.
  // Nodes that the thread created at one Python position and that have no stack yet.
  std::uint64_t thread = 0;  ///< PyTorch's number for this thread.
  std::uint64_t place = 0;
  std::uint64_t created[8] = {};
  std::uint32_t made_count = 0;
};
SLUICE_THREAD_LOCAL thread_state this_thread;

bool wanted() {
  const bool of_python = options.stacks == stack_mode::python || options.stacks == stack_mode::all;
  return of_python && options.autograd && ring::active();
}

SLUICE_HOT [[gnu::noinline]] void node_made(std::uint64_t sequence) {
  thread_state& t = this_thread;
  if (t.thread == 0) {
    const sequence_function ask = thread_number.load(std::memory_order_acquire);
    if (ask == nullptr) return;
    t.thread = ask();
  }
  const std::uint64_t place = python_place();
  if (place != t.place) {
    t.place = place;
    t.made_count = 0;
  }
  if (place == 0 || t.made_count == sizeof t.created / sizeof *t.created) return;
  t.created[t.made_count++] = sequence;
}

std::uint64_t word_at(const void* object, std::size_t offset) {
  std::uint64_t word = 0;
  memcpy(&word, static_cast<const char*>(object) + offset, sizeof word);
  return word;
}

/// Member offsets in torch::autograd::Node (csrc/autograd/function.h), whose members are: vtable, weak pointer to
/// itself, sequence number, topological number, a flag, id of the creating thread. The offsets have not changed since
/// PyTorch 1.8.
constexpr std::size_t node_itself = 8, node_sequence = 24, node_thread = 48;

SLUICE_HOT [[gnu::noinline]] void node_runs(const void* task, const void* node) {
  thread_state& t = this_thread;
  if (t.caller) return;
  t.task = task;
  t.kind = node == nullptr ? 0 : word_at(node, 0);
  t.node = 0;
  t.stack = 0;
  if (node == nullptr || word_at(node, node_itself) != reinterpret_cast<std::uint64_t>(node)) return;
  t.node = to_number(word_at(node, node_sequence), word_at(node, node_thread));
}

[[gnu::noinline]] void backward_begins(const void* task) {
  if (this_thread.kind == 0) this_thread.caller = true;  // Otherwise a node itself starts a backward pass.
  std::uint64_t stack = python_stack_key();
  if (stack == 0) stack = stack_of_this_thread(nullptr, 0);
  if (stack != 0) backward_stacks.put(to_number(task), stack);
}

// -------------------------------------------------------------------------------------------------------------- frames

/// Converts "N5torch8autograd9generated14AddmmBackward0E" to torch::autograd::generated::AddmmBackward0. Does not
/// change more complex names.
void write_plainly(const char* name, char* out, std::size_t size) {
  const char* at = *name == 'N' ? name + 1 : name;
  std::size_t filled = 0;
  while (*at >= '1' && *at <= '9') {
    char* end = nullptr;
    const std::size_t length = strtoul(at, &end, 10);
    if (strnlen(end, length) != length || filled + length + 3 > size) break;
    if (filled != 0) out[filled++] = ':', out[filled++] = ':';
    memcpy(out + filled, end, length);
    filled += length;
    at = end + length;
  }
  out[filled] = '\0';
  const bool whole = filled != 0 && (*name == 'N' ? strcmp(at, "E") == 0 : *at == '\0');
  if (!whole) snprintf(out, size, "%s", name);
}

void introduce(std::uint64_t key, const char* function) {
  ring::frame_record frame{};
  frame.header.time = ring::now();
  frame.key = key;
  frame.function = ring::intern(function);
  frame.kind = static_cast<std::uint32_t>(trace::frame_kind::native);
  ring::introduce_frame(frame);
}

std::uint64_t key_of_node(std::uint64_t kind) { return (kind * odd1) | ring::frame_key_bit; }

/// Sends the frame for a class of nodes. (C++ ABI: the type_info pointer precedes the vtable; its second word is the
/// name.)
void introduce_node(std::uint64_t kind) {
  const std::uint64_t key = key_of_node(kind);
  if (ring::knows_frame(key)) return;
  const auto* type = reinterpret_cast<const void* const*>(kind)[-1];
  const char* name = type == nullptr ? nullptr : static_cast<const char* const*>(type)[1];
  if (name == nullptr) return introduce(key, "torch::autograd::Node");
  char plain[256];
  write_plainly(*name == '*' ? name + 1 : name, plain, sizeof plain);
  introduce(key, plain);
}

std::uint64_t key_of_mark(bool of_forward) { return (of_forward ? odd1 : odd2) | ring::frame_key_bit; }

/// Sends the frame that separates the node from the inferred stack.
void introduce_mark(bool of_forward) {
  const std::uint64_t key = key_of_mark(of_forward);
  if (ring::knows_frame(key)) return;
  char text[64];
  snprintf(text, sizeof text, "%s%s", trace::inferred_mark,
           of_forward ? "the backward of]" : "on another thread, for]");
  introduce(key, text);
}

/// The stack below the running node: the forward operation's stack, or else that of the call to backward(). 0: both
/// unknown.
struct inferred_stack {
  std::uint64_t base;
  bool of_forward;
};
SLUICE_INLINE inferred_stack stack_below(const thread_state& t) {
  const std::uint64_t forward = t.node == 0 ? 0 : forward_stacks.find(t.node);
  return forward != 0 ? inferred_stack{forward, true} : inferred_stack{backward_stacks.find(to_number(t.task)), false};
}

/// Sends a stack that the writer does not have yet: the native frames, the running node and the inferred frames.
SLUICE_RARE std::uint64_t introduce_stack(const std::uint64_t* native, std::size_t count) {
  const thread_state& t = this_thread;
  std::uint64_t frames[ring::maximum_frames];
  if (count > ring::maximum_frames - 2) count = ring::maximum_frames - 2;
  if (count != 0) memcpy(frames, native, count * sizeof *frames);
  introduce_node(t.kind);
  frames[count++] = key_of_node(t.kind);
  const inferred_stack below = stack_below(t);
  if (below.base != 0) {
    introduce_mark(below.of_forward);
    frames[count++] = key_of_mark(below.of_forward);
  }
  return ring::intern_stack_on(frames, count, below.base);
}

}  // namespace

void find_real_functions() noexcept {
  if (real_execute.load(std::memory_order_relaxed) != nullptr) return;
  void* library = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return;
  find(library, thread_symbol, nullptr, thread_number);
  find(library, sequence_symbol, get_address(&sluice_sequence_number), real_sequence);
  find(library, evaluate_symbol, get_address(&sluice_evaluate_function), real_evaluate);
  find(library, execute_symbol, get_address(&sluice_execute_with_graph_task), real_execute);
}

SLUICE_HOT void note_stack(std::uint64_t key) noexcept {
  thread_state& t = this_thread;
  if (__builtin_expect(t.made_count == 0, 1)) return;
  if (t.place == python_place()) {
    for (std::uint32_t i = 0; i < t.made_count; ++i) forward_stacks.put(to_number(t.created[i], t.thread), key);
  }
  t.made_count = 0;
}

bool runs_here() noexcept { return this_thread.kind != 0 && options.autograd; }

SLUICE_HOT std::uint64_t stack_of_this_thread(const std::uint64_t* native, std::size_t count) noexcept {
  thread_state& t = this_thread;
  if (t.kind == 0 || !options.autograd) return ring::intern_stack(native, count);
  if (count != 0) return introduce_stack(native, count);
  // Without native frames, all allocations of a node have the same stack. If it is known, so is each of its frames.
  if (t.stack == 0) {
    const inferred_stack below = stack_below(t);
    const std::uint64_t frames[] = {key_of_node(t.kind), key_of_mark(below.of_forward)};
    t.stack = ring::stack_key(frames, below.base != 0 ? 2 : 1, below.base);
  }
  return ring::knows_frame(t.stack) ? t.stack : introduce_stack(nullptr, 0);
}

}  // namespace sluice::capture::autograd

namespace hooks = sluice::capture::autograd;

// Each function ends with a jump, so no frame of ours is on the stack while libtorch's function runs.

void* sluice_execute_with_graph_task(void* result, void* engine, void* task, void* node, void* inputs) {
  const auto go_on = hooks::real(hooks::real_execute, hooks::execute_symbol,
                                 hooks::get_address(&sluice_execute_with_graph_task), __builtin_return_address(0));
  if (hooks::wanted()) hooks::backward_begins(*static_cast<void* const*>(task));
  return go_on(result, engine, task, node, inputs);
}

SLUICE_HOT void sluice_evaluate_function(void* engine, void* task, void* node, void* inputs, void* queue) {
  const auto go_on = hooks::real(hooks::real_evaluate, hooks::evaluate_symbol,
                                 hooks::get_address(&sluice_evaluate_function), __builtin_return_address(0));
  if (hooks::wanted()) hooks::node_runs(*static_cast<void* const*>(task), node);
  return go_on(engine, task, node, inputs, queue);
}

SLUICE_HOT std::uint64_t sluice_sequence_number() {
  const auto ask = hooks::real(hooks::real_sequence, hooks::sequence_symbol,
                               hooks::get_address(&sluice_sequence_number), __builtin_return_address(0));
  const std::uint64_t sequence = ask();
  if (hooks::wanted()) hooks::node_made(sequence);
  return sequence;
}

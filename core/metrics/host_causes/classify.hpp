#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/metrics/host_causes/host_reason.hpp"
#include "core/metrics/host_causes/host_rules.hpp"
#include "core/trace/model/kinds.hpp"

/// What a call stack of a host thread says about why the thread did not give the GPU work. Pure functions; the table of
/// rules is in `host_rules.cpp`.
namespace sluice::metrics {

/// A frame of a host thread's stack. The texts must outlive all results made with them.
struct host_frame {
  trace::frame_kind kind = trace::frame_kind::unknown;
  std::string_view function;  ///< Demangled, if native. Empty if unknown.
  std::string_view module;    ///< Path of the library or program of a native frame.
  std::string_view file;      ///< Path of the source file. A Python frame always has one.
  std::uint64_t line = 0;
};

/// Whose code a frame is.
enum class frame_owner : std::uint8_t {
  program,   ///< The recorded program itself.
  package,   ///< A Python package, or a library without a rule.
  driver,    ///< The CUDA driver or runtime.
  plumbing,  ///< The C library, the interpreter, Python's standard library.
};

/// What the rules say about a frame, whatever stack it is in. There are far fewer frames than stacks: make one for each
/// frame and keep it.
struct known_frame {
  const frame_rule* work = nullptr;     ///< The first work rule that the frame matches; null if none.
  const frame_rule* passing = nullptr;  ///< The first passing rule that the frame matches; null if none.
  frame_owner owner = frame_owner::plumbing;
  std::string_view library{};     ///< The name of the package or library, if `owner` is `package`.
  std::int64_t system_call = -1;  ///< The system call that a function of the C library makes; -1 if none.
  bool function_body = false;     ///< True for a function of the program itself, false for the body of a module.
  bool touches_memory = false;    ///< True for functions that cause page faults.
  bool runs_attention = false;    ///< True for PyTorch's operators that run cuDNN's attention.
};

/// Applies the rules to a frame. O(rules).
[[nodiscard]] known_frame know(const host_frame& frame);

inline constexpr std::size_t no_frame = static_cast<std::size_t>(-1);

/// Why a thread did not give the GPU work.
struct host_verdict {
  host_reason reason = host_reason::unsampled;
  /// The library that the time went to, such as "cuDNN"; empty if none has a part in it. Points into the table of rules
  /// or into a frame's texts.
  std::string_view library;
  std::size_t frame = no_frame;       ///< The frame that decided, an index into the stack.
  std::size_t user_frame = no_frame;  ///< The innermost frame of the program itself.
  std::string_view system_call;       ///< The name of the system call, if it decided.
};

/// Returns why a thread with this stack did not give the GPU work. `frames`: innermost first. `system_call`: its number
/// on x86-64 Linux; -1 for none or unknown. The order of evidence:
/// 1. Ready to run without a CPU: `not_scheduled`.
/// 2. The first work rule that matches a frame.
/// 3. The system call. If it is unknown and the thread is in the system, the innermost function of the C library tells.
/// 4. The innermost frame that matches a passing rule, unless code of the program or of an unknown library is further
///    inside.
/// 5. A catch-all: whose code is innermost.
/// O(frames). Thread-safe.
[[nodiscard]] host_verdict classify(std::span<const known_frame> frames, trace::host_state state,
                                    std::int64_t system_call);

/// The same for frames that are not known yet. O(frames * rules).
[[nodiscard]] host_verdict classify(std::span<const host_frame> frames, trace::host_state state,
                                    std::int64_t system_call);

}  // namespace sluice::metrics

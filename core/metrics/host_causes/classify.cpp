#include "core/metrics/host_causes/classify.hpp"

#include <algorithm>
#include <vector>

#include "core/base/recorded_path.hpp"
#include "core/metrics/host_causes/patterns.hpp"
#include "core/symbols/attribution.hpp"
#include "core/symbols/code_files.hpp"

namespace sluice::metrics {
namespace {

using trace::frame_kind;
using trace::host_state;

/// PyTorch's operators that run cuDNN's attention, and its functions that build their plans
/// (aten/src/ATen/native/cudnn/MHA.cpp, aten/src/ATen/native/transformers/cuda/attention.cu).
constexpr std::string_view attention_operators =
    "at::native::run_cudnn_SDP_*|at::native::_scaled_dot_product_cudnn_attention*|at::native::_cudnn_attention*|"
    "at::_ops::_scaled_dot_product_cudnn_attention*";

/// Functions that touch memory first, and so cause page faults.
constexpr std::string_view memory_functions =
    "memset*|memcpy*|memmove*|__memset*|__memcpy*|__memmove*|_int_malloc*|malloc|calloc|realloc|sysmalloc*|"
    "operator new*|at::native::fill*|at::native::*::copy_*";

/// Returns the part of a path below site-packages or below the folder of Python's standard library; the whole text for
/// code that is frozen into the interpreter. Empty for other files.
std::string_view get_library_path(std::string_view path) {
  if (path.starts_with("<frozen")) return path;
  if (!symbols::find_package(path).empty()) {
    for (const std::string_view folder : {"/site-packages/", "/dist-packages/"})
      if (const auto at = path.rfind(folder); at != std::string_view::npos) return path.substr(at + folder.size());
    const auto at = path.find("/torch/");  // A source checkout of PyTorch.
    return at == std::string_view::npos ? std::string_view{} : path.substr(at + 1);
  }
  for (const std::string_view folder : {"/lib/python", "/lib64/python"}) {
    const auto at = path.find(folder);
    const auto slash = at == std::string_view::npos ? at : path.find('/', at + folder.size());
    if (slash != std::string_view::npos) return path.substr(slash + 1);
  }
  return {};
}

/// The texts of a frame that patterns are compared with.
struct frame_texts {
  bool python;
  std::string_view function;         ///< Bare, if native.
  std::string_view simple_function;  ///< For Python; equal to `function` for native code.
  std::string_view module_file;      ///< For native code.
  std::string_view library_path;     ///< Of the Python file or the native module.

  explicit frame_texts(const host_frame& frame)
      : python(frame.kind == frame_kind::python),
        function(python ? frame.function : get_bare_name(frame.function)),
        simple_function(python ? symbols::simple_name(frame.function) : function),
        module_file(python ? std::string_view{} : file_name(frame.module)),
        library_path(get_library_path(python ? frame.file : frame.module)) {}

  [[nodiscard]] bool match(const frame_rule& rule) const {
    if (python != !rule.file.empty()) return false;
    if (!rule.function.empty() && !matches_any(simple_function, rule.function) &&
        !(python && matches_any(function, rule.function)))
      return false;
    if (python) return matches_any(library_path, rule.file);
    return rule.module.empty() || matches_any(module_file, rule.module) ||
           (rule.module.find('/') != std::string_view::npos && matches_any(library_path, rule.module));
  }
};

const frame_rule* find_rule(const frame_texts& texts, std::span<const frame_rule> rules) {
  const auto found = std::ranges::find_if(rules, [&](const frame_rule& rule) { return texts.match(rule); });
  return found == rules.end() ? nullptr : &*found;
}

/// Returns "libfoo" for "libfoo.so.1.2", "ext" for "ext.cpython-312-x86_64-linux-gnu.so".
std::string_view get_short_name(std::string_view module_file) { return module_file.substr(0, module_file.find('.')); }

void set_owner(known_frame& known, const host_frame& frame, const frame_texts& texts) {
  const std::string_view path = texts.python ? frame.file : frame.module;
  const std::string_view package = symbols::find_package(path);
  if (!texts.python && is_cuda_driver(texts.module_file, texts.function)) {
    known.owner = frame_owner::driver;
  } else if (!package.empty()) {
    known.owner = frame_owner::package;
    known.library = package;
  } else if (texts.python) {
    known.owner = symbols::is_own_file(frame.kind, path) ? frame_owner::program : frame_owner::plumbing;
  } else if (is_plumbing(texts.module_file) || is_generated_code(slashed_path(path))) {
    known.owner = frame_owner::plumbing;
  } else if (symbols::is_own_file(frame.kind, path)) {
    known.owner = frame_owner::program;
  } else {
    known.owner = frame_owner::package;
    known.library = get_short_name(texts.module_file);
  }
}

std::size_t find_user_frame(std::span<const known_frame> frames) {
  const auto found =
      std::ranges::find_if(frames, [](const known_frame& each) { return each.owner == frame_owner::program; });
  return found == frames.end() ? no_frame : static_cast<std::size_t>(found - frames.begin());
}

/// Returns the frame that matches the earliest work rule; the innermost of several. `no_frame` if there is none.
std::size_t find_work_frame(std::span<const known_frame> frames) {
  std::size_t best = no_frame;
  bool in_function = false;  // True outside a function of the program.
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const frame_rule* const rule = frames[i].work;
    if (rule != nullptr && !(in_function && rule->reach == rule_reach::shallow) &&
        (best == no_frame || rule < frames[best].work))
      best = i;
    in_function = in_function || frames[i].function_body;
  }
  return best;
}

void decide_by_work(host_verdict& verdict, std::span<const known_frame> frames) {
  const frame_rule* work = frames[verdict.frame].work;
  const auto outside = frames.subspan(verdict.frame);
  // cuDNN's engines compile with NVRTC: then the plan is what the program can change.
  if (work->reason == host_reason::nvrtc_compile) {
    const auto plan = std::ranges::find_if(outside, [](const known_frame& each) {
      return each.work != nullptr && each.work->reason == host_reason::cudnn_plan;
    });
    if (plan != outside.end()) work = plan->work;
  }
  verdict.reason = work->reason;
  verdict.library = work->library;
  if (verdict.reason == host_reason::cudnn_plan &&
      std::ranges::any_of(outside, [](const known_frame& each) { return each.runs_attention; }))
    verdict.reason = host_reason::cudnn_attention_plan;
}

/// Step 3 of `classify`. Null if the system call is unknown or says nothing.
const system_call_rule* find_call(std::span<const known_frame> frames, host_state state, std::int64_t system_call) {
  if (system_call >= 0 || state == host_state::running) return find_system_call(system_call);
  for (const known_frame& each : frames) {
    if (each.system_call >= 0) return find_system_call(each.system_call);
    if (each.owner != frame_owner::plumbing) break;
  }
  return nullptr;
}

/// Steps 4 and 5 of `classify`.
void decide_by_code(host_verdict& verdict, std::span<const known_frame> frames, host_state state) {
  std::size_t driver = no_frame;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const known_frame& each = frames[i];
    if (each.passing != nullptr) {
      verdict.reason = each.passing->reason;
      verdict.library = each.passing->library;
      verdict.frame = i;
      return;
    }
    if (each.owner == frame_owner::driver && driver == no_frame) driver = i;
    if (each.owner == frame_owner::plumbing || each.owner == frame_owner::driver) continue;
    if (driver != no_frame) break;
    const bool own = each.owner == frame_owner::program;
    verdict.frame = i;
    verdict.reason = own ? host_reason::own_code : host_reason::package_code;
    verdict.library = each.library;
    return;
  }
  verdict.frame = driver != no_frame ? driver : frames.empty() ? no_frame : 0;
  if (driver != no_frame) {
    verdict.reason = host_reason::cuda_driver;
    verdict.library = "CUDA driver";
  } else if (state == host_state::in_kernel || state == host_state::blocked) {
    verdict.reason = host_reason::system_code;
  } else {
    verdict.reason = frames.empty() ? host_reason::unsampled : host_reason::native_code;
  }
}

/// True if the thread is in the system without a system call, where it touched memory: a page fault.
bool is_page_fault(std::span<const known_frame> frames, host_state state, std::int64_t system_call) {
  return state == host_state::in_kernel && system_call < 0 && !frames.empty() && frames.front().touches_memory;
}

}  // namespace

known_frame know(const host_frame& frame) {
  const frame_texts texts(frame);
  known_frame known{.work = find_rule(texts, get_work_rules()), .passing = find_rule(texts, get_passing_rules())};
  set_owner(known, frame, texts);
  // The program may contain CUDA's runtime: then its calls are not the program's own code.
  if (known.owner == frame_owner::program && (known.work != nullptr || known.passing != nullptr))
    known.owner = frame_owner::driver;
  known.function_body = known.owner == frame_owner::program && !(texts.python && texts.simple_function == "<module>");
  if (!texts.python) known.system_call = find_call_number(texts.module_file, texts.function);
  known.runs_attention = !texts.python && matches_any(texts.function, attention_operators);
  known.touches_memory = !texts.python && matches_any(texts.function, memory_functions);
  return known;
}

host_verdict classify(std::span<const known_frame> frames, host_state state, std::int64_t system_call) {
  host_verdict verdict;
  verdict.user_frame = find_user_frame(frames);
  if (state == host_state::runnable) {
    verdict.reason = host_reason::not_scheduled;
    verdict.frame = frames.empty() ? no_frame : 0;
    return verdict;
  }
  verdict.frame = find_work_frame(frames);
  if (verdict.frame != no_frame) {
    decide_by_work(verdict, frames);
  } else if (const system_call_rule* const call = find_call(frames, state, system_call)) {
    verdict.reason = call->reason;
    verdict.system_call = call->name;
    verdict.frame = frames.empty() ? no_frame : 0;
  } else if (is_page_fault(frames, state, system_call)) {
    verdict.reason = host_reason::page_fault;
    verdict.frame = 0;
  } else {
    decide_by_code(verdict, frames, state);
  }
  return verdict;
}

host_verdict classify(std::span<const host_frame> frames, host_state state, std::int64_t system_call) {
  std::vector<known_frame> known;
  known.reserve(frames.size());
  for (const host_frame& each : frames) known.push_back(know(each));
  return classify(std::span<const known_frame>(known), state, system_call);
}

}  // namespace sluice::metrics

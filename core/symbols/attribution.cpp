#include "core/symbols/attribution.hpp"

#include <algorithm>
#include <unordered_set>

#include "core/base/lower_case.hpp"
#include "core/base/recorded_path.hpp"

namespace sluice::symbols {
namespace {

using trace::frame_kind;

constexpr std::array<std::string_view, attribution_count> names = {"line", "caller", "module", "package", "owner"};
constexpr std::array<std::string_view, attribution_count> unknowns = {"(no stack known)", "(no stack known)",
                                                                      "(outside any module's forward())",
                                                                      "(in no package)", "(library not recorded)"};
constexpr std::string_view the_program = "the program";

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
template <std::size_t N>
bool is_among(std::string_view word, const std::array<std::string_view, N>& texts) {
  return std::find(texts.begin(), texts.end(), word) != texts.end();
}

/// Python packages that allocate arrays on behalf of their callers.
constexpr std::array<std::string_view, 12> array_libraries = {
    "torch", "jax", "jaxlib", "numpy", "cupy", "cupyx", "numba", "numba_cuda", "rmm", "cuda", "triton", "tensorflow"};

/// True for wrappers that only call a module's code. The module's code is further inside in the stack.
bool only_calls_on(const slashed_path& file) {
  return file.has("torch/nn/modules/module.py") || file.has("flax/linen/module.py") || file.has("flax/core/") ||
         file.has("jax/_src/") || file.has("functools.py") || file.has("contextlib.py");
}

/// Returns a file's name without its suffixes: "libfoo.so.2" becomes "libfoo", and
/// "_ext.cpython-312-x86_64-linux-gnu.so" becomes "_ext". The name of a program is unchanged.
std::string_view stem(std::string_view file) {
  const std::size_t library = std::min(file.find(".so"), file.find(".dll"));
  if (library == std::string_view::npos) return file;
  file = file.substr(0, library);
  return file.substr(0, file.find(".cpython-"));
}

struct owner_word {
  std::string_view beginning;  ///< How the name of the file starts, in lower case.
  std::string_view word;
};
constexpr std::array owners_by_name = {owner_word{"libtorch", "PyTorch"},
                                       owner_word{"libc10", "PyTorch"},
                                       owner_word{"libnccl", "NCCL"},
                                       owner_word{"libnvshmem", "NVSHMEM"},
                                       owner_word{"libcublas", "cuBLAS"},
                                       owner_word{"libcudnn", "cuDNN"},
                                       owner_word{"libcusparse", "cuSPARSE"},
                                       owner_word{"libcufft", "cuFFT"},
                                       owner_word{"libcurand", "cuRAND"},
                                       owner_word{"libcusolver", "cuSOLVER"},
                                       owner_word{"libcutensor", "cuTENSOR"},
                                       owner_word{"libcufile", "cuFile"},
                                       owner_word{"libnvinfer", "TensorRT"},
                                       owner_word{"libnvjpeg", "nvJPEG"},
                                       owner_word{"librmm", "RMM"},
                                       owner_word{"libcudf", "cuDF"},
                                       owner_word{"libtensorflow", "TensorFlow"},
                                       owner_word{"libonnxruntime", "ONNX Runtime"},
                                       owner_word{"libucp", "UCX"},
                                       owner_word{"libuct", "UCX"},
                                       owner_word{"libucs", "UCX"},
                                       owner_word{"libucm", "UCX"},
                                       owner_word{"libmpi", "MPI"},
                                       owner_word{"xla_", "JAX/XLA"},
                                       owner_word{"libxla", "JAX/XLA"},
                                       owner_word{"pjrt", "JAX/XLA"}};
constexpr std::array owners_by_package = {
    owner_word{"torch", "PyTorch"},      owner_word{"cupy", "CuPy"},      owner_word{"cupyx", "CuPy"},
    owner_word{"cupy_backends", "CuPy"}, owner_word{"jaxlib", "JAX/XLA"}, owner_word{"jax_plugins", "JAX/XLA"},
    owner_word{"jax", "JAX/XLA"},        owner_word{"numba", "Numba"},    owner_word{"numba_cuda", "Numba"},
    owner_word{"triton", "Triton"},      owner_word{"rmm", "RMM"},        owner_word{"tensorflow", "TensorFlow"}};

std::string owner_of_package(std::string_view package) {
  for (const owner_word& each : owners_by_package)
    if (package == each.beginning) return std::string(each.word);
  return std::string(package);
}

/// True for CUDA's driver and runtime, CUPTI, and the recorder, which only pass calls on.
bool passes_on(std::string_view file) {
  for (const std::string_view each : {"libcuda.so", "libnvcuda", "libcudart", "libcupti", "libsluice_capture"})
    if (file.starts_with(each)) return true;
  return false;
}

/// True for Python's foreign function interface, whose caller is a Python frame. Bindings to the driver count, too.
bool is_foreign_call(std::string_view path) {
  const slashed_path whole(path);
  const std::string_view file = file_name(path);
  return file.starts_with("libffi") || file.starts_with("_ctypes") || file.starts_with("python") ||
         file.starts_with("libpython") || file.starts_with("_cffi") || whole.has("/cuda/bindings/") ||
         whole.has("/cuda/core/");
}

/// True for the C and C++ libraries and for the loader.
bool is_of_system(std::string_view file) {
  for (const std::string_view each : {"libc.so", "libc-", "libstdc++", "libm.so", "libpthread", "ld-linux", "libgcc_s"})
    if (file.starts_with(each)) return true;
  return false;
}

/// True for functions in which a program or thread starts, before any code of the program.
bool is_start(std::string_view function) {
  return function == "_start" || function.starts_with("__libc_start") || function == "clone" ||
         function == "start_thread";
}

bool ends_with_forward(std::string_view function) {
  return has(function, "::forward(") || function.ends_with("::forward") || has(function, "::forward<");
}

}  // namespace

std::string_view get_name(attribution by) { return names[static_cast<std::size_t>(by)]; }

std::optional<attribution> attribution_named(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<attribution>(found - names.begin());
}

std::string_view simple_name(std::string_view qualified) {
  const std::size_t dot = qualified.rfind('.');
  return dot == std::string_view::npos ? qualified : qualified.substr(dot + 1);
}

std::string_view get_scope(std::string_view function) {
  // The scope ends before the parameters: at the first "(" that is outside <...> and does not start "(anonymous
  // namespace)".
  int depth = 0;
  std::size_t scope_end = std::string_view::npos;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < function.size(); ++i) {
    const char c = function[i];
    if (has(function.substr(i, 8), "operator") && depth == 0) break;  // An operator's name may contain any of these.
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth != 0) continue;
    if (c == '(') {
      constexpr std::string_view anonymous = "(anonymous namespace)";
      if (function.substr(i, anonymous.size()) != anonymous) break;
      i += anonymous.size() - 1;
    } else if (c == ' ') {
      begin = i + 1;  // For a template, the return type comes first.
      scope_end = std::string_view::npos;
    } else if (c == ':' && function.substr(i, 2) == "::") {
      scope_end = i++;
    }
  }
  return scope_end == std::string_view::npos ? std::string_view{} : function.substr(begin, scope_end - begin);
}

std::string owner_of_module(std::string_view path) {
  const std::string file = lower_case(library_name(path));
  if (file.empty() || passes_on(file)) return {};
  for (const owner_word& each : owners_by_name)
    if (file.starts_with(each.beginning)) return std::string(each.word);
  if (const std::string_view package = find_package(path); !package.empty()) return owner_of_package(package);
  if (is_own_file(frame_kind::native, path)) return std::string(the_program);
  const std::string_view name = stem(file_name(path));
  return std::string(name.starts_with("lib") && name.size() > 3 ? name.substr(3) : name);
}

bool allocates_for_itself(std::string_view owner) {
  static constexpr std::array for_others{"PyTorch", "RMM", "cuDF", "TensorFlow", "ONNX Runtime"};
  const auto current = [&](std::string_view word) { return word == owner; };
  return std::any_of(owners_by_name.begin(), owners_by_name.end(),
                     [&](const owner_word& each) { return current(each.word); }) &&
         std::none_of(for_others.begin(), for_others.end(), current);
}

// --- stacks ---------------------------------------------------------------------------------------------------------

line_id attributor::of(trace::stack_id stack, attribution by) {
  const auto [place, fresh] = known_[static_cast<std::size_t>(by)].try_emplace(raw(stack));
  if (fresh) place->second = find(stack, by);
  return place->second;
}

line_id attributor::unknown(attribution by) { return named(unknowns[static_cast<std::size_t>(by)]); }

line_id attributor::find(trace::stack_id stack, attribution by) {
  if (tables_.stacks.find(stack) == nullptr) return unknown(by);
  switch (by) {
    case attribution::line:
      return book_.get_line(stack, tables_, lookup_, provisional_);
    case attribution::caller:
      return get_caller(stack);
    case attribution::module:
      return get_module(stack);
    case attribution::package:
      return package_of_stack(stack);
    case attribution::owner:
      return find_owner(stack);
  }
  return unknown(by);
}

std::vector<const trace::frame_row*> attributor::find_frames(trace::stack_id stack) const {
  std::vector<const trace::frame_row*> rows;
  std::unordered_set<std::uint64_t> seen;
  while (stack != trace::stack_id::none && rows.size() < frame_cache::deepest && seen.insert(raw(stack)).second) {
    const trace::stack_row* row = tables_.stacks.find(stack);
    const trace::frame_row* frame = row == nullptr ? nullptr : tables_.frames.find(row->frame);
    if (frame == nullptr) break;
    rows.push_back(frame);
    stack = row->parent;
  }
  return rows;
}

line_id attributor::get_caller(trace::stack_id stack) {
  const trace::frame_row* own = nullptr;
  for (const trace::frame_row* frame : find_frames(stack)) {
    if (frame->kind != frame_kind::python || !is_own_file(frame->kind, tables_.text(frame->file))) continue;
    if (own == nullptr) {
      own = frame;
    } else if (own->function != frame->function || own->file != frame->file) {
      return book_.get_lines(frame->id, tables_, lookup_).ids.front();
    }
  }
  const line_id line = of(stack, attribution::line);
  if (own != nullptr) return line;
  const std::vector<line_id> ids = book_.lines_of_stack(stack, tables_, lookup_, provisional_);
  const std::string function = book_.line(line).function;
  for (auto at = std::find(ids.begin(), ids.end(), line); at != ids.end(); ++at) {
    const frame_line next = book_.line(*at);
    if (next.own && !next.function.empty() && next.function != function && !is_start(next.function)) return *at;
  }
  return line;
}

line_id attributor::get_module(trace::stack_id stack) {
  const trace::frame_row* called = nullptr;
  bool python = false;
  const auto output = [&](const trace::frame_row& frame) {
    frame_line line;
    line.kind = frame_kind::python;
    line.function = tables_.text(frame.function);
    line.file = tables_.text(frame.file);
    if (const auto origin = find_origin(tables_.text(frame.file))) line.file = origin->file;
    line.own = is_own_file(line.kind, line.file);
    return book_.add(std::move(line));
  };
  for (const trace::frame_row* frame : find_frames(stack)) {
    if (frame->kind != frame_kind::python) continue;
    python = true;
    const std::string_view function = tables_.text(frame->function);
    const std::string_view name = simple_name(function);
    const slashed_path file(tables_.text(frame->file));
    if (only_calls_on(file)) continue;
    const bool of_class = name.size() < function.size();
    const bool calls = of_class && (name == "__call__" || (name == "call" && file.has("/keras/")));
    const bool forward = name == "forward" && (!is_generated_code(file) || find_origin(file.text()));
    if (forward) return output(*frame);
    if (called == nullptr && calls) called = frame;
  }
  if (called != nullptr) return output(*called);
  if (python) return unknown(attribution::module);
  // No Python frame decides, so look up the symbols of native code.
  for (const line_id id : book_.lines_of_stack(stack, tables_, lookup_, provisional_)) {
    const frame_line line = book_.line(id);
    if (!ends_with_forward(line.function)) continue;
    frame_line of_class;
    of_class.kind = frame_kind::native;
    of_class.function = std::string(get_scope(line.function)) + "::forward";
    of_class.module = line.module;
    of_class.own = line.own;
    return book_.add(std::move(of_class));
  }
  const frame_line own = book_.line(of(stack, attribution::line));
  const std::string_view scope = own.kind == frame_kind::native ? get_scope(own.function) : std::string_view{};
  if (scope.empty()) return unknown(attribution::module);
  frame_line of_scope;
  of_scope.kind = frame_kind::native;
  of_scope.function = scope;
  of_scope.module = own.module;
  of_scope.own = own.own;
  return book_.add(std::move(of_scope));
}

/// Returns an empty string for Python's standard library.
std::string attributor::python_package(const trace::frame_row& frame) const {
  const std::string_view file = tables_.text(frame.file);
  if (const std::string_view package = find_package(file); !package.empty()) return std::string(package);
  return is_own_file(frame_kind::python, file) ? std::string(the_program) : std::string();
}

line_id attributor::package_of_stack(trace::stack_id stack) {
  std::string fallback;
  std::string_view native;
  for (const trace::frame_row* frame : find_frames(stack)) {
    if (frame->kind == frame_kind::python) {
      const std::string package = python_package(*frame);
      if (!package.empty() && !is_among(package, array_libraries)) return named(package);
      if (fallback.empty()) fallback = package;
    } else if (frame->kind == frame_kind::native && native.empty()) {
      const std::string_view path = tables_.text(frame->module);
      const std::string_view file = file_name(path);
      if (!file.empty() && !passes_on(library_name(path)) && !is_of_system(file)) native = stem(file);
    }
  }
  if (!fallback.empty()) return named(fallback);
  return native.empty() ? unknown(attribution::package) : named(native);
}

line_id attributor::find_owner(trace::stack_id stack) {
  bool through_python = false;
  for (const trace::frame_row* frame : find_frames(stack)) {
    if (frame->kind == frame_kind::python) {
      if (!through_python) break;
      const std::string package = python_package(*frame);
      if (!package.empty()) return named(package == the_program ? package : owner_of_package(package));
    } else if (frame->kind == frame_kind::native) {
      const std::string_view path = tables_.text(frame->module);
      if (path.empty()) continue;
      if (is_foreign_call(path)) {
        through_python = true;
      } else if (const std::string owner = owner_of_module(path);
                 !owner.empty() && !(through_python && is_of_system(file_name(path)))) {
        return named(owner);
      }
    }
  }
  return unknown(attribution::owner);
}

}  // namespace sluice::symbols

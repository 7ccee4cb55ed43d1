#include "core/symbols/code_files.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "core/base/lower_case.hpp"
#include "core/base/recorded_path.hpp"

namespace sluice::symbols {
namespace {

using trace::frame_kind;

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto each) { return text.starts_with(each); });
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_windows(std::string_view path) { return path.size() > 1 && path[1] == ':'; }

/// True for the folder of a Python installation on Windows. `folder` must be in lower case: "c:/python312",
/// "c:/miniconda3/envs/ml", "c:/users/me/.pyenv/pyenv-win/versions/3.11.4".
bool is_python_of_windows(std::string_view folder) {
  const std::string_view name = file_name(folder);
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  const bool numbered = std::any_of(name.begin(), name.end(), is_digit);
  return (has("python") && numbered) || has("conda") || has("mamba") || has("miniforge") ||
         last_parts(folder, 2).starts_with("envs/") ||
         (numbered && std::all_of(name.begin(), name.end(), [](char c) { return is_digit(c) || c == '.'; }));
}

/// True for files of Python's standard library. On Windows, this is the folder Lib of the installation.
bool is_of_python(const slashed_path& path) {
  if (path.has("/lib/python") || path.has("/lib64/python")) return true;
  if (!is_of_windows(path.text())) return false;
  constexpr std::string_view library = "/lib/";
  const std::string lower = lower_case(std::string(path.text()));
  for (std::size_t at = lower.find(library); at != std::string::npos; at = lower.find(library, at + 1))
    if (is_python_of_windows(std::string_view(lower).substr(0, at))) return true;
  return false;
}

/// True for files in folders of the operating system and of CUDA.
bool lies_in_system(const slashed_path& path) {
  if (begins_with_any(path.text(), {"/usr/lib", "/lib/", "/lib64/", "/usr/include", "/usr/local/cuda", "/opt/", "["}) ||
      path.has("/include/c++/"))
    return true;
  if (!is_of_windows(path.text())) return false;
  const std::string lower = lower_case(std::string(path.text()));
  const slashed_path subject(lower);
  return subject.has(":/windows/") || subject.has("/nvidia gpu computing toolkit/");
}

/// True for PyTorch's own source outside site-packages: in a checkout, or where PyTorch was built. Other projects also
/// have folders named "torch", so a file known to be PyTorch's must follow, or "pytorch" must precede.
bool is_source_of_pytorch(std::string_view path) {
  for (const std::string_view folder : {"torch/", "aten/", "c10/"}) {
    for (std::size_t at = path.find(folder); at != std::string_view::npos; at = path.find(folder, at + 1)) {
      if (at > 0 && path[at - 1] != '/') continue;
      const std::string_view above = at == 0 ? std::string_view{} : file_name(path.substr(0, at - 1));
      constexpr std::string_view project = "pytorch", release = "pytorch-";
      const bool released = above.starts_with(release) && above.size() > release.size() &&
                            (is_digit(above[release.size()]) || above[release.size()] == 'v');
      if (above == project || released) return true;
      if (folder == "torch/" &&
          begins_with_any(
              path.substr(at + folder.size()),
              {"nn/modules/", "nn/functional.py", "nn/parallel/", "autograd/__init__.py", "autograd/function.py",
               "autograd/graph.py", "optim/optimizer.py", "utils/checkpoint.py", "utils/data/", "distributed/fsdp/",
               "_dynamo/", "_inductor/", "_functorch/", "_tensor.py", "_ops.py", "csrc/"}))
        return true;
    }
  }
  return false;
}

}  // namespace

bool is_own_file(frame_kind kind, std::string_view recorded) {
  if (const auto origin = find_origin(recorded)) recorded = origin->file;
  if (recorded.empty() || !find_package(recorded).empty()) return false;
  const slashed_path path(recorded);
  if (kind == frame_kind::python)
    return !begins_with_any(recorded, {"<frozen", "<__"}) && !is_of_python(path) && !is_generated_code(path);
  return !lies_in_system(path) && !is_generated_code(path) &&
         !begins_with_any(
             library_name(recorded),
             {"python",   "libpython", "libcuda",     "libnvcuda",   "libcupti", "libsluice_capture", "libstdc++",
              "libc.so",  "libm.so",   "libpthread",  "libgcc_s",    "ld-linux", "libcublas",         "libcudnn",
              "libcufft", "libcurand", "libcusolver", "libcusparse", "libnccl",  "libnvrtc",          "libnvJitLink"});
}

std::string_view find_package(std::string_view file) {
  const slashed_path path(file);
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = path.text().rfind(folder);
    if (at == std::string_view::npos) continue;
    const std::size_t begin = at + folder.size();
    const std::size_t slash = path.text().find('/', begin);
    const std::string_view below = file.substr(begin);
    // The file is a module of its own, or is in a package.
    return slash != std::string_view::npos ? below.substr(0, slash - begin) : below.substr(0, below.find('.'));
  }
  return is_source_of_pytorch(path.text()) ? std::string_view("torch") : std::string_view{};
}

std::string library_name(std::string_view path) {
  std::string name(file_name(path));
  if (lower_case(name).ends_with(".dll")) name.insert(0, "lib");
  return name;
}

std::optional<code_origin> find_origin(std::string_view file) {
  constexpr std::string_view source = " from ", in = " in ";
  if (!file.starts_with("<eval_with_key")) return std::nullopt;
  const std::size_t name = file.rfind(in);
  const std::size_t begin = file.find(source);
  if (begin == std::string_view::npos || name == std::string_view::npos || name < begin + source.size())
    return std::nullopt;
  const std::string_view place = file.substr(begin + source.size(), name - begin - source.size());
  const std::size_t colon = place.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  code_origin origin{place.substr(0, colon), 0, file.substr(name + in.size())};
  const std::string_view number = place.substr(colon + 1);
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), origin.line);
  const bool whole = problem == std::errc{} && end == number.data() + number.size();
  return whole && !origin.file.empty() ? std::optional(origin) : std::nullopt;
}

}  // namespace sluice::symbols

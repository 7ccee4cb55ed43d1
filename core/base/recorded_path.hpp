#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

/// Paths in a recording. The recording may come from another system, so both '/' and '\' separate folders.
namespace sluice {

/// Returns the last `parts` parts of a path, for example "linear.py" of "/nn/linear.py" and of "D:\nn\linear.py".
/// O(length).
[[nodiscard]] inline std::string_view last_parts(std::string_view path, int parts) {
  std::size_t at = path.size();
  for (; parts > 0; --parts) {
    const std::size_t slash = at == 0 ? std::string_view::npos : path.find_last_of("/\\", at - 1);
    if (slash == std::string_view::npos) return path;
    at = slash;
  }
  return path.substr(at + 1);
}
[[nodiscard]] inline std::string_view file_name(std::string_view path) { return last_parts(path, 1); }

/// True for a path that starts at a root: "/x", "D:\x", "\\server\x".
[[nodiscard]] inline bool is_absolute_path(std::string_view path) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const bool drive = path.size() > 2 && is_letter(path[0]) && path[1] == ':' && (path[2] == '\\' || path[2] == '/');
  return drive || path.starts_with('/') || path.starts_with("\\\\");
}

/// A path in which '/' separates the folders, so that its parts can be searched. The path is copied only if it contains
/// '\'.
class slashed_path {
 public:
  /// `recorded` must outlive this object.
  explicit slashed_path(std::string_view recorded) : text_(recorded) {
    if (recorded.find('\\') == std::string_view::npos) return;
    changed_ = recorded;
    std::replace(changed_.begin(), changed_.end(), '\\', '/');
    text_ = changed_;
  }
  slashed_path(const slashed_path&) = delete;
  slashed_path& operator=(const slashed_path&) = delete;

  /// The result has the same length as the recorded path, so a position is valid in both.
  [[nodiscard]] std::string_view text() const { return text_; }
  /// True if the path contains `part`, for example "/site-packages/".
  [[nodiscard]] bool has(std::string_view part) const { return text_.find(part) != std::string_view::npos; }

 private:
  std::string changed_;
  std::string_view text_;
};

namespace detail {

inline bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto each) { return text.starts_with(each); });
}

/// True for a file that TorchInductor has named after its content: "c" and 51 base-32 digits
/// (torch/_inductor/codecache.py).
inline bool is_named_by_inductor(std::string_view file) {
  constexpr std::size_t length = 52;
  const auto is_digit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7'); };
  return file.size() > length && file[0] == 'c' && file[length] == '.' &&
         std::all_of(file.begin(), file.begin() + length, is_digit);
}

}  // namespace detail

/// True for code that was generated while the program ran: files in the caches of TorchInductor, Triton and vLLM,
/// graphs of torch.fx, and TensorFlow's AutoGraph. O(length).
[[nodiscard]] inline bool is_generated_code(const slashed_path& path) {
  // Code without a file has a name in angle brackets. So does code that a person typed ("<stdin>", "<string>").
  if (path.text().starts_with('<'))
    return detail::begins_with_any(path.text(), {"<eval_with_key", "<decorator-gen-", "<attrs generated",
                                                 "<lambdifygenerated", "<makefun-gen-", "<@beartype("});
  for (const std::string_view folder :
       {"/torchinductor_", "/torchinductor/", "/inductor_cache/", "/torch_compile_cache/", "/torch_aot_compile/",
        "/torch_compile_debug/", "fx_codegen/", "/.triton/"})
    if (path.has(folder)) return true;
  const std::string_view file = file_name(path.text());
  return detail::is_named_by_inductor(file) ||
         detail::begins_with_any(file, {"fx_generated_", "__triton_launcher", "__autograph_generated_file"});
}

}  // namespace sluice

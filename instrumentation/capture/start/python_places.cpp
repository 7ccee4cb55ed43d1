#include "instrumentation/capture/start/python_places.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

#include "core/base/files/regular_file.hpp"

namespace sluice::capture {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_text = 64 << 10;  ///< Maximum size of pyvenv.cfg and version.py in bytes.
constexpr std::size_t max_words = 64;             ///< Maximum number of words of a command to examine.
constexpr std::size_t max_links = 16;

bool is_executable(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none) && ::access(path.c_str(), X_OK) == 0;
}

/// True for "python", "python3", "python3.12", "python3.13t", but not "python-anything.sh".
bool is_named_python(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("python") && name.find_first_not_of("0123456789.td", 6) == std::string::npos;
}

/// The first line of a script, without "#!"; nullopt if the file is not a script.
std::optional<std::string> line_of_script(const std::string& path) {
  const auto file = regular_file::open(path);
  if (!file) return std::nullopt;
  std::string line(256, '\0');
  const ssize_t got = ::pread(file->descriptor(), line.data(), line.size(), 0);
  line.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (!line.starts_with("#!")) return std::nullopt;
  return line.substr(2, line.find('\n') - 2);
}

/// `program` itself if it is a Python interpreter, or the interpreter named in its first line.
std::string get_python(const std::string& program, const variable_lookup& variables) {
  const auto line = line_of_script(program);
  if (!line) return is_named_python(program) ? program : std::string();
  std::istringstream words(*line);
  for (std::string word; words >> word;)
    if (is_named_python(word)) return find_on_path(word, variables);
  return {};
}

/// `path` and the targets to which its links lead, in order.
std::vector<fs::path> make_chain(const fs::path& path) {
  std::vector<fs::path> chain{path};
  std::error_code failed;
  while (chain.size() < max_links && fs::is_symlink(chain.back(), failed)) {
    const fs::path target = fs::read_symlink(chain.back(), failed);
    if (failed) break;
    chain.push_back((chain.back().parent_path() / target).lexically_normal());
  }
  return chain;
}

/// The value of `key` in a pyvenv.cfg, whose lines are "key = value".
std::string get_value(const std::string& text, std::string_view key) {
  for (const std::string& line : split(text, '\n')) {
    std::istringstream words(line);
    std::string name, equals, value;
    if (words >> name >> equals >> std::ws && std::getline(words, value) && name == key && equals == "=") return value;
  }
  return {};
}

/// Folders that contain "lib/python3.N" for this Python, highest priority first.
std::vector<fs::path> list_prefixes(const std::string& interpreter) {
  const std::vector<fs::path> chain = make_chain(interpreter);
  for (const fs::path& each : chain) {
    for (const fs::path& folder : {each.parent_path().parent_path(), each.parent_path()}) {
      const auto settings = read_regular_file((folder / "pyvenv.cfg").string(), largest_text);
      if (!settings) continue;
      std::vector<fs::path> found{folder};
      const fs::path home = get_value(*settings, "home");
      if (get_value(*settings, "include-system-site-packages") == "true" && home.is_absolute())
        found.push_back(home.parent_path());
      return found;
    }
  }
  return {chain.back().parent_path().parent_path(), chain.front().parent_path().parent_path()};
}

/// Entries of `folder` whose names start with `beginning`, sorted by name.
std::vector<fs::path> entries(const fs::path& folder, std::string_view beginning) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().filename().string().starts_with(beginning)) found.push_back(at->path());
  std::sort(found.begin(), found.end());
  return found;
}

void add_packages_below(const fs::path& prefix, std::vector<fs::path>& folders) {
  for (const char* library : {"lib", "lib64"})
    for (const fs::path& version : entries(prefix / library, "python3"))
      for (const char* packages : {"site-packages", "dist-packages"}) folders.push_back(version / packages);
}

std::vector<fs::path> package_folders(const std::vector<fs::path>& prefixes, const variable_lookup& variables) {
  std::vector<fs::path> folders;
  for (const std::string& each : split(variables("PYTHONPATH").value_or(""), ':')) folders.emplace_back(each);
  for (const fs::path& prefix : prefixes) {
    if (prefix == "/usr") add_packages_below("/usr/local", folders);  // Debian's pip installs there.
    add_packages_below(prefix, folders);
  }
  if (const auto home = variables("HOME"); home && !home->empty())
    add_packages_below(fs::path(*home) / ".local", folders);
  std::erase_if(folders, [](const fs::path& folder) { return !folder.is_absolute(); });
  return folders;
}

/// The CUDA major version of PyTorch, e.g. "13" for CUDA 13.0; empty without PyTorch or CUDA. Its version.py has a line
/// like "cuda: Optional[str] = '13.0'".
std::string cuda_of_torch(const fs::path& packages) {
  const auto text = read_regular_file((packages / "torch" / "version.py").string(), largest_text);
  if (!text) return {};
  for (const std::string& line : split(*text, '\n')) {
    const std::size_t quote = line.find('\'');
    if (!line.starts_with("cuda") || quote == std::string::npos) continue;
    return line.substr(quote + 1, line.find_first_not_of("0123456789", quote + 1) - quote - 1);
  }
  return {};
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::string find_on_path(const std::string& name, const variable_lookup& variables) {
  std::error_code failed;
  if (name.find('/') != std::string::npos) return is_executable(name) ? fs::absolute(name, failed).string() : "";
  if (name.empty()) return {};
  for (const std::string& folder : split(variables("PATH").value_or("/usr/local/bin:/usr/bin:/bin"), ':')) {
    const fs::path candidate = fs::path(folder) / name;
    if (candidate.is_absolute() && is_executable(candidate)) return candidate.string();
  }
  return {};
}

std::string find_interpreter(std::span<const std::string> command, const variable_lookup& variables) {
  for (const std::string& word : command.first(std::min(command.size(), max_words))) {
    const std::string program = find_on_path(word, variables);
    if (program.empty()) continue;
    if (std::string python = get_python(program, variables); !python.empty()) return python;
  }
  return {};
}

std::vector<std::string> cupti_of_python(const std::string& interpreter, const variable_lookup& variables) {
  const std::vector<fs::path> prefixes = list_prefixes(interpreter);
  std::vector<fs::path> files;
  std::string major;
  for (const fs::path& packages : package_folders(prefixes, variables)) {
    if (major.empty()) major = cuda_of_torch(packages);
    for (const fs::path& part : entries(packages / "nvidia", ""))
      for (const fs::path& file : entries(part / "lib", "libcupti.so.")) files.push_back(file);
  }
  for (const fs::path& prefix : prefixes)
    for (const fs::path& file : entries(prefix / "lib", "libcupti.so.")) files.push_back(file);
  if (!major.empty()) {
    std::stable_partition(files.begin(), files.end(),
                          [&](const fs::path& file) { return file.extension() == "." + major; });
  }
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.string());
  return names;
}

}  // namespace sluice::capture

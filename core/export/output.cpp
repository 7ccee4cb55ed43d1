#include "core/export/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace sluice::exports {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t enough = std::size_t{256} << 10;

result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      const error_code code = errno == ENOSPC || errno == EDQUOT ? error_code::no_space : error_code::io;
      return fail(code, "cannot write: " + describe_errno(errno), path == "-" ? "the standard output" : path);
    }
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

std::uint64_t size_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    const auto bytes = fs::file_size(path, ignored);
    return ignored ? 0 : bytes;
  }
  std::uint64_t sum = 0;
  for (const auto& entry : fs::directory_iterator(path, ignored)) sum += size_of(entry.path());
  return sum;
}

/// A name beside `path` that nobody else uses.
std::string name_beside(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  static int number = 0;
  return path + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
}

}  // namespace

output::output(std::string path, output_shape shape) : path_(std::move(path)), shape_(shape), standard_(path_ == "-") {}

output::output(output&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::move(other.beside_)),
      shape_(other.shape_),
      fd_(std::exchange(other.fd_, -1)),
      standard_(other.standard_),
      done_(std::exchange(other.done_, true)),
      bytes_(other.bytes_),
      kept_(std::move(other.kept_)),
      outcome_(std::move(other.outcome_)) {}

output::~output() {
  if (!done_) discard();
}

result<output> output::create(const std::string& path, output_shape shape) {
  output made(path, shape);
  std::error_code problem;
  if (made.standard_) {
    if (shape == output_shape::folder)
      return fail(error_code::invalid_argument, "several files cannot go to the standard output", "-",
                  "name a folder with -o, or choose one table");
    if (shape == output_shape::file) {
      made.beside_ = name_beside((fs::temp_directory_path(problem) / "sluice-export").string());
    } else {
      made.fd_ = STDOUT_FILENO;
    }
    return made;
  }
  made.beside_ = name_beside(path);
  if (shape == output_shape::folder) {
    if (fs::exists(path, problem) && !(fs::is_directory(path, problem) && fs::is_empty(path, problem)))
      return fail(error_code::invalid_argument, "is there already, and is no empty folder", path,
                  "name a new folder with -o");
    if (!fs::create_directory(made.beside_, problem))
      return fail(error_code::io, "cannot make the folder: " + problem.message(), path);
    return made;
  }
  if (fs::is_directory(path, problem))
    return fail(error_code::invalid_argument, "is a folder, and this is one file", path, "name a file with -o");
  if (fs::exists(path, problem) && !fs::is_regular_file(path, problem)) {
    // A pipe or a device: nothing to rename over, and nothing to keep.
    if (shape == output_shape::file)
      return fail(error_code::invalid_argument, "is no regular file, and this format needs one", path,
                  "name a file with -o");
    made.beside_.clear();
    made.fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (made.fd_ < 0) return fail(error_code::io, "cannot open: " + describe_errno(errno), path);
    return made;
  }
  // Also for a format that opens it itself: it says early whether a file can be made there.
  made.fd_ = ::open(made.beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (made.fd_ < 0)
    return fail(error_code::io, "cannot create: " + describe_errno(errno), path,
                "name a file in a folder that you may write to");
  if (shape == output_shape::file) {
    ::close(std::exchange(made.fd_, -1));
    ::unlink(made.beside_.c_str());
  }
  return made;
}

result<void> output::flush() {
  if (!outcome_) return outcome_;
  outcome_ = write_all(fd_, kept_, path_);
  kept_.clear();
  return outcome_;
}

result<void> output::write(std::string_view bytes) {
  bytes_ += bytes.size();
  kept_ += bytes;
  return kept_.size() < enough ? outcome_ : flush();
}

result<void> output::copy_to_standard_output() {
  const int from = ::open(beside_.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return fail(error_code::io, "cannot be read back: " + describe_errno(errno), beside_);
  std::array<char, 1 << 16> buffer;
  result<void> outcome;
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) outcome = fail(error_code::io, "cannot be read back: " + describe_errno(errno), beside_);
    if (got <= 0) break;
    outcome = write_all(STDOUT_FILENO, {buffer.data(), static_cast<std::size_t>(got)}, path_);
    if (!outcome) break;
  }
  ::close(from);
  return outcome;
}

result<void> output::commit() {
  if (shape_ == output_shape::stream) {
    flush();
    if (!standard_ && ::close(std::exchange(fd_, -1)) != 0 && outcome_)
      outcome_ = fail(error_code::io, "cannot close: " + describe_errno(errno), path_);
  } else {
    bytes_ = size_of(beside_);
  }
  if (!outcome_) return outcome_;
  if (standard_ || beside_.empty()) {
    if (shape_ == output_shape::file) outcome_ = copy_to_standard_output();
    discard();
    return outcome_;
  }
  std::error_code problem;
  fs::rename(beside_, path_, problem);
  if (problem) return outcome_ = fail(error_code::io, "cannot be put in its place: " + problem.message(), path_);
  done_ = true;
  return {};
}

void output::discard() {
  done_ = true;
  if (fd_ >= 0 && !standard_) ::close(std::exchange(fd_, -1));
  std::error_code ignored;
  if (!beside_.empty()) fs::remove_all(beside_, ignored);
}

}  // namespace sluice::exports

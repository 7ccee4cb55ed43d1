#include "core/export/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/base/files/full_disk.hpp"

namespace sluice::exports {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t enough = std::size_t{256} << 10;

result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      const int why = errno;
      return fail(code_of_failed_write(why), "cannot write: " + describe_errno(why),
                  path == "-" ? "standard output" : path,
                  is_full_disk(why) ? "free some space, or choose a folder with more space" : "");
    }
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

std::uint64_t get_size(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    const auto bytes = fs::file_size(path, ignored);
    return ignored ? 0 : bytes;
  }
  std::uint64_t sum = 0;
  for (const auto& entry : fs::directory_iterator(path, ignored)) sum += get_size(entry.path());
  return sum;
}

/// Returns the descriptor of the open file that `path` names ("-", /dev/stdout, /dev/fd/63 as in >(...)), or -1 for
/// other paths. The output is written to this descriptor, because the file must not be replaced, and reopening it would
/// start at its first byte.
int open_file_named_by(const std::string& path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = -1;
    const char* end = path.data() + path.size();
    const auto read = std::from_chars(path.data() + folder.size(), end, number);
    if (read.ec == std::errc() && read.ptr == end && number >= 0) return number;
  }
  return -1;
}

/// Opens a pipe or a device for writing. Never blocks, because a pipe without a reader is an error.
result<int> open_stream(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 && errno == ENXIO)
    return fail(error_code::io, "is a pipe without a reader", path, "start its reader first");
  if (fd < 0) return fail(error_code::io, "cannot open: " + describe_errno(errno), path);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

}  // namespace

output::output(std::string path, output_shape shape, bool replaces)
    : path_(std::move(path)), shape_(shape), replaces_(replaces) {}

output::output(output&& other) noexcept
    : path_(std::move(other.path_)),
      written_at_(std::move(other.written_at_)),
      shape_(other.shape_),
      replaces_(other.replaces_),
      adds_(other.adds_),
      fd_(std::exchange(other.fd_, -1)),
      place_(std::move(other.place_)),
      scratch_(std::move(other.scratch_)),
      bytes_(other.bytes_),
      kept_(std::move(other.kept_)),
      outcome_(std::move(other.outcome_)) {}

output::~output() {
  if (fd_ >= 0) ::close(fd_);
}

result<output> output::create(const std::string& path, output_shape shape, bool replaces) {
  output built(path, shape, replaces);
  std::error_code problem;
  result<void> begun;
  if (const int open_file = open_file_named_by(path); open_file >= 0) {
    begun = built.begin_at(open_file);
  } else if (!is_folder(shape) && fs::exists(path, problem) && !fs::is_regular_file(path, problem)) {
    begun = built.begin_at_special_file();
  } else {
    begun = built.begin_new();
  }
  if (!begun) return tl::unexpected(begun.error());
  return built;
}

bool output::names_open_file(const std::string& path) { return open_file_named_by(path) >= 0; }

result<void> output::begin_at(int open_file) {
  if (is_folder(shape_))
    return fail(error_code::invalid_argument, "cannot write several files to standard output", path_,
                "choose a folder with -o, or a single table");
  fd_ = ::fcntl(open_file, F_DUPFD_CLOEXEC, 0);
  if (fd_ < 0) return fail(error_code::io, "cannot write: " + describe_errno(errno), path_);
  if (shape_ == output_shape::stream) return {};
  auto scratch = scratch_folder::make();
  if (!scratch) return tl::unexpected(scratch.error());
  written_at_ = scratch->path() + "/export";
  scratch_.emplace(std::move(*scratch));
  return {};
}

/// Writes to a pipe or a device, without replacing a file.
result<void> output::begin_at_special_file() {
  std::error_code problem;
  const fs::file_status status = fs::status(path_, problem);
  if (fs::is_directory(status))
    return fail(error_code::invalid_argument, "is a folder, but the output is a single file", path_,
                "choose a file with -o");
  if (shape_ == output_shape::file || !(fs::is_fifo(status) || fs::is_character_file(status)))
    return fail(error_code::invalid_argument, "is not a regular file, which this format requires", path_,
                "choose a file with -o");
  auto opened = open_stream(path_);
  if (!opened) return tl::unexpected(opened.error());
  fd_ = *opened;
  return {};
}

result<void> output::begin_new() {
  std::error_code problem;
  adds_ = shape_ == output_shape::data_set && fs::is_directory(path_, problem) && !fs::is_empty(path_, problem);
  if (adds_ && !fs::is_directory(path_ + "/events", problem))
    return fail(error_code::invalid_argument, "is not empty, and is not a data set", path_,
                "choose a new folder with -o");
  // Before its columns had the names of `sluice query`, a data set had this table.
  if (adds_ && fs::is_directory(path_ + "/steps", problem))
    return fail(error_code::invalid_argument, "has the tables of an older version, whose columns have other names",
                path_, "choose a new folder with -o");
  auto place =
      is_folder(shape_) ? replacement::of_folder(adds_ ? path_ + "/.new" : path_) : replacement::of_file(path_);
  if (!place) return tl::unexpected(place.error());
  written_at_ = place->path();
  if (shape_ == output_shape::stream) fd_ = place->take_descriptor();
  place_.emplace(std::move(*place));
  return {};
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

result<void> output::copy_out() {
  const int begin = ::open(written_at_.c_str(), O_RDONLY | O_CLOEXEC);
  if (begin < 0) return fail(error_code::io, "cannot be read back: " + describe_errno(errno), written_at_);
  std::array<char, 1 << 16> buffer;
  result<void> outcome;
  for (;;) {
    const ssize_t got = ::read(begin, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) outcome = fail(error_code::io, "cannot be read back: " + describe_errno(errno), written_at_);
    if (got <= 0) break;
    outcome = write_all(fd_, {buffer.data(), static_cast<std::size_t>(got)}, path_);
    if (!outcome) break;
  }
  ::close(begin);
  return outcome;
}

bool output::is_taken(const std::string& partition) const {
  std::error_code problem;
  return adds_ && !replaces_ && fs::exists(fs::symlink_status(path_ + "/" + partition, problem));
}

/// Moves each folder TABLE/PARTITION/PARTITION in one operation, so that a reader sees the folder completely or not at
/// all.
result<void> output::add_to_data_set() {
  std::error_code problem;
  const auto failure = [&](const fs::path& at) {
    return fail(error_code::io, "cannot be moved into place: " + problem.message(), at.string());
  };
  std::vector<fs::path> partitions;
  for (auto at = fs::recursive_directory_iterator(written_at_, problem); !problem && at != fs::end(at);
       at.increment(problem)) {
    if (at.depth() != 2) continue;
    partitions.push_back(at->path().lexically_relative(written_at_));
    at.disable_recursion_pending();
  }
  if (problem) return failure(written_at_);
  // The replaced partitions are deleted with the temporary folder.
  const fs::path old = fs::path(written_at_) / "replaced";
  fs::create_directory(old, problem);
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const fs::path target = fs::path(path_) / partitions[i];
    if (is_taken(partitions[i].string()))
      return fail(error_code::invalid_argument, "already exists", target.string(), "use --force to replace it");
    if (fs::create_directories(target.parent_path(), problem); problem) return failure(target);
    if (fs::exists(target, problem)) fs::rename(target, old / std::to_string(i), problem);
    if (!problem) fs::rename(fs::path(written_at_) / partitions[i], target, problem);
    if (problem) return failure(target);
  }
  return {};
}

result<void> output::commit() {
  if (shape_ == output_shape::stream) {
    flush();
  } else {
    bytes_ = get_size(written_at_);
    if (scratch_ && outcome_) outcome_ = copy_out();
  }
  if (fd_ >= 0 && ::close(std::exchange(fd_, -1)) != 0 && outcome_)
    outcome_ = fail(error_code::io, "cannot close: " + describe_errno(errno), path_);
  if (outcome_ && adds_) return outcome_ = add_to_data_set();
  if (outcome_ && place_) outcome_ = place_->commit();
  return outcome_;
}

}  // namespace sluice::exports

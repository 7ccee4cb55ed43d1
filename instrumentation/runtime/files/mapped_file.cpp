#include "instrumentation/runtime/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.hpp"
#include "instrumentation/runtime/state/layer_log.hpp"

namespace sluice::runtime {

void mapped_file::fail(const char* call, const std::string& subject) const {
  throw error({status::failed, 0, call, fmt::format("{}: {}", path_, subject)});
}

mapped_file::mapped_file(const std::filesystem::path& path, file_access access, const device_ref& device)
    : path_(path.string()), access_(access), device_(device) {
  const std::uint64_t begin = layer_log::on() ? layer_log::now() : 0;
  const bool writable = access == file_access::read_write;
  descriptor_ = ::open(path_.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (descriptor_ < 0) fail("mapped_file", describe_errno(errno));
  struct stat about {};
  std::string problem;
  if (fstat(descriptor_, &about) != 0) {
    problem = describe_errno(errno);
  } else if (!S_ISREG(about.st_mode)) {
    problem = "not a regular file";
  } else if (about.st_size == 0) {
    problem = "the file is empty; there is nothing to map";
  } else {
    bytes_ = static_cast<std::size_t>(about.st_size);
    void* data = mmap(nullptr, bytes_, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, descriptor_, 0);
    if (data == MAP_FAILED) {
      problem = describe_errno(errno);
    } else {
      data_ = static_cast<std::byte*>(data);
    }
  }
  if (!problem.empty()) {
    ::close(descriptor_);  // the destructor does not run if a constructor throws
    fail("mapped_file", problem);
  }
  device_.backend().note_file_mapping(data_, bytes_, writable);
  layer_log::file_io(trace::file_operation::map, path_, 0, bytes_, begin);
}

mapped_file::mapped_file(mapped_file&& other) noexcept
    : path_(std::move(other.path_)),
      access_(other.access_),
      device_(std::move(other.device_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

mapped_file::~mapped_file() {
  if (data_) {
    device_.backend().forget_file_mapping(data_);
    munmap(data_, bytes_);
  }
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::span<std::byte> mapped_file::writable_bytes() {
  if (access_ != file_access::read_write) fail("mapped_file", "opened read-only");
  return {data_, bytes_};
}

void mapped_file::require_multiple_of(std::size_t unit) const {
  if (bytes_ % unit != 0) {
    fail("mapped_file", fmt::format("{} bytes are not a multiple of {}; the file may be truncated", bytes_, unit));
  }
}

void mapped_file::read_at(std::uint64_t offset, std::span<std::byte> to) const {
  const std::uint64_t begin = layer_log::on() ? layer_log::now() : 0;
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t n = pread(descriptor_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read_at", describe_errno(errno));
    if (n == 0) {
      fail("read_at", fmt::format("the file ends at byte {}, expected {} more: it was truncated", offset + done,
                                  to.size() - done));
    }
    done += static_cast<std::size_t>(n);
  }
  device_.backend().host_spends(backend::host_work::read_file, to.size());
  layer_log::file_io(trace::file_operation::read, path_, offset, to.size(), begin);
}

void mapped_file::write_at(std::uint64_t offset, std::span<const std::byte> items) {
  if (access_ != file_access::read_write) fail("write_at", "opened read-only");
  if (offset > bytes_ || items.size() > bytes_ - offset) {
    fail("write_at", fmt::format("[{}, {} + {}) exceeds the file of {} bytes", offset, offset, items.size(), bytes_));
  }
  const std::uint64_t begin = layer_log::on() ? layer_log::now() : 0;
  std::size_t done = write_through_mapping(offset, items) ? items.size() : 0;
  while (done < items.size()) {
    const ssize_t n = pwrite(descriptor_, items.data() + done, items.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write_at", describe_errno(errno));
    done += static_cast<std::size_t>(n);
  }
  device_.backend().host_spends(backend::host_work::write_file, items.size());
  layer_log::file_io(trace::file_operation::write, path_, offset, items.size(), begin);
}

bool mapped_file::write_through_mapping(std::uint64_t offset, std::span<const std::byte> items) {
  constexpr std::size_t worth_it = 256u << 10;
  if (items.size() < worth_it) return false;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t first = offset / page * page;
  if (madvise(data_ + first, items.size() + (offset - first), MADV_POPULATE_WRITE) != 0) {
    // Disk full, file truncated, or a kernel older than 5.14: pwrite distinguishes these.
    require_whole();
    return false;
  }
  std::memcpy(data_ + offset, items.data(), items.size());
  return true;
}

void mapped_file::flush(std::uint64_t offset, std::size_t bytes) {
  if (access_ != file_access::read_write) fail("flush", "opened read-only");
  if (offset > bytes_ || bytes > bytes_ - offset) {
    fail("flush", fmt::format("[{}, {} + {}) exceeds the file of {} bytes", offset, offset, bytes, bytes_));
  }
  const std::uint64_t begin = layer_log::on() ? layer_log::now() : 0;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t first = offset / page * page;
  if (msync(data_ + first, bytes + (offset - first), MS_SYNC) != 0 || fdatasync(descriptor_) != 0) {
    fail("flush", describe_errno(errno));
  }
  device_.backend().host_spends(backend::host_work::flush_file, bytes);
  layer_log::file_io(trace::file_operation::flush, path_, offset, bytes, begin);
}

mapped_file mapped_file::create(const std::filesystem::path& path, std::uint64_t bytes, const device_ref& device) {
  const auto refuse = [&](const std::string& why) {
    throw error({status::failed, 0, "mapped_file::create", fmt::format("{}: {}", path.string(), why)});
  };
  if (bytes == 0) refuse("the size is 0; there is nothing to map");
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) refuse(describe_errno(errno));
  int problem = ftruncate(descriptor, static_cast<off_t>(bytes)) != 0 ? errno : 0;
  // If the file system cannot reserve space, a full disk is reported when writing.
  if (problem == 0 && fallocate(descriptor, 0, 0, static_cast<off_t>(bytes)) != 0 && errno != EOPNOTSUPP) {
    problem = errno;
  }
  ::close(descriptor);
  if (problem != 0) {
    ::unlink(path.c_str());
    refuse(describe_errno(problem));
  }
  return mapped_file(path, file_access::read_write, device);
}

host_registration mapped_file::pin() const {
  if (access_ != file_access::read_only) fail("pin", "opened for writing; open it read-only to page-lock its mapping");
  const std::uint64_t begin = layer_log::on() ? layer_log::now() : 0;
  // Reports missing pages, for which the driver would fail without giving a reason. Older kernels lack this call.
  if (madvise(data_, bytes_, MADV_POPULATE_READ) != 0 && errno != EINVAL) {
    const int problem = errno;
    require_whole();
    fail("pin", describe_errno(problem));
  }
  host_registration out(data_, bytes_, {.read_only = true}, device_);
  layer_log::file_io(trace::file_operation::map, path_, 0, bytes_, begin);
  return out;
}

void mapped_file::require_whole() const {
  struct stat about {};
  if (fstat(descriptor_, &about) != 0) fail("mapped_file", describe_errno(errno));
  if (static_cast<std::uint64_t>(about.st_size) < bytes_) {
    fail("mapped_file", fmt::format("the file was truncated to {} bytes; {} were mapped", about.st_size, bytes_));
  }
}

}  // namespace sluice::runtime

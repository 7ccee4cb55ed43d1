#include "app/browser/page_source.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "app/browser/page_functions.hpp"

namespace sluice::browser {
namespace {

/// Files are fetched in blocks of this size, because a request takes a millisecond and the reader asks for only a few
/// kilobytes at a time. Some of the blocks are cached.
constexpr std::uint64_t block_bytes = 512 << 10;
constexpr std::size_t max_blocks = 64;

using block = std::shared_ptr<const std::vector<std::byte>>;

/// Caches the most recently used blocks of all files. Thread-safe.
class kept_blocks {
 public:
  block find(const std::string& url, std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    const auto found = at(url, number);
    if (found == all_.end()) return nullptr;
    std::rotate(found, found + 1, all_.end());
    return all_.back().bytes;
  }

  /// Adds a block. Replaces an older version of the block, which may have been shorter.
  void keep(const std::string& url, std::uint64_t number, block bytes) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = at(url, number); found != all_.end()) all_.erase(found);
    all_.push_back({url, number, std::move(bytes)});
    if (all_.size() > max_blocks) all_.pop_front();
  }

 private:
  struct entry {
    std::string url;
    std::uint64_t number = 0;
    block bytes;  ///< Shorter than `block_bytes` only for the last block of the file.
  };
  std::deque<entry>::iterator at(const std::string& url, std::uint64_t number) {
    return std::find_if(all_.begin(), all_.end(),
                        [&](const entry& each) { return each.number == number && each.url == url; });
  }

  std::mutex mutex_;
  std::deque<entry> all_;  ///< Sorted by last use; the most recently used block is the last.
};

kept_blocks& blocks() {
  static kept_blocks only;
  return only;
}

class page_source final : public trace::byte_source {
 public:
  page_source(std::string name, std::string url, std::string version, std::uint64_t bytes)
      : byte_source(std::move(name)),
        plain_url_(std::move(url)),
        version_(std::move(version)),
        newest_(version_),
        bytes_(bytes) {
    read_from_ = version_.empty() ? plain_url_ : plain_url_ + "?version=" + version_;
  }

  result<extent> poll() override {
    if (version_.empty()) return extent{.bytes = bytes_, .growing = false, .remark = {}};
    double bytes = 0;
    std::array<char, 128> newest{};
    const int growing = sluice_look(read_from_.c_str(), &bytes, newest.data(), static_cast<int>(newest.size()));
    if (growing < 0 || !(bytes >= 0))
      return fail(error_code::io, "the server no longer responds", name(), "reload the page");
    const std::scoped_lock lock(mutex_);
    newest_ = newest.data();
    return extent{.bytes = static_cast<std::uint64_t>(bytes), .growing = growing != 0, .remark = {}};
  }

  result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    // A browser reports an error if the requested part does not exist.
    if (version_.empty()) into = into.first(std::min<std::uint64_t>(into.size(), bytes_ - std::min(offset, bytes_)));
    std::size_t done = 0;
    while (done < into.size()) {
      const std::uint64_t at = offset + done, skipped = at % block_bytes;
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(into.size() - done, block_bytes - skipped));
      const block source = block_with(at / block_bytes, skipped + wanted);
      if (!source) return fail(error_code::io, "cannot be read", name(), {}, at);
      if (skipped >= source->size()) break;
      const std::size_t count = std::min<std::size_t>(wanted, source->size() - skipped);
      std::memcpy(into.data() + done, source->data() + skipped, count);
      done += count;
      if (count < wanted) break;
    }
    return done;
  }

  result<std::shared_ptr<byte_source>> successor() const override {
    std::string newest;
    {
      const std::scoped_lock lock(mutex_);
      newest = newest_;
    }
    if (newest == version_) return nullptr;
    return source_at(name(), plain_url_, std::move(newest), 0);
  }

 private:
  /// Returns the block. Fetches it again if the cached block has fewer than `most` bytes and the file may have grown.
  /// Null if the block cannot be fetched. Two threads that need the same block at the same time may both fetch it.
  [[nodiscard]] block block_with(std::uint64_t number, std::uint64_t most) const {
    if (auto kept = blocks().find(read_from_, number); kept && (kept->size() >= most || version_.empty())) return kept;
    auto bytes = std::make_shared<std::vector<std::byte>>(block_bytes);
    const int got = sluice_read_slice(read_from_.c_str(), static_cast<double>(number * block_bytes), bytes->data(),
                                      static_cast<int>(block_bytes));
    if (got < 0) return nullptr;
    bytes->resize(static_cast<std::size_t>(got));
    blocks().keep(read_from_, number, bytes);
    return bytes;
  }

  const std::string plain_url_, version_;
  std::string read_from_;
  mutable std::mutex mutex_;
  std::string newest_;  ///< The current version. Guarded by `mutex_`.
  const std::uint64_t bytes_;
};

}  // namespace

std::shared_ptr<trace::byte_source> source_at(std::string name, std::string url, std::string version,
                                              std::uint64_t bytes) {
  return std::make_shared<page_source>(std::move(name), std::move(url), std::move(version), bytes);
}

}  // namespace sluice::browser

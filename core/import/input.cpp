#include "core/import/input.hpp"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "core/base/files/regular_file.hpp"

namespace sluice::importing {
namespace {

constexpr std::size_t head_bytes = 4096;
// The number of bytes read at once from a compressed file.
constexpr std::size_t stored_bytes = std::size_t{256} << 10;
constexpr int gzip_only = 15 + 16;  // zlib's number of window bits, for a gzip header.

}  // namespace

struct input::state {
  std::string path;
  int fd = -1;
  std::uint64_t size = 0;    ///< The size of the file on disk.
  std::uint64_t offset = 0;  ///< The number of bytes read from the file.
  std::uint64_t given = 0;   ///< The number of bytes of content returned so far.
  bool compressed = false;
  bool inflating = false;
  bool between_members = false;  ///< True between two members of a gzip file, which may have several in sequence.
  bool ended = false;
  std::optional<error> failure;  ///< The error that the next read returns.
  std::optional<error> damage;   ///< The damage of the gzip file, at which the content ends.
  z_stream stream{};
  std::vector<std::byte> stored;
  std::vector<std::byte> head;
  byte_source converted;  ///< Provides the content instead of the file, if set.
  std::function<double()> share_converted;

  ~state() {
    if (inflating) inflateEnd(&stream);
    if (fd >= 0) ::close(fd);
  }

  result<void> rewind() {
    offset = 0;
    given = 0;
    ended = false;
    failure.reset();
    damage.reset();
    between_members = false;
    if (!compressed) return {};
    if (inflating) inflateEnd(&stream);
    stream = {};
    inflating = inflateInit2(&stream, gzip_only) == Z_OK;
    if (!inflating) return fail(error_code::io, "cannot start zlib", path);
    stored.resize(stored_bytes);
    return {};
  }

  result<std::size_t> read_stored(std::span<std::byte> into) {
    for (;;) {
      const ssize_t got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(error_code::io, "cannot be read: " + describe_errno(errno), path, {}, offset);
      offset += static_cast<std::uint64_t>(got);
      return static_cast<std::size_t>(got);
    }
  }

  /// Returns inflated bytes. If an error comes after some bytes, returns the bytes first.
  result<std::size_t> read_inflated(std::span<std::byte> into) {
    const std::size_t value = failure ? 0 : inflate_into(into);
    if (value == 0 && failure) return tl::unexpected(*failure);
    return value;
  }

  /// Inflates until `into` is full or the file ends. Returns the number of bytes.
  std::size_t inflate_into(std::span<std::byte> into) {
    into = into.first(std::min<std::size_t>(into.size(), UINT32_MAX));
    stream.next_out = reinterpret_cast<Bytef*>(into.data());
    stream.avail_out = static_cast<uInt>(into.size());
    while (stream.avail_out > 0 && !ended && !failure) {
      if (stream.avail_in == 0) {
        const auto got = read_stored(stored);
        stream.next_in = reinterpret_cast<Bytef*>(stored.data());
        stream.avail_in = got ? static_cast<uInt>(*got) : 0;
        ended = got && *got == 0 && between_members;
        if (!got) {
          failure = got.error();
        } else if (*got == 0 && !between_members) {
          damage = error{error_code::corrupt, "the gzip file is cut off", path, offset, {}};
          ended = true;
        }
        continue;
      }
      if (between_members) {
        // Like gzip, this ignores data after a member that is not another member, such as padding.
        ended = *stream.next_in != 0x1f;
        if (ended) break;
        inflateReset(&stream);
        between_members = false;
      }
      const int outcome = inflate(&stream, Z_NO_FLUSH);
      between_members = outcome == Z_STREAM_END;
      if (outcome != Z_OK && outcome != Z_STREAM_END) {
        const std::string why = stream.msg != nullptr ? stream.msg : "bad gzip data";
        damage = error{error_code::corrupt, "does not inflate: " + why, path, offset - stream.avail_in, {}};
        ended = true;
      }
    }
    return into.size() - stream.avail_out;
  }

  result<std::size_t> read(std::span<std::byte> into) {
    if (converted) return converted(into);
    auto got = compressed ? read_inflated(into) : read_stored(into);
    if (got) given += *got;
    return got;
  }
};

input::input(std::unique_ptr<state> s) : state_(std::move(s)) {}
input::input(input&&) noexcept = default;
input& input::operator=(input&&) noexcept = default;
input::~input() = default;

result<input> input::open(const std::string& path) {
  auto s = std::make_unique<state>();
  s->path = path;
  auto found = regular_file::open(path);
  if (!found) {
    if (found.error().code == error_code::foreign) found.error().hint = "pass the file that the other tool wrote";
    return tl::unexpected(found.error());
  }
  s->size = found->bytes();
  s->fd = found->release();
  std::byte magic[3] = {};
  const auto got = s->read_stored(magic);
  if (!got) return tl::unexpected(got.error());
  s->compressed = *got == 3 && magic[0] == std::byte{0x1f} && magic[1] == std::byte{0x8b} && magic[2] == std::byte{8};
  if (auto ready = s->rewind(); !ready) return tl::unexpected(ready.error());
  s->head.resize(head_bytes);
  const auto first = s->read(s->head);
  s->head.resize(first ? *first : 0);
  if (auto ready = s->rewind(); !ready) return tl::unexpected(ready.error());
  return input(std::move(s));
}

result<input> input::open_as(const std::string& path, byte_source read, std::function<double()> share) {
  auto output = open(path);
  if (!output) return output;
  output->state_->converted = std::move(read);
  output->state_->share_converted = std::move(share);
  return output;
}

const std::string& input::path() const { return state_->path; }
bool input::compressed() const { return state_->compressed; }
std::uint64_t input::file_bytes() const { return state_->size; }
std::span<const std::byte> input::head() const { return state_->head; }
result<std::size_t> input::read(std::span<std::byte> into) { return state_->read(into); }

const error* input::damage() const { return state_->damage ? &*state_->damage : nullptr; }

double input::share_read() const {
  if (state_->share_converted) return state_->share_converted();
  return state_->size == 0 ? 1.0
                           : std::min(1.0, static_cast<double>(state_->offset) / static_cast<double>(state_->size));
}

}  // namespace sluice::importing

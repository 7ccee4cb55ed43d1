#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/error.hpp"

/// The protocol between the owner of a recording and a viewer in another process or on another machine. protocol.md
/// describes it. A stream of bytes goes in both directions; it consists of frames, each of which has a header and a
/// payload.
namespace sluice::remote {

inline constexpr std::uint32_t protocol_version = 2;
inline constexpr std::uint64_t protocol_magic = 0x4556494c43554c53;  ///< "SLUCLIVE", as bytes of the stream.

/// The most bytes that one `read` can request.
inline constexpr std::uint32_t max_read = std::uint32_t{1} << 20;
/// The longest payload that a server accepts. SQL contains texts that users type.
inline constexpr std::size_t max_request = std::size_t{64} << 10;
/// The longest payload that a client accepts.
inline constexpr std::size_t max_reply = std::size_t{64} << 20;

enum class frame_kind : std::uint16_t {
  hello = 1,    ///< The first frame in each direction.
  look = 2,     ///< Requests the size of the recording.
  extent = 3,   ///< Reply to `look`.
  read = 4,     ///< Requests bytes of the recording.
  bytes = 5,    ///< Reply to `read`.
  failure = 6,  ///< Reply to any request that fails: a code, then one line of text.
  sql = 7,      ///< Runs an SQL query. The payload is its text.
  rows = 8,     ///< Reply to `sql`: the first rows of the result.
  withdraw = 9  ///< Cancels an SQL query.
};

/// The header before each payload. All numbers of the protocol are little-endian.
struct frame_header {
  std::uint32_t bytes = 0;  ///< The length of the payload.
  std::uint16_t kind = 0;
  std::uint16_t zero = 0;
  std::uint64_t id = 0;  ///< A reply has the id of its request.
};
static_assert(sizeof(frame_header) == 16);

struct hello_message {
  std::uint64_t magic = protocol_magic;
  std::uint32_t version = protocol_version;
  std::uint32_t zero = 0;  ///< The path of the recording follows in the server's frame.
};
static_assert(sizeof(hello_message) == 16);

struct look_message {
  std::uint64_t generation = 0;  ///< The file whose size is requested; 0: the newest file.
};
static_assert(sizeof(look_message) == 8);

struct extent_message {
  std::uint64_t generation = 0;  ///< The file; 0 if it does not exist yet.
  std::uint64_t newest = 0;      ///< The generation of the file that is now at the recording's path.
  std::uint64_t bytes = 0;
  std::uint64_t growing = 0;  ///< 1 if a writer has the file open, or if the file does not exist yet; otherwise 0.
};
static_assert(sizeof(extent_message) == 32);

struct read_message {
  std::uint64_t generation = 0;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint32_t zero = 0;
};
static_assert(sizeof(read_message) == 24);

/// A frame that has been received.
struct frame {
  frame_kind kind{};
  std::uint64_t id = 0;
  std::vector<std::byte> payload;
};

/// Returns the message at the start of a payload, or nullopt if the payload is too short.
template <class Message>
[[nodiscard]] std::optional<Message> message_in(std::span<const std::byte> payload) {
  static_assert(std::is_trivially_copyable_v<Message>);
  if (payload.size() < sizeof(Message)) return std::nullopt;
  Message output;
  std::memcpy(&output, payload.data(), sizeof output);
  return output;
}

template <class Message>
/// Returns the bytes of a message, for a payload.
[[nodiscard]] std::span<const std::byte> get_bytes(const Message& message) {
  static_assert(std::is_trivially_copyable_v<Message>);
  return std::as_bytes(std::span(&message, 1));
}

/// Appends a frame to `out`. The payload is `first` followed by `second`.
void put_frame(std::vector<std::byte>& out, frame_kind kind, std::uint64_t id, std::span<const std::byte> first,
               std::span<const std::byte> second = {});
/// Appends a `failure` frame to `out`. The text of the frame is one printable line, truncated after 1000 bytes.
void put_failure(std::vector<std::byte>& out, std::uint64_t id, const error& why);
/// Returns the error in the payload of a `failure` frame that `source` sent. The error's message is the first line of
/// the text, made printable and truncated after 1000 bytes; its code is never `cancelled`.
[[nodiscard]] error failure_in(std::span<const std::byte> payload, const std::string& source);

/// Returns the extent in the reply to a `look` at the file `generation`, or at the newest file if that is 0. `source`
/// sent the reply. Errors: corrupt.
[[nodiscard]] result<extent_message> extent_in(const frame& reply, std::uint64_t generation, const std::string& source);

/// Splits a stream of untrusted bytes into frames.
class frame_buffer {
 public:
  explicit frame_buffer(std::size_t max_payload) : max_payload_(max_payload) {}

  void add(std::span<const std::byte> bytes);
  /// Returns the next frame, or nullopt if more bytes are needed. Errors: corrupt if a payload is too long or a header
  /// is invalid. The stream is unusable after an error.
  [[nodiscard]] result<std::optional<frame>> next();
  [[nodiscard]] bool empty() const { return begin_ == held_.size(); }

 private:
  const std::size_t max_payload_;
  std::vector<std::byte> held_;
  std::size_t begin_ = 0;  ///< The bytes of `held_` before this position have been returned.
};

}  // namespace sluice::remote

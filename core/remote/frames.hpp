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

/// Recordings of other processes and machines: the protocol between who has a recording and who shows it (protocol.md).
namespace sluice::remote {

inline constexpr std::uint32_t protocol_version = 1;
inline constexpr std::uint64_t protocol_magic = 0x4556494c43554c53;  ///< "SLUCLIVE" in the bytes of the stream.

/// The most bytes of one `read`.
inline constexpr std::uint32_t most_read = std::uint32_t{1} << 20;
/// The longest payload that a server takes: questions have texts of users in them.
inline constexpr std::size_t most_request = std::size_t{64} << 10;
/// The longest payload that a client takes. Answers with more are refused.
inline constexpr std::size_t most_reply = std::size_t{64} << 20;

enum class frame_kind : std::uint16_t {
  hello = 1,     ///< First in each direction.
  look = 2,      ///< Asks how much of the recording there is.
  extent = 3,    ///< Answers `look`.
  read = 4,      ///< Asks for bytes of the recording.
  bytes = 5,     ///< Answers `read`.
  failure = 6,   ///< Answers anything: a code, then one line of text.
  outline = 7,   ///< Asks for, and has, what is shown of a recording besides rows.
  question = 8,  ///< Asks a question of core/query.
  answer = 9,    ///< Has the answer so far; the last one says so.
  withdraw = 10  ///< A question is not asked any more.
};

/// Precedes each payload. All numbers of the protocol are little-endian.
struct frame_header {
  std::uint32_t bytes = 0;  ///< Of the payload.
  std::uint16_t kind = 0;
  std::uint16_t zero = 0;
  std::uint64_t id = 0;  ///< A reply has the id of its request.
};
static_assert(sizeof(frame_header) == 16);

struct hello_message {
  std::uint64_t magic = protocol_magic;
  std::uint32_t version = protocol_version;
  std::uint32_t answers = 0;  ///< Of a server: 1 if it answers questions. Behind it, the path of the recording.
};
static_assert(sizeof(hello_message) == 16);

struct look_message {
  std::uint64_t generation = 0;  ///< Which file; 0: the newest.
};
static_assert(sizeof(look_message) == 8);

struct extent_message {
  std::uint64_t generation = 0;  ///< 0: there is no file yet.
  std::uint64_t newest = 0;      ///< The generation of the file that is at the path now.
  std::uint64_t bytes = 0;
  std::uint64_t growing = 0;  ///< 1: a writer has the file open, or there is none yet.
};
static_assert(sizeof(extent_message) == 32);

struct read_message {
  std::uint64_t generation = 0;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint32_t zero = 0;
};
static_assert(sizeof(read_message) == 24);

struct answer_message {
  std::uint32_t last = 0;  ///< 1: the answer is complete. Behind it, the answer.
  float progress = 0;
};
static_assert(sizeof(answer_message) == 8);

struct frame {
  frame_kind kind{};
  std::uint64_t id = 0;
  std::vector<std::byte> payload;
};

/// The message that a payload begins with; none if it is too short.
template <class Message>
[[nodiscard]] std::optional<Message> message_in(std::span<const std::byte> payload) {
  static_assert(std::is_trivially_copyable_v<Message>);
  if (payload.size() < sizeof(Message)) return std::nullopt;
  Message made;
  std::memcpy(&made, payload.data(), sizeof made);
  return made;
}

template <class Message>
[[nodiscard]] std::span<const std::byte> bytes_of(const Message& message) {
  static_assert(std::is_trivially_copyable_v<Message>);
  return std::as_bytes(std::span(&message, 1));
}

/// Appends a frame to `out`, its payload in two parts.
void put_frame(std::vector<std::byte>& out, frame_kind kind, std::uint64_t id, std::span<const std::byte> first,
               std::span<const std::byte> second = {});
/// Appends a `failure` frame. Its text is one printable line, cut after 1000 bytes.
void put_failure(std::vector<std::byte>& out, std::uint64_t id, const error& why);
/// The error in the payload of a `failure` frame; `from`: who sent it. Its message is the first line of what was sent,
/// printable and of at most 1000 bytes. Never the code `cancelled`.
[[nodiscard]] error failure_in(std::span<const std::byte> payload, const std::string& from);

/// Cuts a stream of bytes into frames. What the bytes say is not trusted.
class frame_buffer {
 public:
  explicit frame_buffer(std::size_t most_payload) : most_payload_(most_payload) {}

  void add(std::span<const std::byte> bytes);
  /// The next frame; none: more bytes are needed. Errors: corrupt (a payload is too long, or the header is not valid);
  /// the stream is then of no more use.
  [[nodiscard]] result<std::optional<frame>> next();
  [[nodiscard]] bool empty() const { return begin_ == held_.size(); }

 private:
  const std::size_t most_payload_;
  std::vector<std::byte> held_;
  std::size_t begin_ = 0;  ///< What is before it has been handed out.
};

}  // namespace sluice::remote

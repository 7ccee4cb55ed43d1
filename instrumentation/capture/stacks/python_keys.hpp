#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/stacks/python_code.hpp"
#include "instrumentation/capture/stacks/python_layout.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/records.hpp"

/// The keys of Python's frames and stacks. A thread that walks its own frames and the thread that samples the frames of
/// others give a frame the same key, so that its details are sent once.
namespace sluice::capture {

// Odd numbers without a pattern (from XXH64). Sums of products do not cancel out as XORs of addresses do.
inline constexpr std::uint64_t key_odd1 = 0x9E3779B185EBCA87U, key_odd2 = 0xC2B2AE3D27D4EB4FU,
                               key_odd3 = 0x165667B19E3779F9U;

// Owner of a frame (enum _frameowner).
inline constexpr std::uint8_t owned_by_generator = 1, owned_by_c = 3;

/// From 3.14 on, the lowest bits of a frame's reference to its code object are tags for reference counting.
inline constexpr std::uint64_t code_tags = 7;

/// What distinguishes a code object without a version number from a later one at the same address: the objects to which
/// it refers and some of their content, because addresses of texts may also be reused.
struct code_content {
  std::uint64_t first_line;
  std::uint64_t name, file, lines;  ///< Addresses of objects: two texts and the line table.
  std::uint64_t file_length;        ///< In characters.
  /// The last 8 bytes of the file's text, as if it were ASCII; for a very short text, this includes a part of its
  /// header.
  std::uint64_t file_end;
  std::uint64_t lines_bytes;  ///< Size of the line table.
  /// 8-byte words of the line table at 0, a third, two thirds and the end (`sample_place`). A table of less than 8
  /// bytes has only the first, with bytes after its end.
  std::uint64_t sample[4];
};

/// Offset in bytes of word `which` of a line table's sample. `bytes`: size of the table, at least 8.
[[nodiscard]] constexpr std::uint64_t sample_place(std::uint64_t bytes, unsigned which) {
  const std::uint64_t last = bytes - 8;
  return which < 3 ? last * which / 3 : last;
}

/// A sample of a line table's bytes: all of them up to 32 bytes, else four 8-byte words.
[[nodiscard]] constexpr std::uint64_t compute_sample(const code_content& content) {
  const std::uint64_t bytes = content.lines_bytes, first = content.sample[0];
  if (bytes < 8) return (first & ~(~std::uint64_t{0} << bytes * 8)) * key_odd1 + bytes;
  std::uint64_t sum = bytes * key_odd1 + first;
  sum += content.sample[1] * key_odd2;
  sum += content.sample[2] * key_odd3;
  return sum ^ content.sample[3] * key_odd1;
}

[[nodiscard]] constexpr std::uint64_t identify(const code_content& content) {
  std::uint64_t sum = content.first_line + content.name * key_odd1;
  sum += content.file * key_odd2 + content.lines * key_odd3;
  return sum + (content.file_end ^ content.file_length << 48) * key_odd2 + compute_sample(content);
}

/// The identity of a code object that has a version number (from 3.12 on).
[[nodiscard]] constexpr std::uint64_t identify(std::uint32_t version, std::uint64_t first_line) {
  return std::uint64_t{version} << 32 | first_line;
}

/// The identity of a code object that the calling thread may read.
[[nodiscard]] inline std::uint64_t identify_recording(const python_layout& layout, const void* code) {
  code_content content{};
  content.first_line = read_at<std::uint32_t>(code, layout.code.first_line);
  if (layout.code.version != 0) {
    const auto version = read_at<std::uint32_t>(code, layout.code.version);
    if (version != 0) return identify(version, content.first_line);
  }
  content.name = read_at<std::uint64_t>(code, layout.code.name);
  const void* file = read_at<const void*>(code, layout.code.file);
  const void* lines = read_at<const void*>(code, layout.code.line_table);
  content.file = reinterpret_cast<std::uint64_t>(file);
  content.lines = reinterpret_cast<std::uint64_t>(lines);
  content.file_length = read_at<std::uint64_t>(file, layout.length());
  content.file_end = read_at<std::uint64_t>(file, layout.ascii_data + content.file_length - 8);
  content.lines_bytes = read_at<std::uint64_t>(lines, layout.length());
  // The memory of an object is a multiple of at least 8 bytes.
  content.sample[0] = read_at<std::uint64_t>(lines, layout.bytes_data());
  if (content.lines_bytes >= 8) {
    for (unsigned i = 1; i < 4; ++i) {
      content.sample[i] = read_at<std::uint64_t>(lines, layout.bytes_data() + sample_place(content.lines_bytes, i));
    }
  }
  return identify(content);
}

/// The key of a frame at `place`, its position, in the code object with this identity.
[[nodiscard]] inline std::uint64_t get_key(std::uint64_t place, std::uint64_t identity) {
  const std::uint64_t key = place * key_odd1 + identity * key_odd2;
  return (key ^ key >> 32) | ring::frame_key_bit;
}

[[nodiscard]] inline std::uint64_t get_key(const python_layout& layout, std::uint64_t code, python_position position,
                                           std::uint64_t identity) {
  return get_key(layout.family == python_family::frame_objects ? code + (position << 48) : position, identity);
}

[[nodiscard]] inline std::uint64_t get_key(const python_layout& layout, const void* code, python_position position) {
  return get_key(layout, reinterpret_cast<std::uint64_t>(code), position, identify_recording(layout, code));
}

/// The result of hashing a walk: the key of the stack and its number of frames.
struct hashed_stack {
  std::uint64_t key;
  std::size_t count;
};

/// Computes the key of a stack, frame by frame from the innermost.
class stack_hash {
 public:
  void add(std::uint64_t frame) {
    hash_ = (hash_ ^ frame) * key_odd1;
    hash_ ^= hash_ >> 32;
    ++count_;
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] hashed_stack done() const { return {(hash_ + count_ * key_odd2) | 1, count_}; }

 private:
  std::uint64_t hash_ = key_odd3;
  std::size_t count_ = 0;
};

[[nodiscard]] inline hashed_stack compute_hash(const std::uint64_t* frames, std::size_t count) {
  stack_hash hash;
  for (std::size_t i = 0; i < count; ++i) hash.add(frames[i]);
  return hash.done();
}

}  // namespace sluice::capture

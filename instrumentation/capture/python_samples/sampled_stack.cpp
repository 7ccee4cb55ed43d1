#include "instrumentation/capture/python_samples/sampled_stack.hpp"

#include <algorithm>

#include "instrumentation/capture/stacks/python_keys.hpp"

namespace sluice::capture {

namespace {

/// Reads of one look. Each failure adds what was missing, so more are rarely needed.
constexpr int max_attempts = 4;
constexpr std::size_t max_frame_bytes = 112, max_content_bytes = 2048;

constexpr bool has_cframe(const python_layout& layout) {
  return layout.family == python_family::cframes || layout.family == python_family::cframe_shims;
}

/// `frame`: the bytes of the frame at `at`.
sampled_frame parse(const python_layout& layout, std::uint64_t at, const char* frame) {
  sampled_frame out{};
  out.at = at;
  out.code = read_at<std::uint64_t>(frame, layout.frame.code) & ~code_tags;
  out.previous = read_at<std::uint64_t>(frame, layout.frame.previous);
  if (layout.family == python_family::frame_objects) {
    out.position = read_at<std::uint32_t>(frame, layout.frame.instruction);
    return out;
  }
  out.position = read_at<std::uint64_t>(frame, layout.frame.instruction);
  out.owner = read_at<std::uint8_t>(frame, layout.frame.owner);
  out.entry = layout.family == python_family::cframes && read_at<char>(frame, layout.frame.is_entry) != 0;
  return out;
}

/// True if a frame is the same in two reads. C's own frames have no code of interest.
bool is_same(const sampled_frame& a, const sampled_frame& b) {
  if (a.at != b.at || a.previous != b.previous || a.owner != b.owner) return false;
  return a.owner >= owned_by_c || (a.code == b.code && a.position == b.position && a.entry == b.entry);
}

std::uint64_t compute_content(const char* bytes, std::size_t count) {
  std::uint64_t hash = key_odd3;
  for (std::size_t i = 0; i + 8 <= count; i += 8) hash = (hash ^ read_at<std::uint64_t>(bytes, i)) * key_odd1;
  return hash ^ hash >> 32;
}

/// Follows the chain from `top` to `reader.frames`. Frames that are not in the image are read singly and added to it.
/// Returns true if the chain was whole in the image, and its frames but the innermost the same both times.
bool follow(stack_reader& reader, std::uint64_t top) {
  const python_layout& layout = *reader.layout;
  bool holds = true;
  reader.count = 0;
  for (std::uint64_t at = top; at != 0 && reader.count < max_sampled_frames;) {
    memory_image::piece piece{};
    sampled_frame& frame = reader.frames[reader.count];
    if (reader.image.find(at, reader.frame_bytes, piece)) {
      frame = parse(layout, at, piece.after);
      holds = holds && (reader.count == 0 || is_same(parse(layout, at, piece.before), frame));
      // The variables reach at most to the next frame.
      std::size_t bytes = std::min(piece.bytes, max_content_bytes);
      const std::uint64_t inner = reader.count == 0 ? 0 : reader.frames[reader.count - 1].at;
      if (inner > at) bytes = std::min<std::size_t>(bytes, inner - at);
      frame.content = frame.owner >= owned_by_c ? 0 : compute_content(piece.after, bytes);
    } else {
      char one[max_frame_bytes];
      if (!reader.memory.read_one(at, one, reader.frame_bytes) || !reader.image.add(at, reader.frame_bytes)) {
        return false;
      }
      frame = parse(layout, at, one);
      holds = false;
    }
    at = frame.previous;
    ++reader.count;
  }
  return holds && reader.count != 0;
}

/// True if the frames that wait, which `follow` has found, are in the chain from `top`, too. `after`: in the second read.
bool leads_to_callers(stack_reader& reader, std::uint64_t top, bool after) {
  if (reader.count < 2) return top == reader.frames[0].at;
  memory_image::piece piece{};
  for (std::size_t steps = 0; top != reader.frames[1].at; ++steps) {
    if (top == 0 || steps == max_sampled_frames || !reader.image.find(top, reader.frame_bytes, piece)) return false;
    top = parse(*reader.layout, top, after ? piece.after : piece.before).previous;
  }
  return true;
}

}  // namespace

bool stack_reader::prepare(const python_layout& of_version) noexcept {
  layout = &of_version;
  const auto& frame = of_version.frame;
  frame_bytes = static_cast<std::size_t>(std::max(frame.instruction + 8, frame.owner + 1) + 7) / 8 * 8;
  return frame_bytes <= max_frame_bytes;
}

/// Reads the image, and the pointer to the innermost frame before, between and after the two reads.
sampled_stack::top_state sampled_stack::read_image(stack_reader& reader, std::uint64_t state,
                                                   std::uint64_t (&tops)[3]) noexcept {
  const python_layout& layout = *reader.layout;
  const bool indirect = has_cframe(layout);
  std::uint64_t pointers[3] = {};
  const bool read = reader.image.read(reader.memory, [&](memory_batch& batch, int which) {
    batch.add(state + layout.thread.frame, &pointers[which], sizeof pointers[which]);
    if (!indirect || cframe_ == 0) return;
    batch.add(cframe_ + layout.thread.frame_of_cframe, &tops[which], sizeof tops[which]);
  });
  if (!read) return top_state::unreadable;
  if (pointers[1] == 0) return top_state::none;
  if (indirect) {
    const bool there = pointers[0] == cframe_ && pointers[1] == cframe_ && pointers[2] == cframe_;
    cframe_ = pointers[2];
    if (!there) return top_state::elsewhere;
  } else {
    std::copy(pointers, pointers + 3, tops);
  }
  return tops[1] == 0 ? top_state::none : top_state::read;
}

/// Takes the frames that were read. Frames that wait for the same call as before with the same variables, and all of
/// whose callers do, too, have probably not run meanwhile: so their code objects are the same.
sampled_stack::outcome sampled_stack::adopt(const stack_reader& reader) noexcept {
  const std::size_t count = reader.count;
  std::size_t kept = 0, same = 0;
  for (std::size_t i = 1; i <= std::min(count, count_); ++i) {
    const sampled_frame &old = frames_[count_ - i], &now = reader.frames[count - i];
    if (!is_same(old, now)) break;
    ++same;
    if (kept == i - 1 && old.content == now.content && (old.known || old.owner >= owned_by_c)) ++kept;
  }
  const bool unchanged = same == count && count == count_ && kept == count;
  if (unchanged) return outcome::same;
  // The kept frames, which are the outermost, move to their new place; the others are new.
  std::memmove(frames_ + (count - kept), frames_ + (count_ - kept), kept * sizeof *frames_);
  std::copy(reader.frames, reader.frames + (count - kept), frames_);
  count_ = count;
  return outcome::changed;
}

/// True if the innermost frame is as it was at the last look.
bool sampled_stack::is_unchanged_place(stack_reader& reader, std::uint64_t state) const noexcept {
  const python_layout& layout = *reader.layout;
  const bool indirect = has_cframe(layout);
  std::uint64_t pointer = 0, top = 0;
  char frame[max_frame_bytes];
  memory_batch& batch = reader.memory;
  batch.clear();
  batch.add(state + layout.thread.frame, &pointer, sizeof pointer);
  if (indirect) batch.add(cframe_ + layout.thread.frame_of_cframe, &top, sizeof top);
  batch.add(frames_[0].at, frame, reader.frame_bytes);
  if (batch.read() != (indirect ? 3U : 2U)) return false;
  if (indirect && pointer != cframe_) return false;
  return (indirect ? top : pointer) == frames_[0].at && is_same(parse(layout, frames_[0].at, frame), frames_[0]);
}

sampled_stack::outcome sampled_stack::look(stack_reader& reader, std::uint64_t state, bool shallow) noexcept {
  if (shallow && count_ != 0 && is_unchanged_place(reader, state)) return outcome::same;
  reader.image.clear();
  for (std::size_t i = 0; i < count_; ++i) {
    if (!reader.image.add(frames_[i].at, reader.frame_bytes)) break;
  }
  for (int attempt = 0; attempt < max_attempts; ++attempt) {
    std::uint64_t tops[3] = {};
    const top_state found = read_image(reader, state, tops);
    if (found == top_state::none) {
      count_ = 0;
      return outcome::none;
    }
    // Memory of the last look is gone: all frames are searched for again.
    if (found == top_state::unreadable) {
      reader.image.clear();
      cframe_ = 0;
    }
    if (found != top_state::read || !follow(reader, tops[1])) continue;
    if (leads_to_callers(reader, tops[0], false) && leads_to_callers(reader, tops[2], true)) return adopt(reader);
  }
  return outcome::torn;
}

}  // namespace sluice::capture

#include "instrumentation/writer/record_decoder/call_stacks.hpp"

#include <algorithm>

#include "instrumentation/ring/producer.hpp"
#include "instrumentation/writer/rings/clock_line.hpp"

namespace sluice::writer {

using namespace trace;

bool call_stacks::define(process_stacks& process, const ring::frame_record& record) {
  if ((record.key & ring::frame_key_bit) == 0) return true;  // Invalid: would be mistaken for a program counter.
  if (process.frames.size() >= max_frames && !process.frames.contains(record.key)) return false;
  constexpr std::size_t a_frame = 320;  // Bytes: entries here and in `frames_`, and the frame's line.
  if (!process.frames.contains(record.key) && !names_.budget().take(declared::frame, a_frame)) return false;
  process_stacks::frame& frame = process.frames[record.key];
  if (frame.defined) return true;
  frame.record = record;
  frame.defined = true;
  if (frame.id != frame_id::none) {
    frame_row row = make_row(record);
    row.id = frame.id;
    write(row);
  }
  return true;
}

bool call_stacks::define(process_stacks& process, std::uint64_t key, std::span<const std::uint64_t> frames,
                         std::uint64_t base) {
  frames = frames.first(std::min(frames.size(), ring::maximum_frames));
  if (key == 0 || frames.empty() || process.stacks.contains(key)) return true;
  if (process.words.size() + frames.size() > max_words) return false;
  constexpr std::size_t a_stack = 96;
  if (!names_.budget().take(declared::stack, a_stack + 2 * sizeof frames[0] * frames.size())) return false;
  process.stacks[key] = {process.words.size(), frames.size(), base, stack_id::none};
  process.words.insert(process.words.end(), frames.begin(), frames.end());
  return true;
}

stack_id call_stacks::find(process_stacks& process, std::span<const std::uint64_t> frames) {
  stack_id id = stack_id::none;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) id = get_node(id, find_frame(process, *frame));
  return id;
}

void call_stacks::append_frames(const process_stacks& process, std::uint64_t key, std::vector<std::uint64_t>& to) {
  for (int bases_left = deepest_base; key != 0 && bases_left > 0; --bases_left) {
    const auto found = process.stacks.find(key);
    if (found == process.stacks.end()) return;
    const auto first = process.words.begin() + static_cast<std::ptrdiff_t>(found->second.first_word);
    to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(found->second.count));
    key = found->second.base;
  }
}

stack_id call_stacks::resolve(process_stacks& process, std::uint64_t key, int bases_left) {
  if (key == 0 || bases_left == 0) return stack_id::none;
  const auto found = process.stacks.find(key);
  if (found == process.stacks.end()) return stack_id::none;
  process_stacks::stack& known = found->second;
  if (known.id == stack_id::none || known.replaced != process.modules.replaced) {
    known.id = resolve(process, known.base, bases_left - 1);
    known.replaced = process.modules.replaced;
    for (std::size_t i = known.count; i > 0; --i) {
      known.id = get_node(known.id, find_frame(process, process.words[known.first_word + i - 1]));
    }
  }
  return known.id;
}

stack_id call_stacks::get_node(stack_id parent, frame_id frame) {
  constexpr std::size_t a_node = 64;
  if (const auto known = tree_.find({parent, frame}); known != tree_.end()) return known->second;
  if (!names_.budget().take(declared::stack, a_node)) return parent;
  const auto [place, fresh] = tree_.try_emplace({parent, frame});
  if (fresh) {
    place->second = static_cast<stack_id>(++last_stack_);
    file_.add(stack_row{place->second, parent, frame});
  }
  return place->second;
}

frame_id call_stacks::find_frame(process_stacks& process, std::uint64_t word) {
  if ((word & ring::frame_key_bit) == 0) return get_id(native_row(process, word));
  process_stacks::frame& frame = process.frames[word];
  if (frame.id != frame_id::none) return frame.id;
  if (frame.defined) {
    frame.id = get_id(make_row(frame.record));
  } else {
    // A separate frame for now, because the frame's record may still arrive.
    frame_row unknown;
    unknown.id = frame.id = static_cast<frame_id>(++last_frame_);
    file_.add(unknown);
  }
  return frame.id;
}

frame_row call_stacks::make_row(const ring::frame_record& record) const {
  frame_row row;
  row.kind = checked<frame_kind>(record.kind);
  row.function = names_.text(record.function);
  row.file = names_.text(record.file);
  row.line = record.line;
  return row;
}

void call_stacks::define_name(process_stacks& process, std::uint64_t pc, string_id function) {
  if (process.names.size() < max_frames) process.names[pc] = function;
}

frame_row call_stacks::native_row(process_stacks& process, std::uint64_t pc) {
  const module_map::location code = modules_.resolve(process.modules, process.owner, pc);
  frame_row row;
  row.kind = frame_kind::native;
  row.module = code.module;
  row.address = code.address;
  if (const auto known = process.names.find(pc); known != process.names.end()) row.function = known->second;
  return row;
}

frame_id call_stacks::get_id(frame_row row) {
  const auto [place, fresh] =
      frames_.try_emplace({row.kind, row.function, row.file, row.module, row.line, row.address});
  if (fresh) {
    row.id = place->second = static_cast<frame_id>(++last_frame_);
    write(row);
  }
  return place->second;
}

void call_stacks::write(const frame_row& row) {
  file_.add(row);
  if (row.kind != frame_kind::python || row.file == string_id::none || row.line == 0) return;
  const auto [place, fresh] = python_lines_.try_emplace(row.file);
  if (fresh) place->second.first_seen = read_clocks().realtime;
  place->second.lines.insert(row.line);
}

}  // namespace sluice::writer

#include "instrumentation/capture/python_samples/frame_keys.hpp"

#include <algorithm>

#include "core/trace/model/kinds.hpp"
#include "instrumentation/capture/stacks/python_code.hpp"

namespace sluice::capture {

namespace {

/// The type of an object, in its header.
std::uint64_t get_type(const python_layout& layout, const char* object) {
  return read_at<std::uint64_t>(object, layout.head - sizeof(std::uint64_t));
}

/// True if both code objects, given by their start, have the same texts and lines.
bool same_facts(const python_layout& layout, const char* a, const char* b) {
  const auto same = [&](std::size_t offset) {
    return read_at<std::uint64_t>(a, offset) == read_at<std::uint64_t>(b, offset);
  };
  return same(layout.code.name) && same(layout.code.file) && same(layout.code.line_table) &&
         read_at<std::uint32_t>(a, layout.code.first_line) == read_at<std::uint32_t>(b, layout.code.first_line);
}

std::uint64_t to_word(const void* object) { return reinterpret_cast<std::uint64_t>(object); }

}  // namespace

bool frame_keys::prepare(const python_symbols& python) noexcept {
  python_ = &python;
  layout_ = python.layout;
  const auto& code = layout_->code;
  code_bytes_ = 8 + static_cast<std::size_t>(std::max({code.first_line, code.file, code.name, code.line_table,
                                                       code.first_traceable, code.version, layout_->copies}));
  count_ = 0;
  return code_bytes_ <= max_code_bytes && python.code_type != nullptr;
}

/// Only for objects that live: a freed object keeps its type until its memory is used again.
bool frame_keys::is_code(const code_facts& code) const noexcept {
  return get_type(*layout_, code.bytes) == to_word(python_->code_type) &&
         (layout_->without_gil || read_at<std::uint32_t>(code.bytes, 0) != 0);
}

void frame_keys::add_code(memory_batch& memory, std::uint64_t at) noexcept {
  code_facts& code = codes_[count_++];
  code.at = at;
  memory.add(at, code.bytes, code_bytes_);
}

/// Reads what `add_code` added, and computes the identities.
bool frame_keys::read_codes(memory_batch& memory) noexcept {
  if (count_ == 0) return true;
  if (memory.read() != count_) return false;
  return std::all_of(codes_, codes_ + count_, [this](const auto& c) { return is_code(c); }) && identify_codes(memory);
}

bool frame_keys::identify_codes(memory_batch& memory) noexcept {
  bool numbered = layout_->code.version != 0;
  for (std::size_t i = 0; i < count_ && numbered; ++i) {
    code_facts& code = codes_[i];
    const auto version = read_at<std::uint32_t>(code.bytes, layout_->code.version);
    code.identity = identify(version, read_at<std::uint32_t>(code.bytes, layout_->code.first_line));
    numbered = version != 0;
  }
  if (numbered) return true;
  // Lengths first, then what they lead to.
  memory.clear();
  for (std::size_t i = 0; i < count_; ++i) {
    const char* code = codes_[i].bytes;
    code_content& content = contents_[i] = {};
    content.first_line = read_at<std::uint32_t>(code, layout_->code.first_line);
    content.name = read_at<std::uint64_t>(code, layout_->code.name);
    content.file = read_at<std::uint64_t>(code, layout_->code.file);
    content.lines = read_at<std::uint64_t>(code, layout_->code.line_table);
    memory.add(content.file + layout_->length(), &content.file_length, sizeof content.file_length);
    memory.add(content.lines + layout_->length(), &content.lines_bytes, sizeof content.lines_bytes);
    memory.add(content.lines + layout_->bytes_data(), &content.sample[0], sizeof content.sample[0]);
  }
  if (memory.read() != 3 * count_) return false;
  constexpr std::uint64_t max_length = 1 << 24;
  memory.clear();
  std::size_t parts = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    code_content& content = contents_[i];
    if (content.file_length > max_length || content.lines_bytes > max_length) return false;
    memory.add(content.file + layout_->ascii_data + content.file_length - 8, &content.file_end, 8);
    ++parts;
    for (unsigned which = 1; which < 4 && content.lines_bytes >= 8; ++which, ++parts) {
      const std::uint64_t place = sample_place(content.lines_bytes, which);
      memory.add(content.lines + layout_->bytes_data() + place, &content.sample[which], 8);
    }
  }
  if (parts > memory_batch::max_parts || memory.read() != parts) return false;
  for (std::size_t i = 0; i < count_; ++i) {
    const auto version =
        layout_->code.version == 0 ? 0 : read_at<std::uint32_t>(codes_[i].bytes, layout_->code.version);
    codes_[i].identity = version != 0 ? identify(version, contents_[i].first_line) : identify(contents_[i]);
  }
  return true;
}

/// True if the frame is of a generator that was suspended meanwhile: unlike a running one's, it has no caller. All
/// others have an outermost frame without a caller, too, and so such a chain looks whole.
bool frame_keys::is_loose(const sampled_frame& outermost, const code_facts& code) const noexcept {
  constexpr std::size_t flags_of_frame_objects = 36;
  constexpr std::uint32_t generators = 0x20 | 0x80 | 0x200;  // CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR
  if (outermost.previous != 0 || outermost.owner >= owned_by_c) return false;
  if (layout_->family != python_family::frame_objects) return outermost.owner == owned_by_generator;
  return (read_at<std::uint32_t>(code.bytes, flags_of_frame_objects) & generators) != 0;
}

/// As in a walk of the own frames (python_stack.cpp).
bool frame_keys::has_begun(const sampled_frame& frame, const code_facts& code) const noexcept {
  if (layout_->family == python_family::frame_objects || frame.owner == owned_by_generator) return true;
  const std::uint64_t first = 2 * std::uint64_t{read_at<std::uint32_t>(code.bytes, layout_->code.first_traceable)};
  const std::uint64_t own = code.at + layout_->code.instructions;
  return layout_->copies != 0 ? frame.position - own >= first : frame.position >= own + first;
}

std::uint64_t frame_keys::get_frame_key(const sampled_frame& frame) const noexcept {
  return get_key(*layout_, frame.code, frame.position, frame.identity);
}

/// Makes all frames `known`.
bool frame_keys::learn(memory_batch& memory, sampled_stack& stack) noexcept {
  memory.clear();
  count_ = 0;
  for (std::size_t i = 0; i < stack.count(); ++i) {
    if (stack[i].owner < owned_by_c && !stack[i].known) add_code(memory, stack[i].code);
  }
  if (!read_codes(memory)) return false;
  const code_facts* code = codes_;
  for (std::size_t i = 0; i < stack.count(); ++i) {
    sampled_frame& frame = stack[i];
    if (frame.owner >= owned_by_c || frame.known) continue;
    if (i + 1 == stack.count() && is_loose(frame, *code)) return false;
    frame.identity = code->identity;
    frame.begun = has_begun(frame, *code);
    frame.known = true;
    ++code;
  }
  return true;
}

bool frame_keys::compute(memory_batch& memory, sampled_stack& stack, keyed_stack& to) noexcept {
  to.count = 0;
  std::fill(std::begin(to.entries), std::end(to.entries), 0);
  if (!learn(memory, stack)) return false;
  for (std::size_t i = 0; i < stack.count() && to.count < ring::maximum_frames; ++i) {
    const sampled_frame& frame = stack[i];
    const bool owned = frame.owner >= owned_by_c;
    if (!owned && frame.begun) to.keys[to.count++] = get_frame_key(frame);
    const bool entry = owned || frame.entry || layout_->family == python_family::frame_objects;
    if (entry && to.count != 0) to.entries[(to.count - 1) / 64] |= std::uint64_t{1} << (to.count - 1) % 64;
  }
  return true;
}

/// The form of a text in `object_`: bits 0 to 2 are the width of a character, bit 3: compact, bit 4: ASCII. 0 if there
/// is no plain `str`.
unsigned frame_keys::get_text_form() const noexcept {
  if (get_type(*layout_, object_) != to_word(python_->text_type)) return 0;
  constexpr unsigned form_bits = 31, compact = 8;
  const unsigned form = read_at<std::uint32_t>(object_, layout_->unicode_state()) >> layout_->kind_bits & form_bits;
  const unsigned width = form & 7U;
  return (form & compact) != 0 && (width == 1 || width == 2 || width == 4) ? form : 0;
}

/// The key of the text at `text`; 0 if there is no plain `str`.
std::uint64_t frame_keys::intern_text(memory_batch& memory, std::uint64_t text) noexcept {
  if (text == 0 || !memory.read_one(text, object_, head_bytes)) return 0;
  const unsigned form = get_text_form(), width = form & 7U;
  const bool ascii = (form & 16U) != 0;
  const auto length = std::min(read_at<std::uint64_t>(object_, layout_->length()), std::uint64_t{max_text_bytes});
  const std::size_t bytes = (ascii ? layout_->ascii_data : layout_->unicode_data) + length * width;
  // Another object may have taken the text's place since the first read. A text that is not compact would be read from
  // where it points to.
  if (form == 0 || !memory.read_one(text, object_, bytes) || get_text_form() != form) return 0;
  std::memcpy(object_ + layout_->length(), &length, sizeof length);
  const text_view copy = read_utf8(*layout_, object_, utf8_, sizeof utf8_);
  return ring::intern(copy.text, copy.length);
}

std::uint32_t frame_keys::find_source_line(memory_batch& memory, const code_facts& code,
                                           std::uint64_t position) noexcept {
  code_place place{code.at, 0, 0};
  if (layout_->copies != 0) {
    place.units = read_at<std::int64_t>(code.bytes, layout_->length());
    place.copies = read_at<std::uint64_t>(code.bytes, layout_->copies);
  }
  line_query query{nullptr, 0, read_at<std::int32_t>(code.bytes, layout_->code.first_line),
                   get_address(*layout_, place, position)};
  const auto table = read_at<std::uint64_t>(code.bytes, layout_->code.line_table);
  std::uint64_t bytes = 0;
  if (table != 0 && memory.read_one(table + layout_->length(), &bytes, sizeof bytes)) {
    query.bytes = std::min(bytes, std::uint64_t{max_table_bytes});
    if (memory.read_one(table + layout_->bytes_data(), object_, query.bytes)) {
      query.table = reinterpret_cast<const std::uint8_t*>(object_);
    }
  }
  return find_line(*layout_, query);
}

bool frame_keys::introduce(memory_batch& memory, const sampled_frame& unknown) noexcept {
  memory.clear();
  count_ = 0;
  add_code(memory, unknown.code);
  const code_facts& code = codes_[0];
  if (!read_codes(memory) || code.identity != unknown.identity) return false;
  ring::frame_record frame{};
  frame.header.time = ring::now();
  frame.key = get_frame_key(unknown);
  frame.function = intern_text(memory, read_at<std::uint64_t>(code.bytes, layout_->code.name));
  frame.file = intern_text(memory, read_at<std::uint64_t>(code.bytes, layout_->code.file));
  frame.line = find_source_line(memory, code, unknown.position);
  frame.kind = static_cast<std::uint32_t>(trace::frame_kind::python);
  // If the code object was freed meanwhile, its texts may have been those of others. The reference count changes.
  char again[max_code_bytes];
  const std::size_t type = layout_->head - sizeof(std::uint64_t);
  const bool stays = memory.read_one(code.at, again, code_bytes_) &&
                     std::memcmp(again + type, code.bytes + type, sizeof(std::uint64_t)) == 0 &&
                     same_facts(*layout_, again, code.bytes);
  if (stays && frame.function != 0) ring::introduce_frame(frame);
  return stays && frame.function != 0;
}

bool frame_keys::introduce(memory_batch& memory, const sampled_stack& stack) noexcept {
  std::size_t sent = 0;
  for (std::size_t i = 0; i < stack.count() && sent < ring::maximum_frames; ++i) {
    if (stack[i].owner >= owned_by_c || !stack[i].begun) continue;
    ++sent;
    if (!ring::knows_frame(get_frame_key(stack[i])) && !introduce(memory, stack[i])) return false;
  }
  return true;
}

}  // namespace sluice::capture

#include "instrumentation/unwind/eh_frame.hpp"

#include <string.h>

#include <cstddef>
#include <initializer_list>

namespace sluice::unwind {

namespace {

// Register numbers in these tables.
constexpr std::uint64_t rbp = 6, rsp = 7, return_address = 16;
constexpr std::int64_t word = 8;

/// Reads forward in a readable range. Reading past the end returns zeros and marks the cursor bad permanently.
class cursor {
 public:
  cursor() = default;
  cursor(std::uint64_t at, std::uint64_t end) : at_(at), end_(end), bad_(at > end) {}

  [[nodiscard]] bool bad() const { return bad_; }
  [[nodiscard]] bool done() const { return bad_ || at_ == end_; }
  [[nodiscard]] std::uint64_t at() const { return at_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] std::uint64_t left() const { return bad_ ? 0 : end_ - at_; }

  template <class T>
  T take() {
    T value{};
    if (left() < sizeof value) {
      bad_ = true;
      return T{};
    }
    memcpy(&value, reinterpret_cast<const void*>(at_), sizeof value);
    at_ += sizeof value;
    return value;
  }
  void skip(std::uint64_t bytes) {
    if (left() < bytes) {
      bad_ = true;
    } else {
      at_ += bytes;
    }
  }
  /// Returns a cursor for the next `bytes` only, and skips them in this cursor.
  cursor part(std::uint64_t bytes) {
    const std::uint64_t begin = at_;
    skip(bytes);
    if (!bad_) return {begin, at_};
    cursor nothing;
    nothing.bad_ = true;
    return nothing;
  }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = take<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0 || bad_) return value;
    }
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const auto byte = take<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      if ((byte & 0x80) != 0 && !bad_) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
  }

 private:
  std::uint64_t at_ = 0, end_ = 0;
  bool bad_ = false;
};

/// A cursor from `address` to the end of its segment.
cursor at_address(const code_image& image, std::uint64_t address) {
  for (unsigned i = 0; i < image.count && i < code_image::max_segments; ++i) {
    if (address >= image.segments[i].begin && address < image.segments[i].end) return {address, image.segments[i].end};
  }
  return {1, 0};
}

// Pointer encodings (DW_EH_PE_...).
constexpr std::uint8_t omitted = 0xff, form_bits = 0x0f, base_bits = 0x70, indirect_bit = 0x80;
constexpr std::uint8_t from_here = 0x10, from_header = 0x30;

/// Reads a pointer in the given encoding. Marks `c` bad if the encoding is not supported.
std::uint64_t take_pointer(cursor& c, std::uint8_t encoding, std::uint64_t header) {
  const std::uint64_t here = c.at();
  std::uint64_t value = 0;
  switch (encoding & form_bits) {
    case 0x00:
    case 0x04:
    case 0x0c:
      value = c.take<std::uint64_t>();
      break;
    case 0x01:
      value = c.uleb();
      break;
    case 0x02:
      value = c.take<std::uint16_t>();
      break;
    case 0x03:
      value = c.take<std::uint32_t>();
      break;
    case 0x09:
      value = static_cast<std::uint64_t>(c.sleb());
      break;
    case 0x0a:
      value = static_cast<std::uint64_t>(std::int64_t{c.take<std::int16_t>()});
      break;
    case 0x0b:
      value = static_cast<std::uint64_t>(std::int64_t{c.take<std::int32_t>()});
      break;
    default:
      c.skip(~std::uint64_t{0});
  }
  switch (encoding & base_bits) {
    case 0x00:
      break;
    case from_here:
      value += here;
      break;
    case from_header:
      value += header;
      break;
    default:
      c.skip(~std::uint64_t{0});
  }
  if ((encoding & indirect_bit) != 0) c.skip(~std::uint64_t{0});  // Only personality routines, which are skipped.
  return value;
}

/// Address of the entry (FDE) of the function that may contain `pc`, or 0. Binary search in .eh_frame_hdr.
std::uint64_t find_entry(const code_image& image, std::uint64_t pc) {
  const std::uint64_t header = image.eh_frame_header;
  cursor c = at_address(image, header);
  const auto version = c.take<std::uint8_t>();
  const auto frame_encoding = c.take<std::uint8_t>();
  const auto count_encoding = c.take<std::uint8_t>();
  const auto table_encoding = c.take<std::uint8_t>();
  constexpr std::uint8_t usual_table = from_header | 0x0b;
  if (c.bad() || version != 1 || count_encoding == omitted || table_encoding != usual_table) return 0;
  if (frame_encoding != omitted) take_pointer(c, frame_encoding, header);
  const std::uint64_t count = take_pointer(c, count_encoding, header);
  struct row {
    std::int32_t function, entry;  // Relative to the header.
  };
  if (c.bad() || count == 0 || count > c.left() / sizeof(row)) return 0;
  const std::uint64_t table = c.at();
  const auto at = [table](std::uint64_t i) {
    row r;
    memcpy(&r, reinterpret_cast<const void*>(table + i * sizeof r), sizeof r);
    return r;
  };
  const auto offset = static_cast<std::int64_t>(pc - header);
  if (at(0).function > offset) return 0;
  std::uint64_t low = 0;
  for (std::uint64_t high = count; high - low > 1;) {
    const std::uint64_t middle = low + (high - low) / 2;
    (at(middle).function <= offset ? low : high) = middle;
  }
  return header + static_cast<std::uint64_t>(std::int64_t{at(low).entry});
}

// --- entries ---------------------------------------------------------------------------------------------------------

/// The content of an entry (FDE) and of its common entry (CIE).
struct entry {
  std::uint64_t begin = 0, end = 0;  ///< Code range.
  std::uint64_t code_unit = 1;
  std::int64_t data_unit = 1;
  std::uint8_t encoding = 0;  ///< Encoding of code pointers.
  bool augmented = false;
  bool is_signal = false;
  cursor common, own;  ///< Instructions.
};

/// The body of the record at `address`; begins with the CIE pointer, which gives the record's type.
cursor take_record(const code_image& image, std::uint64_t address) {
  cursor c = at_address(image, address);
  std::uint64_t length = c.take<std::uint32_t>();
  if (length == 0xffff'ffff) length = c.take<std::uint64_t>();
  return c.part(length);
}

bool read_common(const code_image& image, std::uint64_t address, entry& e) {
  cursor c = take_record(image, address);
  if (c.take<std::uint32_t>() != 0) return false;
  const auto version = c.take<std::uint8_t>();
  if (version != 1 && version != 3) return false;
  char augmentation[8] = {};
  for (std::size_t i = 0;; ++i) {
    if (i == sizeof augmentation) return false;
    augmentation[i] = c.take<char>();
    if (c.bad()) return false;
    if (augmentation[i] == '\0') break;
  }
  e.code_unit = c.uleb();
  e.data_unit = c.sleb();
  const std::uint64_t column = version == 1 ? c.take<std::uint8_t>() : c.uleb();
  if (c.bad() || column != return_address) return false;
  e.augmented = augmentation[0] == 'z';
  if (!e.augmented) {
    e.common = c;
    return augmentation[0] == '\0';
  }
  cursor data = c.part(c.uleb());
  e.common = c;
  for (const char* a = augmentation + 1; *a != '\0'; ++a) {
    switch (*a) {
      case 'R':
        e.encoding = data.take<std::uint8_t>();
        break;
      case 'L':
        data.skip(1);
        break;
      case 'P': {
        const auto encoding = data.take<std::uint8_t>();
        take_pointer(data, encoding & form_bits, 0);
        break;
      }
      case 'S':
        e.is_signal = true;
        break;
      case 'B':
        break;
      default:
        return false;
    }
  }
  return !data.bad() && !c.bad();
}

bool read_entry(const code_image& image, std::uint64_t address, entry& e) {
  cursor c = take_record(image, address);
  const std::uint64_t here = c.at();
  const auto back = c.take<std::uint32_t>();
  if (c.bad() || back == 0 || !read_common(image, here - back, e)) return false;
  e.begin = take_pointer(c, e.encoding, image.eh_frame_header);
  const std::uint64_t length = take_pointer(c, e.encoding & form_bits, 0);
  e.end = e.begin + length;
  if (e.augmented) c.skip(c.uleb());
  e.own = c;
  return !c.bad() && e.end > e.begin;
}

// --- expressions -----------------------------------------------------------------------------------------------------

/// The value of an expression before the registers are known: base + offset, or the value in memory at that address.
struct symbolic {
  enum kind : std::uint8_t { constant, rsp_plus, rbp_plus, at_rbp_plus, unknown };
  kind base = unknown;
  std::int64_t value = 0;
};

std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Combines two constants, or a base and a constant.
symbolic combined(std::uint8_t operation, symbolic a, symbolic b) {
  if (operation == 0x22 && a.base == symbolic::constant && b.base != symbolic::at_rbp_plus) {
    return {b.base, wrapping_add(a.value, b.value)};
  }
  if (b.base != symbolic::constant) return {};
  if (operation == 0x22 && (a.base == symbolic::rsp_plus || a.base == symbolic::rbp_plus)) {
    return {a.base, wrapping_add(a.value, b.value)};
  }
  if (a.base != symbolic::constant) return {};
  const auto shift = static_cast<std::uint64_t>(b.value);
  switch (operation) {
    case 0x1a:
      return {symbolic::constant, a.value & b.value};
    case 0x24:
      if (shift >= 64) return {};
      return {symbolic::constant, static_cast<std::int64_t>(static_cast<std::uint64_t>(a.value) << shift)};
    case 0x2a:
      return {symbolic::constant, a.value >= b.value ? 1 : 0};
    case 0x2b:
      return {symbolic::constant, a.value > b.value ? 1 : 0};
    default:
      return {};
  }
}

/// Supports the two forms that compilers and linkers emit: the end of a realigned frame, *(rbp + n), and the frame's
/// end in stubs of a procedure linkage table, rsp + 8 + ((rip & 15) >= 11) * 8.
symbolic evaluate(cursor c, std::uint64_t pc) {
  symbolic stack[8];
  std::size_t depth = 0;
  while (!c.done()) {
    const auto operation = c.take<std::uint8_t>();
    symbolic result;
    if (operation >= 0x30 && operation <= 0x4f) {
      result = {symbolic::constant, operation - 0x30};
    } else if (operation == 0x70 + rbp) {
      result = {symbolic::rbp_plus, c.sleb()};
    } else if (operation == 0x70 + rsp) {
      result = {symbolic::rsp_plus, c.sleb()};
    } else if (operation == 0x70 + return_address) {
      result = {symbolic::constant, wrapping_add(static_cast<std::int64_t>(pc), c.sleb())};
    } else if (operation == 0x06) {
      if (depth == 0 || stack[--depth].base != symbolic::rbp_plus) return {};
      result = {symbolic::at_rbp_plus, stack[depth].value};
    } else {
      if (depth < 2) return {};
      depth -= 2;
      result = combined(operation, stack[depth], stack[depth + 1]);
    }
    if (result.base == symbolic::unknown || depth == 8) return {};
    stack[depth++] = result;
  }
  return depth == 0 || c.bad() ? symbolic{} : stack[depth - 1];
}

// --- instructions ----------------------------------------------------------------------------------------------------

/// The place where one of the caller's registers is saved.
struct saved_register {
  enum kind : std::uint8_t { kept, below_end, at_rbp, lost, undefined };
  kind where = kept;
  std::int64_t offset = 0;  ///< Offset from the frame's end, or from rbp.
};

struct frame_state {
  symbolic end;
  saved_register rbp_is, caller_is{saved_register::below_end, -word};
};

/// Runs the instructions of an entry up to `pc`.
class interpreter {
 public:
  interpreter(const entry& e, std::uint64_t header, std::uint64_t pc)
      : entry_(e), header_(header), pc_(pc), location_(e.begin) {}

  /// Returns false if an instruction is not supported.
  bool run() {
    // The common instructions apply from the function's start, whatever positions they contain.
    if (!execute(entry_.common, ~std::uint64_t{0})) return false;
    initial_ = state_;
    return execute(entry_.own, pc_);
  }
  [[nodiscard]] const frame_state& state() const { return state_; }

 private:
  bool execute(cursor c, std::uint64_t until) {
    while (!c.done()) {
      const auto byte = c.take<std::uint8_t>();
      const std::uint8_t low = byte & 0x3f;
      switch (byte & 0xc0) {
        case 0x40:
          location_ += low * entry_.code_unit;
          break;
        case 0x80:
          set(low, {saved_register::below_end, scaled(c.uleb())});
          break;
        case 0xc0:
          restore(low);
          break;
        default:
          if (!execute_extended(low, c)) return false;
      }
      if (c.bad()) return false;
      if (location_ > until) return true;
    }
    return !c.bad();
  }

  bool execute_extended(std::uint8_t operation, cursor& c) {
    switch (operation) {
      case 0x00:  // nop
        return true;
      case 0x01:  // set_loc
        location_ = take_pointer(c, entry_.encoding, header_);
        return true;
      case 0x02:  // advance_loc1
        location_ += c.take<std::uint8_t>() * entry_.code_unit;
        return true;
      case 0x03:
        location_ += c.take<std::uint16_t>() * entry_.code_unit;
        return true;
      case 0x04:
        location_ += c.take<std::uint32_t>() * entry_.code_unit;
        return true;
      case 0x0a:  // remember_state
        if (depth_ == max_depth) return false;
        stack_[depth_++] = state_;
        return true;
      case 0x0b:  // restore_state
        if (depth_ == 0) return false;
        state_ = stack_[--depth_];
        return true;
      case 0x2e:  // GNU_args_size
        c.uleb();
        return true;
      default:
        return execute_end(operation, c) || execute_register(operation, c);
    }
  }

  /// Instructions that define the frame's end.
  bool execute_end(std::uint8_t operation, cursor& c) {
    switch (operation) {
      case 0x0c: {  // def_cfa
        const std::uint64_t reg = c.uleb();
        state_.end = based_on(reg, static_cast<std::int64_t>(c.uleb()));
        return true;
      }
      case 0x12: {  // def_cfa_sf
        const std::uint64_t reg = c.uleb();
        state_.end = based_on(reg, scaled(c.sleb()));
        return true;
      }
      case 0x0d:  // def_cfa_register
        state_.end = based_on(c.uleb(), state_.end.value);
        return true;
      case 0x0e:  // def_cfa_offset
        state_.end.value = static_cast<std::int64_t>(c.uleb());
        return true;
      case 0x13:  // def_cfa_offset_sf
        state_.end.value = scaled(c.sleb());
        return true;
      case 0x0f:  // def_cfa_expression
        state_.end = evaluate(c.part(c.uleb()), pc_);
        return true;
      default:
        return false;
    }
  }

  /// Instructions that define where a register was saved.
  bool execute_register(std::uint8_t operation, cursor& c) {
    const std::uint64_t reg = c.uleb();
    switch (operation) {
      case 0x05:  // offset_extended
        set(reg, {saved_register::below_end, scaled(c.uleb())});
        return true;
      case 0x11:  // offset_extended_sf
        set(reg, {saved_register::below_end, scaled(c.sleb())});
        return true;
      case 0x2f:  // GNU_negative_offset_extended
        set(reg, {saved_register::below_end, -scaled(c.uleb())});
        return true;
      case 0x06:  // restore_extended
        restore(reg);
        return true;
      case 0x07:  // undefined
        set(reg, {saved_register::undefined, 0});
        return true;
      case 0x08:  // same_value
        set(reg, {saved_register::kept, 0});
        return true;
      case 0x09:  // register: saved in another register, which is not followed
      case 0x14:  // val_offset
        c.uleb();
        set(reg, {saved_register::lost, 0});
        return true;
      case 0x15:  // val_offset_sf
        c.sleb();
        set(reg, {saved_register::lost, 0});
        return true;
      case 0x16:  // val_expression
        c.part(c.uleb());
        set(reg, {saved_register::lost, 0});
        return true;
      case 0x10: {  // expression
        const symbolic at = evaluate(c.part(c.uleb()), pc_);
        set(reg, {at.base == symbolic::rbp_plus ? saved_register::at_rbp : saved_register::lost, at.value});
        return true;
      }
      default:
        return false;
    }
  }

  static symbolic based_on(std::uint64_t reg, std::int64_t offset) {
    return {reg == rsp ? symbolic::rsp_plus : reg == rbp ? symbolic::rbp_plus : symbolic::unknown, offset};
  }
  void set(std::uint64_t reg, saved_register to) {
    if (reg == rbp) state_.rbp_is = to;
    if (reg == return_address) state_.caller_is = to;
  }
  void restore(std::uint64_t reg) {
    if (reg == rbp) state_.rbp_is = initial_.rbp_is;
    if (reg == return_address) state_.caller_is = initial_.caller_is;
  }
  template <class T>
  [[nodiscard]] std::int64_t scaled(T factor) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(factor) * static_cast<std::uint64_t>(entry_.data_unit));
  }

  static constexpr std::size_t max_depth = 8;
  const entry& entry_;
  std::uint64_t header_, pc_, location_;
  frame_state state_, initial_;
  frame_state stack_[max_depth];
  std::size_t depth_ = 0;
};

constexpr std::int64_t max_words = std::int64_t{1} << 30;

/// Converts bytes to words; returns false if that is not a whole number of words in range.
bool in_words(std::int64_t bytes, std::int32_t& words) {
  if (bytes % word != 0 || bytes / word > max_words || bytes / word < -max_words) return false;
  words = static_cast<std::int32_t>(bytes / word);
  return true;
}

std::int32_t get_saved_rbp(const frame_state& s) {
  std::int64_t offset = s.rbp_is.offset;
  switch (s.rbp_is.where) {
    case saved_register::kept:
      return unwind_rule::rbp_kept;
    case saved_register::at_rbp:
      if (s.end.base != symbolic::rbp_plus) return unwind_rule::rbp_lost;
      offset -= s.end.value;
      [[fallthrough]];
    case saved_register::below_end: {
      std::int32_t words = 0;
      const bool sensible = s.end.base != symbolic::at_rbp_plus && offset < 0 && in_words(offset, words);
      return sensible ? -words : unwind_rule::rbp_lost;
    }
    default:
      return unwind_rule::rbp_lost;
  }
}

unwind_rule get_rule(const frame_state& s) {
  unwind_rule rule;
  if (s.caller_is.where == saved_register::undefined) {
    rule.kind = unwind_rule::stop;
    return rule;
  }
  rule.kind = unwind_rule::guess;
  const bool usual = s.caller_is.where == saved_register::below_end && s.caller_is.offset == -word;
  if (!usual || !in_words(s.end.value, rule.offset)) return {unwind_rule::guess};
  switch (s.end.base) {
    case symbolic::rsp_plus:
      rule.kind = unwind_rule::from_rsp;
      break;
    case symbolic::rbp_plus:
      rule.kind = unwind_rule::from_rbp;
      break;
    case symbolic::at_rbp_plus:
      // Compilers save rbp where rbp points afterwards, and find the frame's end through a word below it.
      if (s.rbp_is.where != saved_register::at_rbp || s.rbp_is.offset != 0) return {unwind_rule::guess};
      rule.kind = unwind_rule::through_rbp;
      return rule;
    default:
      return {unwind_rule::guess};
  }
  rule.saved_rbp = get_saved_rbp(s);
  return rule;
}

}  // namespace

unwind_rule find_unwind_rule(const code_image& image, std::uint64_t pc) noexcept {
  const unwind_rule unknown{unwind_rule::guess};
  if (image.eh_frame_header == 0) return unknown;
  const std::uint64_t address = find_entry(image, pc);
  entry e;
  if (address == 0 || !read_entry(image, address, e) || pc < e.begin || pc >= e.end) return unknown;
  if (e.is_signal) return {unwind_rule::signal};
  interpreter instructions(e, image.eh_frame_header, pc);
  return instructions.run() ? get_rule(instructions.state()) : unknown;
}

bool ends_in_call(const std::uint8_t (&before)[longest_call]) noexcept {
  const auto at = [&](std::uint64_t back) { return before[longest_call - back]; };
  if (at(5) == 0xe8) return true;  // call rel32
  // Indirect call by register or memory: ff /2 and its addressing bytes.
  for (const unsigned back : {2U, 3U, 4U, 6U, 7U}) {
    if (at(back) == 0xff && (at(back - 1) & 0x38) == 0x10) return true;
  }
  return false;
}

bool follows_call(const code_image& image, std::uint64_t pc) noexcept {
  bool code = false;
  for (unsigned i = 0; i < image.count && i < code_image::max_segments; ++i) {
    const memory_range& segment = image.segments[i];
    code = code || (segment.executable && pc >= segment.begin + longest_call && pc < segment.end);
  }
  if (!code) return false;
  std::uint8_t before[longest_call];
  memcpy(before, reinterpret_cast<const void*>(pc - longest_call), longest_call);
  return ends_in_call(before);
}

}  // namespace sluice::unwind

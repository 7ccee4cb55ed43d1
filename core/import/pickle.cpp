#include "core/import/pickle.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

namespace sluice::importing {

namespace {

constexpr std::size_t least_room = std::size_t{1} << 12;  // values
constexpr std::size_t most_room = 4 * huge_page / sizeof(pickle_value);
constexpr std::size_t most_items = UINT32_MAX / 2;

constexpr auto nothing = static_cast<pickle_kind>(255);  // in the memo: never put

// The opcodes of pickletools that make plain data.
enum opcode : std::uint8_t {
  op_mark = '(',
  op_stop = '.',
  op_pop = '0',
  op_pop_mark = '1',
  op_dup = '2',
  op_binfloat = 'G',
  op_binint = 'J',
  op_binint1 = 'K',
  op_binint2 = 'M',
  op_none = 'N',
  op_binunicode = 'X',
  op_empty_list = ']',
  op_append = 'a',
  op_appends = 'e',
  op_list = 'l',
  op_empty_tuple = ')',
  op_tuple = 't',
  op_empty_dict = '}',
  op_dict = 'd',
  op_setitem = 's',
  op_setitems = 'u',
  op_binget = 'h',
  op_long_binget = 'j',
  op_binput = 'q',
  op_long_binput = 'r',
  op_proto = 0x80,
  op_tuple1 = 0x85,
  op_tuple2 = 0x86,
  op_tuple3 = 0x87,
  op_newtrue = 0x88,
  op_newfalse = 0x89,
  op_long1 = 0x8a,
  op_long4 = 0x8b,
  op_short_binunicode = 0x8c,
  op_binunicode8 = 0x8d,
  op_binbytes8 = 0x8e,
  op_memoize = 0x94,
  op_frame = 0x95,
  op_binbytes = 'B',
  op_short_binbytes = 'C',
};

/// Why an opcode that Python knows is refused.
const char* refusal(char code) {
  const auto among = [code](std::string_view codes) { return codes.find(code) != std::string_view::npos; };
  if (among("cioR\x81\x92\x93")) return "asks to run code, which is never done";
  if (among("bPQ\x82\x83\x84\x97\x98")) return "makes an object of a program's own";
  if (among("\x8f\x90\x91\x96")) return "makes a set or an array, which no snapshot holds";
  if (among("FILSUTVgp")) return "is of the protocols before 2";
  return "is none";
}

std::string hexadecimal(std::uint8_t byte) {
  constexpr char digits[] = "0123456789abcdef";
  return {'0', 'x', digits[byte >> 4], digits[byte & 15]};
}

}  // namespace

/// The machine that the opcodes are for: a stack, marks in it, a memo.
class pickle_reader {
 public:
  pickle_reader(std::span<const std::byte> bytes, std::size_t memory_bytes)
      : begin_(reinterpret_cast<const unsigned char*>(bytes.data())),
        at_(begin_),
        end_(begin_ + bytes.size()),
        memory_left_(memory_bytes) {
    stack_.reserve(256);
  }

  result<pickle_document> run() {
    if (left() < 2 || at_[0] != op_proto || at_[1] < 2 || at_[1] > 5) {
      return fail(error_code::corrupt, "is no pickle of the protocols 2 to 5", {}, {}, 0);
    }
    while (!stopped_ && !failed_) step();
    if (failed_) {
      error why = std::move(*failed_);
      why.offset = static_cast<std::uint64_t>(opcode_ - begin_);
      return tl::unexpected(std::move(why));
    }
    made_.trailing_ = left();
    return std::move(made_);
  }

 private:
  using container = pickle_document::container;

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  void refuse(std::string why) {
    if (!failed_) failed_ = error{error_code::corrupt, std::move(why), {}, 0, {}};
  }

  /// The next `size` bytes; null behind the end.
  const unsigned char* take(std::uint64_t size) {
    if (size > left()) {
      refuse("the pickle is cut off: " + std::to_string(size) + " bytes are claimed, " + std::to_string(left()) +
             " are left");
      return nullptr;
    }
    const unsigned char* taken = at_;
    at_ += size;
    return taken;
  }
  /// A little-endian number of `Number`'s size; 0 behind the end.
  template <class Number>
  Number number() {
    Number n{};
    if (const unsigned char* from = take(sizeof n)) std::memcpy(&n, from, sizeof n);
    return n;
  }

  void push(pickle_value v) { stack_.push_back(v); }
  void push_integer(std::int64_t n, pickle_kind kind = pickle_kind::integer) {
    pickle_value v;
    v.kind = kind;
    v.integer = n;
    push(v);
  }

  void push_text(std::uint64_t size, pickle_kind kind) {
    const unsigned char* from = take(size);
    if (from == nullptr) return;
    pickle_value v;
    v.kind = kind;
    v.index = made_.texts_.size();
    made_.texts_.emplace_back(reinterpret_cast<const char*>(from), size);
    push(v);
  }

  /// Two's complement of any length; what 64 bits do not hold is a `huge_integer`.
  void push_long(std::uint64_t size) {
    const unsigned char* from = take(size);
    if (from == nullptr) return;
    std::uint64_t bits = size > 0 && (from[size - 1] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    const unsigned char sign = bits != 0 ? 0xff : 0;
    bool fits = true;
    for (std::uint64_t i = 8; i < size && fits; ++i) fits = from[i] == sign;
    std::memcpy(&bits, from, std::min<std::uint64_t>(size, 8));
    fits = fits && (size <= 8 || (bits >> 63 != 0) == (sign != 0));
    push_integer(static_cast<std::int64_t>(bits), fits ? pickle_kind::integer : pickle_kind::huge_integer);
  }

  /// Values below the top that no mark has set aside.
  [[nodiscard]] std::size_t available() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  /// Where the values above the last mark begin, and the mark is gone; refuses without one.
  std::size_t pop_mark() {
    if (marks_.empty()) {
      refuse("no mark was set");
      return stack_.size();
    }
    const std::size_t at = marks_.back();
    marks_.pop_back();
    return at;
  }

  bool spend(std::size_t bytes) {
    if (bytes > memory_left_) {
      refuse("the pickle needs more memory than may be held at a time");
      return false;
    }
    memory_left_ -= bytes;
    return true;
  }

  /// Room for `count` values in a row.
  pickle_value* room(std::size_t count) {
    if (count > arena_left_) {
      // Twice as much each time, up to some huge pages: small pickles shall stay small.
      next_room_ = std::min(next_room_ * 2, most_room);
      const std::size_t values = std::max(count, next_room_);
      if (!spend(values * sizeof(pickle_value))) return nullptr;
      made_.arena_.emplace_back(allocate_huge(values * sizeof(pickle_value)));
      if (made_.arena_.back() == nullptr) throw std::bad_alloc();
      arena_ = static_cast<pickle_value*>(made_.arena_.back().get());
      arena_left_ = values;
    }
    pickle_value* given = arena_;
    arena_ += count;
    arena_left_ -= count;
    return given;
  }

  void append(container& to, const pickle_value* from, std::size_t count) {
    const std::size_t wanted = to.count + count;
    if (wanted > most_items) return refuse("a container is too large");
    if (wanted > to.capacity) {
      // Exactly what is asked for the first time: most containers are filled at once.
      const std::size_t capacity = to.capacity == 0 ? wanted : std::max(wanted, std::size_t{to.capacity} * 2);
      pickle_value* grown = room(capacity);
      if (grown == nullptr) return;
      std::copy_n(to.items, to.count, grown);
      to.items = grown;
      to.capacity = static_cast<std::uint32_t>(capacity);
    }
    std::copy_n(from, count, to.items + to.count);
    to.count = static_cast<std::uint32_t>(wanted);
  }

  /// A container of the values from `from` up; they leave the stack, and it takes their place.
  void push_container(pickle_kind kind, std::size_t from) {
    if (kind == pickle_kind::dictionary && (stack_.size() - from) % 2 != 0) return refuse("a key has no value");
    pickle_value v;
    v.kind = kind;
    v.index = made_.containers_.size();
    container c;
    if (stack_.size() > from) append(c, stack_.data() + from, stack_.size() - from);
    made_.containers_.push_back(c);
    stack_.resize(from);
    push(v);
  }
  void push_tuple(std::size_t count) {
    if (available() < count) return refuse("the stack holds too few values");
    push_container(pickle_kind::tuple, stack_.size() - count);
  }

  /// Adds the values from `from` up to the container below them.
  void add_to_container(pickle_kind kind, std::size_t from) {
    if (failed_) return;
    const std::size_t lowest = marks_.empty() ? 0 : marks_.back();
    if (from <= lowest || stack_[from - 1].kind != kind) {
      return refuse(kind == pickle_kind::list ? "items are for no list" : "items are for no dictionary");
    }
    const std::size_t count = stack_.size() - from;
    if (kind == pickle_kind::dictionary && count % 2 != 0) return refuse("a key has no value");
    append(made_.containers_[stack_[from - 1].index], stack_.data() + from, count);
    stack_.resize(from);
  }

  void get(std::uint64_t slot) {
    if (slot >= memo_.size() || memo_[slot].kind == nothing)
      return refuse("the memo has no entry " + std::to_string(slot));
    push(memo_[slot]);
  }
  void put(std::uint64_t slot) {
    if (available() == 0) return refuse("the stack is empty");
    // Whoever pickles numbers them one by one.
    if (slot > puts_) return refuse("the memo's entry " + std::to_string(slot) + " comes before those below it");
    ++puts_;
    if (slot == memo_.size()) return memo_.push_back(stack_.back());
    if (slot > memo_.size()) {
      pickle_value missing;
      missing.kind = nothing;
      memo_.resize(slot + 1, missing);
    }
    memo_[slot] = stack_.back();
  }

  void step() {
    opcode_ = at_;
    if (at_ == end_) return refuse("the pickle is cut off: it has no end");
    if ((++steps_ & 0xffff) == 0 && !within_memory()) return;
    const std::uint8_t code = *at_++;
    switch (code) {
      case op_binget:
        return get(number<std::uint8_t>());
      case op_long_binget:
        return get(number<std::uint32_t>());
      case op_memoize:
        return put(memo_.size());
      case op_binput:
        return put(number<std::uint8_t>());
      case op_long_binput:
        return put(number<std::uint32_t>());
      case op_binint:
        return push_integer(number<std::int32_t>());
      case op_binint1:
        return push_integer(number<std::uint8_t>());
      case op_binint2:
        return push_integer(number<std::uint16_t>());
      case op_long1:
        return push_long(number<std::uint8_t>());
      case op_long4:
        return push_long(number<std::uint32_t>());
      case op_none:
        return push({});
      case op_newtrue:
        return push_integer(1, pickle_kind::boolean);
      case op_newfalse:
        return push_integer(0, pickle_kind::boolean);
      case op_binfloat:
        return push_real();
      case op_short_binunicode:
        return push_text(number<std::uint8_t>(), pickle_kind::text);
      case op_binunicode:
        return push_text(number<std::uint32_t>(), pickle_kind::text);
      case op_binunicode8:
        return push_text(number<std::uint64_t>(), pickle_kind::text);
      case op_short_binbytes:
        return push_text(number<std::uint8_t>(), pickle_kind::bytes);
      case op_binbytes:
        return push_text(number<std::uint32_t>(), pickle_kind::bytes);
      case op_binbytes8:
        return push_text(number<std::uint64_t>(), pickle_kind::bytes);
      default:
        return step_container(code);
    }
  }

  void step_container(std::uint8_t code) {
    switch (code) {
      case op_mark:
        return marks_.push_back(stack_.size());
      case op_empty_list:
        return push_container(pickle_kind::list, stack_.size());
      case op_empty_dict:
        return push_container(pickle_kind::dictionary, stack_.size());
      case op_empty_tuple:
        return push_container(pickle_kind::tuple, stack_.size());
      case op_list:
        return push_container(pickle_kind::list, pop_mark());
      case op_dict:
        return push_container(pickle_kind::dictionary, pop_mark());
      case op_tuple:
        return push_container(pickle_kind::tuple, pop_mark());
      case op_tuple1:
        return push_tuple(1);
      case op_tuple2:
        return push_tuple(2);
      case op_tuple3:
        return push_tuple(3);
      case op_append:
        return available() < 2 ? refuse("the stack holds too few values")
                               : add_to_container(pickle_kind::list, stack_.size() - 1);
      case op_setitem:
        return available() < 3 ? refuse("the stack holds too few values")
                               : add_to_container(pickle_kind::dictionary, stack_.size() - 2);
      case op_appends:
        return add_to_container(pickle_kind::list, pop_mark());
      case op_setitems:
        return add_to_container(pickle_kind::dictionary, pop_mark());
      default:
        return step_rest(code);
    }
  }

  void step_rest(std::uint8_t code) {
    switch (code) {
      case op_proto:
        if (number<std::uint8_t>() > 5) refuse("is of a newer protocol than 5");
        return;
      case op_frame:  // says how much may be read ahead
        number<std::uint64_t>();
        return;
      case op_pop:  // a mark on top goes as a value would
        if (!marks_.empty() && marks_.back() == stack_.size()) return marks_.pop_back();
        if (available() == 0) return refuse("the stack is empty");
        return stack_.pop_back();
      case op_pop_mark:
        return stack_.resize(pop_mark());
      case op_dup:
        return available() == 0 ? refuse("the stack is empty") : push(pickle_value(stack_.back()));
      case op_stop:
        if (available() == 0 || !marks_.empty()) return refuse("the pickle ends before its value is whole");
        made_.root_ = stack_.back();
        stopped_ = true;
        return;
      default:
        return refuse("the opcode " + hexadecimal(code) + " " + refusal(static_cast<char>(code)));
    }
  }

  void push_real() {
    const auto bits = number<std::uint64_t>();  // big-endian
    pickle_value v;
    v.kind = pickle_kind::real;
    v.real = std::bit_cast<double>(__builtin_bswap64(bits));
    push(v);
  }

  /// What is not in the arena; looked at now and then.
  bool within_memory() {
    const std::size_t held = stack_.capacity() * sizeof(pickle_value) + memo_.capacity() * sizeof(pickle_value) +
                             marks_.capacity() * sizeof(std::size_t) +
                             made_.containers_.capacity() * sizeof(container) +
                             made_.texts_.capacity() * sizeof(std::string_view);
    if (held <= memory_left_) return true;
    refuse("the pickle needs more memory than may be held at a time");
    return false;
  }

  const unsigned char* begin_;
  const unsigned char* at_;
  const unsigned char* end_;
  const unsigned char* opcode_ = nullptr;  ///< Of the current step.
  std::size_t memory_left_;
  std::uint64_t steps_ = 0;
  std::uint64_t puts_ = 0;
  bool stopped_ = false;
  std::optional<error> failed_;
  huge_vector<pickle_value> stack_;
  huge_vector<std::size_t> marks_;
  huge_vector<pickle_value> memo_;
  pickle_value* arena_ = nullptr;
  std::size_t arena_left_ = 0;
  std::size_t next_room_ = least_room;
  pickle_document made_;
};

result<pickle_document> read_pickle(std::span<const std::byte> bytes, std::size_t memory_bytes) {
  return pickle_reader(bytes, memory_bytes).run();
}

const pickle_value* pickle_document::find(const pickle_value& dictionary, std::string_view key) const {
  if (!dictionary.is(pickle_kind::dictionary)) return nullptr;
  const auto all = items(dictionary);
  for (std::size_t i = all.size(); i >= 2; i -= 2) {
    if (all[i - 2].is(pickle_kind::text) && text(all[i - 2]) == key) return &all[i - 1];
  }
  return nullptr;
}

}  // namespace sluice::importing

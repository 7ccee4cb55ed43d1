#include "core/import/torch/pickle.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "core/import/torch/pickle_window.hpp"

namespace sluice::importing {

namespace {

constexpr std::size_t min_room = std::size_t{32} << 10;  // In bytes.
constexpr std::size_t small_room = std::size_t{256} << 10;
constexpr std::size_t max_room = 4 * huge_page;
constexpr std::size_t max_items = UINT32_MAX / 2;
constexpr std::size_t max_numbers = UINT32_MAX - 1;  // The maximum number of containers, and of texts.
constexpr std::size_t max_shapes = 1024;  // When there are this many shapes, further dictionaries store their own keys.
constexpr std::size_t max_keys = 32;      // The most keys of a shape.
/// The longest opcode of fixed length, with its argument.
constexpr std::size_t longest_fixed = 9;
static_assert(longest_fixed <= pickle_window::least);

// The opcodes in pickletools that build plain data.
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

/// Returns why an opcode is rejected.
const char* refusal(char code) {
  const auto among = [code](std::string_view codes) { return codes.find(code) != std::string_view::npos; };
  if (among("cioR\x81\x92\x93")) return "would run code, which is never allowed";
  if (among("bPQ\x82\x83\x84\x97\x98")) return "creates a program's own type of object";
  if (among("\x8f\x90\x91\x96")) return "creates a set or an array, which snapshots do not have";
  if (among("FILSUTVgp")) return "belongs to protocols before 2";
  return "is unknown";
}

std::string hexadecimal(std::uint8_t byte) {
  constexpr char digits[] = "0123456789abcdef";
  return {'0', 'x', digits[byte >> 4], digits[byte & 15]};
}

}  // namespace

/// Executes the opcodes, with a stack, marks on the stack, and a memo.
class pickle_reader {
 public:
  pickle_reader(const pickle_source& source, std::size_t memory_bytes, std::size_t window_bytes)
      : window_(source, window_bytes), memory_left_(memory_bytes) {
    stack_.reserve(256);
  }

  result<pickle_document> run() {
    window_.fill(2, memory_left_);
    if (!window_.failure() &&
        (window_.left() < 2 || window_.at()[0] != op_proto || window_.at()[1] < 2 || window_.at()[1] > 5)) {
      return fail(error_code::corrupt, "is not a pickle of protocol 2 to 5", {}, {}, 0);
    }
    while (!stopped_ && !failed_) {
      // This checks the memory once per window, whose opcodes can add only a bounded amount.
      if (window_.reads() != reads_ && !within_memory()) break;
      reads_ = window_.reads();
      take_gets();
      step();
    }
    if (!failed_) count_trailing();
    if (window_.failure()) return tl::unexpected(*window_.failure());
    if (failed_) {
      error why = std::move(*failed_);
      why.offset = opcode_ != nullptr ? window_.get_offset(opcode_) : opcode_offset_;
      return tl::unexpected(std::move(why));
    }
    return std::move(made_);
  }

 private:
  using container = pickle_document::container;

  static pickle_value get_value(pickle_kind kind, std::uint64_t payload) {
    return {static_cast<std::uint8_t>(kind), payload};
  }

  void refuse(std::string why) {
    if (!failed_) failed_ = error{error_code::corrupt, std::move(why), {}, 0, {}};
  }

  /// Returns the next `size` bytes, which are valid until the next call, or null beyond the end.
  const unsigned char* take(std::uint64_t size) {
    if (size <= window_.left()) return window_.take(size);
    // The current opcode is about to leave the window.
    opcode_offset_ = window_.get_offset(opcode_);
    opcode_ = nullptr;
    if (!window_.fill(size, memory_left_)) {
      if (!window_.ended()) {
        refuse_memory();
      } else {
        refuse("the pickle is cut off: " + std::to_string(size) + " bytes are claimed, " +
               std::to_string(window_.left()) + " are left");
      }
      return nullptr;
    }
    return window_.take(size);
  }
  /// Reads a little-endian number of type `Number`. Returns 0 beyond the end.
  template <class Number>
  Number number() {
    Number n{};
    if (window_.left() >= sizeof n) {
      std::memcpy(&n, window_.take(sizeof n), sizeof n);
    } else {
      take(sizeof n);
    }
    return n;
  }

  void push(pickle_value v) { stack_.push_back(v); }
  void push_integer(std::int64_t n) {
    const std::int64_t kept = static_cast<std::int64_t>(static_cast<std::uint64_t>(n) << pickle_value::kind_bits);
    if (kept >> pickle_value::kind_bits == n)
      return push(get_value(pickle_kind::integer, static_cast<std::uint64_t>(n)));
    push_wide(pickle_value::wide, n);
  }
  void push_wide(std::uint8_t code, std::int64_t bits) {
    if (made_.wide_.size() >= max_numbers) return refuse("the pickle contains too many 64-bit integers");
    push({code, made_.wide_.size()});
    made_.wide_.push_back(bits);
  }

  void push_text(std::uint64_t size, pickle_kind kind) {
    const unsigned char* source = take(size);
    if (source == nullptr) return;
    char* kept = room_for_text(size);
    if (kept == nullptr) return;
    if (made_.texts_.size() >= max_numbers) return refuse("the pickle contains too many strings");
    if (size > 0) std::memcpy(kept, source, size);
    push(get_value(kind, made_.texts_.size()));
    made_.texts_.push_back(std::string_view(kept, static_cast<std::size_t>(size)));
  }

  /// Pushes a number in two's complement of any length. A number that exceeds 64 bits becomes a `huge_integer`.
  void push_long(std::uint64_t size) {
    const unsigned char* source = take(size);
    if (source == nullptr) return;
    std::uint64_t bits = size > 0 && (source[size - 1] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    const unsigned char sign = bits != 0 ? 0xff : 0;
    bool fits = true;
    for (std::uint64_t i = 8; i < size && fits; ++i) fits = source[i] == sign;
    std::memcpy(&bits, source, std::min<std::uint64_t>(size, 8));
    fits = fits && (size <= 8 || (bits >> 63 != 0) == (sign != 0));
    if (fits) return push_integer(static_cast<std::int64_t>(bits));
    bool is_natural = sign == 0;
    for (std::uint64_t i = 8; i < size && is_natural; ++i) is_natural = source[i] == 0;
    if (!is_natural) return push(get_value(pickle_kind::huge_integer, 0));
    push_wide(pickle_value::wide_unsigned, static_cast<std::int64_t>(bits));
  }

  /// Returns the number of values above the last mark.
  [[nodiscard]] std::size_t available() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  /// Removes the last mark. Returns the position of the first value above it. Refuses if there is no mark.
  std::size_t pop_mark() {
    if (marks_.empty()) {
      refuse("no mark was set");
      return stack_.size();
    }
    const std::size_t at = marks_.back();
    marks_.pop_back();
    return at;
  }

  void refuse_memory() { refuse("the pickle exceeds the memory limit"); }
  bool spend(std::size_t bytes) {
    if (bytes > memory_left_) {
      refuse_memory();
      return false;
    }
    memory_left_ -= bytes;
    return true;
  }

  /// Allocates space for `count` consecutive values.
  pickle_value* room(std::size_t count) {
    if (count > arena_left_) {
      // Each allocation is larger than the one before, up to some huge pages, so that small pickles stay small.
      next_room_ = next_room_ < small_room ? next_room_ * 2 : std::min(std::max(next_room_ * 2, huge_page), max_room);
      const std::size_t values = std::max(count, next_room_ / sizeof(pickle_value));
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

  char* room_for_text(std::size_t size) {
    if (size > characters_left_ || characters_ == nullptr) {
      const std::size_t bytes = std::max(size, min_room);
      if (!spend(bytes)) return nullptr;
      made_.characters_.emplace_back(static_cast<char*>(std::malloc(bytes)));
      if (made_.characters_.back() == nullptr) throw std::bad_alloc();
      characters_ = made_.characters_.back().get();
      characters_left_ = bytes;
    }
    characters_left_ -= size;
    return std::exchange(characters_, characters_ + size);
  }

  void append(container& to, const pickle_value* value, std::size_t count) {
    const std::size_t wanted = to.count + count;
    if (wanted > max_items) return refuse("a container is too large");
    if (wanted > to.capacity) {
      // The first allocation is exact, because most containers are filled at once.
      const std::size_t capacity =
          to.capacity == 0 ? wanted : std::min(std::max(wanted, std::size_t{to.capacity} * 2), max_items);
      pickle_value* grown = room(capacity);
      if (grown == nullptr) return;
      std::copy_n(to.items, to.count, grown);
      to.items = grown;
      to.capacity = static_cast<std::uint32_t>(capacity);
    }
    std::copy_n(value, count, to.items + to.count);
    to.count = static_cast<std::uint32_t>(wanted);
  }

  // --- dictionaries -------------------------------------------------------------------------------------------------

  static bool has_keys(const std::vector<pickle_value>& shape, const pickle_value* value, std::size_t keys) {
    if (shape.size() != keys) return false;
    for (std::size_t i = 0; i < keys; ++i) {
      if (shape[i].bits_ != value[2 * i].bits_) return false;
    }
    return true;
  }

  /// Returns the shape with the keys in `value`, which may be new, or nullopt if there are too many shapes.
  std::optional<std::uint32_t> get_shape(const pickle_value* value, std::size_t keys) {
    if (last_shape_ < made_.shapes_.size() && has_keys(made_.shapes_[last_shape_], value, keys)) return last_shape_;
    std::uint64_t hash = keys;
    for (std::size_t i = 0; i < keys; ++i) hash = (hash ^ value[2 * i].bits_) * 0x9e3779b97f4a7c15U;
    for (std::size_t at = hash >> 32;; ++at) {
      std::uint32_t& place = shape_places_[at % shape_places_.size()];
      if (place == 0) {
        if (made_.shapes_.size() == max_shapes ||
            !spend(sizeof(std::vector<pickle_value>) + keys * sizeof(pickle_value)))
          return std::nullopt;
        std::vector<pickle_value> shape;
        for (std::size_t i = 0; i < keys; ++i) shape.push_back(value[2 * i]);
        made_.shapes_.push_back(std::move(shape));
        place = static_cast<std::uint32_t>(made_.shapes_.size());
      } else if (!has_keys(made_.shapes_[place - 1], value, keys)) {
        continue;
      }
      return last_shape_ = place - 1;
    }
  }

  /// Adds items to a dictionary. `count` is the number of keys and values together.
  void add_pairs(container& to, const pickle_value* value, std::size_t count) {
    if (count == 0) return;
    if (to.count == 0 && to.capacity == 0 && count / 2 <= max_keys) {
      if (const auto shape = get_shape(value, count / 2)) {
        pickle_value* values = room(count / 2);
        if (values == nullptr) return;
        for (std::size_t i = 0; i < count / 2; ++i) values[i] = value[2 * i + 1];
        to = {values, static_cast<std::uint32_t>(count / 2), container::shaped | *shape};
        return;
      }
    }
    if (to.has_shape() && !keep_with_keys(to)) return;
    append(to, value, count);
  }

  bool keep_with_keys(container& subject) {
    const std::vector<pickle_value>& keys = made_.shapes_[subject.shape()];
    pickle_value* both = room(2 * std::size_t{subject.count});
    if (both == nullptr) return false;
    for (std::size_t i = 0; i < subject.count; ++i) {
      both[2 * i] = keys[i];
      both[2 * i + 1] = subject.items[i];
    }
    subject = {both, 2 * subject.count, 2 * subject.count};
    return true;
  }

  // --- containers ---------------------------------------------------------------------------------------------------

  void fill(container& subject, pickle_kind kind, std::size_t begin) {
    const std::size_t count = stack_.size() - begin;
    if (kind != pickle_kind::dictionary) return append(subject, stack_.data() + begin, count);
    if (count % 2 != 0) return refuse("a key has no value");
    add_pairs(subject, stack_.data() + begin, count);
  }

  /// Replaces the values on the stack from `begin` on by a container with these values.
  void push_container(pickle_kind kind, std::size_t begin) {
    if (made_.containers_.size() >= max_numbers) return refuse("the pickle contains too many containers");
    container c;
    if (stack_.size() > begin) fill(c, kind, begin);
    if (failed_) return;
    stack_.resize(begin);
    push(get_value(kind, made_.containers_.size()));
    made_.containers_.push_back(c);
  }
  void push_tuple(std::size_t count) {
    if (available() < count) return refuse("the stack has too few values");
    push_container(pickle_kind::tuple, stack_.size() - count);
  }

  /// Appends the values from `begin` on to the container below them.
  void add_to_container(pickle_kind kind, std::size_t begin) {
    if (failed_) return;
    const std::size_t lowest = marks_.empty() ? 0 : marks_.back();
    if (begin <= lowest || !stack_[begin - 1].is(kind)) {
      return refuse(kind == pickle_kind::list ? "items without a list" : "items without a dictionary");
    }
    fill(made_.containers_[stack_[begin - 1].index()], kind, begin);
    stack_.resize(begin);
  }

  static bool is_missing(pickle_value v) { return (v.bits_ & pickle_value::kind_mask) == pickle_value::missing; }
  void get(std::uint64_t slot) {
    if (slot >= memo_.size() || is_missing(memo_[slot]))
      return refuse("the memo does not have the entry " + std::to_string(slot));
    push(memo_[slot]);
  }
  void put(std::uint64_t slot) {
    if (available() == 0) return refuse("the stack is empty");
    // Picklers number the entries of the memo consecutively.
    if (slot > puts_) return refuse("the memo entry " + std::to_string(slot) + " is out of order");
    ++puts_;
    while (slot > memo_.size()) memo_.push_back({pickle_value::missing, 0});
    if (slot == memo_.size()) return memo_.push_back(stack_.back());
    memo_[slot] = stack_.back();
  }

  /// Handles runs of opcodes that repeat a value, which are the most frequent opcodes. Leaves rare and invalid opcodes
  /// to `step`.
  void take_gets() {
    const unsigned char* at = window_.at();
    const unsigned char* const last = at + window_.left();
    while (last - at >= 5) {
      std::uint32_t slot = at[1];
      std::size_t length = 2;
      if (*at == op_long_binget) {
        std::memcpy(&slot, at + 1, sizeof slot);
        length = 1 + sizeof slot;
      } else if (*at != op_binget) {
        break;
      }
      if (slot >= memo_.size() || is_missing(memo_[slot])) break;
      stack_.push_back(memo_[slot]);
      at += length;
    }
    window_.take(static_cast<std::size_t>(at - window_.at()));
  }

  void step() {
    if (window_.left() < longest_fixed) window_.fill(longest_fixed, memory_left_);
    opcode_ = window_.at();
    if (window_.left() == 0) return refuse("the pickle is cut off: it has no end");
    const std::uint8_t code = *window_.take(1);
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
        return push(get_value(pickle_kind::boolean, 1));
      case op_newfalse:
        return push(get_value(pickle_kind::boolean, 0));
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
        return available() < 2 ? refuse("the stack has too few values")
                               : add_to_container(pickle_kind::list, stack_.size() - 1);
      case op_setitem:
        return available() < 3 ? refuse("the stack has too few values")
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
        if (number<std::uint8_t>() > 5) refuse("uses a protocol newer than 5");
        return;
      case op_frame:  // Its argument is the size that may be read ahead.
        number<std::uint64_t>();
        return;
      case op_pop:  // A mark on top is popped like a value.
        if (!marks_.empty() && marks_.back() == stack_.size()) return marks_.pop_back();
        if (available() == 0) return refuse("the stack is empty");
        return stack_.pop_back();
      case op_pop_mark:
        return stack_.resize(pop_mark());
      case op_dup:
        return available() == 0 ? refuse("the stack is empty") : push(pickle_value(stack_.back()));
      case op_stop:
        if (available() == 0 || !marks_.empty()) return refuse("the pickle ends before its value is complete");
        made_.root_ = stack_.back();
        stopped_ = true;
        return;
      default:
        return refuse("the opcode " + hexadecimal(code) + " " + refusal(static_cast<char>(code)));
    }
  }

  void push_real() {
    const auto bits = number<std::uint64_t>();  // The number is big-endian.
    if (made_.reals_.size() >= max_numbers) return refuse("the pickle contains too many floating-point numbers");
    push(get_value(pickle_kind::real, made_.reals_.size()));
    made_.reals_.push_back(std::bit_cast<double>(__builtin_bswap64(bits)));
  }

  void count_trailing() {
    do {
      made_.trailing_ += window_.left();
      window_.take(window_.left());
    } while (window_.fill(1, memory_left_));
  }

  /// Checks the memory that is not counted by `spend`.
  bool within_memory() {
    const std::size_t held = stack_.capacity() * sizeof(pickle_value) + marks_.capacity() * sizeof(std::size_t) +
                             memo_.bytes() + made_.containers_.bytes() + made_.texts_.bytes() + made_.wide_.bytes() +
                             made_.reals_.bytes() + window_.bytes();
    if (held <= memory_left_) return true;
    refuse_memory();
    return false;
  }

  pickle_window window_;
  const unsigned char* opcode_ = nullptr;  ///< The opcode of the current step; null after it left the window.
  std::uint64_t opcode_offset_ = 0;        ///< Set when the opcode leaves the window.
  std::size_t memory_left_;
  std::uint64_t reads_ = 0;
  std::uint64_t puts_ = 0;
  bool stopped_ = false;
  std::optional<error> failed_;
  std::vector<pickle_value> stack_;
  std::vector<std::size_t> marks_;
  huge_list<pickle_value> memo_;
  pickle_value* arena_ = nullptr;
  std::size_t arena_left_ = 0;  ///< The number of values that fit into the rest of the arena.
  std::size_t next_room_ = min_room / 2;
  char* characters_ = nullptr;
  std::size_t characters_left_ = 0;
  std::uint32_t last_shape_ = 0;
  /// A hash table with the number of each shape + 1.
  std::vector<std::uint32_t> shape_places_ = std::vector<std::uint32_t>(2 * max_shapes);
  pickle_document made_;
};

result<pickle_document> read_pickle(const pickle_source& source, std::size_t memory_bytes, std::size_t window_bytes) {
  return pickle_reader(source, memory_bytes, window_bytes).run();
}

result<pickle_document> read_pickle(std::span<const std::byte> bytes, std::size_t memory_bytes) {
  return read_pickle(
      [rest = bytes](std::span<std::byte> into) mutable -> result<std::size_t> {
        const std::size_t count = std::min(rest.size(), into.size());
        std::copy_n(rest.begin(), count, into.begin());
        rest = rest.subspan(count);
        return count;
      },
      memory_bytes);
}

const pickle_value* pickle_document::find(const pickle_value& dictionary, std::string_view key) const {
  const pickle_pairs whole = pairs(dictionary);
  for (std::size_t i = whole.size(); i-- > 0;) {
    if (whole.key(i).is(pickle_kind::text) && text(whole.key(i)) == key) return &whole.value(i);
  }
  return nullptr;
}

}  // namespace sluice::importing

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/import/huge_pages.hpp"

/// Reads Python pickles of plain data, in protocols 2 to 5. Plain data is none, booleans, integers, reals, texts,
/// bytes, lists, tuples and dictionaries. Other opcodes, such as those that import or call something, are errors with
/// the opcode's offset. Nothing is ever executed. Python's Lib/pickletools.py describes the opcodes.
///
/// Memory snapshots have millions of values. Therefore, a value takes only 8 bytes, and keys that many dictionaries
/// share are stored once.
namespace sluice::importing {

enum class pickle_kind : std::uint8_t {
  none,
  boolean,
  integer,
  huge_integer,
  real,
  text,
  bytes,
  list,
  tuple,
  dictionary
};

/// A value, in 8 bytes. Containers, texts and large numbers are stored as indexes into the document. Values may be
/// shared, and a list may contain itself, so a walk over nested values must be bounded.
class pickle_value {
 public:
  constexpr pickle_value() = default;  ///< None.

  [[nodiscard]] pickle_kind kind() const {
    const auto code = static_cast<std::uint8_t>(bits_ & kind_mask);
    if (code == wide_unsigned) return pickle_kind::huge_integer;
    return code == wide ? pickle_kind::integer : static_cast<pickle_kind>(code);
  }
  [[nodiscard]] bool is(pickle_kind k) const { return kind() == k; }
  /// The index of a container, a text or a large number in the document.
  [[nodiscard]] std::uint32_t index() const { return static_cast<std::uint32_t>(bits_ >> kind_bits); }

 private:
  friend class pickle_document;
  friend class pickle_reader;
  static constexpr unsigned kind_bits = 4;
  static constexpr std::uint64_t kind_mask = 15;
  static constexpr std::uint8_t wide_unsigned = 13;  ///< A huge integer that fits into 64 bits unsigned.
  static constexpr std::uint8_t wide = 14;           ///< An integer of more than 60 bits.
  static constexpr std::uint8_t missing = 15;        ///< An unset entry of the memo, which keeps values for reuse.

  constexpr pickle_value(std::uint8_t code, std::uint64_t payload) : bits_(payload << kind_bits | code) {}
  [[nodiscard]] std::int64_t payload() const { return static_cast<std::int64_t>(bits_) >> kind_bits; }

  std::uint64_t bits_ = 0;
};
static_assert(sizeof(pickle_value) == 8);

/// The items of a dictionary in the order of the pickle, including items with repeated keys.
class pickle_pairs {
 public:
  pickle_pairs() = default;
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const pickle_value& key(std::size_t at) const { return keys_[at * stride_]; }
  [[nodiscard]] const pickle_value& value(std::size_t at) const { return values_[at * stride_]; }

 private:
  friend class pickle_document;
  pickle_pairs(const pickle_value* keys, const pickle_value* values, std::size_t size, std::size_t stride)
      : keys_(keys), values_(values), size_(size), stride_(stride) {}
  const pickle_value* keys_ = nullptr;
  const pickle_value* values_ = nullptr;
  std::size_t size_ = 0, stride_ = 0;
};

/// The content of a pickle. Immutable once read.
class pickle_document {
 public:
  [[nodiscard]] const pickle_value& root() const { return root_; }

  /// Returns the items of a list or tuple; empty for other values.
  [[nodiscard]] std::span<const pickle_value> items(const pickle_value& value) const {
    if (!value.is(pickle_kind::list) && !value.is(pickle_kind::tuple)) return {};
    return list_items(value.index());
  }
  /// Returns the items of the list or tuple with the index `number`.
  [[nodiscard]] std::span<const pickle_value> list_items(std::uint32_t number) const {
    const container& c = containers_[number];
    return {c.items, c.count};
  }
  /// Returns the items of a dictionary; empty for other values.
  [[nodiscard]] pickle_pairs pairs(const pickle_value& value) const {
    if (!value.is(pickle_kind::dictionary)) return {};
    const container& c = containers_[value.index()];
    if (c.count == 0) return {};  // `c.items` is null.
    if (c.has_shape()) return {shapes_[c.shape()].data(), c.items, c.count, 1};
    return {c.items, c.items + 1, c.count / 2, 2};
  }
  /// Returns the content of a text or of bytes; empty for other values. Valid as long as the document exists.
  [[nodiscard]] std::string_view text(const pickle_value& value) const {
    return value.is(pickle_kind::text) || value.is(pickle_kind::bytes) ? texts_[value.index()] : std::string_view{};
  }
  /// Returns the value of an integer or boolean; 0 for other values.
  [[nodiscard]] std::int64_t integer(const pickle_value& value) const {
    if ((value.bits_ & pickle_value::kind_mask) == pickle_value::wide) return wide_[value.index()];
    return value.is(pickle_kind::integer) || value.is(pickle_kind::boolean) ? value.payload() : 0;
  }
  /// Returns the value of an integer from 0 to 2^64 - 1; nullopt for other values.
  [[nodiscard]] std::optional<std::uint64_t> natural(const pickle_value& value) const {
    if ((value.bits_ & pickle_value::kind_mask) == pickle_value::wide_unsigned)
      return static_cast<std::uint64_t>(wide_[value.index()]);
    if (!value.is(pickle_kind::integer) || integer(value) < 0) return std::nullopt;
    return static_cast<std::uint64_t>(integer(value));
  }
  /// Returns the value of a real; 0 for other values.
  [[nodiscard]] double real(const pickle_value& value) const {
    return value.is(pickle_kind::real) ? reals_[value.index()] : 0;
  }
  /// Returns the value of `key` in a dictionary, or null if there is none. If the key is repeated, the last value
  /// counts. O(items).
  [[nodiscard]] const pickle_value* find(const pickle_value& dictionary, std::string_view key) const;

  /// The number of containers, and of texts. All indexes are below these numbers, so callers can use arrays.
  [[nodiscard]] std::size_t containers() const { return containers_.size(); }
  [[nodiscard]] std::size_t texts() const { return texts_.size(); }
  /// The number of bytes after the last opcode.
  [[nodiscard]] std::uint64_t trailing_bytes() const { return trailing_; }

 private:
  friend class pickle_reader;
  /// A list, a tuple or a dictionary. If a dictionary has a shape (keys that several dictionaries share), `items` has
  /// only its values; otherwise its keys and values alternate in `items`.
  struct container {
    static constexpr std::uint32_t shaped = std::uint32_t{1} << 31;
    pickle_value* items = nullptr;
    std::uint32_t count = 0;
    /// The capacity of `items`. If there is a shape, `shaped` | the number of the shape instead.
    std::uint32_t capacity = 0;
    [[nodiscard]] bool has_shape() const { return (capacity & shaped) != 0; }
    [[nodiscard]] std::uint32_t shape() const { return capacity & ~shaped; }
  };
  struct release {
    void operator()(void* memory) const { std::free(memory); }
  };
  pickle_value root_;
  huge_list<container> containers_;
  std::vector<std::vector<pickle_value>> shapes_;  ///< The keys of each shape.
  huge_list<std::string_view> texts_;
  huge_list<std::int64_t> wide_;
  huge_list<double> reals_;
  std::vector<std::unique_ptr<void, release>> arena_;       ///< The items of containers.
  std::vector<std::unique_ptr<char, release>> characters_;  ///< The content of texts.
  std::uint64_t trailing_ = 0;
};

/// A function that reads the next bytes of a pickle into a buffer and returns their number, or 0 at the end.
using pickle_source = std::function<result<std::size_t>(std::span<std::byte>)>;

/// Reads one pickle, `window_bytes` at a time, and reads the source to its end. Time and memory are linear in the
/// number of bytes: at most 100 bytes of memory per byte, plus the window. Fails if it needs more than `memory_bytes`.
/// Does not use recursion. Errors: corrupt, with the offset of the opcode; those of the source, unchanged.
[[nodiscard]] result<pickle_document> read_pickle(const pickle_source& source,
                                                  std::size_t memory_bytes = std::size_t{4} << 30,
                                                  std::size_t window_bytes = std::size_t{256} << 10);

/// Reads one pickle from bytes in memory. Limits and errors are those of the overload above.
[[nodiscard]] result<pickle_document> read_pickle(std::span<const std::byte> bytes,
                                                  std::size_t memory_bytes = std::size_t{4} << 30);

}  // namespace sluice::importing

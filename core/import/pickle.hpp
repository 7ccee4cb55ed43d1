#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/import/huge_pages.hpp"

/// Python's pickles, as data. What plain data is written with in the protocols 2 to 5 is read: none, booleans, integers, reals,
/// texts, bytes, lists, tuples and dictionaries. Every other opcode, and with them all that would import or call something, is an
/// error with its offset. Nothing is ever executed. Python's Lib/pickletools.py describes the opcodes.
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

/// One value, 16 bytes. Containers and texts are numbers into the document: a value may stand in many places, and a list may
/// hold itself, so walking values without a bound may not end.
struct pickle_value {
  pickle_kind kind = pickle_kind::none;
  union {
    std::int64_t integer = 0;  ///< Of an integer or a boolean.
    double real;
    std::uint64_t index;  ///< Of a container, or of a text.
  };

  [[nodiscard]] bool is(pickle_kind k) const { return kind == k; }
};
static_assert(sizeof(pickle_value) == 16);

/// What a pickle holds. Texts are views into the pickle's bytes, which must outlive it. Immutable once read.
class pickle_document {
 public:
  [[nodiscard]] const pickle_value& root() const { return root_; }

  /// The items of a list or tuple; of a dictionary its keys and values in turn, a key that came twice twice. Empty for all else.
  [[nodiscard]] std::span<const pickle_value> items(const pickle_value& of) const {
    if (of.kind < pickle_kind::list) return {};
    const container& c = containers_[of.index];
    return {c.items, c.count};
  }
  /// The text, or the bytes; empty for all else.
  [[nodiscard]] std::string_view text(const pickle_value& of) const {
    return of.is(pickle_kind::text) || of.is(pickle_kind::bytes) ? texts_[of.index] : std::string_view{};
  }
  /// The value of `key` in a dictionary, the last one if there are several; null if there is none. O(items).
  [[nodiscard]] const pickle_value* find(const pickle_value& dictionary, std::string_view key) const;

  /// Numbers of containers and texts are below these: to keep what was learned of each in a vector.
  [[nodiscard]] std::size_t containers() const { return containers_.size(); }
  [[nodiscard]] std::size_t texts() const { return texts_.size(); }
  /// Bytes behind its last opcode.
  [[nodiscard]] std::size_t trailing_bytes() const { return trailing_; }

 private:
  friend class pickle_reader;
  struct container {
    pickle_value* items = nullptr;
    std::uint32_t count = 0;
    std::uint32_t capacity = 0;
  };
  pickle_value root_;
  struct release {
    void operator()(void* memory) const { std::free(memory); }
  };
  huge_vector<container> containers_;
  huge_vector<std::string_view> texts_;
  std::vector<std::unique_ptr<void, release>> arena_;  ///< The containers' items.
  std::size_t trailing_ = 0;
};

/// Reads one pickle. Time and memory are linear in `bytes`: at most 100 bytes for each of them, and an error beyond
/// `memory_bytes`. Not recursive. Errors: corrupt, with the offset of the opcode.
[[nodiscard]] result<pickle_document> read_pickle(std::span<const std::byte> bytes,
                                                  std::size_t memory_bytes = std::size_t{4} << 30);

}  // namespace sluice::importing

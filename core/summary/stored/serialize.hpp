#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/trace/columns/integers.hpp"
#include "core/trace/model/ids.hpp"
#include "core/trace/model/kinds.hpp"

/// Converts structs to bytes and back. One description of a struct serves both directions, so the two cannot differ:
///
///     template <class Archive>
///     void fields(Archive& all, like<Archive, foo> of) { all(of, of.first, of.second); }
///
/// `fields` is found by argument-dependent lookup and must list all members in order. If a member is missing, the code
/// does not compile. The idea comes from cereal and Boost.Serialization, and the way to count an aggregate's members
/// comes from Boost.PFR.
///
/// Integers are stored as varints with 7 bits per byte; signed integers use zigzag encoding. Doubles are stored as 8
/// bytes, little-endian. Strings and vectors are stored as their size, then their elements. Nothing else is written, so
/// the reader must know the layout.
namespace sluice::summary {

/// The type of the struct parameter of a description: mutable when reading, const otherwise.
template <class Archive, class T>
using like = std::conditional_t<Archive::reading, T&, const T&>;

/// Marks a member that is not stored.
struct left_out {};

/// Wraps a time that may be `unknown_time`.
template <class Time>
struct or_unknown {
  Time& time;
};
template <class Time>
or_unknown(Time&) -> or_unknown<Time>;

/// Wraps a member that was added in a version of the layout. When older bytes are read, the member keeps its value.
template <class Value>
struct since {
  Value& value;
  std::uint32_t version;
};
template <class Value>
since(Value&, std::uint32_t) -> since<Value>;

/// One past the highest value of an enum that may be stored; 0 if any value is valid, as for ids. Specialize this for
/// enums that are not in `trace`.
template <class Enum>
inline constexpr std::uint64_t enum_end = trace::enum_values<Enum>;

/// The largest absolute value of a stored time or other signed number, chosen so that the difference of two values
/// cannot overflow.
inline constexpr std::int64_t largest_signed = std::int64_t{1} << 61;
[[nodiscard]] constexpr bool can_keep(std::int64_t number) {
  return number <= largest_signed && number >= -largest_signed;
}
/// Returns false for NaN and for values larger than any real metric.
[[nodiscard]] inline bool can_keep(double number) { return std::abs(number) <= 1e40; }

namespace detail {

struct anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): converts to a value of any member's type.
};

template <class T, class... Members>
constexpr std::size_t count_members() {
  if constexpr (requires { T{Members{}..., anything{}}; }) {
    return count_members<T, Members..., anything>();
  } else {
    return sizeof...(Members);
  }
}

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <class T>
inline constexpr bool is_or_unknown = false;
template <class T>
inline constexpr bool is_or_unknown<or_unknown<T>> = true;

template <class T>
inline constexpr bool is_since = false;
template <class T>
inline constexpr bool is_since<since<T>> = true;

template <class T>
inline constexpr bool is_enum_kept = enum_end<T> > 0 || sizeof(T) == sizeof(std::uint64_t);

}  // namespace detail

template <class Struct>
inline constexpr std::size_t member_count = detail::count_members<Struct>();

/// Appends the encoded values to a string.
class value_writer {
 public:
  static constexpr bool reading = false;
  explicit value_writer(std::string& out) : out_(out) {}

  template <class Struct, class... Members>
  void operator()(const Struct& /*of*/, const Members&... members) {
    static_assert(sizeof...(Members) == member_count<Struct>, "a member is missing in the description");
    (put(members), ...);
  }

  template <class T>
  void put(const T& value) {
    if constexpr (std::is_same_v<T, left_out>) {
    } else if constexpr (std::is_same_v<T, std::string>) {
      varint(value.size());
      out_.append(value);
    } else if constexpr (detail::is_vector<T>) {
      varint(value.size());
      for (const auto& each : value) put(each);
    } else if constexpr (std::is_enum_v<T>) {
      static_assert(detail::is_enum_kept<T>, "say where this enum ends");
      varint(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_same_v<T, double>) {
      failed_ = failed_ || !can_keep(value);
      const auto bits = std::bit_cast<std::uint64_t>(value);
      for (unsigned shift = 0; shift < 64; shift += 8) out_.push_back(static_cast<char>(bits >> shift));
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      failed_ = failed_ || !can_keep(std::int64_t{value});
      varint(trace::zigzag(static_cast<std::uint64_t>(value)));
    } else if constexpr (std::is_integral_v<T>) {
      varint(value);
    } else if constexpr (detail::is_or_unknown<T>) {
      failed_ = failed_ || !(value.time == trace::unknown_time || can_keep(value.time));
      varint(trace::zigzag(static_cast<std::uint64_t>(value.time)));
    } else if constexpr (detail::is_since<T>) {
      put(value.value);
    } else {
      fields(*this, value);
    }
  }

  /// True if a value could not be stored. The bytes written so far are then unreadable.
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }

  std::string& out_;
  bool failed_ = false;
};

/// Reads the output of `value_writer`. The bytes may be corrupt or hostile. After the first error, nothing more is
/// read, and `failed` stays true.
class value_reader {
 public:
  static constexpr bool reading = true;
  /// Uses at most about `max_bytes` of memory, regardless of the sizes that the bytes claim. `version`: the version of
  /// the layout in which the bytes were written.
  value_reader(std::string_view bytes, std::size_t max_bytes,
               std::uint32_t version = std::numeric_limits<std::uint32_t>::max())
      : bytes_(bytes), room_(max_bytes), version_(version) {}

  template <class Struct, class... Members>
  void operator()(Struct& /*of*/, Members&&... members) {
    static_assert(sizeof...(Members) == member_count<Struct>, "a member is missing in the description");
    (get(members), ...);
  }

  template <class T>
  void get(T& value) {
    if (failed_) return;
    if constexpr (std::is_same_v<T, left_out>) {
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = std::string(take(varint()));
    } else if constexpr (detail::is_vector<T>) {
      get_all(value);
    } else if constexpr (std::is_enum_v<T>) {
      static_assert(detail::is_enum_kept<T>, "say where this enum ends");
      const std::uint64_t number = varint();
      if (enum_end < T >> 0 && number >= enum_end<T>) return fail();
      value = static_cast<T>(number);
    } else if constexpr (std::is_same_v<T, double>) {
      std::uint64_t bits = 0;
      unsigned shift = 0;
      for (const char byte : take(8)) {
        bits |= std::uint64_t{static_cast<unsigned char>(byte)} << shift;
        shift += 8;
      }
      value = std::bit_cast<double>(bits);
      if (!can_keep(value)) fail();
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      const std::int64_t number = static_cast<std::int64_t>(trace::unzigzag(varint()));
      if (!can_keep(number) || !std::in_range<T>(number)) return fail();
      value = static_cast<T>(number);
    } else if constexpr (std::is_integral_v<T>) {
      const std::uint64_t number = varint();
      if (number > std::numeric_limits<T>::max()) return fail();
      value = static_cast<T>(number);
    } else if constexpr (detail::is_or_unknown<T>) {
      const std::int64_t number = static_cast<std::int64_t>(trace::unzigzag(varint()));
      if (number != trace::unknown_time && !can_keep(number)) return fail();
      value.time = number;
    } else if constexpr (detail::is_since<T>) {
      if (version_ >= value.version) get(value.value);
    } else {
      fields(*this, value);
    }
  }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  /// The number of bytes read so far.
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  template <class T>
  void get_all(std::vector<T>& items) {
    const std::uint64_t count = varint();
    // Every element takes at least one byte.
    if (count > bytes_.size() - at_ || count > room_ / sizeof(T)) return fail();
    room_ -= count * sizeof(T);
    items.clear();
    items.reserve(count);
    for (std::uint64_t i = 0; i < count && !failed_; ++i) get(items.emplace_back());
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) break;
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      // Ten bytes hold 70 bits, so only the lowest bit of the last byte may be set.
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }

  std::string_view take(std::uint64_t count) {
    if (failed_ || count > bytes_.size() - at_ || count > room_) {
      fail();
      return {};
    }
    room_ -= count;
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }

  void fail() { failed_ = true; }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t room_;
  std::uint32_t version_;
  bool failed_ = false;
};

/// Describes the stored layout of structs as text. Equal texts mean equal layouts.
class describer {
 public:
  static constexpr bool reading = false;
  /// Leaves out members that were added after `version` of the layout.
  explicit describer(std::uint32_t version = std::numeric_limits<std::uint32_t>::max()) : version_(version) {}

  template <class Struct, class... Members>
  void operator()(const Struct& /*of*/, const Members&... members) {
    text_ += '{';
    (put(members), ...);
    text_ += '}';
  }

  template <class T>
  void put(const T& value) {
    if constexpr (std::is_same_v<T, left_out>) {
    } else if constexpr (std::is_same_v<T, std::string>) {
      text_ += 's';
    } else if constexpr (detail::is_vector<T>) {
      text_ += '[';
      put(typename T::value_type{});
      text_ += ']';
    } else if constexpr (std::is_enum_v<T>) {
      text_ += 'e' + (enum_end<T> > 0 ? std::to_string(enum_end<T>) : std::string());
    } else if constexpr (std::is_same_v<T, double>) {
      text_ += 'd';
    } else if constexpr (std::is_integral_v<T>) {
      text_ += (std::is_signed_v<T> ? 'i' : 'u') + std::to_string(sizeof(T));
    } else if constexpr (detail::is_or_unknown<T>) {
      text_ += 't';
    } else if constexpr (detail::is_since<T>) {
      if (value.version <= version_) put(value.value);
    } else {
      fields(*this, value);
    }
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::uint32_t version_;
  std::string text_;
};

}  // namespace sluice::summary

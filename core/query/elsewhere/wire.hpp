#pragma once

#include <array>
#include <bit>
#include <boost/pfr.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/trace/model/ids.hpp"

/// Encodes queries and results as bytes, for another process with the same program: any aggregate of numbers, texts and
/// lists of these. Both sides must be built from the same source; they compare the output of `describe`.
///
/// Numbers are little-endian, as wide as their type. A text or list is its length (u32), then its elements. A list of
/// structs of plain numbers is stored member by member: differences between successive values, first the lowest byte
/// of each, then the second byte of each, and so on. That compresses well.
/// (Boost.PFR finds the members of an aggregate.)
namespace sluice::query::wire {

/// Maximum nesting of lists.
inline constexpr int deepest = 24;

namespace detail {

template <class T, template <class...> class Of>
inline constexpr bool is_a = false;
template <class... Parts, template <class...> class Of>
inline constexpr bool is_a<Of<Parts...>, Of> = true;

template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t Size>
inline constexpr bool is_array<std::array<T, Size>> = true;

template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// The difference between a number in a list and the previous one, as bits; small if they are close. For integers
/// of more than one byte it is zigzag-encoded, for other types it is the XOR.
template <class T, class Bits>
constexpr Bits difference(Bits now, Bits before) {
  if constexpr (std::is_integral_v<T> && sizeof(T) > 1) {
    const auto by = static_cast<Bits>(now - before);
    return static_cast<Bits>(static_cast<Bits>(by << 1) ^ static_cast<Bits>(Bits{0} - (by >> (8 * sizeof(Bits) - 1))));
  } else {
    return static_cast<Bits>(now ^ before);
  }
}
template <class T, class Bits>
constexpr Bits with_difference(Bits difference, Bits before) {
  if constexpr (std::is_integral_v<T> && sizeof(T) > 1) {
    const auto by =
        static_cast<Bits>(static_cast<Bits>(difference >> 1) ^ static_cast<Bits>(Bits{0} - (difference & 1)));
    return static_cast<Bits>(before + by);
  } else {
    return static_cast<Bits>(difference ^ before);
  }
}

/// An unsigned integer of the same width.
template <class T>
using bits_of =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <auto Value>
consteval bool is_named() {
  // "... [with auto Value = (sluice::colour)7]" or "= sluice::colour::red"
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::size_t equals = text.rfind("Value = ");
  static_assert(equals != std::string_view::npos);
  const char first = text[equals + 8];
  return first != '(' && first != '-' && (first < '0' || first > '9');
}

template <class Enum, std::size_t... At>
consteval std::uint64_t count_names(std::index_sequence<At...> /*all*/) {
  std::uint64_t end = 0;
  ((end = is_named<static_cast<Enum>(At)>() ? At + 1 : end), ...);
  return end;
}

/// One past the highest enumerator below 64, or below 192 for two-byte types. 0: any value (wider types such as ids).
template <class Enum>
inline constexpr std::uint64_t enum_end =
    sizeof(Enum) > 2 ? 0 : count_names<Enum>(std::make_index_sequence<sizeof(Enum) == 1 ? 64 : 192>());

/// The members of a struct, as a tuple of references.
template <class T>
[[nodiscard]] constexpr auto members(T& subject) {
  if constexpr (requires { wire_members(subject); }) {
    return wire_members(subject);
  } else {
    return boost::pfr::structure_tie(subject);
  }
}
template <class T, std::size_t... At>
consteval bool has_only_numbers(std::index_sequence<At...> /*all*/) {
  return (is_number<std::remove_cvref_t<std::tuple_element_t<At, decltype(members(std::declval<T&>()))>>> && ...);
}

template <class T>
concept structure = std::is_class_v<T> && std::is_aggregate_v<T> && !is_array<T>;

/// True for a struct of only numbers, which a list stores by member.
template <class T>
consteval bool is_flat() {
  if constexpr (structure<T>) {
    using tuple = decltype(members(std::declval<T&>()));
    return has_only_numbers<T>(std::make_index_sequence<std::tuple_size_v<tuple>>());
  } else {
    return false;
  }
}

}  // namespace detail

/// Appends values to bytes.
class writer {
 public:
  explicit writer(std::vector<std::byte>& out) : out_(out) {}

  template <class T>
  void put(const T& value) {
    if constexpr (detail::is_number<T>) {
      const auto bits = std::bit_cast<detail::bits_of<T>>(value);
      const auto bytes = std::as_bytes(std::span(&bits, 1));
      out_.insert(out_.end(), bytes.begin(), bytes.end());
    } else if constexpr (std::is_same_v<T, std::string>) {
      put(static_cast<std::uint32_t>(value.size()));
      const auto bytes = std::as_bytes(std::span(value));
      out_.insert(out_.end(), bytes.begin(), bytes.end());
    } else if constexpr (detail::is_a<T, std::vector>) {
      put(static_cast<std::uint32_t>(value.size()));
      put_all(value);
    } else if constexpr (detail::is_array<T>) {
      for (const auto& each : value) put(each);
    } else if constexpr (detail::is_a<T, std::map>) {
      put(static_cast<std::uint32_t>(value.size()));
      for (const auto& [key, subject] : value) {
        put(key);
        put(subject);
      }
    } else if constexpr (detail::is_a<T, std::pair>) {
      put(value.first);
      put(value.second);
    } else if constexpr (detail::is_a<T, std::optional>) {
      put(value.has_value());
      if (value) put(*value);
    } else if constexpr (detail::is_a<T, std::shared_ptr>) {
      put(value != nullptr);
      if (value) put(*value);
    } else {
      static_assert(detail::structure<T>, "say in wire_members what the members are");
      std::apply([this](const auto&... each) { (this->put(each), ...); }, detail::members(value));
    }
  }

 private:
  template <class T>
  void put_all(const std::vector<T>& items) {
    if constexpr (std::is_same_v<T, bool>) {
      for (const bool each : items) put(each);
    } else if constexpr (detail::is_number<T>) {
      put_plane(items.size(), [&](std::size_t i) { return items[i]; });
    } else if constexpr (detail::is_flat<T>()) {
      using tuple = decltype(detail::members(std::declval<const T&>()));
      put_planes(items, std::make_index_sequence<std::tuple_size_v<tuple>>());
    } else {
      for (const T& each : items) put(each);
    }
  }
  template <class T, std::size_t... At>
  void put_planes(const std::vector<T>& items, std::index_sequence<At...> /*members*/) {
    (put_plane(items.size(), [&](std::size_t i) { return std::get<At>(detail::members(items[i])); }), ...);
  }
  template <class Get>
  void put_plane(std::size_t count, const Get& get) {
    using value_type = std::remove_cvref_t<decltype(get(0))>;
    using bits = detail::bits_of<value_type>;
    const std::size_t begin = out_.size();
    out_.resize(begin + count * sizeof(bits));
    bits before = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto now = std::bit_cast<bits>(get(i));
      bits value = detail::difference<value_type>(now, before);
      before = now;
      for (std::size_t byte = 0; byte < sizeof(bits); ++byte) {
        out_[begin + byte * count + i] = static_cast<std::byte>(value & 0xff);
        if constexpr (sizeof(bits) > 1) value = static_cast<bits>(value >> 8);
      }
    }
  }

  std::vector<std::byte>& out_;
};

/// Reads the bytes of a `writer`. They may be damaged or hostile: each length is compared with the remaining bytes, so
/// memory is bounded by their number. Refuses enumerators that do not exist and times beyond about 146 years.
/// After the first error the reader stays failed.
class reader {
 public:
  explicit reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }

  template <class T>
  void get(T& value) {
    if (failed_) return;
    if constexpr (detail::is_number<T>) {
      detail::bits_of<T> bits{};
      const auto bytes = take(sizeof bits);
      if (failed_) return;
      std::memcpy(&bits, bytes.data(), sizeof bits);
      set(value, bits);
    } else if constexpr (std::is_same_v<T, std::string>) {
      const auto bytes = take(length(1));
      value.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    } else if constexpr (detail::is_a<T, std::vector>) {
      get_all(value);
    } else if constexpr (detail::is_array<T>) {
      for (auto& each : value) get(each);
    } else if constexpr (detail::is_a<T, std::map>) {
      value.clear();
      for (std::size_t left = length(1); left > 0 && !failed_; --left) {
        std::pair<typename T::key_type, typename T::mapped_type> each{};
        get(each);
        value.insert(std::move(each));
      }
    } else if constexpr (detail::is_a<T, std::pair>) {
      get(value.first);
      get(value.second);
    } else if constexpr (detail::is_a<T, std::optional>) {
      bool there = false;
      get(there);
      value.reset();
      if (there && !failed_) get(value.emplace());
    } else if constexpr (detail::is_a<T, std::shared_ptr>) {
      bool there = false;
      get(there);
      value.reset();
      if (!there || failed_) return;
      auto element_type = std::make_shared<std::remove_const_t<typename T::element_type>>();
      get(*element_type);
      value = std::move(element_type);
    } else {
      static_assert(detail::structure<T>, "say in wire_members what the members are");
      if (++depth_ > deepest) return fail();
      std::apply([this](auto&... each) { (this->get(each), ...); }, detail::members(value));
      --depth_;
    }
  }

 private:
  template <class T, class Bits>
  void set(T& value, Bits bits) {
    if constexpr (std::is_same_v<T, bool>) {
      if (bits > 1) return fail();
      value = bits == 1;
    } else if constexpr (std::is_enum_v<T>) {
      constexpr std::uint64_t end = detail::enum_end<T>;
      if (end != 0 && bits >= end) return fail();
      value = static_cast<T>(bits);
    } else {
      value = std::bit_cast<T>(bits);
      if constexpr (std::is_same_v<T, std::int64_t>) {
        // The difference of two times must not overflow.
        constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
        if (value != trace::unknown_time && (value > most || value < -most)) return fail();
      }
    }
  }

  /// Reads the length of a list whose elements take at least `least` bytes each.
  std::size_t length(std::size_t least) {
    std::uint32_t count = 0;
    get(count);
    if (!failed_ && count > (bytes_.size() - at_) / least) fail();
    return failed_ ? 0 : count;
  }

  std::span<const std::byte> take(std::size_t count) {
    if (failed_ || count > bytes_.size() - at_) {
      fail();
      return {};
    }
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }

  template <class T>
  void get_all(std::vector<T>& items) {
    items.clear();
    if constexpr (std::is_same_v<T, bool>) {
      for (std::size_t left = length(1); left > 0 && !failed_; --left) {
        bool each = false;
        get(each);
        items.push_back(each);
      }
    } else if constexpr (detail::is_number<T>) {
      const std::size_t count = length(sizeof(T));
      items.resize(count);
      get_plane<T>(count, [&](std::size_t i) -> T& { return items[i]; });
    } else if constexpr (detail::is_flat<T>()) {
      using tuple = decltype(detail::members(std::declval<T&>()));
      const std::size_t count = length(flat_bytes<tuple>());
      items.resize(count);
      get_planes(items, std::make_index_sequence<std::tuple_size_v<tuple>>());
    } else {
      // An encoded element has at least one byte but is larger in memory, so allocate each only when it is read.
      for (std::size_t left = length(1); left > 0 && !failed_; --left) get(items.emplace_back());
    }
  }
  template <class Tuple>
  static consteval std::size_t flat_bytes() {
    return []<std::size_t... At>(std::index_sequence<At...>) {
      return (sizeof(std::remove_cvref_t<std::tuple_element_t<At, Tuple>>) + ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Tuple>>());
  }
  template <class T, std::size_t... At>
  void get_planes(std::vector<T>& items, std::index_sequence<At...> /*members*/) {
    using tuple = decltype(detail::members(std::declval<T&>()));
    (get_plane<std::remove_cvref_t<std::tuple_element_t<At, tuple>>>(
         items.size(), [&](std::size_t i) -> auto& { return std::get<At>(detail::members(items[i])); }),
     ...);
  }
  template <class T, class At>
  void get_plane(std::size_t count, const At& at) {
    using bits = detail::bits_of<T>;
    const auto bytes = take(count * sizeof(bits));
    bits before = 0;
    for (std::size_t i = 0; i < count && !failed_; ++i) {
      bits value = 0;
      for (std::size_t byte = sizeof(bits); byte-- > 0;) {
        if constexpr (sizeof(bits) > 1) value = static_cast<bits>(value << 8);
        value = static_cast<bits>(value | static_cast<bits>(bytes[byte * count + i]));
      }
      before = detail::with_difference<T>(value, before);
      set(at(i), before);
    }
  }

  void fail() { failed_ = true; }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

/// Appends a description of type `T`. Two types with different encodings have different descriptions.
template <class T>
void describe(std::string& out) {
  const auto subject = [&]<class Part>(std::type_identity<Part> /*type*/) { describe<std::remove_const_t<Part>>(out); };
  if constexpr (std::is_enum_v<T>) {
    out += 'e' + std::to_string(sizeof(T)) + ':' + std::to_string(detail::enum_end<T>);
  } else if constexpr (std::is_arithmetic_v<T>) {
    out += (std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u') + std::to_string(sizeof(T));
  } else if constexpr (std::is_same_v<T, std::string>) {
    out += 's';
  } else if constexpr (detail::is_array<T>) {
    out += 'a' + std::to_string(std::tuple_size_v<T>);
    subject(std::type_identity<typename T::value_type>{});
  } else if constexpr (detail::is_a<T, std::vector> || detail::is_a<T, std::optional>) {
    out += detail::is_a<T, std::vector> ? 'v' : 'o';
    subject(std::type_identity<typename T::value_type>{});
  } else if constexpr (detail::is_a<T, std::map>) {
    out += 'm';
    subject(std::type_identity<typename T::key_type>{});
    subject(std::type_identity<typename T::mapped_type>{});
  } else if constexpr (detail::is_a<T, std::pair>) {
    subject(std::type_identity<typename T::first_type>{});
    subject(std::type_identity<typename T::second_type>{});
  } else if constexpr (detail::is_a<T, std::shared_ptr>) {
    out += 'o';
    subject(std::type_identity<typename T::element_type>{});
  } else {
    out += '(';
    [&]<std::size_t... At>(std::index_sequence<At...>) {
      using tuple = decltype(detail::members(std::declval<T&>()));
      (subject(std::type_identity<std::remove_cvref_t<std::tuple_element_t<At, tuple>>>{}), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<decltype(detail::members(std::declval<T&>()))>>());
    out += ')';
  }
}

}  // namespace sluice::query::wire

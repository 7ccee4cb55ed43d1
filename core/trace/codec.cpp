#include "core/trace/codec.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

namespace sluice::trace {
namespace {

enum class encoding : std::uint8_t { constant = 0, varint = 1, delta = 2, real = 3, text = 4 };

static_assert(std::endian::native == std::endian::little, "the file is little-endian and so must the machine be");

constexpr std::uint64_t zigzag(std::uint64_t value) { return (value << 1) ^ (std::uint64_t{0} - (value >> 63)); }
constexpr std::uint64_t unzigzag(std::uint64_t value) { return (value >> 1) ^ (std::uint64_t{0} - (value & 1)); }

std::size_t varint_size(std::uint64_t value) { return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7; }

void put_varint(std::vector<std::byte>& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<std::byte>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<std::byte>(value));
}

template <class T>
void put(std::vector<std::byte>& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

/// Reads within a span; once it ran off the end it stays failed.
class cursor {
 public:
  explicit cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    T value{};
    if (bytes_.size() - at_ < sizeof value) return fail_with(value);
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) return fail_with(value);
      const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return fail_with(value);
  }

  std::span<const std::byte> take(std::size_t count) {
    if (bytes_.size() - at_ < count) {
      failed_ = true;
      return {};
    }
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  template <class T>
  T fail_with(T) {
    failed_ = true;
    at_ = bytes_.size();
    return T{};
  }
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

template <class T>
std::uint64_t to_bits(T value) {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<std::uint64_t>(value);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

/// False if the value does not fit the member.
template <class T>
bool from_bits(std::uint64_t bits, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = bits != 0;
  } else if constexpr (std::is_enum_v<T>) {
    if constexpr (enum_values<T> != 0) bits = bits < enum_values<T> ? bits : 0;
    if (bits > std::numeric_limits<std::underlying_type_t<T>>::max()) return false;
    value = static_cast<T>(bits);
  } else if constexpr (std::is_signed_v<T>) {
    static_assert(sizeof(T) == 8);
    value = static_cast<T>(bits);
  } else {
    if (bits > std::numeric_limits<T>::max()) return false;
    value = static_cast<T>(bits);
  }
  return true;
}

void put_integers(std::span<const std::uint64_t> values, std::vector<std::byte>& out, encoding& chosen) {
  bool constant = true;
  std::size_t plain_size = 0;
  std::size_t delta_size = 0;
  std::uint64_t previous = 0;
  for (const std::uint64_t value : values) {
    constant = constant && value == values.front();
    plain_size += varint_size(zigzag(value));
    delta_size += varint_size(zigzag(value - previous));
    previous = value;
  }
  if (constant) {
    chosen = encoding::constant;
    put_varint(out, zigzag(values.front()));
    return;
  }
  chosen = delta_size < plain_size ? encoding::delta : encoding::varint;
  previous = 0;
  for (const std::uint64_t value : values) {
    put_varint(out, zigzag(chosen == encoding::delta ? value - previous : value));
    previous = value;
  }
}

template <class Row, class Class, class Member>
void put_column(std::span<const Row> rows, const field<Class, Member>& column, std::vector<std::byte>& out,
                std::vector<std::uint64_t>& scratch) {
  put(out, column.number);
  const std::size_t encoding_at = out.size();
  put(out, std::uint16_t{0});
  const std::size_t length_at = out.size();
  put(out, std::uint32_t{0});
  const std::size_t data_at = out.size();
  encoding chosen{};
  if constexpr (std::is_same_v<Member, std::string>) {
    chosen = encoding::text;
    for (const Row& row : rows) put_varint(out, (row.*column.member).size());
    for (const Row& row : rows) {
      const auto text = std::as_bytes(std::span(row.*column.member));
      out.insert(out.end(), text.begin(), text.end());
    }
  } else if constexpr (std::is_same_v<Member, double>) {
    chosen = encoding::real;
    for (const Row& row : rows) put(out, row.*column.member);
  } else {
    scratch.clear();
    for (const Row& row : rows) scratch.push_back(to_bits(row.*column.member));
    put_integers(scratch, out, chosen);
  }
  out[encoding_at] = static_cast<std::byte>(chosen);
  const auto length = static_cast<std::uint32_t>(out.size() - data_at);
  std::memcpy(out.data() + length_at, &length, sizeof length);
}

bool get_integers(encoding how, cursor& data, std::span<std::uint64_t> values) {
  switch (how) {
    case encoding::constant: {
      const std::uint64_t value = unzigzag(data.varint());
      for (std::uint64_t& each : values) each = value;
      break;
    }
    case encoding::varint:
      for (std::uint64_t& each : values) each = unzigzag(data.varint());
      break;
    case encoding::delta: {
      std::uint64_t value = 0;
      for (std::uint64_t& each : values) each = value += unzigzag(data.varint());
      break;
    }
    default:
      return false;
  }
  return !data.failed() && data.at_end();
}

template <class Row, class Class, class Member>
bool get_column(encoding how, std::span<const std::byte> bytes, const field<Class, Member>& column, std::span<Row> rows,
                std::vector<std::uint64_t>& scratch) {
  cursor data(bytes);
  if constexpr (std::is_same_v<Member, std::string>) {
    if (how != encoding::text) return false;
    scratch.assign(rows.size(), 0);
    for (std::uint64_t& length : scratch) length = data.varint();
    for (std::size_t i = 0; i < rows.size() && !data.failed(); ++i) {
      const auto text = data.take(scratch[i]);
      (rows[i].*column.member).assign(reinterpret_cast<const char*>(text.data()), text.size());
    }
    return !data.failed() && data.at_end();
  } else if constexpr (std::is_same_v<Member, double>) {
    if (how != encoding::real) return false;
    for (Row& row : rows) row.*column.member = data.get<double>();
    return !data.failed() && data.at_end();
  } else {
    scratch.assign(rows.size(), 0);
    if (!get_integers(how, data, scratch)) return false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!from_bits(scratch[i], rows[i].*column.member)) return false;
    }
    return true;
  }
}

}  // namespace

template <class Row>
void encode_rows(std::span<const Row> rows, std::vector<std::byte>& out) {
  if (rows.empty()) return;
  std::vector<std::uint64_t> scratch;
  scratch.reserve(rows.size());
  std::apply([&](const auto&... columns) { (put_column(rows, columns, out, scratch), ...); }, schema<Row>::fields);
}

template <class Row>
result<std::vector<Row>> decode_rows(std::span<const std::byte> payload, std::size_t rows) {
  if (rows > max_chunk_rows) return fail(error_code::corrupt, "a chunk claims " + std::to_string(rows) + " rows");
  std::vector<Row> decoded(rows);
  std::vector<std::uint64_t> scratch;
  cursor at(payload);
  while (!at.at_end()) {
    const std::size_t begin = at.at();
    const auto number = at.get<std::uint16_t>();
    const auto how = static_cast<encoding>(at.get<std::uint16_t>() & 0xff);
    const auto bytes = at.take(at.get<std::uint32_t>());
    bool sound = !at.failed();
    const auto decode_if_known = [&](const auto& column) {
      if (sound && column.number == number) sound = get_column(how, bytes, column, std::span(decoded), scratch);
    };
    std::apply([&](const auto&... columns) { (decode_if_known(columns), ...); }, schema<Row>::fields);
    if (!sound) {
      return fail(error_code::corrupt, "column " + std::to_string(number) + " does not decode", {}, {}, begin);
    }
  }
  return decoded;
}

#define SLUICE_INSTANTIATE(row, kind)                                            \
  template void encode_rows<row>(std::span<const row>, std::vector<std::byte>&); \
  template result<std::vector<row>> decode_rows<row>(std::span<const std::byte>, std::size_t);
SLUICE_FOR_EACH_ROW(SLUICE_INSTANTIATE)
SLUICE_INSTANTIATE(index_row, index)
#undef SLUICE_INSTANTIATE

}  // namespace sluice::trace

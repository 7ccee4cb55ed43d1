#include "core/trace/columns/codec.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "core/base/saturating.hpp"
#include "core/trace/columns/byte_cursor.hpp"
#include "core/trace/columns/integers.hpp"

namespace sluice::trace {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian, so the machine must be, too");

constexpr std::uint8_t text_form = 4;

/// Number of the column with the times of the rows. Other times are stored relative to it.
constexpr std::uint16_t time_number = 2;
/// The number that stands for no column, so that values are relative to 0.
constexpr std::uint16_t no_column = 0;

const std::string& to_text(const member_layout& member, const std::byte* row) {
  return *reinterpret_cast<const std::string*>(row + member.offset);
}

/// True if the layout's base is a value of the column, which is signed.
constexpr bool has_signed_base(column_form form) {
  return form == column_form::constant || form == column_form::delta || form == column_form::rising;
}

/// Writes the description of an integer column, from the form on, to the directory.
void put_layout(const column_layout& layout, std::vector<std::byte>& directory) {
  directory.push_back(static_cast<std::byte>(layout.form));
  put_varint(directory, has_signed_base(layout.form) ? zigzag(layout.base) : layout.base);
  if (layout.form == column_form::constant) return;
  directory.push_back(static_cast<std::byte>(layout.planes));
  for (unsigned k = 0; k < layout.planes; ++k) {
    put_varint(directory, layout.stored[k]);
    if (layout.stored[k] == 0) directory.push_back(static_cast<std::byte>(layout.same[k]));
  }
}

bool get_layout(std::uint8_t form, byte_cursor& directory, column_layout& layout) {
  if (form > static_cast<std::uint8_t>(column_form::above) || form == text_form) return false;
  layout.form = static_cast<column_form>(form);
  const std::uint64_t base = directory.varint();
  layout.base = has_signed_base(layout.form) ? unzigzag(base) : base;
  if (layout.form == column_form::constant) return !directory.failed();
  layout.planes = directory.get<std::uint8_t>();
  if (layout.planes > max_planes) return false;
  for (unsigned k = 0; k < layout.planes; ++k) {
    const std::uint64_t stored = directory.varint();
    if (stored > max_chunk_rows) return false;
    layout.stored[k] = static_cast<std::uint32_t>(stored);
    if (stored == 0) layout.same[k] = directory.get<std::uint8_t>();
  }
  return !directory.failed();
}

}  // namespace

// --- encoding -------------------------------------------------------------------------------------------------------

namespace {

/// What the values of a column may be close to.
enum class relative_to : std::uint8_t { none, time, zero };

relative_to get_relation(const member_layout& member, const row_layout& layout) {
  if (!member.is_time || member.number == time_number) return relative_to::none;
  return layout.has_differences ? relative_to::zero : relative_to::time;
}

}  // namespace

struct row_encoder::state {
  integer_encoder integers;
  std::unordered_map<std::uint32_t, column_habit> habits;  ///< The key combines the row type and the column number.
  std::vector<std::uint64_t> lengths;
  std::vector<std::uint64_t> zeros;
  std::vector<std::byte> text;
  std::vector<std::byte> directory;
  std::vector<std::byte> blobs;
  std::size_t decoded_bytes = 0;

  explicit state(int compression_level) : integers(compression_level) {}

  column_habit& habit(row_type type, std::uint16_t number) {
    return habits[(static_cast<std::uint32_t>(type) << 16) | number];
  }

  column_layout put_integers(std::uint16_t number, growing_column& column, std::size_t rows, relative_to subject,
                             growing_column* times, column_habit& method) {
    column_layout layout{.form = column_form::constant, .base = column.first(), .rises = true};
    if (!column.is_constant()) {
      std::span<const std::uint64_t> reference;
      if (subject == relative_to::time && times != nullptr) reference = times->values(rows);
      if (subject == relative_to::zero) {
        zeros.resize(std::max(zeros.size(), rows));
        reference = std::span(zeros).first(rows);
      }
      const std::uint16_t other = subject == relative_to::zero ? no_column : time_number;
      layout = integers.encode(column.values(rows), reference, other, method, blobs);
    }
    put_varint(directory, number);
    put_layout(layout, directory);
    decoded_bytes += layout.planes * rows;
    return layout;
  }

  /// Appends the texts of `count` rows that are `stride` bytes apart. If all texts are empty, appends nothing and
  /// returns false.
  bool put_texts(const member_layout& member, const std::byte* rows, std::size_t stride, std::size_t count,
                 column_habit& method) {
    lengths.clear();
    text.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto bytes = std::as_bytes(std::span(to_text(member, rows + i * stride)));
      lengths.push_back(bytes.size());
      text.insert(text.end(), bytes.begin(), bytes.end());
    }
    if (text.empty()) return false;
    put_varint(directory, member.number);
    directory.push_back(std::byte{text_form});
    const column_layout layout = integers.encode(lengths, {}, 0, method, blobs);
    put_layout(layout, directory);
    put_varint(directory, text.size());
    put_varint(directory, integers.pack(text, blobs));
    decoded_bytes += layout.planes * lengths.size() + text.size();
    return true;
  }
};

row_encoder::row_encoder(int compression_level) : state_(std::make_unique<state>(compression_level)) {}
row_encoder::~row_encoder() = default;
row_encoder::row_encoder(row_encoder&&) noexcept = default;
row_encoder& row_encoder::operator=(row_encoder&&) noexcept = default;

namespace {

template <class Integer>
std::pair<Integer, Integer> lowest_and_highest(growing_column& column, std::size_t rows, bool rises) {
  const auto as_integer = [](std::uint64_t bits) { return static_cast<Integer>(bits); };
  if (column.is_constant()) return {as_integer(column.first()), as_integer(column.first())};
  const std::span<const std::uint64_t> values = column.values(rows);
  if (rises) return {as_integer(values.front()), as_integer(values.back())};
  Integer lowest = as_integer(values.front()), highest = lowest;
  for (const std::uint64_t value : values) {
    lowest = std::min(lowest, as_integer(value));
    highest = std::max(highest, as_integer(value));
  }
  return {lowest, highest};
}

/// Returns the latest end of rows that have a time and a length.
time_ns find_latest_end(growing_column& times, growing_column& lengths, std::size_t rows) {
  const std::span<const std::uint64_t> begins = times.values(rows), spans = lengths.values(rows);
  time_ns latest = INT64_MIN;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto length = std::max<time_ns>(static_cast<time_ns>(spans[i]), 0);
    latest = std::max(latest, saturating_sum(static_cast<time_ns>(begins[i]), length));
  }
  return latest;
}

/// Extends the extent of the rows by the values of a column. Must be called for the time column before the column of
/// ends or lengths. `times`: the time column, null if the rows have none.
void extend(row_extent& extent, const row_layout& layout, std::uint16_t number, growing_column& column,
            growing_column* times, std::size_t rows, bool rises) {
  if (number == layout.time)
    std::tie(extent.min_time, extent.max_time) = lowest_and_highest<time_ns>(column, rows, rises);
  if (number == layout.end)
    extent.max_time = std::max(extent.max_time, lowest_and_highest<time_ns>(column, rows, rises).second);
  if (number == layout.length && times != nullptr)
    extent.max_time = std::max(extent.max_time, find_latest_end(*times, column, rows));
  if (number != layout.lowest_event && number != layout.highest_event) return;
  const auto [lowest, highest] = lowest_and_highest<std::uint64_t>(column, rows, rises);
  if (number == layout.lowest_event) extent.lowest_event = lowest;
  if (number == layout.highest_event) extent.highest_event = highest;
}

}  // namespace

row_encoder::outcome row_encoder::encode(growing_columns& columns, const std::byte* rows, std::vector<std::byte>& out) {
  state& s = *state_;
  const row_layout& layout = columns.layout();
  const std::size_t count = columns.size();
  s.directory.clear();
  s.blobs.clear();
  s.decoded_bytes = 0;
  row_extent extent;
  std::size_t put = 0;
  growing_column* times = nullptr;
  for (std::size_t place = 0; place < layout.members.size() && count != 0; ++place) {
    const member_layout& member = layout.members[place];
    const auto habit = [&]() -> column_habit& { return s.habit(layout.type, member.number); };
    if (member.is_text()) {
      if (rows != nullptr && s.put_texts(member, rows, layout.bytes, count, habit())) ++put;
      continue;
    }
    growing_column& column = columns.column(place);
    if (member.is_time && member.number == time_number) times = &column;
    bool rises = true;
    if (!column.is_constant() || column.first() != member.usual) {
      rises = s.put_integers(member.number, column, count, get_relation(member, layout), times, habit()).rises;
      ++put;
    }
    extend(extent, layout, member.number, column, times, count, rises);
  }
  put_varint(out, put);
  out.insert(out.end(), s.directory.begin(), s.directory.end());
  out.insert(out.end(), s.blobs.begin(), s.blobs.end());
  return {s.decoded_bytes + s.directory.size(), extent};
}

// --- decoding -------------------------------------------------------------------------------------------------------

namespace {

/// A column, as the directory describes it, and its bytes.
struct stored_column {
  std::uint64_t number = 0;
  std::size_t at = 0;  ///< Position of the column's entry in the directory, for error messages.
  bool is_text = false;
  column_layout integers;
  std::uint64_t text_bytes = 0;
  std::uint64_t text_stored = 0;
  std::span<const std::byte> planes;
  std::span<const std::byte> text;
};

/// True if the column has the same value in all rows.
bool is_constant(const stored_column& column) {
  return !column.is_text && column.integers.form == column_form::constant;
}

bool get_line(byte_cursor& directory, stored_column& line) {
  line.at = directory.at();
  line.number = directory.varint();
  auto form = directory.get<std::uint8_t>();
  line.is_text = form == text_form;
  if (line.is_text) form = directory.get<std::uint8_t>();
  if (directory.failed() || !get_layout(form, directory, line.integers)) return false;
  if (line.is_text) {
    line.text_bytes = directory.varint();
    line.text_stored = directory.varint();
    if (line.text_bytes > max_chunk_bytes || refers_to_another(line.integers.form)) return false;
  }
  return !directory.failed();
}

/// Why and where a payload is invalid.
struct unsound {
  std::size_t at = 0;
  std::string reason;
};

/// The columns of a payload. Each column is decoded on demand.
class stored_columns {
 public:
  stored_columns(std::span<const std::byte> payload, std::size_t rows) : rows_(rows) { read(payload); }

  [[nodiscard]] const std::optional<unsound>& refused() const { return refused_; }
  /// Returns null if the payload does not have the column.
  [[nodiscard]] const stored_column* find(std::uint16_t number) const {
    const auto found =
        std::find_if(columns_.begin(), columns_.end(), [=](const stored_column& c) { return c.number == number; });
    return found == columns_.end() ? nullptr : &*found;
  }

  /// Decodes the integers of a column, one per row; for a text column, the lengths of its texts. Returns false after
  /// `refuse`.
  bool integers(const stored_column& column, std::span<std::uint64_t> values) {
    if (&column == reference_of_) return copy_reference(values);
    std::span<const std::uint64_t> reference;
    if (refers_to_another(column.integers.form)) {
      const stored_column* const other = find_reference(column.integers.base);
      if (other != nullptr) {
        if (other->is_text || refers_to_another(other->integers.form)) return refuse_column(column);
        if (!decode_reference(*other)) return false;
        reference = reference_;
      }
    } else if (is_referred_to(column)) {
      return decode_reference(column) && copy_reference(values);
    }
    return decode_integers(column.integers, column.planes, reference, values) || refuse_column(column);
  }

  bool refuse_column(const stored_column& column) {
    refuse(column.at, name(column) + " cannot be decoded");
    return false;
  }

 private:
  void read(std::span<const std::byte> payload) {
    byte_cursor cursor(payload);
    const std::uint64_t count = cursor.varint();
    constexpr std::size_t shortest_line = 3;
    if (cursor.failed() || count > max_chunk_columns || count > cursor.left() / shortest_line)
      return refuse(0, "the directory of columns is cut off or has too many entries");
    columns_.resize(count);
    for (stored_column& line : columns_) {
      if (!get_line(cursor, line)) return refuse(line.at, "an entry in the directory of columns is invalid");
    }
    for (stored_column& line : columns_) {
      line.planes = cursor.take(line.integers.stored_bytes());
      line.text = cursor.take(line.text_stored);
      if (cursor.failed()) return refuse(line.at, name(line) + " is cut off");
    }
    if (!cursor.at_end()) refuse(cursor.at(), "bytes follow the last column");
  }

  /// Decodes a column to which other columns refer, once for all of them.
  bool decode_reference(const stored_column& column) {
    if (reference_of_ == &column) return true;
    reference_of_ = nullptr;
    reference_.resize(rows_);
    if (!decode_integers(column.integers, column.planes, {}, reference_)) return refuse_column(column);
    reference_of_ = &column;
    return true;
  }
  bool copy_reference(std::span<std::uint64_t> values) const {
    std::copy(reference_.begin(), reference_.end(), values.begin());
    return true;
  }
  [[nodiscard]] bool is_referred_to(const stored_column& column) const {
    return std::any_of(columns_.begin(), columns_.end(), [&](const stored_column& other) {
      return refers_to_another(other.integers.form) && other.integers.base == column.number;
    });
  }

  static std::string name(const stored_column& column) { return "column " + std::to_string(column.number); }
  void refuse(std::size_t at, std::string subject) {
    if (!refused_) refused_ = unsound{at, std::move(subject)};
  }
  [[nodiscard]] const stored_column* find_reference(std::uint64_t number) const {
    return number > UINT16_MAX ? nullptr : find(static_cast<std::uint16_t>(number));
  }

  std::size_t rows_;
  std::vector<stored_column> columns_;
  const stored_column* reference_of_ = nullptr;
  std::vector<std::uint64_t> reference_;
  std::optional<unsound> refused_;
};

/// The memory that holds all rows of a chunk.
struct row_memory {
  std::byte* first;
  std::size_t stride;
  std::size_t count;
};

/// Stores a value in each row. Returns the bits that are set in any of the values.
template <class Value>
std::uint64_t store_each(std::span<const std::uint64_t> values, std::byte* to, std::size_t stride) {
  std::uint64_t bits = 0;
#pragma GCC unroll 4
  for (const std::uint64_t each : values) {
    const auto value = static_cast<Value>(each);
    std::memcpy(to, &value, sizeof value);
    to += stride;
    bits |= each;
  }
  return bits;
}

std::uint64_t store_each(std::uint8_t width, std::span<const std::uint64_t> values, std::byte* to, std::size_t stride) {
  switch (width) {
    case 1:
      return store_each<std::uint8_t>(values, to, stride);
    case 2:
      return store_each<std::uint16_t>(values, to, stride);
    case 4:
      return store_each<std::uint32_t>(values, to, stride);
    default:
      return store_each<std::uint64_t>(values, to, stride);
  }
}

/// Stores a column's values in all rows, and may change `values`. Returns false if some value does not fit the member.
bool store_each(const member_layout& member, std::span<std::uint64_t> values, const row_memory& rows) {
  if (member.kind == member_kind::boolean)
    for (std::uint64_t& value : values) value = static_cast<std::uint64_t>(value != 0);
  if (member.kind == member_kind::enumeration)
    for (std::uint64_t& value : values) value = value < member.known_values ? value : 0;
  return member.fits(store_each(member.width, values, rows.first + member.offset, rows.stride));
}

bool fit(const member_layout& member, std::span<const std::uint64_t> values) {
  if (member.width == 8 || member.kind != member_kind::number) return true;
  std::uint64_t bits = 0;
  for (const std::uint64_t value : values) bits |= value;
  return member.fits(bits);  // This test is exact, because the values below a power of two fit, and no others.
}

/// Splits `text` into the texts of the rows, which have these lengths. Returns false if the lengths do not add up to
/// its size.
bool store_texts(const member_layout& member, std::span<const std::uint64_t> lengths, std::span<const std::byte> text,
                 const row_memory& rows) {
  byte_cursor cursor(text);
  std::byte* row = rows.first;
  for (const std::uint64_t length : lengths) {
    const auto bytes = cursor.take(length);
    auto& to = *reinterpret_cast<std::string*>(std::exchange(row, row + rows.stride) + member.offset);
    to.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return !cursor.failed() && cursor.at_end();
}

bool is_wanted(const member_layout& member, std::uint64_t wanted) { return (wanted >> member.number & 1) != 0; }

}  // namespace

struct payload_decoder::state {
  const row_layout& layout;
  std::size_t rows;
  stored_columns columns;

  /// Calls `use(column, place)` for each column of the layout that the payload has, until `use` returns false because
  /// the column is not valid.
  template <class Use>
  void for_each_column(Use&& use) {
    for (std::size_t place = 0; place < layout.members.size() && !columns.refused(); ++place) {
      const stored_column* const column = columns.find(layout.members[place].number);
      if (column != nullptr && !use(*column, place)) columns.refuse_column(*column);
    }
  }

  /// True if the column has one value for all rows, and that value is valid.
  static bool is_sound_constant(const member_layout& member, const stored_column& column) {
    return !member.is_text() && column.planes.empty() && member.fits(column.integers.base);
  }

  bool set_each(const member_layout& member, const stored_column& column, const row_memory& to) {
    thread_local std::vector<std::uint64_t> values;
    values.resize(rows);
    if (column.is_text != member.is_text() || !columns.integers(column, values)) return false;
    if (member.is_text()) {
      std::vector<std::byte> text(column.text_bytes);
      return unpack(column.text, text) && store_texts(member, values, text, to);
    }
    return store_each(member, values, to);
  }
};

payload_decoder::payload_decoder(std::span<const std::byte> payload, std::size_t rows, const row_layout& layout)
    : state_(new state{layout, rows, stored_columns(payload, rows)}) {}
payload_decoder::~payload_decoder() = default;

bool payload_decoder::set_alike(void* row) {
  state& s = *state_;
  s.for_each_column([&](const stored_column& column, std::size_t place) {
    if (!is_constant(column)) return true;
    const member_layout& member = s.layout.members[place];
    if (!s.is_sound_constant(member, column)) return false;
    store(member, column.integers.base, static_cast<std::byte*>(row));
    return true;
  });
  return !s.columns.refused();
}

void payload_decoder::set_each(void* rows, std::uint64_t wanted) {
  state& s = *state_;
  const row_memory to{static_cast<std::byte*>(rows), s.layout.bytes, s.rows};
  s.for_each_column([&](const stored_column& column, std::size_t place) {
    const member_layout& member = s.layout.members[place];
    return is_constant(column) || !is_wanted(member, wanted) || s.set_each(member, column, to);
  });
}

void payload_decoder::set_columns(decoded_columns& to, std::uint64_t wanted) {
  state& s = *state_;
  to.begin(s.layout, s.rows);
  s.for_each_column([&](const stored_column& column, std::size_t place) {
    const member_layout& member = s.layout.members[place];
    if (is_constant(column)) {
      to.set_all(place, column.integers.base);
      return s.is_sound_constant(member, column);
    }
    if (!is_wanted(member, wanted)) return true;
    if (column.is_text) return false;
    const std::span<std::uint64_t> values = to.set_each(place);
    return s.columns.integers(column, values) && fit(member, values);
  });
}

namespace {

result<void> answer_tool_call(const stored_columns& columns) {
  if (const auto& why = columns.refused()) return fail(error_code::corrupt, why->reason, {}, {}, why->at);
  return {};
}

}  // namespace

result<void> payload_decoder::outcome() const { return answer_tool_call(state_->columns); }

result<void> check_row_count(std::size_t rows) {
  if (rows > max_chunk_rows) return fail(error_code::corrupt, "a chunk claims " + std::to_string(rows) + " rows");
  return {};
}

void decoded_columns::begin(const row_layout& layout, std::size_t rows) {
  // Memory beyond this limit is freed once chunks no longer need it.
  constexpr std::size_t max_kept = (std::size_t{2} << 20) / sizeof(std::uint64_t);
  rows_ = rows;
  const std::size_t wanted = layout.members.size() * rows;
  if (values_.size() > max_kept && wanted <= max_kept) std::vector<std::uint64_t>().swap(values_);
  if (values_.size() < wanted) values_.resize(wanted);
  columns_.clear();
  for (const member_layout& member : layout.members) columns_.push_back({member.usual, false, nullptr});
}

result<void> decode_column(std::span<const std::byte> payload, std::size_t rows, std::uint16_t number,
                           std::uint64_t usual, std::vector<std::uint64_t>& values) {
  if (auto sound = check_row_count(rows); !sound) return sound;
  stored_columns columns(payload, rows);
  if (!columns.refused()) {
    const stored_column* const column = columns.find(number);
    if (column == nullptr) {
      values.assign(rows, usual);
    } else if (column->is_text) {
      columns.refuse_column(*column);
    } else {
      values.resize(rows);
      columns.integers(*column, values);
    }
  }
  return answer_tool_call(columns);
}

}  // namespace sluice::trace

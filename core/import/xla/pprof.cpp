// Imports heap profiles of pprof, https://github.com/google/pprof/blob/main/proto/profile.proto, as JAX writes them
// (jax.profiler.save_device_memory_profile). They have the live memory at one time, by stack. The samples come before
// the tables that they refer to, so the file is read twice.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/import/common/number.hpp"
#include "core/import/importers.hpp"
#include "core/import/proto/proto_stream.hpp"

namespace sluice::importing {
namespace {

constexpr std::size_t longest_pprof_message = std::size_t{1} << 20;
constexpr std::int64_t max_bytes_of_sample = std::int64_t{1} << 50;
constexpr std::uint64_t max_blocks_of_sample = 10'000, max_pprof_blocks = 1'000'000, max_pprof_stacks = 1'000'000;

namespace profile_field {
constexpr std::uint32_t sample_type = 1, sample = 2, mapping = 3, location = 4, function = 5, text = 6, time = 9,
                        last_known = 15;
}

struct pprof_function {
  std::uint64_t name = 0, file = 0;
};
struct pprof_line {
  std::uint64_t function = 0, line = 0;
};

class pprof_importer {
 public:
  explicit pprof_importer(job& work) : work_(work) {}

  result<void> run() {
    auto tables = input::open(work_.source().path());
    if (!tables) return tl::unexpected<error>(tables.error());
    auto done = read_safely(
        *tables, [&](proto_stream& stream, const proto_stream::field& field) { return table(stream, field); });
    if (done) done = choose_values();
    if (done) done = begin();
    if (done) {
      done = read_safely(work_.source(), [&](proto_stream& source, const proto_stream::field& subject) {
        return sample(source, subject);
      });
    }
    if (!done && done.error().file.empty()) done.error().file = work_.source().path();
    return done;
  }

 private:
  /// Reads the fields of the file. protozero throws an exception if a message that was read as a whole is invalid.
  template <class Take>
  result<void> read_safely(input& source, Take take) {
    proto_stream stream([&](std::span<std::byte> into) -> result<std::size_t> {
      if (auto ready = work_.advance(source.share_read()); !ready) return tl::unexpected(ready.error());
      return source.read(into);
    });
    try {
      for (;;) {
        const auto field = stream.next();
        if (!field && source.damage() != nullptr) return tl::unexpected<error>(*source.damage());
        if (!field) return tl::unexpected<error>(field.error());
        if (!*field) return {};
        if (auto taken = take(stream, **field); !taken) return taken;
      }
    } catch (const protozero::exception&) {
      return fail(error_code::corrupt, "an invalid protocol-buffer message ends here", {}, {}, stream.offset());
    }
  }

  /// Returns the message in a field, or an empty one if it is too long.
  result<protozero::pbf_reader> message(proto_stream& stream, const proto_stream::field& field) {
    if (field.stored != proto_stream::wire::length) {
      work_.not_understood("fields of an unexpected type", 1, field.offset);
      return protozero::pbf_reader{};
    }
    const auto bytes = stream.take(longest_pprof_message);
    if (!bytes) return tl::unexpected<error>(bytes.error());
    if (!*bytes) {
      work_.not_understood("messages longer than 1 MiB", 1, field.offset);
      return protozero::pbf_reader{};
    }
    return protozero::pbf_reader{(*bytes)->data(), (*bytes)->size()};
  }

  // A field with another wire type is not the field of the format, and protozero would return nonsense for it.
  static bool is_number(const protozero::pbf_reader& at, std::uint32_t field) {
    return at.tag() == field && at.has_wire_type(protozero::pbf_wire_type::varint);
  }
  static bool is_message(const protozero::pbf_reader& at, std::uint32_t field) {
    return at.tag() == field && at.has_wire_type(protozero::pbf_wire_type::length_delimited);
  }
  /// True for numbers that are in one field each or packed into one field.
  static bool is_numbers(const protozero::pbf_reader& at, std::uint32_t field) {
    return is_number(at, field) || is_message(at, field);
  }

  result<void> hold(std::size_t bytes) {
    held_ += bytes;
    if (held_ <= std::min<std::size_t>(work_.memory_bytes(), std::size_t{300} << 20)) return {};
    return fail(error_code::unavailable, "its texts and locations exceed the memory limit", {}, {});
  }

  // --- the tables ----------------------------------------------------------------------------------------------------

  result<void> table(proto_stream& stream, const proto_stream::field& subject) {
    namespace field = profile_field;
    if (subject.number == field::time && subject.stored == proto_stream::wire::varint) {
      realtime_ = static_cast<std::int64_t>(subject.value);
    } else if (subject.number == field::text) {
      const auto text = message(stream, subject);
      if (!text) return tl::unexpected<error>(text.error());
      texts_.emplace_back(text->data().data(), text->length());
      return hold(sizeof(std::string) + text->length());
    } else if (subject.number == field::sample_type || subject.number == field::location ||
               subject.number == field::function) {
      auto read = message(stream, subject);
      if (!read) return tl::unexpected<error>(read.error());
      if (subject.number == field::sample_type) read_type(*read);
      if (subject.number == field::function) read_function(*read);
      if (subject.number == field::location) read_location(*read);
      return hold(160);
    } else if (subject.number > field::last_known) {
      work_.not_understood("fields with the number " + std::to_string(subject.number), 1, subject.offset);
    }
    return {};
  }

  /// Reads the numbers in a message: those of the given fields.
  static void read_numbers(protozero::pbf_reader reader,
                           std::initializer_list<std::pair<std::uint32_t, std::uint64_t*>> fields) {
    while (reader.next()) {
      const auto field =
          std::find_if(fields.begin(), fields.end(), [&](const auto& each) { return is_number(reader, each.first); });
      if (field == fields.end()) {
        reader.skip();
      } else {
        *field->second = reader.get_uint64();
      }
    }
  }

  void read_type(protozero::pbf_reader reader) {
    std::pair<std::uint64_t, std::uint64_t> pair;
    read_numbers(reader, {{1, &pair.first}, {2, &pair.second}});
    types_.push_back(pair);
  }

  void read_function(protozero::pbf_reader reader) {
    std::uint64_t id = 0;
    pprof_function function;
    read_numbers(reader, {{1, &id}, {2, &function.name}, {4, &function.file}});
    functions_[id] = function;
  }

  void read_location(protozero::pbf_reader reader) {
    std::uint64_t id = 0;
    std::vector<pprof_line> lines;
    while (reader.next()) {
      if (is_number(reader, 1)) {
        id = reader.get_uint64();
      } else if (is_message(reader, 4)) {
        pprof_line& line = lines.emplace_back();
        read_numbers(reader.get_message(), {{1, &line.function}, {2, &line.line}});
      } else {
        reader.skip();
      }
    }
    locations_[id] = std::move(lines);
  }

  [[nodiscard]] std::string_view text(std::uint64_t number) const {
    return number < texts_.size() ? std::string_view(texts_[static_cast<std::size_t>(number)]) : std::string_view{};
  }

  /// Finds the values of a sample that are its bytes and blocks. Prefers memory in use to all allocated memory.
  result<void> choose_values() {
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const std::string_view type = text(types_[i].first), unit = text(types_[i].second);
      if (unit == "bytes" && (!bytes_at_ || type == "inuse_space")) bytes_at_ = i;
      if (unit == "count" && (!count_at_ || type == "inuse_objects")) count_at_ = i;
    }
    if (bytes_at_) return {};
    return fail(error_code::foreign, "is a pprof profile without bytes in use, so it is not a memory profile", {},
                "jax.profiler.save_device_memory_profile(\"memory.prof\") writes one of device memory");
  }

  // --- the samples ---------------------------------------------------------------------------------------------------

  result<void> begin() {
    if (auto begun = work_.begin(std::max<std::int64_t>(realtime_, 0)); !begun) return begun;
    trace::process_row process;
    process.id = process_;
    process.command = work_.out().intern("program profiled by pprof");
    work_.out().add(process);
    work_.say(trace::severity::info, "the file has the memory in use at one time, without allocation times");
    return {};
  }

  result<void> sample(proto_stream& stream, const proto_stream::field& field) {
    if (field.number != profile_field::sample) return {};
    auto read = message(stream, field);
    if (!read) return tl::unexpected<error>(read.error());
    std::vector<std::uint64_t> places;
    std::vector<std::int64_t> values;
    std::string_view kind, device;
    while (read->next()) {
      if (is_numbers(*read, 1)) {
        get_numbers(*read, places);
      } else if (is_numbers(*read, 2)) {
        get_numbers(*read, values);
      } else if (is_message(*read, 3)) {
        read_label(read->get_message(), kind, device);
      } else {
        read->skip();
      }
    }
    const std::int64_t bytes = *bytes_at_ < values.size() ? values[*bytes_at_] : -1;
    if (bytes < 0 || bytes > max_bytes_of_sample) {
      work_.not_understood("samples without a valid size", 1, field.offset);
      return {};
    }
    work_.read("samples");
    if (bytes != 0)
      add_blocks(bytes, count_at_ && *count_at_ < values.size() ? values[*count_at_] : 1, kind, device, places);
    return {};
  }

  template <class Number>
  static void get_numbers(protozero::pbf_reader& reader, std::vector<Number>& into) {
    if (reader.wire_type() == protozero::pbf_wire_type::varint) {
      into.push_back(static_cast<Number>(reader.get_uint64()));
      return;
    }
    for (const std::uint64_t each : reader.get_packed_uint64()) into.push_back(static_cast<Number>(each));
  }

  void read_label(protozero::pbf_reader reader, std::string_view& kind, std::string_view& device) const {
    std::uint64_t key = 0, value = 0;
    while (reader.next()) {
      if (is_number(reader, 1)) {
        key = reader.get_uint64();
      } else if (is_number(reader, 2)) {
        value = reader.get_uint64();
      } else {
        reader.skip();
      }
    }
    if (text(key) == "kind") kind = text(value);
    if (text(key) == "device") device = text(value);
  }

  /// Adds the blocks of a sample, of which only the total size is known.
  void add_blocks(std::int64_t bytes, std::int64_t count, std::string_view kind, std::string_view device,
                  const std::vector<std::uint64_t>& places) {
    std::uint64_t blocks = static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1));
    if (blocks > max_blocks_of_sample || blocks_ + blocks > max_pprof_blocks) {
      work_.not_understood("samples of very many blocks, which are shown as one", 1);
      blocks = 1;
    }
    trace::alloc_event allocation;
    allocation.process = process_;
    allocation.source = blocks == 1 ? trace::provenance::inferred : trace::provenance::estimated;
    allocation.layer = trace::layer::framework;
    allocation.kind = device.empty() ? trace::memory_kind::host : trace::memory_kind::device;
    allocation.device = find_device(device);
    allocation.flags = trace::born_before;
    allocation.stack = find_stack(places);
    allocation.name = work_.out().intern(kind);
    const auto each = static_cast<std::uint64_t>(bytes) / blocks;
    for (std::uint64_t i = 0; i < blocks; ++i) {
      allocation.block = static_cast<trace::block_id>(++blocks_);
      allocation.bytes = i == 0 ? static_cast<std::uint64_t>(bytes) - each * (blocks - 1) : each;
      work_.out().add(allocation);
    }
  }

  trace::device_id find_device(std::string_view name) {
    if (name.empty()) return {};
    const auto [known, fresh] = devices_.try_emplace(std::string(name));
    if (!fresh) return known->second;
    known->second = static_cast<trace::device_id>(devices_.size());
    const std::size_t digits = name.find_first_of("0123456789");
    trace::device_row row;
    row.id = known->second;
    row.kind = trace::device_kind::cuda;
    row.ordinal = static_cast<std::int64_t>(devices_.size()) - 1;
    if (digits != std::string_view::npos) {
      const std::size_t end = std::min(name.find_first_not_of("0123456789", digits), name.size());
      row.ordinal = parse_integer(name.substr(digits, end - digits)).value_or(row.ordinal);
    }
    row.name = work_.out().intern(name);
    work_.out().add(row);
    return row.id;
  }

  /// Returns the stack of a list of locations, of which the innermost comes first.
  trace::stack_id find_stack(const std::vector<std::uint64_t>& places) {
    constexpr std::size_t deepest_stack = 2048;
    std::uint64_t at = 0;
    const std::size_t first = std::min(places.size(), deepest_stack);
    if (first != places.size()) work_.not_understood("frames of very deep stacks", places.size() - first);
    for (std::size_t i = first; i-- > 0;) {
      const auto known = locations_.find(places[i]);
      if (known == locations_.end() || known->second.empty()) {
        work_.not_understood("frames whose location is not in the file");
        continue;
      }
      for (std::size_t line = known->second.size(); line-- > 0;) at = child(at, find_frame(known->second[line]));
    }
    return static_cast<trace::stack_id>(at);
  }

  std::uint64_t find_frame(const pprof_line& line) {
    const auto [known, fresh] = frames_.try_emplace({line.function, line.line}, frames_.size() + 1);
    if (!fresh) return known->second;
    const auto function = functions_.find(line.function);
    if (function == functions_.end()) work_.not_understood("frames whose function is not in the file");
    const pprof_function about = function == functions_.end() ? pprof_function{} : function->second;
    const std::string_view file = text(about.file);
    trace::frame_row row;
    row.id = static_cast<trace::frame_id>(known->second);
    row.kind = file.ends_with(".py") || file.starts_with("<") ? trace::frame_kind::python : trace::frame_kind::native;
    row.function = work_.out().intern(text(about.name));
    row.file = work_.out().intern(file);
    row.line = line.line > INT32_MAX ? 0 : line.line;
    work_.out().add(row);
    return known->second;
  }

  std::uint64_t child(std::uint64_t parent, std::uint64_t frame) {
    if (stacks_.size() >= max_pprof_stacks && !stacks_.contains({parent, frame})) {
      work_.not_understood("frames of stacks beyond the memory limit");
      return parent;
    }
    const auto [known, fresh] = stacks_.try_emplace({parent, frame}, stacks_.size() + 1);
    if (fresh) {
      work_.out().add(trace::stack_row{static_cast<trace::stack_id>(known->second),
                                       static_cast<trace::stack_id>(parent), static_cast<trace::frame_id>(frame)});
    }
    return known->second;
  }

  job& work_;
  trace::process_id process_{1};
  std::size_t held_ = 0;
  std::int64_t realtime_ = 0;
  std::uint64_t blocks_ = 0;
  std::vector<std::string> texts_;
  /// The type and the unit of each value, as numbers of texts.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> types_;
  std::unordered_map<std::uint64_t, pprof_function> functions_;
  std::unordered_map<std::uint64_t, std::vector<pprof_line>> locations_;
  std::optional<std::size_t> bytes_at_, count_at_;
  std::map<std::string, trace::device_id> devices_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> frames_;  ///< Keyed by function and line.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> stacks_;  ///< Keyed by parent and frame.
};

}  // namespace

result<void> import_pprof(job& work) { return pprof_importer(work).run(); }

}  // namespace sluice::importing

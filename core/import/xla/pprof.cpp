// Imports heap profiles of pprof, https://github.com/google/pprof/blob/main/proto/profile.proto, as JAX writes them
// (jax.profiler.save_device_memory_profile): live memory at one time, by stack. The samples come before the tables that
// they refer to, so the file is read twice.
#include <algorithm>
#include <map>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/import/chrome/number.hpp"
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
    auto done =
        read_safely(*tables, [&](proto_stream& from, const proto_stream::field& of) { return table(from, of); });
    if (done) done = choose_values();
    if (done) done = begin();
    if (done) {
      done = read_safely(work_.source(),
                         [&](proto_stream& from, const proto_stream::field& of) { return sample(from, of); });
    }
    if (!done && done.error().file.empty()) done.error().file = work_.source().path();
    return done;
  }

 private:
  /// Reads the fields of the file. Exceptions of protozero concern a message that was read as a whole.
  template <class Take>
  result<void> read_safely(input& source, Take take) {
    proto_stream from([&](std::span<std::byte> into) -> result<std::size_t> {
      if (auto ready = work_.advance(source.share_read()); !ready) return tl::unexpected(ready.error());
      return source.read(into);
    });
    try {
      for (;;) {
        const auto field = from.next();
        if (!field && source.damage() != nullptr) return tl::unexpected<error>(*source.damage());
        if (!field) return tl::unexpected<error>(field.error());
        if (!*field) return {};
        if (auto taken = take(from, **field); !taken) return taken;
      }
    } catch (const protozero::exception&) {
      return fail(error_code::corrupt, "an invalid protocol-buffer message ends here", {}, {}, from.offset());
    }
  }

  /// The message in a field; empty if it is too long.
  result<protozero::pbf_reader> message(proto_stream& from, const proto_stream::field& of) {
    if (of.stored != proto_stream::wire::length) {
      work_.not_understood("fields of an unexpected type", 1, of.offset);
      return protozero::pbf_reader{};
    }
    const auto bytes = from.take(longest_pprof_message);
    if (!bytes) return tl::unexpected<error>(bytes.error());
    if (!*bytes) {
      work_.not_understood("messages longer than 1 MiB", 1, of.offset);
      return protozero::pbf_reader{};
    }
    return protozero::pbf_reader{(*bytes)->data(), (*bytes)->size()};
  }

  result<void> hold(std::size_t bytes) {
    held_ += bytes;
    if (held_ <= std::min<std::size_t>(work_.memory_bytes(), std::size_t{300} << 20)) return {};
    return fail(error_code::unavailable, "its texts and locations exceed the memory limit", {}, {});
  }

  // --- the tables ----------------------------------------------------------------------------------------------------

  result<void> table(proto_stream& from, const proto_stream::field& of) {
    namespace field = profile_field;
    if (of.number == field::time && of.stored == proto_stream::wire::varint) {
      realtime_ = static_cast<std::int64_t>(of.value);
    } else if (of.number == field::text) {
      const auto text = message(from, of);
      if (!text) return tl::unexpected<error>(text.error());
      texts_.emplace_back(text->data().data(), text->length());
      return hold(sizeof(std::string) + text->length());
    } else if (of.number == field::sample_type || of.number == field::location || of.number == field::function) {
      auto read = message(from, of);
      if (!read) return tl::unexpected<error>(read.error());
      if (of.number == field::sample_type) read_type(*read);
      if (of.number == field::function) read_function(*read);
      if (of.number == field::location) read_location(*read);
      return hold(160);
    } else if (of.number > field::last_known) {
      work_.not_understood("fields with the number " + std::to_string(of.number), 1, of.offset);
    }
    return {};
  }

  void read_type(protozero::pbf_reader from) {
    std::pair<std::uint64_t, std::uint64_t> made;
    while (from.next()) {
      if (from.tag() == 1) {
        made.first = from.get_uint64();
      } else if (from.tag() == 2) {
        made.second = from.get_uint64();
      } else {
        from.skip();
      }
    }
    types_.push_back(made);
  }

  void read_function(protozero::pbf_reader from) {
    std::uint64_t id = 0;
    pprof_function made;
    while (from.next()) {
      if (from.tag() == 1) {
        id = from.get_uint64();
      } else if (from.tag() == 2) {
        made.name = from.get_uint64();
      } else if (from.tag() == 4) {
        made.file = from.get_uint64();
      } else {
        from.skip();
      }
    }
    functions_[id] = made;
  }

  void read_location(protozero::pbf_reader from) {
    std::uint64_t id = 0;
    std::vector<pprof_line> lines;
    while (from.next()) {
      if (from.tag() == 1) {
        id = from.get_uint64();
      } else if (from.tag() == 4) {
        protozero::pbf_reader inner = from.get_message();
        pprof_line line;
        while (inner.next()) {
          if (inner.tag() == 1) {
            line.function = inner.get_uint64();
          } else if (inner.tag() == 2) {
            line.line = inner.get_uint64();
          } else {
            inner.skip();
          }
        }
        lines.push_back(line);
      } else {
        from.skip();
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

  result<void> sample(proto_stream& from, const proto_stream::field& of) {
    if (of.number != profile_field::sample) return {};
    auto read = message(from, of);
    if (!read) return tl::unexpected<error>(read.error());
    std::vector<std::uint64_t> places;
    std::vector<std::int64_t> values;
    std::string_view kind, device;
    while (read->next()) {
      if (read->tag() == 1) {
        get_numbers(*read, places);
      } else if (read->tag() == 2) {
        get_numbers(*read, values);
      } else if (read->tag() == 3) {
        read_label(read->get_message(), kind, device);
      } else {
        read->skip();
      }
    }
    const std::int64_t bytes = *bytes_at_ < values.size() ? values[*bytes_at_] : -1;
    if (bytes < 0 || bytes > max_bytes_of_sample) {
      work_.not_understood("samples without a valid size", 1, of.offset);
      return {};
    }
    work_.read("samples");
    if (bytes != 0)
      add_blocks(bytes, count_at_ && *count_at_ < values.size() ? values[*count_at_] : 1, kind, device, places);
    return {};
  }

  /// Reads numbers in one field each, or packed into one.
  template <class Number>
  static void get_numbers(protozero::pbf_reader& from, std::vector<Number>& into) {
    if (from.wire_type() == protozero::pbf_wire_type::varint) {
      into.push_back(static_cast<Number>(from.get_uint64()));
      return;
    }
    for (const std::uint64_t each : from.get_packed_uint64()) into.push_back(static_cast<Number>(each));
  }

  void read_label(protozero::pbf_reader from, std::string_view& kind, std::string_view& device) const {
    std::uint64_t key = 0, value = 0;
    while (from.next()) {
      if (from.tag() == 1) {
        key = from.get_uint64();
      } else if (from.tag() == 2) {
        value = from.get_uint64();
      } else {
        from.skip();
      }
    }
    if (text(key) == "kind") kind = text(value);
    if (text(key) == "device") device = text(value);
  }

  /// A sample represents several blocks, of which only the total size is known.
  void add_blocks(std::int64_t bytes, std::int64_t count, std::string_view kind, std::string_view device,
                  const std::vector<std::uint64_t>& places) {
    std::uint64_t blocks = static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1));
    if (blocks > max_blocks_of_sample || blocks_ + blocks > max_pprof_blocks) {
      work_.not_understood("samples of very many blocks, which are shown as one", 1);
      blocks = 1;
    }
    trace::alloc_event made;
    made.process = process_;
    made.source = blocks == 1 ? trace::provenance::inferred : trace::provenance::estimated;
    made.layer = trace::layer::framework;
    made.kind = device.empty() ? trace::memory_kind::host : trace::memory_kind::device;
    made.device = device_of(device);
    made.flags = trace::born_before;
    made.stack = stack_of(places);
    made.name = work_.out().intern(kind);
    const auto each = static_cast<std::uint64_t>(bytes) / blocks;
    for (std::uint64_t i = 0; i < blocks; ++i) {
      made.block = static_cast<trace::block_id>(++blocks_);
      made.bytes = i == 0 ? static_cast<std::uint64_t>(bytes) - each * (blocks - 1) : each;
      work_.out().add(made);
    }
  }

  trace::device_id device_of(std::string_view name) {
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

  /// The innermost location comes first.
  trace::stack_id stack_of(const std::vector<std::uint64_t>& places) {
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
      for (std::size_t line = known->second.size(); line-- > 0;) at = child(at, frame_of(known->second[line]));
    }
    return static_cast<trace::stack_id>(at);
  }

  std::uint64_t frame_of(const pprof_line& line) {
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
  std::vector<std::pair<std::uint64_t, std::uint64_t>> types_;  ///< Type and unit of each value, as texts.
  std::unordered_map<std::uint64_t, pprof_function> functions_;
  std::unordered_map<std::uint64_t, std::vector<pprof_line>> locations_;
  std::optional<std::size_t> bytes_at_, count_at_;
  std::map<std::string, trace::device_id> devices_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> frames_;  ///< By function and line.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> stacks_;  ///< By parent and frame.
};

}  // namespace

result<void> import_pprof(job& work) { return pprof_importer(work).run(); }

}  // namespace sluice::importing

// The fields are those of tsl/profiler/protobuf/xplane.proto.
#include "core/import/xla/xplane_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <protozero/pbf_reader.hpp>

#include "core/import/importers.hpp"

namespace sluice::importing {
namespace {

constexpr std::size_t longest_xplane_event = std::size_t{1} << 20, longest_xplane_name = std::size_t{64} << 10;
constexpr std::size_t max_xplane_names = std::size_t{200} << 20;  // In bytes.

namespace space_field {
constexpr std::uint32_t planes = 1, errors = 2, warnings = 3, last_known = 4;
}
namespace plane_field {
constexpr std::uint32_t name = 2, lines = 3, event_names = 4, stat_names = 5, last_known = 6;
}
namespace line_field {
constexpr std::uint32_t id = 1, name = 2, timestamp = 3, events = 4, display_name = 11;
}

/// The values of events that the importer uses. The Chrome trace has the same names.
constexpr std::array<std::string_view, 11> used_values = {
    "kernel_details",   "memcpy_details", "Memset_details",  "correlation_id", "context_id", "allocator_name",
    "allocation_bytes", "addr",           "bytes_allocated", "bytes_reserved", "device_id"};

using protozero::tag_and_type;
using wire = protozero::pbf_wire_type;
using wire_of = proto_stream::wire;

}  // namespace

proto_stream xplane_as_json::get_stream(input& source) {
  return proto_stream([&source](std::span<std::byte> into) { return source.read(into); });
}

tl::unexpected<error> xplane_as_json::located(error why, const input& source) const {
  if (source.damage() != nullptr) return tl::unexpected<error>(*source.damage());
  if (why.file.empty()) why.file = work_.source().path();
  return tl::unexpected<error>(std::move(why));
}

result<void> xplane_as_json::hold(std::size_t bytes) {
  held_ += bytes;
  if (held_ <= std::min(work_.memory_bytes(), max_xplane_names)) return {};
  return fail(error_code::unavailable, "its names exceed the memory limit", {}, {});
}

result<void> xplane_as_json::begin() {
  auto first = input::open(work_.source().path());
  if (!first) return tl::unexpected<error>(first.error());
  proto_stream names = get_stream(*first);
  if (auto read = read_names(names); !read) return located(read.error(), *first);
  auto second = input::open(work_.source().path());
  if (!second) return tl::unexpected<error>(second.error());
  source_.emplace(std::move(*second));
  fields_.emplace(get_stream(*source_));
  write_names();
  return {};
}

// --- names -----------------------------------------------------------------------------------------------------------

result<void> xplane_as_json::read_names(proto_stream& stream) {
  for (;;) {
    const auto field = stream.next();
    if (!field) return tl::unexpected<error>(field.error());
    if (!*field) return {};
    const bool is_message = (*field)->stored == wire_of::length;
    if ((*field)->number == space_field::planes && is_message) {
      if (auto read = read_plane(stream); !read) return read;
    } else if (((*field)->number == space_field::errors || (*field)->number == space_field::warnings) && is_message) {
      std::string text;
      if (auto read = read_text(stream, text); !read) return read;
      work_.say(trace::severity::warning, "profiler message: " + text.substr(0, 1000));
    } else if ((*field)->number > space_field::last_known || !is_message) {
      work_.not_understood("fields with the number " + std::to_string((*field)->number), 1, (*field)->offset);
    }
    if (auto ready = work_.advance(0); !ready) return ready;
  }
}

result<void> xplane_as_json::read_text(proto_stream& stream, std::string& into) {
  const auto text = stream.take(longest_xplane_name);
  if (!text) return tl::unexpected<error>(text.error());
  if (*text) into = **text;
  return hold(into.size());
}

result<void> xplane_as_json::read_plane(proto_stream& stream) {
  plane& output = planes_.emplace_back();
  if (auto held = hold(sizeof output); !held) return held;
  if (auto entered = stream.enter(); !entered) return entered;
  for (;;) {
    const auto field = stream.next();
    if (!field) return tl::unexpected<error>(field.error());
    if (!*field) break;
    const bool is_message = (*field)->stored == wire_of::length;
    result<void> read;
    if ((*field)->number == plane_field::name && is_message) read = read_text(stream, output.name);
    if ((*field)->number == plane_field::lines && is_message) read = read_line(stream, output);
    if ((*field)->number == plane_field::event_names && is_message) read = read_name(stream, output.events);
    if ((*field)->number == plane_field::stat_names && is_message) read = read_name(stream, output.stats);
    if (!read) return read;
    if ((*field)->number > plane_field::last_known)
      work_.not_understood("fields of planes with the number " + std::to_string((*field)->number), 1, (*field)->offset);
  }
  stream.leave();
  return {};
}

result<void> xplane_as_json::read_line(proto_stream& stream, plane& into) {
  line& output = into.lines.emplace_back();
  if (auto held = hold(sizeof output); !held) return held;
  if (auto entered = stream.enter(); !entered) return entered;
  std::string name, display_name;
  for (;;) {
    const auto field = stream.next();
    if (!field) return tl::unexpected<error>(field.error());
    if (!*field) break;
    result<void> read;
    const bool is_number = (*field)->stored == wire_of::varint, is_text = (*field)->stored == wire_of::length;
    if ((*field)->number == line_field::id && is_number) output.id = static_cast<std::int64_t>((*field)->value);
    if ((*field)->number == line_field::timestamp && is_number) {
      output.timestamp = static_cast<std::int64_t>((*field)->value);
    }
    if ((*field)->number == line_field::name && is_text) read = read_text(stream, name);
    if ((*field)->number == line_field::display_name && is_text) read = read_text(stream, display_name);
    if (!read) return read;
  }
  stream.leave();
  output.name = display_name.empty() ? std::move(name) : std::move(display_name);
  return {};
}

/// Reads an item of a map, which is an id and a message with the name of an event or a value. An event may also have a
/// display name.
result<void> xplane_as_json::read_name(proto_stream& stream, std::unordered_map<std::int64_t, std::string>& into) {
  constexpr std::uint32_t key = 1, value = 2, name = 2, display_name = 4;
  std::int64_t id = 0;
  std::string plain, shown;
  if (auto entered = stream.enter(); !entered) return entered;
  for (;;) {
    const auto field = stream.next();
    if (!field) return tl::unexpected<error>(field.error());
    if (!*field) break;
    if ((*field)->number == key && (*field)->stored == wire_of::varint) id = static_cast<std::int64_t>((*field)->value);
    if ((*field)->number != value || (*field)->stored != wire_of::length) continue;
    if (auto entered = stream.enter(); !entered) return entered;
    for (;;) {
      const auto inner = stream.next();
      if (!inner) return tl::unexpected<error>(inner.error());
      if (!*inner) break;
      result<void> read;
      if ((*inner)->stored != wire_of::length) continue;
      if ((*inner)->number == name) read = read_text(stream, plain);
      if ((*inner)->number == display_name) read = read_text(stream, shown);
      if (!read) return read;
    }
    stream.leave();
  }
  stream.leave();
  if (auto held = hold(64); !held) return held;
  into[id] = shown.empty() ? std::move(plain) : std::move(shown);
  return {};
}

// --- the JSON text ---------------------------------------------------------------------------------------------------

void xplane_as_json::write_text(std::string& to, std::string_view text) {
  to += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') to += '\\';
    to += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  to += '"';
}

void xplane_as_json::write_names() {
  out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  for (std::size_t i = 0; i < planes_.size(); ++i) {
    if (i != 0) out_ += ',';
    out_ += fmt::format("\n{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":", i + 1);
    write_text(out_, planes_[i].name);
    out_ += "}}";
    for (const line& each : planes_[i].lines) {
      out_ += fmt::format(
          ",\n{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":", i + 1, each.id);
      write_text(out_, each.name);
      out_ += "}}";
    }
  }
}

result<std::size_t> xplane_as_json::read(std::span<std::byte> into) {
  if (taken_ == out_.size()) {
    out_.clear();
    taken_ = 0;
  }
  while (level_ != level::ended && out_.size() - taken_ < into.size()) {
    try {
      if (auto stepped = step(); !stepped) return located(stepped.error(), *source_);
    } catch (const protozero::exception&) {
      work_.not_understood("events that are not protocol buffers", 1, fields_->offset());
    }
  }
  const std::size_t size = std::min(into.size(), out_.size() - taken_);
  std::memcpy(into.data(), out_.data() + taken_, size);
  taken_ += size;
  return size;
}

/// Reads the next field of the file.
result<void> xplane_as_json::step() {
  const auto field = fields_->next();
  if (!field) return tl::unexpected<error>(field.error());
  if (!*field) {
    if (level_ != level::file) {
      fields_->leave();
      level_ = level_ == level::line ? level::plane : level::file;
      return {};
    }
    level_ = level::ended;
    out_ += "]}";
    if (unused_values_ != 0) work_.not_understood("event values that a recording cannot represent", unused_values_);
    return {};
  }
  if ((*field)->stored != wire_of::length) return {};
  if (level_ == level::file && (*field)->number == space_field::planes) {
    ++plane_;
    line_ = 0;
    level_ = level::plane;
    return fields_->enter();
  }
  if (level_ == level::plane && (*field)->number == plane_field::lines) {
    ++line_;
    level_ = level::line;
    return fields_->enter();
  }
  if (level_ != level::line || (*field)->number != line_field::events) return {};
  const auto event = fields_->take(longest_xplane_event);
  if (!event) return tl::unexpected<error>(event.error());
  if (*event) {
    write_event(**event);
  } else {
    work_.not_understood("events longer than 1 MiB", 1, (*field)->offset);
  }
  return {};
}

void xplane_as_json::write_event(std::string_view message) {
  constexpr std::uint32_t metadata = 1, offset = 2, duration = 3, values = 4, occurrences = 5;
  const plane& in = planes_.at(plane_ - 1);
  const line& subject = in.lines.at(line_ - 1);
  protozero::pbf_reader reader(message.data(), message.size());
  std::int64_t id = 0, offset_ps = 0, duration_ps = 0;
  bool is_sum = false;
  std::string arguments;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(metadata, wire::varint):
        id = reader.get_int64();
        break;
      case tag_and_type(offset, wire::varint):
        offset_ps = reader.get_int64();
        break;
      case tag_and_type(duration, wire::varint):
        duration_ps = reader.get_int64();
        break;
      case tag_and_type(occurrences, wire::varint):
        is_sum = true;
        reader.skip();
        break;
      case tag_and_type(values, wire::length_delimited): {
        const auto value = reader.get_view();
        add_argument(arguments, {value.data(), value.size()}, in);
        break;
      }
      default:
        reader.skip();
        break;
    }
  }
  if (is_sum) return work_.not_understood("aggregated events, which have no time", 1, fields_->offset());
  constexpr std::int64_t longest_ns = INT64_MAX / 4;
  if (subject.timestamp < 0 || subject.timestamp > longest_ns || offset_ps < 0 || duration_ps < 0) {
    return work_.not_understood("events with an impossible time", 1, fields_->offset());
  }
  const auto name = in.events.find(id);
  if (name == in.events.end()) work_.not_understood("events whose name is not in the file", 1, fields_->offset());
  const std::int64_t ns = subject.timestamp + offset_ps / 1000;
  out_ +=
      fmt::format(",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{}.{:03}{:03},\"dur\":{}.{:06},\"name\":", plane_,
                  subject.id, ns / 1000, ns % 1000, offset_ps % 1000, duration_ps / 1'000'000, duration_ps % 1'000'000);
  write_text(out_, name == in.events.end() ? std::string_view("(unnamed)") : std::string_view(name->second));
  out_ += ",\"args\":{" + arguments + "}}";
}

/// Adds a value of an event to the members of a JSON object, if the importer uses the value.
void xplane_as_json::add_argument(std::string& to, std::string_view message, const plane& in) {
  constexpr std::uint32_t metadata = 1, real = 2, natural = 3, integer = 4, text = 5, reference = 7;
  protozero::pbf_reader reader(message.data(), message.size());
  std::string_view name;
  std::string written;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(metadata, wire::varint): {
        const auto known = in.stats.find(reader.get_int64());
        if (known != in.stats.end()) name = known->second;
        break;
      }
      case tag_and_type(real, wire::fixed64):
        written = fmt::format("{}", reader.get_double());
        break;
      case tag_and_type(natural, wire::varint):
        written = std::to_string(reader.get_uint64());
        break;
      case tag_and_type(integer, wire::varint):
        written = std::to_string(reader.get_int64());
        break;
      case tag_and_type(text, wire::length_delimited): {
        const auto view = reader.get_view();
        written.assign(view.data(), view.size());
        break;
      }
      case tag_and_type(reference, wire::varint): {
        const auto known = in.stats.find(static_cast<std::int64_t>(reader.get_uint64()));
        if (known != in.stats.end()) written = known->second;
        break;
      }
      default:
        reader.skip();
        break;
    }
  }
  if (std::find(used_values.begin(), used_values.end(), name) == used_values.end()) {
    ++unused_values_;
    return;
  }
  if (!to.empty()) to += ',';
  write_text(to, name);
  to += ':';
  write_text(to, written);
}

}  // namespace sluice::importing

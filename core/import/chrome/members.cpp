#include "core/import/chrome/members.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "core/import/chrome/parse.hpp"
#include "core/import/common/number.hpp"

namespace sluice::importing {
namespace {

/// Members of a document beyond this number are only counted.
constexpr std::size_t max_metadata = 256;

/// Members that torch.profiler writes for AMD GPUs.
bool names_rocm(std::string_view member) {
  return member.starts_with("roctracer") || member.starts_with("rocprof") || member.starts_with("hip_");
}

/// Members whose whole value is needed.
bool is_described(std::string_view member) { return member == "deviceProperties" || member == "distributedInfo"; }

/// Members that describe the format of the file.
bool is_about_form(std::string_view member) {
  constexpr std::string_view known[] = {"schemaVersion", "displayTimeUnit", "traceName", "trace_id",
                                        "baseTimeNanoseconds"};
  return std::find(std::begin(known), std::end(known), member) != std::end(known);
}

/// Returns a string, number or boolean as text, and nullopt for a list, an object or null.
std::optional<std::string> find_scalar(std::string_view json) {
  const std::size_t begin = json.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || json[begin] == '{' || json[begin] == '[' || json[begin] == 'n')
    return std::nullopt;
  auto inside = json_members("[" + std::string(json) + "]");
  return inside && inside->size() == 1 ? std::optional(std::move(inside->front().second)) : std::nullopt;
}

void read_device(std::string_view text, kineto_devices& devices) {
  std::int64_t ordinal = -1, bytes = 0, major = 0, minor = 0;
  std::string name;
  const auto members = json_members(text);
  if (!members) return;
  for (const auto& [key, value] : *members) {
    const std::int64_t number = std::max<std::int64_t>(parse_integer(value).value_or(0), 0);
    if (key == "id") ordinal = number;
    if (key == "name") name = value;
    if (key == "totalGlobalMem") bytes = number;
    if (key == "computeMajor") major = std::min<std::int64_t>(number, 255);
    if (key == "computeMinor") minor = std::min<std::int64_t>(number, 255);
  }
  if (ordinal < 0) return;
  devices.describe(ordinal, name, static_cast<std::uint64_t>(bytes), static_cast<std::uint32_t>(major),
                   static_cast<std::uint32_t>(minor));
}

/// Stores a number as a number and any other value as text.
void set_value(trace::attribute_event& row, const std::string& value, bool quoted, trace::file_writer& out) {
  const char* const end = value.data() + value.size();
  if (quoted) {
    row.text = out.intern(value);
  } else if (const auto whole = std::from_chars(value.data(), end, row.integer);
             whole.ec == std::errc{} && whole.ptr == end) {
  } else if (const auto real = std::from_chars(value.data(), end, row.real);
             real.ec != std::errc{} || real.ptr != end) {
    row.text = out.intern(value);
  }
}

}  // namespace

void chrome_members::add(const chrome_piece& piece) {
  const bool whole = is_described(piece.name) || piece.name == "baseTimeNanoseconds";
  const std::size_t size = whole ? piece.value.size() : std::min(piece.value.size(), max_unknown);
  if (held_ + piece.name.size() + size > max_bytes) {
    if (left_out_++ == 0) left_out_from_ = piece.offset;
    return;
  }
  held_ += piece.name.size() + size + sizeof(member);
  all_.push_back({piece.name, piece.value.substr(0, size), piece.offset, piece.cut});
}

const unread_format* chrome_members::other_format() const {
  for (const member& each : all_)
    if (const unread_format* known = find_unread_json(each.name, each.value)) return known;
  return nullptr;
}

std::int64_t chrome_members::base_time() const {
  for (const member& each : all_)
    if (each.name == "baseTimeNanoseconds") return parse_integer(each.value).value_or(0);
  return 0;
}

void chrome_members::describe(chrome_tracks& tracks, kineto_devices& devices,
                              const std::function<void(std::string_view, std::uint64_t)>& fault) const {
  std::size_t metadata = 0;
  for (const member& each : all_) {
    if (names_rocm(each.name)) devices.expect_node_ids();
    if (each.cut) fault("members that are too long or cut off", each.offset);
    if (is_about_form(each.name)) continue;
    if (!is_described(each.name)) {
      if (find_scalar(each.value) && ++metadata <= max_metadata) continue;
      fault("member '" + each.name.substr(0, 60) + "' of the document", each.offset);
      continue;
    }
    const auto inside = json_members(each.value);
    // A truncated member has been reported already.
    if (!inside && !each.cut) fault("member '" + each.name + "' is not JSON, or is nested too deeply", each.offset);
    if (!inside) continue;
    for (const auto& [name, value] : *inside) {
      if (each.name == "deviceProperties") {
        read_device(value, devices);
      } else if (name == "rank") {
        tracks.set_rank(std::max<std::int64_t>(parse_integer(value).value_or(-1), -1));
      }
    }
  }
  for (std::uint64_t i = 0; i < left_out_; ++i)
    fault("members of the document beyond the memory limit", left_out_from_);
}

void chrome_members::write(trace::file_writer& out, trace::process_id process, trace::time_ns time) const {
  trace::attribute_event row;
  std::size_t written = 0;
  for (const member& each : all_) {
    const auto value = is_about_form(each.name) ? std::nullopt : find_scalar(each.value);
    if (!value || ++written > max_metadata) continue;
    if (row.target == trace::event_id::none) {
      trace::marker_event mark;
      mark.time = time;
      mark.process = process;
      mark.name = out.intern("metadata of the trace");
      row.target = static_cast<trace::event_id>(out.add(mark));
    }
    row.time = time;
    row.process = process;
    row.key = out.intern(each.name);
    row.text = {};
    row.integer = 0;
    row.real = 0;
    set_value(row, *value, each.value.find('"') != std::string::npos, out);
    out.add(row);
  }
}

}  // namespace sluice::importing

#include "app/gui/shell/side_files.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/gui/shell/kept_view_json.hpp"
#include "core/base/files/regular_file.hpp"
#include "core/base/files/replacement.hpp"
#include "core/base/json/json_text.hpp"

namespace sluice::gui {
namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::uint64_t largest_side_file = std::uint64_t{64} << 20;  // bytes: the maximum number of notes with the
                                                                      // longest text
constexpr std::size_t longest_name = 255;                             // bytes, as in most file systems

/// The integer member `name` of an object; nullopt if there is none or it is out of range.
std::optional<std::int64_t> integer(const json& in, const char* name) {
  const auto found = in.find(name);
  if (found == in.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    return std::nullopt;
  return found->get<std::int64_t>();
}

std::optional<std::string> text(const json& in, const char* name, std::size_t longest) {
  const auto found = in.find(name);
  if (found == in.end() || !found->is_string()) return std::nullopt;
  auto value = found->get<std::string>();
  if (value.size() > longest) return std::nullopt;
  return value;
}

/// The range member `name`, within the times that a recording can have; nullopt if it is missing or ends before it
/// starts.
std::optional<time_range> range_in(const json& in, const char* name) {
  const auto found = in.find(name);
  if (found == in.end() || !found->is_object()) return std::nullopt;
  const auto begin = integer(*found, "begin_ns");
  const auto end = integer(*found, "end_ns");
  if (!begin || !end || *end < *begin) return std::nullopt;
  return bounded(time_range{*begin, *end});
}

json range_out(time_range range) { return {{"begin_ns", range.begin}, {"end_ns", range.end}}; }

json identity_out(const recording_identity& identity) {
  return {{"name", identity.name}, {"realtime_origin_ns", identity.realtime_origin}, {"begin_ns", identity.begin}};
}

std::optional<recording_identity> identity_in(const json& in) {
  const auto found = in.find("recording");
  if (found == in.end() || !found->is_object()) return std::nullopt;
  const auto name = text(*found, "name", longest_name);
  const auto origin = integer(*found, "realtime_origin_ns");
  const auto begin = integer(*found, "begin_ns");
  if (!name || !origin || !begin) return std::nullopt;
  // The member must be a name, not a path: a view from an untrusted source must not refer to other folders.
  if (name->empty() || *name == "." || *name == ".." || name->find('/') != std::string::npos ||
      name->find('\0') != std::string::npos)
    return std::nullopt;
  return recording_identity{*name, *origin, *begin};
}

const char* get_word(selection_kind kind) {
  return kind == selection_kind::block ? "block" : kind == selection_kind::event ? "event" : "none";
}

std::pair<selection_kind, std::uint64_t> target_in(const json& in) {
  for (const selection_kind kind : {selection_kind::block, selection_kind::event})
    if (const auto id = integer(in, get_word(kind)); id && *id > 0) return {kind, static_cast<std::uint64_t>(*id)};
  return {selection_kind::none, 0};
}

/// Reads and parses a JSON object whose member `key` is the version number 1.
result<json> read_object(const std::string& path, const char* key, const char* subject) {
  const auto bytes = read_regular_file(path, largest_side_file);
  if (!bytes) return tl::unexpected(bytes.error());
  auto whole = parse_json(*bytes);
  if (!whole)
    return fail(error_code::corrupt,
                fmt::format("is not a file of {}: {}; expected a JSON object", subject, whole.error().message), path,
                {}, whole.error().offset);
  if (!whole->is_object())
    return fail(error_code::corrupt, fmt::format("is not a file of {}: expected a JSON object", subject), path, {}, 0);
  const auto version = integer(*whole, key);
  if (!version)
    return fail(error_code::foreign, fmt::format("is not a file of {}: it has no \"{}\"", subject, key), path);
  if (*version != 1)
    return fail(error_code::newer_version, fmt::format("was written by a newer Sluice: {} {}", key, *version), path);
  return whole;
}

result<void> write_object(const std::string& path, const json& array) {
  auto place = replacement::of_file(path);
  if (!place) return tl::unexpected(place.error());
  std::ofstream file(place->path(), std::ios::binary);
  file << array.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
  file.close();
  if (!file) return fail(error_code::io, "cannot be written", path);
  return place->commit();
}

}  // namespace

recording_identity identify_recording(const document& subject) {
  const auto snapshot = subject.engine->snapshot();
  return {fs::path(subject.path).filename().string(), snapshot->realtime_origin(), subject.span.begin};
}

result<std::vector<user_note>> read_notes(const std::string& path, const recording_identity& identity) {
  const auto object = read_object(path, "sluice_notes", "notes");
  if (!object) return tl::unexpected(object.error());
  const auto about = identity_in(*object);
  if (!about) return fail(error_code::corrupt, "does not say which recording its notes are about", path);
  if (!about->matches(identity))
    return fail(error_code::foreign, "its notes belong to another recording", path, "rename or remove the file");
  const auto list = object->find("notes");
  if (list == object->end() || !list->is_array()) return fail(error_code::corrupt, "has no list of notes", path);
  if (list->size() > user_note::most)
    return fail(error_code::corrupt, fmt::format("has {} notes; at most {} are read", list->size(), user_note::most),
                path);
  std::vector<user_note> notes;
  for (const json& each : *list) {
    const auto number = notes.size() + 1;
    if (!each.is_object()) return fail(error_code::corrupt, fmt::format("note {} is not an object", number), path);
    const auto range = range_in(each, "time");
    const auto words = text(each, "text", user_note::longest_text);
    if (!range) return fail(error_code::corrupt, fmt::format("note {} has no valid time", number), path);
    if (!words)
      return fail(error_code::corrupt,
                  fmt::format("note {} has no text of at most {} bytes", number, user_note::longest_text), path);
    const auto [kind, id] = target_in(each);
    notes.push_back({*range, kind, id, *words});
  }
  return notes;
}

result<void> write_notes(const std::string& path, const recording_identity& identity,
                         const std::vector<user_note>& notes) {
  json array = {{"sluice_notes", 1}, {"recording", identity_out(identity)}, {"notes", json::array()}};
  for (const user_note& each : notes) {
    json one = {{"time", range_out(each.range)}};
    if (each.about != selection_kind::none) one[get_word(each.about)] = each.id;
    one["text"] = each.text;
    array["notes"].push_back(std::move(one));
  }
  return write_object(path, array);
}

std::string notes_path(const std::string& recording) { return recording + ".notes.json"; }

std::string notes_path_in(const std::string& config_folder, const std::string& recording) {
  if (config_folder.empty()) return {};
  std::error_code failed;
  const std::string whole = fs::absolute(recording, failed).lexically_normal().string();
  return fmt::format("{}/notes/{:016x}.json", config_folder, XXH3_64bits(whole.data(), whole.size()));
}

bool is_saved_view(const std::string& path) { return path.ends_with(".sluiceview"); }

result<saved_view> read_saved_view(const std::string& path) {
  const auto object = read_object(path, "sluice_view", "a saved view");
  if (!object) return tl::unexpected(object.error());
  const auto subject = identity_in(*object);
  if (!subject) return fail(error_code::corrupt, "does not name the recording it is about", path);
  const auto visible = range_in(*object, "visible");
  if (!visible || visible->length() <= 0) return fail(error_code::corrupt, "has no valid visible range", path);
  saved_view view;
  view.recording = *subject;
  view.visible = *visible;
  view.range = range_in(*object, "range");
  if (const auto moment = integer(*object, "moment_ns")) view.moment = bounded(*moment);
  if (const auto selected = object->find("selected"); selected != object->end() && selected->is_object())
    std::tie(view.selected, view.id) = target_in(*selected);
  if (const auto category = object->find("memory_by_category"); category != object->end() && category->is_boolean())
    view.memory_by_category = category->get<bool>();
  if (const auto views = object->find("views"); views != object->end()) {
    auto kept = kept_view_in(*views);
    if (!kept) return fail(kept.error().code, kept.error().message, path);
    view.kept = std::move(*kept);
  }
  return view;
}

result<void> write_saved_view(const std::string& path, const saved_view& view) {
  json array = {{"sluice_view", 1}, {"recording", identity_out(view.recording)}, {"visible", range_out(view.visible)}};
  if (view.range) array["range"] = range_out(*view.range);
  if (view.moment) array["moment_ns"] = *view.moment;
  if (view.selected != selection_kind::none) array["selected"] = json{{get_word(view.selected), view.id}};
  array["memory_by_category"] = view.memory_by_category;
  if (view.kept != kept_view{}) array["views"] = kept_view_out(view.kept);
  return write_object(path, array);
}

std::string find_recording(const std::string& view_path, const saved_view& view) {
  return (fs::path(view_path).parent_path() / view.recording.name).string();
}

}  // namespace sluice::gui

// Reads bytes as each of the JSON files beside a recording, and as JSON: the results are within bounds.
#include <nlohmann/json.hpp>
#include <string_view>

#include "app/gui/shell/kept_view.hpp"
#include "app/gui/shell/side_files.hpp"
#include "core/base/json/json_text.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::notes {
namespace {

const gui::recording_identity recorded{"a.sluice", 1'700'000'000'000'000'000, 42};

std::size_t list_levels(const nlohmann::ordered_json& value) {
  std::size_t most = 0;
  if (!value.is_structured()) return 0;
  for (const auto& each : value) most = std::max(most, list_levels(each));
  return most + 1;
}

/// Compares our JSON parser with nlohmann's: the trees must be equal and within our limits, and nlohmann's parser must
/// reject the input that ours rejects.
void read_as_json(const std::string& text) {
  const auto read = parse_json(text);
  if (read && (list_levels(*read) > max_json_levels || *read != nlohmann::ordered_json::parse(text))) __builtin_trap();
  const bool no_json = !read && read.error().message == "it is not JSON";
  if (no_json && nlohmann::ordered_json::accept(text)) __builtin_trap();
  if (!read && read.error().offset != error::no_offset && read.error().offset > text.size()) __builtin_trap();
}

void read_as_notes(const std::string& path) {
  const auto read = gui::read_notes(path, recorded);
  if (!read) return;
  if (read->size() > gui::user_note::most) __builtin_trap();
  for (const gui::user_note& each : *read) {
    if (each.text.size() > gui::user_note::longest_text || each.range.end < each.range.begin) __builtin_trap();
  }
}

void read_as_view(const std::string& path) {
  const auto read = gui::read_saved_view(path);
  if (!read) return;
  const bool leaves_folder = read->recording.name.find('/') != std::string::npos;
  if (leaves_folder || read->visible.length() <= 0) __builtin_trap();
}

/// Reads `text` as a line of the settings, which must be the same after it is saved and read again.
void read_as_kept_view(const std::string& text) {
  const auto read = gui::parse_kept_view(text);
  if (!read) return;
  const auto again = gui::parse_kept_view(gui::to_text(*read));
  if (!again || gui::to_text(*again) != gui::to_text(*read)) __builtin_trap();
}

void run(std::span<const std::uint8_t> input) {
  const std::string text(input.begin(), input.end());
  const memory_file file(input);
  read_as_json(text);
  read_as_notes(file.path());
  read_as_view(file.path());
  read_as_kept_view(text);
}

std::vector<bytes> seeds() {
  std::vector<bytes> items;
  const auto add = [&](std::string_view text) { items.emplace_back(text.begin(), text.end()); };
  constexpr std::string_view notes =
      R"({"sluice_notes":1,"recording":{"name":"a.sluice","realtime_origin_ns":1700000000000000000,"begin_ns":42},)"
      R"("notes":[{"time":{"begin_ns":5,"end_ns":5},"text":"a moment"},)"
      R"({"time":{"begin_ns":10,"end_ns":20},"block":7,"text":"\"quoted\"\nand \u00fc"}]})";
  constexpr std::string_view kept =
      R"({"pinned_tracks":[7],"hidden_tracks":[9],"order_of_tracks":[3,1],"by_process":true,"generations_ns":[-5,9],)"
      R"("blocks":{"text":"model.py","time":[10,11],"layer":"framework","category":"activation","least_bytes":1,)"
      R"("never_freed":true,"device":1,"kind":"device","process":2,"group_words":"GPT","groups":{"by":"module",)"
      R"("keys":[1],"except":true}},"queries":["SELECT time FROM kernels"]})";
  add(notes);
  add(kept);
  add(R"({"sluice_view":1,"recording":{"name":"a.sluice","realtime_origin_ns":1,"begin_ns":0},"visible":{"begin_ns":100,)"
      R"("end_ns":2000},"range":{"begin_ns":150,"end_ns":160},"moment_ns":155,"selected":{"block":12},)"
      R"("memory_by_category":true,"views":)" +
      std::string(kept) + "}");
  add(std::string(max_json_levels, '[') + std::string(max_json_levels, ']'));
  return items;
}

}  // namespace
}  // namespace sluice::fuzz::notes

sluice::fuzz::target sluice::fuzz::notes_target() { return {"notes", notes::run, notes::seeds}; }

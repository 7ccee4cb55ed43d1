#include "core/import/import.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/base/files/scratch_file.hpp"
#include "core/import/importers.hpp"
#include "core/import/job.hpp"
#include "core/import/unread_formats.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/trace/file/layout.hpp"

namespace sluice::importing {
namespace {

constexpr std::size_t max_kinds = 100;  // The most kinds of problems that are counted separately.

std::string_view to_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const importer* find_importer(format which) {
  for (const importer& each : importers())
    if (each.which == which) return &each;
  return nullptr;
}

format recognise(const input& source) {
  const std::string_view head = to_text(source.head());
  const std::uint64_t magic = trace::file_magic;
  char own[sizeof magic];
  std::memcpy(own, &magic, sizeof magic);
  if (head.starts_with(std::string_view(own, sizeof own)))
    return source.compressed() ? format::unknown : format::sluice;
  for (const importer& each : importers())
    if (each.recognises(head, source.path())) return each.which;
  return format::unknown;
}

std::string known_formats() {
  std::string text = "a Sluice recording";
  for (const importer& each : importers()) text += std::string(", ") + each.name;
  return text;
}

/// Returns the error for a file that no importer can read.
error refusal(const input& source) {
  const std::string& path = source.path();
  if (source.file_bytes() == 0) return {error_code::foreign, "is empty", path, error::no_offset, {}};
  if (source.compressed() && source.head().empty()) {
    return {error_code::foreign, "is a gzip file that does not inflate", path, error::no_offset, {}};
  }
  if (const unread_format* known = find_unread_format(to_text(source.head()), path)) {
    return {error_code::foreign, std::string(known->name), path, error::no_offset, std::string(known->hint)};
  }
  return {error_code::foreign, "has an unknown format; expected " + known_formats(), path, error::no_offset, {}};
}

void add(std::vector<count>& to, std::string_view subject, std::uint64_t number, std::uint64_t offset) {
  auto place = std::find_if(to.begin(), to.end(), [&](const count& c) { return c.label == subject; });
  if (place == to.end()) place = to.insert(to.end(), {std::string(subject), 0, offset});
  place->number += number;
}

std::string sentence(const std::vector<count>& counts) {
  std::string text;
  for (const count& each : counts) text += (text.empty() ? "" : ", ") + std::to_string(each.number) + " " + each.label;
  return text.empty() ? "nothing" : text;
}

}  // namespace

const char* get_name(format which) {
  if (which == format::sluice) return "Sluice recording";
  const importer* known = find_importer(which);
  return known == nullptr ? "unknown" : known->name;
}

format recognise(const std::string& path) {
  const auto source = input::open(path);
  return source ? recognise(*source) : format::unknown;
}

job::job(input source, std::string out, const options& with)
    : source_(std::move(source)), out_(std::move(out)), with_(with) {}

result<void> job::begin(std::int64_t realtime_origin) {
  trace::writer_options options;
  options.realtime_origin = realtime_origin;
  auto unpublished = trace::file_writer::create_unpublished(out_, options);
  if (!unpublished) return tl::unexpected(unpublished.error());
  writer_.emplace(std::move(*unpublished));
  return {};
}

result<void> job::start_over() {
  writer_.reset();
  report_ = {};
  said_.clear();
  begin_ = 0;
  auto again = input::open(source_.path());
  if (!again) return tl::unexpected(again.error());
  source_ = std::move(*again);
  return {};
}

result<void> job::advance(double share) {
  if (with_.cancel != nullptr && with_.cancel->load(std::memory_order_relaxed)) {
    return fail(error_code::cancelled, "the import was cancelled", source_.path());
  }
  if (with_.progress && share - reported_ >= 0.01) {
    reported_ = share;
    with_.progress(std::clamp(share, 0.0, 1.0));
  }
  return {};
}

void job::read(std::string_view subject, std::uint64_t number) { add(report_.read, subject, number, error::no_offset); }

void job::not_understood(std::string_view subject, std::uint64_t number, std::uint64_t offset) {
  auto& kinds = report_.not_understood;
  const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const count& c) { return c.label == subject; });
  add(kinds, known || kinds.size() < max_kinds ? subject : "rows of other kinds", number, offset);
}

void job::say(trace::severity severity, std::string_view text) {
  said_.push_back({severity, std::string(text)});
  report_.messages.emplace_back(text);
}

tl::unexpected<error> job::corrupt(std::string message, std::uint64_t offset, std::string hint) const {
  return fail(error_code::corrupt, std::move(message), source_.path(), std::move(hint), offset);
}

result<report> job::finish(format origin) {
  if (!writer_)
    if (auto begun = begin(); !begun) return tl::unexpected(begun.error());
  report_.from = origin;
  if (const error* damage = source_.damage()) {
    say(trace::severity::warning, damage->to_string() + "; everything before it was imported");
  }
  const auto note = [&](trace::severity severity, std::string text) { said_.push_back({severity, std::move(text)}); };
  note(trace::severity::info, "imported from " + std::filesystem::path(source_.path()).filename().string() + " (" +
                                  get_name(origin) + "): " + sentence(report_.read));
  for (const count& each : report_.not_understood) {
    std::string text = "not understood in the imported file: " + std::to_string(each.number) + " " + each.label;
    if (each.offset != error::no_offset) text += ", the first at byte " + std::to_string(each.offset);
    note(trace::severity::warning, std::move(text));
  }
  for (const message& each : said_) {
    trace::message_event row;
    row.time = begin_;
    row.severity = each.level;
    row.text = writer_->intern(each.text);
    writer_->add(row);
  }
  report_.events = writer_->events();
  summary::finalize_options ending;
  ending.min_events = with_.min_summed_up;
  ending.cancel = with_.cancel;
  if (auto closed = summary::finalize(*writer_, ending); !closed) return tl::unexpected(closed.error());
  // If the import was cancelled, the file would be readable but its summary would be incomplete.
  if (auto wanted = advance(1); !wanted) return tl::unexpected(wanted.error());
  if (auto published = writer_->publish(); !published) return tl::unexpected(published.error());
  return std::move(report_);
}

result<report> import_file(const std::string& path, const std::string& out, const options& with) {
  auto source = input::open(path);
  if (!source) return tl::unexpected(source.error());
  const format origin = recognise(*source);
  if (origin == format::sluice) {
    return fail(error_code::invalid_argument, "is already a Sluice recording", path, "open it directly");
  }
  const importer* known = find_importer(origin);
  if (known == nullptr) return tl::unexpected(refusal(*source));
  if (known->run == nullptr) {
    return fail(error_code::unavailable, std::string("is a ") + known->name + ", which cannot be read yet", path);
  }
  job work(std::move(*source), out, with);
  result<void> done = known->run(work);
  if (done) done = work.advance(1);
  return done ? work.finish(origin) : tl::unexpected(done.error());
}

result<std::shared_ptr<trace::file>> open_any(const std::string& path, const options& with,
                                              const trace::reader_options& reading) {
  const format found = recognise(path);
  if (found == format::sluice || found == format::unknown) {
    auto opened = trace::file::open(path, reading);
    if (opened || opened.error().code != error_code::foreign) return opened;
    const auto source = input::open(path);
    if (source && find_unread_format(to_text(source->head()), path) != nullptr) return tl::unexpected(refusal(*source));
    opened.error().hint = "expected " + known_formats();
    return opened;
  }
  const auto scratch = scratch_folder::make();
  if (!scratch) return tl::unexpected(scratch.error());
  const std::string imported = scratch->path() + "/imported.sluice";
  if (auto output = import_file(path, imported, with); !output) {
    error& why = output.error();
    if (why.file == imported && why.code == error_code::no_space) {
      // Report the user's file instead of the scratch file. The user can choose another folder.
      why.message = "must be imported, but there is too little space in " + scratch_place() + ": " + why.message;
      why.file = path;
      why.offset = error::no_offset;
      why.hint = "set TMPDIR to a folder with more space";
    }
    return tl::unexpected(why);
  }
  // From here on, only the open file keeps the scratch file alive.
  return trace::file::open(imported, reading);
}

}  // namespace sluice::importing

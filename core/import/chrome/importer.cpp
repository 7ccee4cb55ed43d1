// Imports Chrome's trace format, https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, and
// torch.profiler's (Kineto's) use of it, with the categories and arguments of libkineto's output_json.cpp.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "core/import/chrome/dialects.hpp"
#include "core/import/chrome/first_time.hpp"
#include "core/import/chrome/members.hpp"
#include "core/import/chrome/pipeline.hpp"
#include "core/import/chrome/slices.hpp"
#include "core/import/common/number.hpp"
#include "core/import/importers.hpp"
#include "core/import/torch/kineto_devices.hpp"
#include "core/import/torch/kineto_memory.hpp"
#include "core/import/torch/kineto_work.hpp"
#include "core/import/torch/python_calls.hpp"
#include "core/import/trace_events/tracks.hpp"
#include "core/import/unread_formats.hpp"
#include "core/import/work_rows.hpp"
#include "core/import/xla/xplane_json.hpp"

namespace sluice::importing {
namespace {

/// Times beyond this are invalid. It is 146 years in ns, counted from any clock's origin. Sums of valid times fit into
/// 64 bits.
constexpr time_ns far = std::numeric_limits<time_ns>::max() / 2;
/// Times later than this are from a clock that starts in 1970. It is the year 2001, in ns.
constexpr time_ns surely_unix = 1'000'000'000'000'000'000;
/// The longest possible trace. A time that is farther from the others is invalid.
constexpr time_ns longest_trace = time_ns{366} * 24 * 3600 * 1'000'000'000;

struct counted {
  std::uint64_t number = 0;
  std::uint64_t offset = error::no_offset;
};

/// The kinds that are counted as read, in the order of the report.
enum kind : std::uint8_t {
  kernels,
  copies,
  memsets,
  calls,
  syncs,
  ops,
  python_functions,
  annotations,
  gpu_annotations,
  device_ranges,
  memory_instants,
  failed_allocations,
  ranges,
  asynchronous_ranges,
  marks,
  counters,
  arrows,
  call_arrows,
  metadata,
  kind_count
};
constexpr std::array<std::string_view, kind_count> kind_names = {
    "kernels",
    "copies",
    "memsets",
    "CUDA calls",
    "synchronisations",
    "operators",
    "Python functions",
    "annotations",
    "GPU annotations",
    "other device ranges",
    "memory instants",
    "failed allocations",
    "ranges",
    "asynchronous ends",
    "instants",
    "counter samples",
    "arrow ends",
    "arrow ends from calls to work, replaced by correlation ids",
    "names"};

class chrome_importer {
 public:
  /// `first`: the time of the first event, if known. `is_sure`: this time is certain.
  chrome_importer(job& work, input& source, std::optional<time_ns> first, bool is_sure)
      : work_(work), source_(source), first_(first), is_sure_(is_sure) {}

  /// Reads the file. If `begins_elsewhere` is true afterwards, discard the trace.
  result<void> run() {
    chrome_pipeline pipeline(source_);
    while (const chrome_parsed* piece = pipeline.next()) {
      offset_ = piece->piece.offset;
      if (auto taken = take(*piece); !taken) return taken;
      if (auto on = work_.advance(piece->piece.share); !on) return on;
    }
    if (!pipeline.outcome()) {
      error met = pipeline.outcome().error();
      if (met.file.empty()) met.file = work_.source().path();
      return tl::unexpected<error>(std::move(met));
    }
    if (auto is_trace = check(pipeline.document()); !is_trace) return is_trace;
    if (auto begun = begin({}); !begun) return begun;
    if (begins_elsewhere()) return {};
    report(pipeline.document());
    finish();
    return {};
  }

  /// True if the first event has a time other than expected.
  [[nodiscard]] bool begins_elsewhere() const { return !is_sure_ && earliest_ != 0 && earliest_ != far; }
  /// The time of the first event.
  [[nodiscard]] time_ns first() const { return origin_ + earliest_; }

 private:
  /// Checks that the document has events. A document without events may be any JSON.
  result<void> check(const chrome_document& document) {
    const std::string& path = work_.source().path();
    if (!document.has_events()) {
      if (const unread_format* known = members_.other_format())
        return fail(error_code::foreign, std::string(known->name), path, std::string(known->hint));
      return fail(error_code::foreign, "is a JSON object without \"traceEvents\", so it is not a Chrome trace", path,
                  "torch.profiler's export_chrome_trace and Perfetto's JSON export write such traces");
    }
    if (events_ != 0 && phases_ == 0) {
      return fail(error_code::foreign, "is a JSON array of objects that are not events, because none has a \"ph\"",
                  path, "torch.profiler's export_chrome_trace and Perfetto's JSON export write such traces");
    }
    return {};
  }

  void report(const chrome_document& document) {
    if (document.truncated()) {
      work_.say(trace::severity::warning, "the imported file is cut off; everything before the cut was imported");
    }
    if (document.lost_bytes() != 0) fault("bytes of an event cut off by the end of the file", document.lost_bytes());
    if (document.gap().events != 0) fault("events that are not JSON", document.gap().events, document.gap().offset);
    lost_bytes_ += document.gap().bytes;
    if (lost_bytes_ != 0) {
      work_.say(trace::severity::warning,
                "broken events were skipped in the imported file: " + std::to_string(lost_bytes_) + " bytes");
    }
    if (document.documents() > 1) {
      work_.say(trace::severity::warning, "the imported file has " + std::to_string(document.documents()) +
                                              " consecutive documents, which were read as one");
    }
    if (document.ill_formed_from() != error::no_offset) {
      work_.say(trace::severity::warning,
                "the imported file has text after its events that is not JSON; ignored from byte " +
                    std::to_string(document.ill_formed_from()) + " on");
    }
  }

  /// The state for writing the trace, created when its clock is known.
  struct parts {
    explicit parts(trace::file_writer& writer)
        : out(writer),
          tracks(writer),
          devices(writer),
          slices(writer, tracks),
          work(writer, devices, tracks),
          python(writer),
          memory(writer, devices, python),
          dialects(tracks, devices) {}
    trace::file_writer& out;
    chrome_tracks tracks;
    kineto_devices devices;
    chrome_slices slices;
    kineto_work work;
    python_calls python;
    kineto_memory memory;
    dialect_devices dialects;
  };

  result<void> take(const chrome_parsed& piece) {
    if (piece.piece.holds == chrome_piece::content_kind::member) {
      members_.add(piece.piece);
      return {};
    }
    if (auto begun = begin(piece.batch.events); !begun) return begun;
    if (!usual_) usual_ = usual_time(piece.batch.events);
    for (const chrome_fault& each : piece.batch.faults) fault(each.reason, 1, each.offset);
    if (piece.batch.skipped_arguments != 0)
      fault("event arguments that a recording cannot represent", piece.batch.skipped_arguments);
    lost_bytes_ += piece.batch.lost_bytes;
    for (const chrome_event& event : piece.batch.events) take(event, piece.batch);
    return {};
  }

  /// Returns the time near which most of these events are. Uninitialized times are 0, and overflows may give any time.
  static std::optional<time_ns> usual_time(const std::vector<chrome_event>& events) {
    std::vector<time_ns> times;
    for (const chrome_event& event : events)
      if (event.has_time && !event.bad_time && event.phase != 'M') times.push_back(event.time);
    const bool all_zero = std::all_of(times.begin(), times.end(), [](time_ns time) { return time == 0; });
    if (!all_zero) std::erase(times, 0);
    if (times.empty()) return std::nullopt;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }

  /// Sets the trace's clock. Time 0 is the earliest time of the first events.
  result<void> begin(const std::vector<chrome_event>& first) {
    if (parts_) return {};
    base_ = members_.base_time();
    if (base_ < 0 || base_ > far) base_ = 0;
    time_ns earliest = far;
    usual_ = usual_time(first);
    for (const chrome_event& event : first)
      if (event.phase != 'M' && is_plausible(event)) earliest = std::min(earliest, event.time);
    origin_ = first_.value_or(earliest == far ? 0 : earliest);
    std::int64_t realtime = 0;
    if (base_ > 0 && origin_ <= far - base_) realtime = base_ + origin_;
    if (base_ == 0 && origin_ > surely_unix) realtime = origin_;
    if (auto begun = work_.begin(realtime); !begun) return begun;
    parts_.emplace(work_.out());
    return {};
  }

  /// True if an event has a time near the others.
  [[nodiscard]] bool is_plausible(const chrome_event& event) const {
    if (!event.has_time || event.bad_time || event.time <= -far || event.time >= far) return false;
    return !usual_ || (event.time >= *usual_ - longest_trace && event.time <= *usual_ + longest_trace);
  }

  void take(const chrome_event& event, const chrome_batch& batch) {
    ++events_;
    if (is_empty(event) && parts_->dialects.has_devices()) return;
    phases_ += event.phase != 0 ? 1 : 0;
    if (event.phase == 'M') {
      take_metadata(event, batch);
      return;
    }
    if (!is_plausible(event)) {
      fault(!event.has_time ? "events without a time"
            : event.bad_time || event.time <= -far || event.time >= far
                ? "events with a time that is not a number or exceeds 64 bits of ns"
                : "events with an impossible time, more than a year from the others");
      return;
    }
    const time_ns time = event.time - origin_;
    earliest_ = std::min(earliest_, time);
    switch (event.phase) {
      case 'X':
        take_whole(event, batch, time);
        break;
      case 'B':
        parts_->slices.begin_range(event, time, get_track(event));
        ++read_[ranges];
        break;
      case 'E':
        parts_->slices.end_range(time, get_track(event));
        break;
      case 'b':
      case 'S':
        asynchronous(event, time, 'b');
        break;
      case 'e':
      case 'F':
        asynchronous(event, time, 'e');
        break;
      case 'n':
      case 'T':
      case 'p':
        asynchronous(event, time, 'n');
        break;
      case 'i':
      case 'I':
      case 'R':
        take_instant(event, batch, time);
        break;
      case 'C': {
        const std::size_t bad =
            event.argument_count == 0 ? 0 : parts_->slices.add_counter(event, time, &batch.arguments[event.arguments]);
        if (bad != 0) fault("counter values that are not numbers", bad);
        read_[counters] += event.argument_count - bad;
        break;
      }
      case 's':
      case 't':
      case 'f':
        if (event.category == chrome_category::call_to_work ||
            (event.category_text == "async" && event.name == "launch")) {
          ++read_[call_arrows];
        } else {
          parts_->slices.add_arrow(event, time, get_track(event));
          ++read_[arrows];
        }
        break;
      default:
        fault(event.phase == 0 ? std::string("events without a phase")
                               : "events of the phase '" + std::string(1, event.phase) + "'");
        break;
    }
  }

  /// True for an empty object, with which XLA ends the list of events.
  static bool is_empty(const chrome_event& event) {
    return event.phase == 0 && !event.has_time && event.name.empty() && event.category_text.empty();
  }

  chrome_track& get_track(const chrome_event& event) {
    if (last_track_ == nullptr || !(event.process == last_process_) || !(event.thread == last_thread_) ||
        !event.process.text.empty() || !event.thread.text.empty()) {
      last_track_ = &parts_->tracks.of(event.process, event.thread);
      last_process_ = event.process;
      last_thread_ = event.thread;
    }
    return *last_track_;
  }

  void take_whole(const chrome_event& event, const chrome_batch& batch, time_ns begin) {
    time_ns end = trace::unknown_time;
    if (!event.has_duration) {
      fault("ranges without a duration");
    } else if (event.bad_duration || event.duration > longest_trace) {
      fault("events with an impossible duration, which are shown until the end of the recording");
    } else if (event.duration < 0) {
      fault("events with a negative duration");
      end = begin;
    } else {
      end = begin + event.duration;
    }
    if (event.category == chrome_category::other && take_dialect(event, batch, begin, end)) return;
    static const chrome_details none;
    const chrome_details& details = event.details == chrome_event::none ? none : batch.details[event.details];
    take_range(event, details, begin, end);
  }

  /// Reads device work in the form of a tool other than torch.profiler. Returns false if the event is not device work
  /// of another tool.
  bool take_dialect(const chrome_event& event, const chrome_batch& batch, time_ns begin, time_ns end) {
    const std::span<const chrome_argument> arguments(
        batch.arguments.data() + (event.argument_count == 0 ? 0 : event.arguments), event.argument_count);
    const bool on_device = !parts_->dialects.device_name(event.process).empty();
    std::optional<dialect_event> read = read_dialect(event, arguments, on_device);
    if (!read && parts_->dialects.holds_work(event.process, event.thread)) {
      read = read_bare_work(event);
    }
    if (!read) {
      if (event.argument_count != 0) fault("event arguments that a recording cannot represent");
      if (!on_device) return false;
      take_row_of_device(event, begin, end);
      return true;
    }
    if (read->is_instant) {
      const chrome_track& track = get_track(event);
      parts_->memory.name_framework("XLA");
      parts_->memory.add(track.process, track.thread, begin, read->details, false);
      ++read_[memory_instants];
      return true;
    }
    if (read->of_device) read->details.device = parts_->dialects.to_number(event.process);
    if (read->category == chrome_category::gpu_user_annotation) {
      take_row_of_device(event, begin, end);
      return true;
    }
    chrome_event ours = event;
    ours.category = read->category;
    ours.name = read->name;
    take_range(ours, read->details, begin, end);
    return true;
  }

  /// Reads the rows of a device's "process" that are not its work, such as modules, steps and waits.
  void take_row_of_device(const chrome_event& event, time_ns begin, time_ns end) {
    chrome_tracks& tracks = parts_->tracks;
    const std::string_view row = tracks.thread_name(event.process, event.thread);
    const std::string_view device = tracks.process_name(event.process);
    const std::string name = (device.empty() ? "a device" : std::string(device)) + ", " +
                             (row.empty() ? "row " + std::to_string(event.thread.number) : std::string(row));
    parts_->slices.add_range(event, begin, end, tracks.beside(tracks.main_process(), name));
    ++read_[device_ranges];
  }

  void take_range(const chrome_event& event, const chrome_details& details, time_ns begin, time_ns end) {
    switch (event.category) {
      case chrome_category::kernel:
        parts_->work.add_kernel(event, begin, end, details);
        ++read_[kernels];
        break;
      case chrome_category::copy:
        parts_->work.add_copy(event, begin, end, details);
        ++read_[copies];
        break;
      case chrome_category::memset:
        parts_->work.add_memset(event, begin, end, details);
        ++read_[memsets];
        break;
      case chrome_category::runtime_call:
        parts_->work.add_call(event, begin, end, details, get_track(event));
        ++read_[calls];
        break;
      case chrome_category::sync:
        parts_->work.add_sync(event, begin, end, details);
        ++read_[syncs];
        break;
      case chrome_category::gpu_user_annotation: {
        const std::string name = "annotations of device " + std::to_string(event.process.number) + ", stream " +
                                 std::to_string(event.thread.number);
        parts_->slices.add_range(event, begin, end, parts_->tracks.beside(parts_->tracks.main_process(), name));
        ++read_[gpu_annotations];
        break;
      }
      case chrome_category::python_function: {
        const chrome_track& track = get_track(event);
        parts_->python.add(track.thread, begin, end, event.name, trace::frame_kind::python);
        parts_->slices.add_range(event, begin, end, get_track(event));
        ++read_[python_functions];
        break;
      }
      default:
        parts_->slices.add_range(event, begin, end, get_track(event));
        if (python_calls::tells_phase(event.name))
          parts_->python.add(get_track(event).thread, begin, end, event.name, trace::frame_kind::unknown);
        ++read_[event.category == chrome_category::cpu_op            ? ops
                : event.category == chrome_category::user_annotation ? annotations
                                                                     : ranges];
        break;
    }
  }

  void take_instant(const chrome_event& event, const chrome_batch& batch, time_ns time) {
    const bool failed = event.category == chrome_category::out_of_memory;
    if ((event.category != chrome_category::memory && !failed) || event.details == chrome_event::none) {
      parts_->slices.add_mark(event, time);
      ++read_[marks];
      return;
    }
    const chrome_track& track = get_track(event);
    parts_->memory.add(track.process, track.thread, time, batch.details[event.details], failed);
    ++read_[failed ? failed_allocations : memory_instants];
  }

  void asynchronous(const chrome_event& event, time_ns time, char phase) {
    ++read_[asynchronous_ranges];
    parts_->slices.add_asynchronous(event, time, phase);
  }

  void take_metadata(const chrome_event& event, const chrome_batch& batch) {
    std::string_view name;
    for (std::uint32_t i = 0; i < event.argument_count; ++i) {
      const chrome_argument& each = batch.arguments[event.arguments + i];
      if (each.key == "name" && each.quoted) name = each.text;
      if (each.key == "labels" && event.name == "process_labels") parts_->dialects.note_label(event.process, each.text);
    }
    if (event.name == "process_name") {
      parts_->tracks.name_process(event.process, name);
      parts_->dialects.note_name(name);
    } else if (event.name == "thread_name") {
      parts_->tracks.name_thread(event.process, event.thread, name);
    } else if (event.name != "process_sort_index" && event.name != "thread_sort_index" &&
               event.name != "process_labels") {
      fault("metadata '" + std::string(event.name.substr(0, 60)) + "'");
      return;
    }
    ++read_[metadata];
  }

  void fault(std::string_view subject, std::uint64_t number = 1, std::uint64_t offset = error::no_offset) {
    const auto place = faults_.find(subject);
    counted& known = place != faults_.end() ? place->second : faults_.emplace(subject, counted{}).first->second;
    if (known.number == 0) known.offset = offset == error::no_offset ? offset_ : offset;
    known.number += number;
  }

  void finish() {
    parts& whole = *parts_;
    members_.describe(whole.tracks, whole.devices,
                      [this](std::string_view subject, std::uint64_t offset) { fault(subject, 1, offset); });
    const auto slices = whole.slices.finish();
    const auto work = whole.work.finish();
    whole.dialects.finish();
    const auto memory = whole.memory.finish(std::min<time_ns>(earliest_, 0));
    work_.set_begin(memory.begin);
    members_.write(whole.out, whole.tracks.main_process(), memory.begin);
    whole.devices.finish(whole.tracks);
    whole.tracks.finish();
    for (std::size_t i = 0; i < read_.size(); ++i)
      if (read_[i] != 0) work_.read(kind_names[i], read_[i]);
    const auto count = [&](std::string_view label, std::uint64_t number) {
      if (number != 0) work_.not_understood(label, number);
    };
    count("arrow ends without a range or a counterpart", slices.loose);
    count("ranges that never ended", slices.open_ranges);
    count("range ends without a start", slices.loose_ends);
    count("asynchronous range ends without a start", slices.loose_asynchronous_ends);
    count("kernels, copies and memsets whose call is not in the file", work.without_call);
    count("kernels, copies and memsets that calls of several processes may have requested", work.ambiguous);
    count(kernel_overruns::words, work.overruns);
    count(unknown_size_words, work.without_bytes);
    count(graph_parts::words, work.parts);
    if (memory.paired != 0)
      work_.read("frees without an address, each matched with a block of the same size", memory.paired);
    count("frees with a size other than the block's", memory.sizes_differ);
    count("allocations at an address whose previous free is not in the file and was inferred", memory.addresses_reused);
    count("memory instants with 0 bytes", memory.empty);
    count("Python functions beyond the memory limit, for stacks of allocations", memory.without_stack);
    for (const auto& [topic, found] : faults_) work_.not_understood(topic, found.number, found.offset);
  }

  job& work_;
  input& source_;  ///< The file, or its converted content.
  std::optional<parts> parts_;
  std::optional<time_ns> first_;  ///< The time of the first event, if known.
  bool is_sure_;                  ///< True if `first_` is certain.
  chrome_members members_;
  std::array<std::uint64_t, kind_count> read_{};
  std::map<std::string, counted, std::less<>> faults_;
  std::int64_t base_ = 0;
  time_ns origin_ = 0;
  time_ns earliest_ = far;
  std::uint64_t offset_ = 0;      ///< The offset of the current piece.
  std::uint64_t lost_bytes_ = 0;  ///< The number of bytes of broken events.
  std::uint64_t events_ = 0;      ///< The number of elements that are objects.
  std::uint64_t phases_ = 0;      ///< The number of these objects that are events.
  std::optional<time_ns> usual_;  ///< The result of `usual_time` for the first events that have one.
  chrome_track* last_track_ = nullptr;
  chrome_ident last_process_, last_thread_;
};

/// Imports a file that `open` opens. If the time of the first event is not the expected one, reads the file again.
template <class Open>
result<void> import_from_first_event(job& work, std::optional<time_ns> first, Open open) {
  for (bool is_sure = false;; is_sure = true) {
    result<input*> source = open();
    if (!source) return tl::unexpected<error>(source.error());
    chrome_importer reader(work, **source, first, is_sure);
    auto done = reader.run();
    if (!done || !reader.begins_elsewhere()) return done;
    first = reader.first();
    if (auto again = work.start_over(); !again) return again;
  }
}

}  // namespace

result<void> import_chrome_json(job& work) {
  std::optional<time_ns> first;
  const bool is_one_piece = !work.source().compressed() && work.source().file_bytes() <= chrome_document::piece_bytes;
  if (auto looked_at = input::open(work.source().path()); looked_at && !is_one_piece)
    first = find_first_time(*looked_at);
  return import_from_first_event(work, first, [&]() -> result<input*> { return &work.source(); });
}

result<void> import_xspace(job& work) {
  std::optional<xplane_as_json> converted;
  std::optional<input> source;
  return import_from_first_event(work, {}, [&]() -> result<input*> {
    converted.emplace(work);
    if (auto begun = converted->begin(); !begun) return tl::unexpected<error>(begun.error());
    auto opened = input::open_as(
        work.source().path(), [&](std::span<std::byte> into) { return converted->read(into); },
        [&] { return converted->share_read(); });
    if (!opened) return tl::unexpected<error>(opened.error());
    source.emplace(std::move(*opened));
    return &*source;
  });
}

}  // namespace sluice::importing

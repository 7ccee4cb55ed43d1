// Ordering and bookkeeping. assembler_records.cpp handles the individual records.
#include "instrumentation/writer/assembler/assembler.hpp"

#include <algorithm>

#include "instrumentation/writer/sort_runs.hpp"

namespace sluice::collector {

using namespace trace;

namespace {
constexpr time_ns second = 1'000'000'000;
}  // namespace

assembler::assembler(file_writer& file, const clock_anchor& start, const assembler_options& options)
    : file_(file),
      origin_(options.simulated ? 0 : start.monotonic),
      options_(options),
      names_(file, options.table_bytes),
      stacks_(file, names_),
      shares_(file) {
  now_.simulated = options.simulated;
  clocks_.add(start);
  if (!options.simulated) add_anchor(start);
}

void assembler::add_anchor(const clock_anchor& clocks) {
  clock_anchor_event anchor;
  anchor.time = last_anchor_ = clocks.monotonic - origin_;
  anchor.tsc = clocks.tsc;
  anchor.monotonic = clocks.monotonic;
  anchor.realtime = clocks.realtime;
  file_.add(anchor);
}

recorded_process& assembler::add_process(const producer_identity& identity, std::uint64_t pid) {
  process_id parent{};
  for (const auto& p : processes_) {
    const bool is_parent = p->names.row.pid == identity.parent_pid || p->names.row.container_pid == identity.parent_pid;
    if (is_parent && identity.parent_pid != 0) parent = p->names.id;
  }
  processes_.push_back(std::make_unique<recorded_process>(file_, last_block_, last_graph_));
  recorded_process& process = *processes_.back();
  names_.add_process(process.names, identity, pid, parent, now());
  process.stacks.owner = process.names.id;
  return process;
}

void assembler::identify(recorded_process& process, const producer_identity& identity) {
  names_.identify(process.names, identity);
}

std::uint64_t assembler::processes_heard() const {
  return static_cast<std::uint64_t>(
      std::count_if(processes_.begin(), processes_.end(), [](const auto& p) { return p->heard; }));
}

// ------------------------------------------------------------------------------------------------------------ turns

result<std::size_t> assembler::take(ring_source& ring, ring_reader& reader, std::size_t most) {
  std::vector<std::byte>& bytes = memory_[now_.turns & 1].bytes;
  const std::size_t offset = bytes.size();
  auto drained = reader.drain(bytes, most);
  if (drained && *drained != 0) drained_.push_back({&ring, offset, *drained});
  return drained;
}

void assembler::advance(const clock_anchor& present) {
  clocks_.add(present);
  present_ = present.monotonic - origin_;
  if (!options_.simulated && present_ - last_anchor_ >= second) add_anchor(present);
  for (const drained_span& drained : drained_) {
    drained.ring->process->heard = true;
    sort_in(drained);
  }
  drained_.clear();
  process_due();
  consider_checkpoint_after_loss();
  settle(false);
  ++now_.turns;
  memory_[now_.turns & 1].clear();
  std::swap(due_, later_);
  settled_ = latest_;
}

void assembler::finish(const clock_anchor& present) {
  advance(present);
  process_due();
  settle(true);
  for (const auto& process : processes_) process->ranges.finish();
  if (!processes_.empty()) write_checkpoint(now());
}

void assembler::settle(bool everything) {
  for (const auto& process : processes_) {
    process->blocks.settle(now_, everything);
    process->work.settle(now_, everything);
  }
}

void assembler::write_freed() {
  for (const auto& process : processes_) process->blocks.write_freed();
}

namespace {

/// How a record is treated in the turn in which it is taken.
enum class reception : std::uint8_t {
  waits,         ///< A host event: waits until all earlier events have been taken.
  from_device,   ///< Arrives arbitrarily late: processed in the next turn.
  defines,       ///< A definition that others may already need: processed at once.
  reports_loss,  ///< Waits, too.
};

/// Indexed by record type. Types beyond the table, and unknown ones, wait.
using receptions = std::array<reception, 64>;

constexpr receptions receptions_of_real = [] {
  receptions all{};
  const auto set = [&](reception what, std::initializer_list<record_type> types) {
    for (const record_type type : types) all[static_cast<std::size_t>(type)] = what;
  };
  set(reception::from_device, {record_type::copy, record_type::memset, record_type::kernel, record_type::migration,
                               record_type::graph_launch, record_type::watermark});
  set(reception::defines, {record_type::string, record_type::thread, record_type::frame, record_type::module,
                           record_type::stack, record_type::pool_stream});
  set(reception::reports_loss, {record_type::loss});
  return all;
}();
static_assert(receptions_of_real.back() == reception::waits);

/// In a simulated recording, device work is recorded by the single host thread, so it is in order.
constexpr receptions receptions_of_simulated = [] {
  receptions all = receptions_of_real;
  std::replace(all.begin(), all.end(), reception::from_device, reception::waits);
  return all;
}();

}  // namespace

void assembler::sort_in(const drained_span& drained) {
  ring_source& ring = *drained.ring;
  const std::span<const std::byte> span =
      std::span(memory_[now_.turns & 1].bytes).subspan(drained.offset, drained.length);
  const bool sound = options_.simulated ? sort_in<true>(ring, span) : sort_in<false>(ring, span);
  if (!sound) break_off(ring);
}

/// Returns false at a record with an invalid length.
template <bool Simulated>
bool assembler::sort_in(ring_source& ring, std::span<const std::byte> drained) {
  const std::byte* const taken = memory_[now_.turns & 1].bytes.data();
  const bool counts = ring.clock == clock_kind::tsc;
  std::uint32_t voice = voice_of(ring);
  time_ns latest = latest_;
  bool sound = true;
  // Upper limit for the number of records.
  const std::size_t before = later_.ordered.size();
  later_.ordered.resize(before + drained.size() / sizeof(record_header));
  pending* next = later_.ordered.data() + before;
  for (std::span<const std::byte> left = drained; !left.empty();) {
    const record_head head = head_at(left);
    if (head.bytes == 0) {
      sound = false;
      break;
    }
    const std::byte* const record = left.data();
    left = left.subspan(head.bytes);
    if (head.type == record_type::padding) continue;
    std::uint64_t raw = 0;
    std::memcpy(&raw, record + offsetof(record_header, time), sizeof raw);
    time_ns time = static_cast<time_ns>(std::min<std::uint64_t>(raw, INT64_MAX / 2));
    if constexpr (!Simulated) {
      if (counts && (head.flags & flag_monotonic) == 0) time = clocks_.to_monotonic(raw);
      time -= origin_;
    }
    const auto place = static_cast<std::uint32_t>(static_cast<std::size_t>(record - taken) / 8);
    constexpr const receptions& all = Simulated ? receptions_of_simulated : receptions_of_real;
    const reception met = all[std::min(static_cast<std::size_t>(head.type), all.size() - 1)];
    if (met == reception::from_device) {
      later_.from_device.push_back({plausible(time), place, voice});
      continue;
    }
    if (met == reception::defines) {
      define_early(ring, sound_record_at(record));
      voice = voice_of(ring);
      continue;
    }
    if (met == reception::reports_loss) count_reported_loss(ring, sound_record_at(record));
    if constexpr (!Simulated) time = std::min(time, present_);
    latest = std::max(latest, time);
    // Everything up to the latest time of the previous turn has been taken. In a simulated recording, the
    // single thread's records are already in order; leaving them here makes the file independent of the turns.
    if (!Simulated && time <= settled_) [[unlikely]] {
      due_.ordered.push_back({time, place, voice});
    } else {
      *next++ = {time, place, voice};
    }
  }
  later_.ordered.resize(static_cast<std::size_t>(next - later_.ordered.data()));
  latest_ = latest;
  return sound;
}

void assembler::break_off(ring_source& ring) {
  ring.broken = true;
  add_message(severity::warning, "a ring holds records that make no sense; what its thread did from here on is lost");
  loss_event loss;
  loss.time = loss.end = now();
  loss.events = loss.memory_events = 1;  // At least one.
  add_loss(*ring.process, loss, ring.copy, all_layers);
}

void assembler::count_reported_loss(ring_source& ring, const record_view& record) {
  if ((record.flags & flag_of_ring) == 0) return;
  const auto r = decode<loss_record>(record);
  ring.reported_losses += r.events;
  ring.reported_memory_losses += r.memory_events;
}

namespace {

/// The data after the struct in a record.
template <class Record>
std::span<const std::byte> rest_of(const record_view& record) {
  return record.bytes.subspan(std::min(record.bytes.size(), sizeof(Record)));
}

/// At most `count` words after the struct. Copied, because the record may be unaligned.
template <class Record>
std::vector<std::uint64_t> words_after(const record_view& record, std::uint64_t count) {
  const std::span<const std::byte> rest = rest_of<Record>(record);
  std::vector<std::uint64_t> words(std::min<std::uint64_t>(count, rest.size() / sizeof(std::uint64_t)));
  if (!words.empty()) std::memcpy(words.data(), rest.data(), words.size() * sizeof words[0]);
  return words;
}

}  // namespace

void assembler::define_early(ring_source& ring, const record_view& record) {
  bool kept = true;
  switch (record.type) {
    case record_type::string: {
      const auto r = decode<string_record>(record);
      const std::span<const std::byte> text = rest_of<string_record>(record);
      if (r.length <= text.size() && r.length <= maximum_text_bytes) {
        names_.define_text(r.key, {reinterpret_cast<const char*>(text.data()), r.length});
      }
      return;
    }
    case record_type::thread: {
      const auto r = decode<thread_record>(record);
      ring.thread = names_.thread(ring.process->names, r.tid, {r.name, strnlen(r.name, sizeof r.name)});
      return;
    }
    case record_type::pool_stream:
      names_.define_pool_stream(decode<pool_stream_record>(record));
      return;
    case record_type::frame:
      kept = stacks_.define(ring.process->stacks, decode<frame_record>(record));
      break;
    case record_type::module:
      stacks_.define(ring.process->stacks, decode<module_record>(record));
      return;
    case record_type::stack: {
      const auto r = decode<stack_record>(record);
      kept = stacks_.define(ring.process->stacks, r.key, words_after<stack_record>(record, r.count), r.base);
      break;
    }
    default:
      return;
  }
  if (!kept && !stacks_left_out_) {
    stacks_left_out_ = true;
    add_message(severity::warning, "a process has more distinct call stacks than are kept: later ones are left out");
  }
}

/// Consecutive records of a ring nearly always have the same thread.
std::uint32_t assembler::voice_of(const ring_source& ring) {
  std::vector<speaker>& speakers = memory_[now_.turns & 1].speakers;
  const speaker who{ring.process, ring.thread, ring.clock, ring.copy};
  if (speakers.empty() || speakers.back() != who) [[unlikely]]
    speakers.push_back(who);
  return static_cast<std::uint32_t>((speakers.size() - 1) << 1 | (now_.turns & 1));
}

void assembler::put_in_order(std::vector<pending>& some) {
  if (options_.simulated) {
    const auto another = [&](const pending& p) {
      const speaker &first = speaker_of(some.front()), &one = speaker_of(p);
      return one.thread != first.thread || one.process != first.process;
    };
    if (std::none_of(some.begin(), some.end(), another)) return;
  }
  sort_runs(some, spare_, [](const pending& p) { return p.time; });
}

void assembler::process_due() {
  put_in_order(due_.ordered);
  process(due_.ordered);
  process(due_.from_device);
  due_.ordered.clear();
  due_.from_device.clear();
  if (streamless_) report_streamless();
}

// ------------------------------------------------------------------------------------ losses, messages, checkpoints

void assembler::take_ringless_loss(ring_source& ring, const ring_reader::losses& lost) {
  const time_ns since = std::exchange(ring.ringless_looked, now());
  if (lost.ringless_events <= ring.ringless_losses) return;
  loss_event loss;
  loss.time = std::min(since, now());
  loss.end = now();
  loss.events = lost.ringless_events - ring.ringless_losses;
  loss.memory_events = lost.ringless_memory_events - std::min(lost.ringless_memory_events, ring.ringless_memory_losses);
  ring.ringless_losses = lost.ringless_events;
  ring.ringless_memory_losses = std::max(ring.ringless_memory_losses, lost.ringless_memory_events);
  add_loss(*ring.process, loss, ring.copy, all_layers);
}

void assembler::add_unreported_loss(recorded_process& process, std::uint64_t events, std::uint64_t memory_events) {
  loss_event loss;
  loss.time = process.names.row.begin == unknown_time ? 0 : process.names.row.begin;
  loss.end = std::max(loss.time, now());
  loss.events = events;
  loss.memory_events = memory_events;
  if (events != 0) add_loss(process, loss, 0, all_layers);
}

void assembler::take_unreported_loss(ring_source& ring, const ring_reader::losses& lost) {
  if (lost.events <= ring.reported_losses) return;
  loss_event loss;
  loss.time = convert(ring.clock, 0, lost.first);
  loss.end = std::max(loss.time, convert(ring.clock, 0, lost.last));
  loss.events = lost.events - ring.reported_losses;
  loss.memory_events = lost.memory_events - std::min(lost.memory_events, ring.reported_memory_losses);
  loss.thread = ring.thread;
  ring.reported_losses = lost.events;
  ring.reported_memory_losses = lost.memory_events;
  add_loss(*ring.process, loss, ring.copy, lost.layers);
}

void assembler::resume(const dropped_rows& lost) {
  lost_events_ += lost.own().events;
  lost_memory_events_ += lost.own().memory_events;
  write_checkpoint(now());
}

/// Also drops records that wait to be written, because there may be no memory for that.
void assembler::abandon() {
  for (turn_memory& memory : memory_) memory = {};
  drained_ = {};
  due_ = {};
  later_ = {};
  spare_ = {};
}

void assembler::add_loss(recorded_process& process, loss_event loss, std::uint32_t copy, layer_bits layers) {
  loss.process = process.names.id;
  file_.add(loss);
  lost_events_ += loss.events;
  lost_memory_events_ += loss.memory_events;
  // A ring reports losses late (when it has space again, or at its end): the live set may have come before.
  const bool doubtful =
      loss.memory_events != 0 && process.doubts.add(copy, layers != 0 ? layers : all_layers, loss.end);
  if (doubtful) loss_until_ = std::max(loss_until_, loss.end);
}

void assembler::add_message(severity severity, std::string_view text) {
  message_event message;
  message.time = now();
  message.severity = severity;
  message.text = names_.text_id(text);
  file_.add(message);
}

/// Checkpoints must be frequent enough to answer "live at t" quickly, but stay a small part of the file.
void assembler::consider_checkpoint(time_ns time) {
  const std::uint64_t since = file_.events() - events_at_checkpoint_;
  if (since < options_.checkpoint_every || since < 8 * blocks_at_checkpoint_) return;
  write_checkpoint(time);
}

/// At most one checkpoint per turn, fewer if many blocks are live: under overload, each ring reports
/// a loss whenever it is emptied, and writing the live set for each report would cause the next loss.
void assembler::consider_checkpoint_after_loss() {
  if (loss_until_ == INT64_MIN || file_.events() - events_at_checkpoint_ < 8 * blocks_at_checkpoint_) return;
  write_checkpoint(std::max(reached_, loss_until_));
}

void assembler::write_checkpoint(time_ns time) {
  checkpoint_event checkpoint;
  checkpoint.time = time;
  for (const auto& process : processes_) {
    checkpoint.blocks += process->blocks.live_blocks();
    checkpoint.exact = checkpoint.exact && !process->doubts.any();
  }
  checkpoint.id = file_.next_event();
  file_.add(checkpoint);
  for (const auto& process : processes_) {
    process->blocks.for_each_live([&](const alloc_event& block) {
      live_block_event row;
      static_cast<alloc_event&>(row) = block;
      row.id = event_id::none;
      row.checkpoint = checkpoint.id;
      row.born = block.time;
      row.time = time;
      file_.add(row);
    });
  }
  loss_until_ = INT64_MIN;
  events_at_checkpoint_ = file_.events();
  blocks_at_checkpoint_ = static_cast<std::size_t>(checkpoint.blocks);
}

}  // namespace sluice::collector

// Ordering and bookkeeping. record_decoder_records.cpp handles the individual records.
#include "instrumentation/writer/record_decoder/record_decoder.hpp"

#include <algorithm>

#include "instrumentation/writer/sort_runs.hpp"

namespace sluice::writer {

using namespace trace;

namespace {
constexpr time_ns second = 1'000'000'000;
}  // namespace

record_decoder::record_decoder(file_writer& file, const clock_anchor& start, const record_decoder_options& options)
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

void record_decoder::add_anchor(const clock_anchor& clocks) {
  clock_anchor_event anchor;
  anchor.time = last_anchor_ = clocks.monotonic - origin_;
  anchor.tsc = clocks.tsc;
  anchor.monotonic = clocks.monotonic;
  anchor.realtime = clocks.realtime;
  file_.add(anchor);
}

recorded_process& record_decoder::add_process(const producer_identity& identity, std::uint64_t pid) {
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

void record_decoder::identify(recorded_process& process, const producer_identity& identity) {
  names_.identify(process.names, identity);
}

std::uint64_t record_decoder::processes_heard() const {
  return static_cast<std::uint64_t>(
      std::count_if(processes_.begin(), processes_.end(), [](const auto& p) { return p->heard; }));
}

// ------------------------------------------------------------------------------------------------------------ turns

result<std::size_t> record_decoder::take(ring_source& ring, ring_reader& reader, std::size_t most) {
  std::vector<std::byte>& bytes = memory_[now_.turns & 1].bytes;
  const std::size_t offset = bytes.size();
  auto drained = reader.drain(bytes, most);
  if (drained && *drained != 0) drained_.push_back({&ring, offset, *drained});
  return drained;
}

void record_decoder::advance(const clock_anchor& present) {
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

void record_decoder::finish(const clock_anchor& present) {
  advance(present);
  process_due();
  settle(true);
  for (const auto& process : processes_) process->ranges.finish();
  if (!processes_.empty()) write_checkpoint(now());
}

void record_decoder::settle(bool everything) {
  for (const auto& process : processes_) {
    process->blocks.settle(now_, everything);
    process->work.settle(now_, everything);
  }
}

void record_decoder::write_freed() {
  for (const auto& process : processes_) process->blocks.write_freed();
}

namespace {

/// How a record is treated in the turn in which it is taken.
enum class reception : std::uint8_t {
  waits,         ///< A host event: waits until all earlier events have been taken.
  from_device,   ///< A device event, which may arrive arbitrarily late: processed in the next turn.
  defines,       ///< A definition that other records may already need: processed at once.
  reports_loss,  ///< A report of a loss; waits like a host event.
};

/// Indexed by record type. Unknown types, and types beyond the table, have reception `waits`.
using receptions = std::array<reception, 64>;

constexpr receptions receptions_of_real = [] {
  receptions all{};
  const auto set = [&](reception what, std::initializer_list<ring::record_type> types) {
    for (const ring::record_type type : types) all[static_cast<std::size_t>(type)] = what;
  };
  set(reception::from_device,
      {ring::record_type::copy, ring::record_type::memset, ring::record_type::kernel, ring::record_type::migration,
       ring::record_type::graph_launch, ring::record_type::watermark});
  set(reception::defines, {ring::record_type::string, ring::record_type::thread, ring::record_type::frame,
                           ring::record_type::module, ring::record_type::stack, ring::record_type::pool_stream});
  set(reception::reports_loss, {ring::record_type::loss});
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

void record_decoder::sort_in(const drained_span& drained) {
  ring_source& ring = *drained.ring;
  const std::span<const std::byte> span =
      std::span(memory_[now_.turns & 1].bytes).subspan(drained.offset, drained.length);
  const bool sound = options_.simulated ? sort_in<true>(ring, span) : sort_in<false>(ring, span);
  if (!sound) break_off(ring);
}

/// Receives the records taken from a ring. Returns false at a record with an invalid length.
template <bool Simulated>
bool record_decoder::sort_in(ring_source& ring, std::span<const std::byte> drained) {
  const std::byte* const taken = memory_[now_.turns & 1].bytes.data();
  const bool counts = ring.clock == ring::clock_kind::tsc;
  std::uint32_t voice = voice_of(ring);
  time_ns latest = latest_;
  bool sound = true;
  // Upper limit for the number of records.
  const std::size_t before = later_.ordered.size();
  later_.ordered.resize(before + drained.size() / sizeof(ring::record_header));
  pending* next = later_.ordered.data() + before;
  for (std::span<const std::byte> left = drained; !left.empty();) {
    const record_head head = head_at(left);
    if (head.bytes == 0) {
      sound = false;
      break;
    }
    const std::byte* const record = left.data();
    left = left.subspan(head.bytes);
    if (head.type == ring::record_type::padding) continue;
    std::uint64_t raw = 0;
    std::memcpy(&raw, record + offsetof(ring::record_header, time), sizeof raw);
    time_ns time = static_cast<time_ns>(std::min<std::uint64_t>(raw, INT64_MAX / 2));
    if constexpr (!Simulated) {
      if (counts && (head.flags & ring::flag_monotonic) == 0) time = clocks_.to_monotonic(raw);
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

void record_decoder::break_off(ring_source& ring) {
  ring.broken = true;
  add_message(severity::warning, "a ring contains invalid records: later events of its thread are lost");
  loss_event loss;
  loss.time = loss.end = now();
  loss.events = loss.memory_events = 1;  // At least one.
  add_loss(*ring.process, loss, ring.copy, ring::all_layers);
}

void record_decoder::count_reported_loss(ring_source& ring, const record_view& record) {
  if ((record.flags & ring::flag_of_ring) == 0) return;
  const auto r = decode<ring::loss_record>(record);
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

void record_decoder::define_early(ring_source& ring, const record_view& record) {
  bool kept = true;
  switch (record.type) {
    case ring::record_type::string: {
      const auto r = decode<ring::string_record>(record);
      const std::span<const std::byte> text = rest_of<ring::string_record>(record);
      if (r.length <= text.size() && r.length <= ring::maximum_text_bytes) {
        names_.define_text(r.key, {reinterpret_cast<const char*>(text.data()), r.length});
      }
      return;
    }
    case ring::record_type::thread: {
      const auto r = decode<ring::thread_record>(record);
      ring.thread = names_.thread(ring.process->names, r.tid, {r.name, strnlen(r.name, sizeof r.name)});
      return;
    }
    case ring::record_type::pool_stream:
      names_.define_pool_stream(decode<ring::pool_stream_record>(record));
      return;
    case ring::record_type::frame:
      kept = stacks_.define(ring.process->stacks, decode<ring::frame_record>(record));
      break;
    case ring::record_type::module:
      stacks_.define(ring.process->stacks, decode<ring::module_record>(record));
      return;
    case ring::record_type::stack: {
      const auto r = decode<ring::stack_record>(record);
      kept = stacks_.define(ring.process->stacks, r.key, words_after<ring::stack_record>(record, r.count), r.base);
      break;
    }
    default:
      return;
  }
  if (!kept && !stacks_left_out_) {
    stacks_left_out_ = true;
    add_message(severity::warning, "a process has too many distinct call stacks: later ones are not recorded");
  }
}

/// The voice (see `pending`) of the ring's current speaker. Consecutive records of a ring nearly always have the same.
std::uint32_t record_decoder::voice_of(const ring_source& ring) {
  std::vector<speaker>& speakers = memory_[now_.turns & 1].speakers;
  const speaker who{ring.process, ring.thread, ring.clock, ring.copy};
  if (speakers.empty() || speakers.back() != who) [[unlikely]]
    speakers.push_back(who);
  return static_cast<std::uint32_t>((speakers.size() - 1) << 1 | (now_.turns & 1));
}

void record_decoder::put_in_order(std::vector<pending>& some) {
  if (options_.simulated) {
    const auto another = [&](const pending& p) {
      const speaker &first = speaker_of(some.front()), &one = speaker_of(p);
      return one.thread != first.thread || one.process != first.process;
    };
    if (std::none_of(some.begin(), some.end(), another)) return;
  }
  sort_runs(some, spare_, [](const pending& p) { return p.time; });
}

void record_decoder::process_due() {
  put_in_order(due_.ordered);
  process(due_.ordered);
  process(due_.from_device);
  due_.ordered.clear();
  due_.from_device.clear();
  if (streamless_) report_streamless();
}

// ------------------------------------------------------------------------------------ losses, messages, checkpoints

void record_decoder::take_ringless_loss(ring_source& ring, const ring_reader::losses& lost) {
  const time_ns since = std::exchange(ring.ringless_looked, now());
  if (lost.ringless_events <= ring.ringless_losses) return;
  loss_event loss;
  loss.time = std::min(since, now());
  loss.end = now();
  loss.events = lost.ringless_events - ring.ringless_losses;
  loss.memory_events = lost.ringless_memory_events - std::min(lost.ringless_memory_events, ring.ringless_memory_losses);
  ring.ringless_losses = lost.ringless_events;
  ring.ringless_memory_losses = std::max(ring.ringless_memory_losses, lost.ringless_memory_events);
  add_loss(*ring.process, loss, ring.copy, ring::all_layers);
}

void record_decoder::add_unreported_loss(recorded_process& process, std::uint64_t events, std::uint64_t memory_events) {
  loss_event loss;
  loss.time = process.names.row.begin == unknown_time ? 0 : process.names.row.begin;
  loss.end = std::max(loss.time, now());
  loss.events = events;
  loss.memory_events = memory_events;
  if (events != 0) add_loss(process, loss, 0, ring::all_layers);
}

void record_decoder::take_unreported_loss(ring_source& ring, const ring_reader::losses& lost) {
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

void record_decoder::resume(const dropped_rows& lost) {
  lost_events_ += lost.own().events;
  lost_memory_events_ += lost.own().memory_events;
  write_checkpoint(now());
}

/// Also drops records that wait to be written, because there may be no memory for writing them.
void record_decoder::abandon() {
  for (turn_memory& memory : memory_) memory = {};
  drained_ = {};
  due_ = {};
  later_ = {};
  spare_ = {};
}

void record_decoder::add_loss(recorded_process& process, loss_event loss, std::uint32_t copy, ring::layer_bits layers) {
  loss.process = process.names.id;
  file_.add(loss);
  lost_events_ += loss.events;
  lost_memory_events_ += loss.memory_events;
  // A ring reports losses late (when it has space again, or at its end): the live set may already have arrived.
  const bool doubtful =
      loss.memory_events != 0 && process.doubts.add(copy, layers != 0 ? layers : ring::all_layers, loss.end);
  if (doubtful) loss_until_ = std::max(loss_until_, loss.end);
}

void record_decoder::add_message(severity severity, std::string_view text) {
  message_event message;
  message.time = now();
  message.severity = severity;
  message.text = names_.text_id(text);
  file_.add(message);
}

/// Checkpoints must be frequent enough to find the live blocks at a given time quickly, but stay a small part of the
/// file.
void record_decoder::consider_checkpoint(time_ns time) {
  const std::uint64_t since = file_.events() - events_at_checkpoint_;
  if (since < options_.checkpoint_every || since < 8 * blocks_at_checkpoint_) return;
  write_checkpoint(time);
}

/// Writes at most one checkpoint per turn, fewer if many blocks are live: under overload, each ring reports
/// a loss whenever it is emptied, and writing the live set for each report would cause the next loss.
void record_decoder::consider_checkpoint_after_loss() {
  if (loss_until_ == INT64_MIN || file_.events() - events_at_checkpoint_ < 8 * blocks_at_checkpoint_) return;
  write_checkpoint(std::max(reached_, loss_until_));
}

void record_decoder::write_checkpoint(time_ns time) {
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

}  // namespace sluice::writer

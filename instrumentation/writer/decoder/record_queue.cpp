#include "instrumentation/writer/decoder/record_queue.hpp"
#include "core/base/sort_runs.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "instrumentation/writer/record_decoder/loss_log.hpp"

namespace sluice::writer {

using namespace trace;

namespace {

/// How a record is treated in the turn in which it is taken.
enum class reception : std::uint8_t {
  waits,         ///< A host event: waits until all earlier events have been taken.
  from_device,   ///< A device event, which may arrive arbitrarily late: processed in the next turn.
  declares,      ///< A declaration that other records may already need: processed at once.
  reports_loss,  ///< A report of a loss; waits like a host event.
};

/// Indexed by record type. Unknown types, and types beyond the table, have reception `waits`.
using receptions = std::array<reception, 64>;

constexpr receptions receptions_when_real = [] {
  receptions table{};
  const auto set = [&](reception treatment, std::initializer_list<ring::record_type> types) {
    for (const ring::record_type type : types) table[static_cast<std::size_t>(type)] = treatment;
  };
  set(reception::from_device,
      {ring::record_type::copy, ring::record_type::memset, ring::record_type::kernel, ring::record_type::migration,
       ring::record_type::graph_launch, ring::record_type::watermark});
  set(reception::declares,
      {ring::record_type::string, ring::record_type::thread, ring::record_type::frame, ring::record_type::module,
       ring::record_type::stack, ring::record_type::pool_stream, ring::record_type::recorder_threads});
  set(reception::reports_loss, {ring::record_type::loss});
  return table;
}();
static_assert(receptions_when_real.back() == reception::waits);

/// In a simulated recording, device work is recorded by the single host thread, so it is in order.
constexpr receptions receptions_when_simulated = [] {
  receptions table = receptions_when_real;
  std::replace(table.begin(), table.end(), reception::from_device, reception::waits);
  return table;
}();

}  // namespace

result<std::size_t> record_queue::take(ring_source& ring, ring_reader& reader, std::size_t most) {
  std::vector<std::byte>& bytes = memory_[turn_].bytes;
  const std::size_t offset = bytes.size();
  auto drained = reader.drain(bytes, most);
  if (drained && *drained != 0) drained_.push_back({&ring, offset, *drained});
  return drained;
}

bool record_queue::sort_in(const drained_span& drained, declaration_handler& declarations) {
  const std::span<const std::byte> bytes = std::span(memory_[turn_].bytes).subspan(drained.offset, drained.length);
  return clock_.is_simulated() ? sort_in<true>(*drained.ring, bytes, declarations)
                               : sort_in<false>(*drained.ring, bytes, declarations);
}

template <bool Simulated>
bool record_queue::sort_in(ring_source& ring, std::span<const std::byte> drained, declaration_handler& declarations) {
  const trace_clock& clock = clock_;
  const std::byte* const taken = memory_[turn_].bytes.data();
  const bool counts = ring.clock == ring::clock_kind::tsc;
  std::uint32_t voice = get_voice(ring);
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
    const bool ticks = !Simulated && counts && (head.flags & ring::flag_monotonic) == 0;
    time_ns time = clock.convert_unchecked(raw, ticks);
    const auto word = static_cast<std::uint32_t>(static_cast<std::size_t>(record - taken) / 8);
    constexpr const receptions& table = Simulated ? receptions_when_simulated : receptions_when_real;
    const reception treatment = table[std::min(static_cast<std::size_t>(head.type), table.size() - 1)];
    if (treatment == reception::from_device) {
      later_.from_device.push_back({clock.plausible(time), word, voice});
      continue;
    }
    if (treatment == reception::declares) {
      declarations.handle(ring, sound_record_at(record));
      voice = get_voice(ring);
      continue;
    }
    if (treatment == reception::reports_loss) loss_log::count_reported(ring, sound_record_at(record));
    if constexpr (!Simulated) time = std::min(time, clock.present());
    latest = std::max(latest, time);
    // Everything up to the latest time of the previous turn has been taken. In a simulated recording, the
    // single thread's records are already in order; leaving them here makes the file independent of the turns.
    if (!Simulated && time <= settled_) [[unlikely]] {
      due_.ordered.push_back({time, word, voice});
    } else {
      *next++ = {time, word, voice};
    }
  }
  later_.ordered.resize(static_cast<std::size_t>(next - later_.ordered.data()));
  latest_ = latest;
  return sound;
}

/// The voice (see `pending`) of the ring's current speaker. Consecutive records of a ring nearly always have the same.
std::uint32_t record_queue::get_voice(const ring_source& ring) {
  std::vector<speaker>& speakers = memory_[turn_].speakers;
  const bool of_recorder = ring.is_of_recorder();
  const thread_id thread = of_recorder ? thread_id::none : ring.thread;
  const speaker who{ring.process, thread, ring.tid, ring.clock, ring.copy, of_recorder};
  if (speakers.empty() || speakers.back() != who) [[unlikely]]
    speakers.push_back(who);
  return static_cast<std::uint32_t>((speakers.size() - 1) << 1 | turn_);
}

void record_queue::put_in_order(std::vector<pending>& records) {
  if (clock_.is_simulated()) {
    const auto another = [&](const pending& p) {
      const speaker &first = get_speaker(records.front()), &one = get_speaker(p);
      return one.thread != first.thread || one.process != first.process;
    };
    if (std::none_of(records.begin(), records.end(), another)) return;
  }
  sort_runs(records, spare_, [](const pending& a, const pending& b) { return a.time < b.time; });
}

void record_queue::end_turn() {
  drained_.clear();
  turn_ ^= 1;
  memory_[turn_].clear();
  std::swap(due_, later_);
  settled_ = latest_;
}

void record_queue::abandon() {
  for (turn_memory& memory : memory_) memory = {};
  drained_ = {};
  due_ = {};
  later_ = {};
  spare_ = {};
}

}  // namespace sluice::writer

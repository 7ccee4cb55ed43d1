// Runs the analysis of `sluice whatif`. If the bytes begin like a pickle, they are a PyTorch snapshot; otherwise they
// choose an allocator's events one by one, so that mutations have a deep effect. Requests are inferred and replayed
// under every policy and with other batch sizes.
// Arenas must match the slow reference, and metrics must not contradict each other.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/index/growing_index.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/replay/allocator_rules.hpp"
#include "core/replay/batch.hpp"
#include "core/replay/recorded_events.hpp"
#include "core/replay/replay.hpp"
#include "tests/core/import/snapshot_of.hpp"
#include "tests/core/replay/slow_arenas.hpp"
#include "tests/fuzz/import_bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::whatif {
namespace {

using replay::allocator_requests;
using replay::mib;
using replay::policy;
using replay::recorded_events;
using replay::replay_metrics;
using replay::request;
using replay::request_kind;

constexpr std::size_t max_for_reference = 400;  ///< In events: the slow reference takes quadratic time.

void check(bool right) {
  if (!right) __builtin_trap();
}

// --- invariants ------------------------------------------------------------------------------------------------------

void check_arenas(const recorded_events& events) {
  if (events.events.size() > max_for_reference) return;
  for (const auto by : {replay::explanation::arenas, replay::explanation::delays}) {
    const replay::inferred_arenas found = replay::infer_arenas(events, by);
    const replay::inferred_arenas slow = replay::slow_arenas(events, by).infer();
    check(found.free_at == slow.free_at && found.min_asked == slow.min_asked);
    check(found.of_segment == slow.of_segment && found.count == slow.count);
    check(found.peak_reserved == slow.peak_reserved && found.driver_calls == slow.driver_calls);
  }
}

/// Each block is allocated once and freed at most once, in existing arenas and at existing times.
void check_requests(const allocator_requests& requests) {
  check(requests.times.size() == requests.requests.size() && requests.ids.size() == requests.blocks);
  check(std::is_sorted(requests.times.begin(), requests.times.end()));
  check(requests.private_arenas.size() == requests.arenas);
  std::vector<int> allocated(requests.blocks), freed(requests.blocks);
  for (const request& each : requests.requests) {
    if (each.kind == request_kind::empty_cache) {
      check(each.block < requests.kept_arenas.size());
      continue;
    }
    check(each.block < requests.blocks && each.arena < requests.arenas);
    ++(each.kind == request_kind::allocate ? allocated : freed)[each.block];
  }
  check(std::all_of(allocated.begin(), allocated.end(), [](int times) { return times == 1; }));
  check(std::all_of(freed.begin(), freed.end(), [](int times) { return times <= 1; }));
}

void check_metrics(const allocator_requests& requests, const policy& by) {
  replay::reserved_curve curve{{requests.times.front(), requests.times.back() + 1}, std::vector<std::uint64_t>(16)};
  const replay_metrics output = replay::replay_policy(requests, by, &curve);
  check(output == replay::replay_policy(requests, by));
  check(output.peak_reserved >= output.peak_allocated && output.peak_reserved >= output.largest_hole);
  check(output.peak_reserved >= output.at_failure && output.segments <= output.driver_calls);
  check(output.failures <= requests.blocks && output.peak_reserved <= replay::rules_for(by, requests).limit);
  check(*std::max_element(curve.highest.begin(), curve.highest.end()) == output.peak_reserved);
}

void check_batches(const allocator_requests& requests, std::span<const index::category> categories) {
  const replay::batch_point one{2, replay::highest_bytes(requests, categories)};
  allocator_requests twice = replay::with_batch(requests, categories, replay::fit_law(std::span(&one, 1)), 2, 4);
  const replay::batch_point points[] = {one, {4, replay::highest_bytes(twice, categories)}};
  const replay::batch_recording other{4, &twice};
  for (const double to : {1.0, 3.0, 1e6}) {
    allocator_requests scaled = replay::with_batch(requests, categories, replay::fit_law(points), 2, to);
    check_requests(scaled);
    check_metrics(scaled, {});
    if (const auto by_block = replay::with_batch_by_block(requests, 2, std::span(&other, 1), to))
      check_metrics(*by_block, {});
  }
}

void check_all(const recorded_events& events, const allocator_requests& requests,
               std::span<const index::category> categories) {
  static const std::vector<policy> more = [] {
    std::vector<policy> policies = replay::default_policies();
    for (const char* text :
         {"max_split_size_mb:20,garbage_collection_threshold:0.1,per_process_memory_fraction:0.5",
          "expandable_segments:True,max_split_size_mb:20,roundup_power2_divisions:[1:2,4:8,>:16]",
          "max_split_size_mb:21,max_non_split_rounding_mb:20", "empty_cache:step", "empty_cache:failure"})
      policies.push_back(*replay::parse_policy(text));
    return policies;
  }();
  check_arenas(events);
  check_requests(requests);
  for (const policy& by : more) check_metrics(requests, by);
  for (const std::size_t begin : {std::size_t{0}, requests.requests.size() / 2, requests.requests.size()}) {
    const replay::reserved_after after = replay::empty_cache_before(requests, begin);
    check(after.as_recorded <= replay::replay_policy(requests, {}).peak_reserved);
  }
  check_batches(requests, categories);
}

// --- events that bytes choose ---------------------------------------------------------------------------------------

/// The rows of a program on two devices. Missing bytes count as 0.
class chosen_program {
 public:
  explicit chosen_program(std::span<const std::uint8_t> by) : by_(by) {}

  void run() {
    const std::uint64_t first = next();
    limit_ = first % 4 == 0 ? 0 : (first + 20) * mib;
    base_ = (first & 64U) != 0 ? ~std::uint64_t{0} - 64 * mib : 0;
    while (!by_.empty()) step(next());
    memory.settle(tables);
  }
  /// Adds other facts that a recording would contain.
  void add_to(allocator_requests& requests) const {
    if (requests.limit == 0) requests.limit = limit_;
    requests.device_bytes = limit_;
    requests.step_begins = steps_;
    requests.failures = failures_;
  }

  index::memory_use memory;
  trace::tables tables;
  std::vector<index::category> categories;  ///< Assigned to the blocks in turn.

 private:
  std::uint64_t next() {
    if (by_.empty()) return 0;
    const std::uint64_t byte = by_.front();
    by_ = by_.subspan(1);
    return byte;
  }

  /// Advances the time; sometimes it stays the same or goes backward.
  void step(std::uint64_t value) {
    time_ += (value & 8U) != 0 ? 10 : 0;
    if ((value & 240U) == 240U) time_ -= 25;
    switch (value % 8) {
      case 0:
        return take();
      case 1:
        return end(segments_);
      case 2:
      case 3:
        return allocate();
      case 4:
      case 5:
        return end(blocks_);
      case 6:
        return fail(next());
      default:
        steps_.push_back(std::max(time_, steps_.empty() ? time_ : steps_.back()));
    }
  }

  /// Adds a segment, a mapped piece, or an address range for pieces.
  void take() {
    static constexpr std::uint64_t sizes[] = {2 * mib, 20 * mib, 4 * mib, 2 * mib, 12 * mib, 30 * mib, 512, 0};
    const std::uint64_t mode = next();
    trace::alloc_event row = made(base_ + next() % 32 * 2 * mib, sizes[mode % 8]);
    row.layer = trace::layer::driver;
    row.stream = static_cast<trace::stream_id>(mode / 64);
    if ((mode & 56U) == 8) row.kind = trace::memory_kind::mapping;
    if ((mode & 56U) == 16) row.kind = trace::memory_kind::reservation;
    segments_.push_back({row.block, row.address, row.bytes});
    memory.add(row);
  }

  /// Allocates a block in a segment; sometimes past the segment's end, or outside of all segments.
  void allocate() {
    const std::uint64_t mode = next();
    const place subject = mode < segments_.size() ? segments_[segments_.size() - 1 - mode] : place{};
    const std::uint64_t at = next() * (mode % 2 == 0 ? mib / 2 : 512);
    const std::uint64_t size = next();
    trace::alloc_event row =
        made(subject.address + at, size == 255 ? subject.bytes : size * (mode % 3 == 0 ? mib / 4 : 512));
    row.layer = trace::layer::framework;
    row.parent = subject.block;
    blocks_.push_back({row.block, row.address, row.bytes});
    memory.add(row);
    categories.push_back(static_cast<index::category>(categories.size() % index::category_count));
  }

  struct place {
    trace::block_id block{};
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  /// Frees a block or segment, perhaps for the second time.
  void end(const std::vector<place>& items) {
    const std::size_t which = next();
    if (items.empty()) return;
    trace::free_event row = event<trace::free_event>();
    row.block = items[items.size() - 1 - which % items.size()].block;
    memory.add(row);
  }

  void fail(std::uint64_t mode) {
    auto row = event<trace::alloc_failed_event>();
    row.device = trace::device_id{1};
    row.layer = mode % 2 == 0 ? trace::layer::driver : trace::layer::framework;
    memory.add(row);
    if (mode % 2 != 0) failures_.push_back(std::max(time_, failures_.empty() ? time_ : failures_.back()));
  }

  template <class Row>
  Row event() {
    Row row;
    row.id = trace::event_id{++event_};
    row.time = time_;
    row.process = trace::process_id{1};
    return row;
  }
  trace::alloc_event made(std::uint64_t address, std::uint64_t bytes) {
    auto row = event<trace::alloc_event>();
    row.block = trace::block_id{event_};
    row.device = static_cast<trace::device_id>(1 + (event_ % 16 == 15 ? 1 : 0));
    row.kind = trace::memory_kind::device;
    row.address = address;
    row.bytes = bytes;
    return row;
  }

  std::span<const std::uint8_t> by_;
  std::uint64_t limit_ = 0;
  std::uint64_t base_ = 0;
  std::uint64_t event_ = 0;
  trace::time_ns time_ = 100;
  std::vector<place> segments_, blocks_;
  std::vector<trace::time_ns> steps_, failures_;
};

void run_chosen(std::span<const std::uint8_t> input) {
  chosen_program program(input);
  program.run();
  for (const recorded_events& each : replay::recorded_allocators(program.memory, program.tables)) {
    allocator_requests requests = replay::collect_requests(each, program.tables);
    program.add_to(requests);
    program.categories.resize(std::max<std::size_t>(program.categories.size(), requests.blocks));
    check_all(each, requests, program.categories);
  }
}

// --- snapshots ------------------------------------------------------------------------------------------------------

/// Imports the bytes and analyzes them as `sluice whatif` does.
void run_imported(std::span<const std::uint8_t> input) {
  const auto file = imported({reinterpret_cast<const char*>(input.data()), input.size()});
  if (file == nullptr) return;
  const auto snapshot = file->latest();
  index::growing_index index;
  while (!index.absorb(*snapshot, snapshot->chunks().size() + 1)) {
  }
  const auto facts = index.tensors(*snapshot);
  replay::block_categories categories;
  categories.add(index.memory(), facts->categories, all_time);
  for (const recorded_events& each : replay::recorded_allocators(index.memory(), snapshot->tables())) {
    allocator_requests requests = replay::collect_requests(each, snapshot->tables());
    replay::put_moments(std::span(&requests, 1), facts->steps->lists(), index.memory().failed());
    check_all(each, requests, categories.of(requests));
  }
}

void run(std::span<const std::uint8_t> input) {
  if (!input.empty() && input.front() == 0x80) return run_imported(input);
  run_chosen(input);
}

// --- seeds ----------------------------------------------------------------------------------------------------------

using nlohmann::json;
using testing::entry;

/// Segments that are freed and allocated again at the same address, with blocks of two sizes in them.
bytes snapshot() {
  constexpr std::uint64_t at = 0x7f00'0000'0000;
  json history = json::array();
  std::int64_t time = 10;
  const auto put = [&](const char* action, std::uint64_t address, std::uint64_t size) {
    history.push_back(entry(action, address, size, ++time));
  };
  for (int turn = 0; turn < 3; ++turn) {
    put("segment_alloc", at, 20 * mib);
    put("alloc", at, 12 * mib);
    put("alloc", at + 12 * mib, 3 * mib);
    put("free_completed", at, 12 * mib);
    put("segment_alloc", at + 100 * mib, 20 * mib);
    put("alloc", at + 100 * mib, 8 * mib);
    put("alloc", at, 2 * mib);
    put("free_completed", at + 12 * mib, 3 * mib);
    put("free_completed", at, 2 * mib);
    put("free_completed", at + 100 * mib, 8 * mib);
    put("segment_free", at, 20 * mib);
    put("segment_free", at + 100 * mib, 20 * mib);
  }
  const std::string text = testing::pickled({{"segments", json::array()}, {"device_traces", {history}}});
  return {text.begin(), text.end()};
}

std::vector<bytes> seeds() {
  // Bytes as `chosen_program` reads them: segment (how, where), allocate (in, at, size), end (which).
  const bytes again = {1, 8,  1,  0, 10, 0,  0,  255, 12, 0, 9,  0, 8, 1, 0,  10, 0, 0, 255, 8,
                       1, 16, 10, 0, 0,  40, 10, 0,   40, 8, 12, 1, 8, 1, 24, 10, 0, 0, 40};
  const bytes streams = {0, 8, 0, 0, 8,  64, 1, 10, 0,  0, 4,  10, 1, 0,  9, 12, 0, 10, 1, 0, 9,
                         8, 8, 0, 2, 10, 0,  0, 9,  14, 0, 15, 9,  2, 12, 1, 14, 1, 10, 2, 1, 1};
  const bytes mapped = {5, 8, 17, 0, 8, 8, 0, 8, 8, 1, 10, 0, 0, 8, 10, 1, 0, 16, 12, 0, 9, 0, 252, 0, 241, 1};
  return {again, streams, mapped, snapshot()};
}

}  // namespace
}  // namespace sluice::fuzz::whatif

sluice::fuzz::target sluice::fuzz::whatif_target() { return {"whatif", whatif::run, whatif::seeds}; }

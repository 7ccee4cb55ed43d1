#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "tests/core/recordings/recording.hpp"

/// Recordings with rows of every kind, in random order.
namespace sluice::query {

using trace::time_ns;

class random_recording {
 public:
  random_recording(std::uint64_t seed, bool hostile) : recorded(1 + seed % 50), random_(seed), hostile_(hostile) {
    recorded.standard_tables();
    make_stacks();
    for (std::uint64_t id = 1; id <= 120; ++id) tell_block(id);
    for (int i = 0; i < 90; ++i) tell_work();
    for (int i = 0; i < 60; ++i) tell_host();
    for (int i = 0; i < 30; ++i) tell_samples();
    for (int i = 0; i < 80; ++i) tell_touch();
    if (random_() % 2 == 0) tell_checkpoint();
    if (random_() % 2 == 0) tell_deaths_by_checkpoints();
    std::shuffle(rows_.begin(), rows_.end(), random_);
    add_host_samples(seed);
    for (const auto& row : rows_) row();
  }

  std::vector<time_ns> begins() {
    std::set<time_ns> times{0};
    for (std::size_t i = random_() % 12; i > 0; --i) times.insert(at());
    return {times.begin(), times.end()};
  }

  testing::recording recorded;

 private:
  static constexpr time_ns span = 4000;
  time_ns at() { return static_cast<time_ns>(random_() % span); }
  bool one_in(std::uint64_t many) { return random_() % many == 0; }
  trace::block_id some_block() { return one_in(4) ? trace::block_id{} : trace::block_id{1 + random_() % 130}; }
  template <class Row>
  void later(Row row) {
    rows_.push_back([this, row] { recorded.writer().add(row); });
  }
  template <class Row>
  Row event(time_ns time) {
    Row row = recorded.event<Row>(time);
    row.id = recorded.writer().next_event();
    row.thread = trace::thread_id{1 + random_() % 2};
    return row;
  }

  void make_stacks() {
    for (std::uint64_t i = 1; i <= 6; ++i) {
      trace::frame_row frame;
      frame.id = trace::frame_id{i};
      frame.kind = trace::frame_kind::python;
      frame.function = recorded.text(i == 2 ? "backward" : i == 3 ? "forward" : fmt::format("line {}", i));
      recorded.writer().add(frame);
      trace::stack_row stack;
      stack.id = trace::stack_id{i};
      stack.parent = trace::stack_id{i / 2};
      stack.frame = frame.id;
      recorded.writer().add(stack);
    }
  }

  void tell_block(std::uint64_t id) {
    auto row = event<trace::alloc_event>(at());
    row.block = trace::block_id{id};
    row.layer = one_in(2) ? trace::layer::framework : static_cast<trace::layer>(random_() % 4);
    row.kind = one_in(4) ? trace::memory_kind::pinned : trace::memory_kind::device;
    row.device = trace::device_id{1 + random_() % 2};
    row.pool = trace::pool_id{random_() % 3};
    row.bytes = random_() % 1000;
    row.reserved_bytes = row.bytes + 10;
    row.address = id << 20;
    row.parent = one_in(3) ? trace::block_id{1 + random_() % 120} : trace::block_id{};
    row.stack = trace::stack_id{random_() % 7};
    row.name = recorded.text(fmt::format("site {}", random_() % 4));
    if (one_in(12)) row.flags = one_in(2) ? trace::born_before : trace::ipc_import;
    lives_.push_back({row, latest});
    const time_ns length = one_in(3) ? at() : static_cast<time_ns>(random_() % 200);
    later(row);
    if (!one_in(6)) {
      auto freed = event<trace::free_event>(row.time + length);
      freed.block = row.block;
      if (hostile_ && one_in(8)) freed.time = at();
      lives_.back().freed = freed.time;
      later(freed);
      if (hostile_ && one_in(8)) freed.id = recorded.writer().next_event(), freed.time = at(), later(freed);
    }
    if (hostile_ && one_in(10)) row.id = recorded.writer().next_event(), row.time = at(), later(row);
    if (one_in(6)) tell_attribute(row.id, one_in(2) ? "name" : "category", one_in(2) ? "weight" : "gradient");
    if ((row.flags & trace::ipc_import) != 0) {
      auto link = recorded.event<trace::link_event>(at());
      link.kind = trace::link_kind::import_to_owner;
      link.from = row.id;
      link.to = trace::event_id{1 + random_() % 200};
      later(link);
    }
  }

  void tell_attribute(trace::event_id target, std::string_view key, std::string_view text) {
    auto row = recorded.event<trace::attribute_event>(at());
    row.target = target;
    row.key = recorded.text(key);
    row.text = recorded.text(text);
    later(row);
  }

  trace::event_id tell_call(time_ns time, std::string_view name) {
    auto call = event<trace::api_call_event>(time);
    call.end = time + static_cast<time_ns>(random_() % 30);
    call.name = recorded.text(name);
    call.stack = trace::stack_id{random_() % 7};
    later(call);
    return call.id;
  }

  void tell_work() {
    const time_ns asked = at();
    const time_ns begin = asked + static_cast<time_ns>(random_() % 300);
    const time_ns end =
        one_in(25) ? trace::unknown_time : begin + static_cast<time_ns>(random_() % (one_in(5) ? 900 : 40));
    const auto fill = [&](auto& row) {
      row.end = end;
      row.device = trace::device_id{1 + random_() % 2};
      row.stream = trace::stream_id{1 + random_() % 2};
    };
    switch (random_() % 5) {
      case 0: {
        auto row = event<trace::kernel_event>(begin);
        fill(row);
        row.name = recorded.text(fmt::format("kernel {}", random_() % 30));
        row.call = tell_call(asked, "cuLaunchKernel");
        row.correlation = 1 + random_() % 20;
        row.enqueued = asked;
        return later(row);
      }
      case 1: {
        auto row = event<trace::memset_event>(begin);
        fill(row);
        row.block = some_block();
        return later(row);
      }
      case 2: {
        auto row = event<trace::graph_launch_event>(begin);
        fill(row);
        row.graph = trace::graph_id{1 + random_() % 2};
        return later(row);
      }
      case 3: {
        auto row = event<trace::migration_event>(begin);
        row.end = end;
        row.device = trace::device_id{1};
        row.bytes = random_() % 5000;
        row.direction = trace::direction::h2d;
        return later(row);
      }
      default: {
        auto row = event<trace::transfer_event>(begin);
        fill(row);
        const trace::direction ways[] = {trace::direction::h2d, trace::direction::d2h, trace::direction::d2d};
        row.direction = ways[random_() % 3];
        row.source_kind = one_in(2) ? trace::memory_kind::host : trace::memory_kind::pinned;
        row.bytes = random_() % 10'000;
        row.source_block = some_block();
        row.destination_block = some_block();
        row.source_address = random_() % 4;
        row.call = tell_call(asked, "cuMemcpyAsync");
        row.enqueued = one_in(4) ? trace::unknown_time : asked;
        if (row.direction == trace::direction::h2d) row.content = trace::content_check::exact;
        row.content_hash = random_() % 3;
        return later(row);
      }
    }
  }

  void tell_host() {
    const time_ns begin = at();
    const time_ns end = begin + static_cast<time_ns>(random_() % (one_in(4) ? 1500 : 60));
    switch (random_() % 4) {
      case 0: {
        auto row = event<trace::host_range_event>(begin);
        row.end = one_in(10) ? trace::unknown_time : end;
        row.name = recorded.text(one_in(3) ? "step" : "work");
        return later(row);
      }
      case 1: {
        auto row = event<trace::sync_event>(begin);
        row.end = end;
        return later(row);
      }
      case 2: {
        auto row = event<trace::file_io_event>(begin);
        row.end = end;
        row.bytes = random_() % 100;
        row.operation = trace::file_operation::read;
        return later(row);
      }
      default: {
        auto row = event<trace::marker_event>(begin);
        row.step = one_in(2) ? static_cast<std::int64_t>(random_() % 10) : -1;
        return later(row);
      }
    }
  }

  void tell_samples() {
    switch (random_() % 4) {
      case 0: {
        auto row = event<trace::pool_event>(at());
        row.pool = trace::pool_id{1 + random_() % 3};
        row.reserved = random_() % 9000;
        row.used = random_() % (row.reserved + 1);
        return later(row);
      }
      case 1: {
        auto row = event<trace::device_memory_event>(at());
        row.device = trace::device_id{1};
        row.total = 100'000;
        row.free = random_() % row.total;
        row.recorder = random_() % 100;
        return later(row);
      }
      case 2: {
        auto row = event<trace::counter_event>(at());
        row.counter = trace::counter_id{1 + random_() % 2};
        row.value = static_cast<double>(random_() % 100);
        return later(row);
      }
      default: {
        auto row = event<trace::alloc_failed_event>(at());
        row.bytes = 5;
        return later(row);
      }
    }
  }

  void tell_touch() {
    auto row = event<trace::touch_event>(at());
    row.block = some_block();
    row.correlation = 1 + random_() % 20;
    row.name = recorded.text(one_in(3) ? "cuMemcpyAsync" : "gemm");
    if (one_in(5)) row.graph = trace::graph_id{1 + random_() % 2};
    later(row);
  }

  /// Puts samples of host threads between the other rows. Their random numbers are others, so that the other rows of a
  /// seed do not depend on the samples.
  void add_host_samples(std::uint64_t seed) {
    std::mt19937_64 others(~seed);
    std::swap(random_, others);
    for (const std::uint64_t thread : {1, 2}) {
      const std::size_t before = rows_.size();
      tell_host_samples(trace::thread_id{thread});
      for (std::size_t i = before; i < rows_.size(); ++i) {
        const auto to = rows_.begin() + static_cast<std::ptrdiff_t>(random_() % (i + 1));
        std::rotate(to, rows_.begin() + static_cast<std::ptrdiff_t>(i),
                    rows_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
    std::swap(random_, others);
  }

  /// Samples of a thread follow one another, as a recorder writes them.
  void tell_host_samples(trace::thread_id thread) {
    time_ns now = at() / 4;
    for (std::size_t i = random_() % 60; i > 0; --i) {
      auto row = event<trace::host_sample_event>(now);
      row.thread = thread;
      row.length = static_cast<time_ns>(random_() % (one_in(8) ? 700 : 60));
      row.state = static_cast<trace::host_state>(random_() % trace::host_state_count);
      row.stack = trace::stack_id{random_() % 7};
      if (row.state == trace::host_state::blocked) row.system_call = static_cast<std::int64_t>(random_() % 500);
      if (one_in(2)) row.python_distance = static_cast<time_ns>(random_() % 50);
      now += row.length + (one_in(5) ? static_cast<time_ns>(random_() % 100) : 0);
      if (hostile_ && one_in(20)) row.length = -1;
      later(row);
    }
  }

  void tell_checkpoint() {
    auto lost = event<trace::loss_event>(at());
    lost.memory_events = 3;
    lost.events = 5;
    later(lost);
    auto about = event<trace::checkpoint_event>(at());
    about.blocks = 10;
    later(about);
    for (std::uint64_t i = 0; i < about.blocks; ++i) {
      auto row = event<trace::live_block_event>(about.time);
      row.checkpoint = about.id;
      row.block = trace::block_id{i < 5 ? 200 + i : 1 + random_() % 120};
      row.born = i < 5 || hostile_ ? std::min(at(), about.time) : about.time;
      row.bytes = 77;
      row.layer = trace::layer::framework;
      row.kind = trace::memory_kind::device;
      row.device = trace::device_id{1};
      if (i < 5 || hostile_) later(row);
    }
  }

  /// Adds a loss of events and then checkpoints. After a loss, a block that a checkpoint does not list is no longer
  /// live, even if no row frees it.
  void tell_deaths_by_checkpoints() {
    auto lost = event<trace::loss_event>(at() / 2);
    lost.memory_events = 3;
    lost.events = 5;
    later(lost);
    for (std::size_t i = 1 + random_() % 3; i > 0; --i) {
      auto about = event<trace::checkpoint_event>(at());
      about.exact = !one_in(6);
      std::vector<trace::live_block_event> live;
      for (const life& each : lives_) {
        const trace::alloc_event& block = each.block;
        if (block.time >= about.time || one_in(4) || (each.freed < about.time && !hostile_)) continue;
        trace::live_block_event row;
        static_cast<trace::alloc_event&>(row) = block;
        row.id = recorded.writer().next_event();
        row.time = about.time;
        row.checkpoint = about.id;
        row.born = block.time;
        row.alloc = block.id;
        live.push_back(row);
      }
      about.blocks = live.size() + (one_in(6) ? 1 : 0);  // Some lists are truncated.
      later(about);
      for (const trace::live_block_event& row : live) later(row);
    }
  }

  std::mt19937_64 random_;
  bool hostile_;
  struct life {
    trace::alloc_event block;
    time_ns freed = 0;
  };
  static constexpr time_ns latest = 1'000'000;  ///< The end time of a block that is never freed.
  std::vector<life> lives_;
  std::vector<std::function<void()>> rows_;
};

}  // namespace sluice::query

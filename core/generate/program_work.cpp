// Executes one operation of a program: blocks, calls, and work on the device.
#include <algorithm>

#include "core/generate/program.hpp"

namespace sluice::generate {
namespace {

/// The time for which the row of a free waits for data from the device, in ns.
constexpr time_ns settle_delay = 40'000'000;
constexpr std::uint64_t pool_granule = 32 * mib;

/// Device times are multiples of this many ns.
constexpr time_ns device_tick = 32;
time_ns on_tick(time_ns time) { return time / device_tick * device_tick; }

std::uint64_t scaled(std::uint64_t value, std::uint32_t scale) {
  return std::max<std::uint64_t>(value * scale / 64, 1);
}

}  // namespace

template <class Row>
Row program::row(time_ns time, bool autograd) const {
  Row output;
  output.time = time;
  output.process = process_;
  output.thread = autograd ? autograd_ : main_;
  return output;
}
template trace::marker_event program::row<trace::marker_event>(time_ns, bool) const;
template trace::host_range_event program::row<trace::host_range_event>(time_ns, bool) const;

time_ns program::delivery(time_ns end) {
  // A recorder asks the driver for records every 50 ms. Occasionally, a long kernel delays the records.
  constexpr time_ns period = 50'000'000;
  const time_ns asked = end / period * period + period;
  if (asked >= held_back_until_ && chance_.once_in(400'000)) {
    held_back_until_ = asked + static_cast<time_ns>(chance_.between(200'000'000, 1'200'000'000));
  }
  return std::max(asked, held_back_until_);
}

void program::run(const operation& o, std::uint32_t scale) {
  const time_ns begin = now_;
  now_ += chance_.around(o.gap, 70, 100);
  give_birth(o, scale);
  switch (o.work) {
    case work_kind::none:
      break;
    case work_kind::kernel:
      launch(o, scale);
      break;
    case work_kind::memset:
      fill(o);
      break;
    case work_kind::copy_in:
    case work_kind::copy_out:
      copy(o, scale);
      break;
    case work_kind::graph:
      launch_graph(o);
      break;
  }
  if (waiting_) return;
  // The order in which tensors are freed varies.
  for (const slot s : late_deaths_) kill(s);
  late_deaths_.clear();
  for (const slot s : o.deaths) {
    if (!o.waits && chance_.once_in(10)) {
      late_deaths_.push_back(s);
    } else {
      kill(s);
    }
  }
  if (o.waits) wait();
  samples_.add(o, {begin, now_});
}

void program::give_birth(const operation& o, std::uint32_t scale) {
  for (const birth& b : o.births) {
    allocate(scaled(b.bytes, scale), o.autograd, common_.stack(o.stack));
    kill(b.tensor);
    tensors_[b.tensor] = {common_.blocks, live_.at(common_.blocks).address};
  }
}

void program::allocate(std::uint64_t bytes, bool autograd, trace::stack_id stack) {
  now_ += chance_.around(5'200, 95, 25);
  const auto place = allocator_.allocate(bytes);
  if (place.grew) add_segment(place, autograd, stack);
  auto alloc = row<trace::alloc_event>(now_, autograd);
  alloc.block = trace::block_id{++common_.blocks};
  alloc.parent = trace::block_id{segments_[place.segment]};
  alloc.layer = trace::layer::framework;
  alloc.kind = trace::memory_kind::device;
  alloc.device = device_;
  alloc.address = place.address;
  alloc.bytes = place.bytes;
  alloc.stack = stack;
  alloc.name = common_.rows.file().intern("PyTorch");
  common_.rows.now(alloc);
  live_.emplace(common_.blocks, alloc);
}

bool program::keep_more() {
  constexpr std::uint64_t at_once = 1'000;
  constexpr std::uint64_t max_granules = 32;  // A granule is 512 bytes.
  const generate_options& options = common_.options;
  for (std::uint64_t i = 0; i < at_once && kept_ < options.kept_blocks; ++i, ++kept_)
    allocate(512 * chance_.between(1, max_granules), false, common_.kept_stack(kept_ % options.kept_stacks));
  return kept_ < options.kept_blocks;
}

void program::kill(slot s) {
  held& subject = tensors_[s];
  if (subject.block == 0) return;
  now_ += chance_.around(800, 60, 20);
  const trace::alloc_event& born = live_.at(subject.block);
  auto gone = row<trace::free_event>(now_);
  gone.thread = born.thread;
  gone.block = trace::block_id{subject.block};
  gone.layer = trace::layer::framework;
  gone.address = subject.address;
  common_.rows.later(gone, now_ + settle_delay);
  allocator_.release(subject.address);
  live_.erase(subject.block);
  subject = {};
}

void program::add_segment(const caching_allocator::place& place, bool autograd, trace::stack_id stack) {
  auto alloc = row<trace::alloc_event>(0, autograd);
  alloc.call_begin = now_;
  now_ += chance_.around(140'000, 40, 20);
  alloc.time = now_;
  alloc.block = trace::block_id{++common_.blocks};
  alloc.kind = trace::memory_kind::device;
  alloc.device = device_;
  alloc.context = context_;
  alloc.address = place.segment;
  alloc.bytes = place.segment_bytes;
  alloc.correlation = ++correlation_;
  alloc.stack = stack;
  alloc.name = common_.rows.file().intern("cuMemAlloc");
  common_.rows.now(alloc);
  segments_[place.segment] = common_.blocks;
  live_.emplace(common_.blocks, alloc);
}

void program::free_segments() {
  for (const auto& segment : allocator_.trim()) {
    auto gone = row<trace::free_event>(now_);
    gone.block = trace::block_id{segments_[segment.address]};
    gone.address = segment.address;
    gone.correlation = ++correlation_;
    now_ += chance_.around(90'000, 40, 20);
    gone.completed = now_;
    common_.rows.later(gone, gone.time + settle_delay);
    live_.erase(raw(gone.block));
    segments_.erase(segment.address);
  }
}

void program::touch(const operation& o, time_ns begin, trace::string_id name) {
  auto touched = row<trace::touch_event>(begin, o.autograd);
  touched.stream = stream_;
  touched.correlation = correlation_;
  touched.name = name;
  const auto add = [&](const held& tensor) {
    if (tensor.block == 0) return;
    touched.block = trace::block_id{tensor.block};
    common_.rows.now(touched);
  };
  for (const slot s : o.touches) add(tensors_[s]);
  if (!o.cached || requests_.empty()) return;
  for (const held& block : requests_.back().cache) add(block);
}

trace::event_id program::call(std::string_view name, time_ns begin, time_ns end, const operation& o,
                              std::uint64_t bytes) {
  auto autograd = row<trace::api_call_event>(begin, o.autograd);
  autograd.end = end;
  autograd.name = common_.rows.file().intern(name);
  autograd.correlation = correlation_;
  autograd.context = context_;
  autograd.stream = stream_;
  autograd.bytes = bytes;
  if (o.work == work_kind::copy_in || o.work == work_kind::copy_out) autograd.stack = common_.stack(o.stack);
  return trace::event_id{common_.rows.now(autograd)};
}

void program::launch(const operation& o, std::uint32_t scale) {
  const time_ns begin = now_ += chance_.around(4'500, 80, 60);
  now_ += chance_.around(8'600, 60, 20);
  ++correlation_;
  touch(o, begin, common_.kernel(o.name));
  const bool timeline = common_.options.timeline;
  const trace::event_id asked =
      timeline ? call(o.grid[1] > 1 && o.grid[1] < 64 ? "cuLaunchKernelEx" : "cuLaunchKernel", begin, now_, o, 0)
               : trace::event_id{};
  const time_ns start =
      std::max(begin + chance_.around(9'600, 45, 40), on_tick(busy_until_ + chance_.around(1'250, 45)));
  if (o.collective) {
    ready_ = start;
    waiting_ = true;
  }
  const std::int64_t longer = number_ == common_.options.slow_rank && !o.collective ? generate_options::slow_factor : 1;
  const time_ns end = start +
                      on_tick(chance_.around(static_cast<std::int64_t>(scaled(o.duration, scale)), 2, 500) * longer) +
                      static_cast<time_ns>(chance_.below(2));
  busy_until_ = end;
  if (!timeline) return;
  auto kernel = row<trace::kernel_event>(start, o.autograd);
  kernel.end = end;
  kernel.name = common_.kernel(o.name);
  kernel.device = device_;
  kernel.context = context_;
  kernel.stream = stream_;
  kernel.call = asked;
  kernel.enqueued = begin;
  kernel.correlation = correlation_;
  kernel.grid_x = static_cast<std::uint32_t>(scaled(o.grid[0], scale));
  kernel.grid_y = o.grid[1];
  kernel.grid_z = o.grid[2];
  kernel.block_x = o.block[0];
  kernel.block_y = o.block[1];
  kernel.block_z = o.block[2];
  kernel.registers = o.registers;
  kernel.static_shared = o.static_shared;
  kernel.dynamic_shared = o.dynamic_shared;
  if (o.collective) {
    collective_ = kernel;
    return;
  }
  common_.rows.later(kernel, delivery(end));
}

void program::resume(time_ns ready, time_ns host) {
  // On its device, a process that arrived early has waited for the process that arrived last.
  const operation& o = *todo_[next_].target;
  busy_until_ = ready + static_cast<time_ns>(o.duration) + static_cast<time_ns>(chance_.below(400));
  waiting_ = false;
  // The host has also waited, as it does for the norm of all gradients, so all processes leave the collective together.
  if (common_.options.timeline) wait();
  now_ = std::max(now_, host);
  if (common_.options.timeline) {
    collective_.end = busy_until_;
    common_.rows.later(collective_, delivery(busy_until_));
  }
  ++next_;
}

void program::fill(const operation& o) {
  const time_ns begin = now_ += chance_.around(4'500, 80, 60);
  now_ += chance_.around(8'600, 25, 50);
  ++correlation_;
  const held& tensor = tensors_[o.touches.front()];
  auto memset = row<trace::memset_event>(0, o.autograd);
  memset.call = call("cuMemsetD8Async", begin, now_, o, o.bytes);
  memset.time = std::max(begin + chance_.around(9'600, 45, 40), on_tick(busy_until_ + chance_.around(1'250, 45)));
  busy_until_ = memset.end =
      memset.time + on_tick(720 + static_cast<time_ns>(o.bytes / 2'000) + chance_.around(48, 90));
  memset.kind = trace::memory_kind::device;
  memset.bytes = o.bytes;
  memset.address = tensor.address;
  memset.block = trace::block_id{tensor.block};
  memset.device = device_;
  memset.context = context_;
  memset.stream = stream_;
  memset.correlation = correlation_;
  common_.rows.later(memset, delivery(memset.end));
}

void program::copy(const operation& o, std::uint32_t scale) {
  if (pinned_.address == 0) add_staging(o);
  const bool in = o.work == work_kind::copy_in;
  const std::uint64_t bytes = scaled(o.bytes, scale);
  const time_ns begin = now_ += chance_.around(4'500, 80, 60);
  now_ += chance_.around(9'500, 30, 30);
  ++correlation_;
  const held& tensor = tensors_[o.touches.front()];
  auto moved = row<trace::transfer_event>(0, o.autograd);
  moved.call = call(in ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync", begin, now_, o, bytes);
  moved.time = std::max(begin + chance_.around(9'800, 20, 100), on_tick(busy_until_ + chance_.around(1'400, 30)));
  const time_ns least = 1'400 + static_cast<time_ns>(bytes * 10 / 545);  // The copy runs at 54.5 GB/s or less.
  busy_until_ = moved.end = moved.time + on_tick(chance_.around(least, 3, 40));
  moved.direction = in ? trace::direction::h2d : trace::direction::d2h;
  moved.source_kind = in ? trace::memory_kind::pinned : trace::memory_kind::device;
  moved.destination_kind = in ? trace::memory_kind::device : trace::memory_kind::pinned;
  moved.bytes = bytes;
  moved.source_address = in ? pinned_.address : tensor.address;
  moved.destination_address = in ? tensor.address : pinned_.address;
  moved.source_block = trace::block_id{in ? pinned_.block : tensor.block};
  moved.destination_block = trace::block_id{in ? tensor.block : pinned_.block};
  moved.device = device_;
  moved.context = context_;
  moved.stream = stream_;
  moved.enqueued = begin;
  moved.correlation = correlation_;
  moved.asynchronous = true;
  moved.channel = in ? 9 : 10;
  common_.rows.later(moved, delivery(moved.end));
}

void program::add_staging(const operation& o) {
  auto alloc = row<trace::alloc_event>(0, o.autograd);
  alloc.call_begin = now_;
  now_ += chance_.around(900'000, 20);
  alloc.time = now_;
  alloc.block = trace::block_id{++common_.blocks};
  alloc.kind = trace::memory_kind::pinned;
  alloc.device = device_;
  alloc.context = context_;
  alloc.address = 0x7ef0'0000'0000 + (std::uint64_t{index_} << 30);
  alloc.bytes = 128 * mib;
  alloc.correlation = ++correlation_;
  alloc.stack = common_.stack(o.stack);
  alloc.name = common_.rows.file().intern("cuMemHostAlloc");
  common_.rows.now(alloc);
  live_.emplace(common_.blocks, alloc);
  pinned_.address = alloc.address;
  pinned_.block = common_.blocks;
}

void program::wait() {
  auto waited = row<trace::sync_event>(now_ += 2'000);
  now_ = std::max(now_, busy_until_) + chance_.around(6'000, 40, 50);
  waited.end = now_;
  waited.kind = trace::sync_kind::context;
  if (common_.options.timeline) common_.rows.now(waited);
}

void program::define_graph() {
  trace::graph_definition_event definition = row<trace::graph_definition_event>(now_ += 1'000'000);
  definition.graph = graph_;
  definition.nodes = common_.described.graph_nodes;
  definition.name = common_.rows.file().intern("decode");
  common_.rows.now(definition);
  // This is the capture of the graph. Each launch of the graph touches the weights again.
  for (const operation& o : common_.described.forward) {
    auto touched = row<trace::touch_event>(now_ += 3'000);
    touched.stream = stream_;
    touched.graph = graph_;
    touched.correlation = ++correlation_;
    touched.name = common_.kernel(o.name);
    for (const slot s : o.touches) {
      if (tensors_[s].block == 0 || !lasting_[s]) continue;
      touched.block = trace::block_id{tensors_[s].block};
      common_.rows.now(touched);
    }
  }
}

void program::launch_graph(const operation& o) {
  const time_ns begin = now_ += chance_.around(4'500, 80, 60);
  now_ += chance_.around(38'000, 30, 50);
  ++correlation_;
  call("cuGraphLaunch", begin, now_, o, 0);
  auto launched = row<trace::graph_launch_event>(begin);
  launched.graph = graph_;
  launched.device = device_;
  launched.stream = stream_;
  launched.correlation = correlation_;
  const time_ns start = std::max(begin + chance_.around(12'000, 20, 100), on_tick(busy_until_ + 1'200));
  busy_until_ =
      start + on_tick(chance_.around(o.duration + 9'000 * static_cast<std::int64_t>(requests_.size()), 3, 500));
  if (common_.options.timeline) {
    launched.time = start;
    launched.end = busy_until_;
    common_.rows.later(launched, delivery(busy_until_));
  } else {
    common_.rows.now(launched);
  }
}

void program::admit(std::uint64_t tokens) {
  request r;
  r.tokens_left = chance_.between(16, 600);
  requests_.push_back(std::move(r));
  while (requests_.back().tokens < tokens) grow_cache(requests_.back());
}

void program::grow_cache(request& r) {
  if (pool_used_ + common_.described.cache_bytes > pool_reserved_) {
    pool_reserved_ += pool_granule;
    auto grown = row<trace::pool_event>(now_);
    grown.pool = pool_;
    grown.operation = trace::pool_operation::grow;
    grown.reserved = pool_reserved_;
    grown.used = pool_used_;
    common_.rows.now(grown);
  }
  if (free_cache_.empty()) {
    free_cache_.push_back(0x7e80'0000'0000 + (std::uint64_t{index_} << 34) + next_cache_);
    next_cache_ += common_.described.cache_bytes;
  }
  auto alloc = row<trace::alloc_event>(0);
  alloc.call_begin = now_ += chance_.around(2'000, 40, 100);
  alloc.time = now_ += chance_.around(900, 30, 100);
  alloc.block = trace::block_id{++common_.blocks};
  alloc.layer = trace::layer::pool;
  alloc.kind = trace::memory_kind::device;
  alloc.device = device_;
  alloc.context = context_;
  alloc.stream = stream_;
  alloc.pool = pool_;
  alloc.address = free_cache_.back();
  alloc.bytes = common_.described.cache_bytes;
  alloc.device_time = std::max(alloc.time, busy_until_);
  alloc.correlation = ++correlation_;
  alloc.stack = common_.stack(common_.described.backward.front().stack);
  alloc.name = common_.rows.file().intern("cuMemAllocAsync");
  common_.rows.now(alloc);
  live_.emplace(common_.blocks, alloc);
  pool_used_ += alloc.bytes;
  r.cache.push_back({common_.blocks, alloc.address});
  r.tokens += 64;
  free_cache_.pop_back();
}

void program::retire() {
  for (request& r : requests_) {
    if (r.tokens_left > 0 && --r.tokens_left % 64 == 0) grow_cache(r);
  }
  std::erase_if(requests_, [&](const request& r) {
    if (r.tokens_left > 0) return false;
    for (const held& block : r.cache) {
      auto gone = row<trace::free_event>(now_ += chance_.around(1'300, 40, 100));
      gone.block = trace::block_id{block.block};
      gone.layer = trace::layer::pool;
      gone.address = block.address;
      gone.stream = stream_;
      gone.completed = std::max(now_, busy_until_);
      gone.correlation = ++correlation_;
      common_.rows.later(gone, now_ + settle_delay);
      pool_used_ -= common_.described.cache_bytes;
      free_cache_.push_back(block.address);
      live_.erase(block.block);
    }
    return true;
  });
}

}  // namespace sluice::generate

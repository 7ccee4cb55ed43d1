#include "core/generate/program.hpp"

#include <algorithm>

namespace sluice::generate {

using trace::raw;

trace::string_id common_state::kernel(std::uint32_t index) {
  if (kernels_.empty()) kernels_.resize(described.kernels.size());
  if (kernels_[index] == trace::string_id::none) kernels_[index] = rows.file().intern(described.kernels[index]);
  return kernels_[index];
}

trace::stack_id common_state::stack(std::uint32_t index) {
  if (index == 0) return trace::stack_id::none;
  if (stacks_.empty()) {
    stacks_.resize(described.stacks.size());
    frames_.resize(described.frames.size());
  }
  if (stacks_[index] != trace::stack_id::none) return stacks_[index];
  std::uint64_t caller = 0;
  for (const std::uint32_t f : described.stacks[index]) {
    if (frames_[f] == trace::frame_id::none) frames_[f] = add_frame(described.frames[f]);
    caller = raw(call_from(caller, frames_[f]));
  }
  return stacks_[index] = trace::stack_id{caller};
}

trace::frame_id common_state::add_frame(const frame_model& model) {
  trace::file_writer& file = rows.file();
  trace::frame_row row;
  row.id = trace::frame_id{++last_frame_};
  row.kind = model.kind;
  row.function = file.intern(model.function);
  row.file = file.intern(model.file);
  row.module = file.intern(model.module);
  row.line = model.line;
  row.address = model.address;
  file.add(row);
  return row.id;
}

trace::stack_id common_state::call_from(std::uint64_t caller, trace::frame_id frame) {
  const auto [edge, fresh] = edges_.try_emplace({caller, raw(frame)}, edges_.size() + 1);
  if (fresh) rows.file().add(trace::stack_row{trace::stack_id{edge->second}, trace::stack_id{caller}, frame});
  return trace::stack_id{edge->second};
}

trace::stack_id common_state::kept_stack(std::uint64_t which) {
  if (options.stacks == stack_choice::none) return trace::stack_id::none;
  constexpr std::uint64_t callees = 10;
  std::uint64_t caller = 0;
  std::size_t level = 0;
  for (std::uint64_t rest = options.kept_stacks; rest > 0; rest /= callees, which /= callees, ++level) {
    const std::size_t callee = which % callees;
    if (kept_frames_.size() <= level * callees) {
      for (std::uint64_t i = 0; i < callees; ++i) {
        frame_model model;
        model.function = "level_" + std::to_string(level) + "_part_" + std::to_string(i);
        model.file = "cache.py";
        model.line = 100 * (level + 1) + i;
        kept_frames_.push_back(add_frame(model));
      }
    }
    caller = raw(call_from(caller, kept_frames_[level * callees + callee]));
  }
  return trace::stack_id{caller};
}

program::program(common_state& common, std::uint32_t index, std::int64_t number)
    : common_(common),
      chance_(common.options.seed * 1'000'003 + static_cast<std::uint64_t>(number)),
      index_(index),
      number_(number),
      process_{index + 1},
      main_{3 * index + 1},
      autograd_{3 * index + 2},
      flusher_{3 * index + 3},
      device_{index + 1},
      context_{index + 1},
      stream_{index + 1},
      pool_{index + 1},
      graph_{index + 1},
      samples_(common, process_, main_, autograd_),
      allocator_(0x7f10'0000'0000 + (std::uint64_t{index} << 37)),
      tensors_(common.described.slots) {
  now_ = first_moment();
  add_tables();
  for (const operation& o : common_.described.setup) todo_.push_back({action::run, &o, 64, nullptr});
  if (common_.options.kept_blocks > 0) todo_.push_back({action::keep});
}

time_ns program::first_moment() const {
  // This makes the slow rank the last one also in the first collective, however long the other ranks take until then.
  const time_ns later = common_.options.is_job() && number_ == common_.options.slow_rank ? 50'000'000 : 0;
  return later + 1'000'000 * (1 + static_cast<time_ns>(index_));
}

void program::add_tables() {
  trace::file_writer& file = common_.rows.file();
  const bool training = common_.options.pattern == program_pattern::training;
  add_process(trace::unknown_time);
  const char* names[] = {"python3", "pt_autograd_0", "sluice-flush"};
  for (std::uint32_t i = 0; i < 3; ++i) {
    file.add(trace::thread_row{trace::thread_id{3 * index_ + 1 + i}, process_, 4200 + index_ + 100 * i,
                               file.intern(names[i])});
  }
  trace::device_row device;
  device.id = device_;
  device.uuid_high = 0x5eed'0000'0000'0000 + common_.options.seed;
  device.uuid_low = 0x9000'0000'0000'0000 + static_cast<std::uint64_t>(number_);
  device.name = file.intern("Generated GPU");
  device.kind = trace::device_kind::cuda;
  device.ordinal = static_cast<std::int64_t>(index_);
  device.memory_bytes = std::uint64_t{80} << 30;
  device.link_generation = 5;
  device.link_width = 16;
  device.link_peak = 63'015'384'608;
  device.compute_major = 9;
  file.add(device);
  file.add(trace::context_row{context_, process_, device_, 0x1000 + index_});
  trace::stream_row stream;
  stream.id = stream_;
  stream.process = process_;
  stream.context = context_;
  stream.device = device_;
  stream.handle = 7;
  stream.is_default = true;
  file.add(stream);
  const char* counters[2][2] = {{"PyTorch allocated", "PyTorch reserved"}, {"requests in work", "tokens cached"}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    trace::counter_row counter;
    counter.id = counters_[i] = trace::counter_id{2 * index_ + 1 + i};
    counter.process = process_;
    counter.device = device_;
    counter.unit = training ? trace::counter_unit::bytes : trace::counter_unit::none;
    counter.name = file.intern(counters[training ? 0 : 1][i]);
    file.add(counter);
  }
  if (!training) {
    trace::pool_row pool;
    pool.id = pool_;
    pool.process = process_;
    pool.device = device_;
    pool.handle = 0x2000 + index_;
    pool.name = file.intern("cache pool");
    file.add(pool);
  }
}

void program::range(const char* name, const std::vector<operation>& operations, std::uint32_t scale) {
  todo_.push_back({action::begin_range, nullptr, 64, name});
  add_all(operations, scale);
  todo_.push_back({action::end_range, nullptr, 64, name});
}

void program::add_all(const std::vector<operation>& operations, std::uint32_t scale) {
  for (const operation& o : operations) {
    if (o.collective && !common_.options.is_job()) continue;
    todo_.push_back({action::run, &o, scale, nullptr});
  }
}

void program::plan() {
  if (steps_ == 0) {
    // Tensors that the setup creates stay live.
    lasting_.resize(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) lasting_[i] = tensors_[i].block != 0;
    if (common_.described.graph_nodes > 0) define_graph();
  }
  todo_.clear();
  next_ = 0;
  ++steps_;
  todo_.push_back({action::mark_step});
  common_.options.pattern == program_pattern::training ? plan_training() : plan_inference();
}

void program::plan_training() {
  const model& described = common_.described;
  if (common_.options.samples_hosts()) {
    todo_.push_back({action::run, &described.load});
    if (steps_ == 1) todo_.push_back({action::run, &described.compile});
    if (steps_ % 16 == 0) todo_.push_back({action::run, &described.save});
  }
  range("forward", described.forward);
  range("backward", described.backward);
  range("update", described.update);
  if (steps_ % 250 != 0) return;
  // From time to time, other data is evaluated, in larger batches.
  for (int batch = 0; batch < 4; ++batch) {
    range("evaluate", common_.described.forward, static_cast<std::uint32_t>(chance_.between(80, 160)));
    todo_.push_back({action::discard});
  }
  todo_.push_back({action::trim});
}

void program::plan_inference() {
  // Requests arrive in waves, so that their number rises and falls.
  const std::uint64_t wave = (steps_ / 400) % 5;
  if (requests_.size() < 48 && chance_.below(100) < 2 + 3 * wave) {
    const std::uint64_t tokens = chance_.between(32, 1024);
    todo_.push_back({action::admit, nullptr, static_cast<std::uint32_t>(tokens), nullptr});
    range("prefill", common_.described.forward, static_cast<std::uint32_t>(std::max<std::uint64_t>(tokens / 16, 1)));
    todo_.push_back({action::discard});
  }
  range("decode", common_.described.backward);
  todo_.push_back({action::retire});
}

bool program::advance() {
  if (next_ == todo_.size()) plan();
  const item& now = todo_[next_];
  switch (now.described) {
    case action::run:
      run(*now.target, now.scale);
      if (waiting_) return false;
      break;
    case action::keep:
      if (keep_more()) return true;
      break;
    case action::begin_range:
      open_ranges_.push_back(now_);
      break;
    case action::end_range:
      end_range(now.name);
      break;
    case action::mark_step:
      mark_step();
      break;
    case action::admit:
      admit(now.scale);
      break;
    case action::retire:
      retire();
      break;
    case action::discard:
      for (slot s = 0; s < tensors_.size(); ++s) {
        if (!lasting_[s]) kill(s);
      }
      break;
    case action::trim:
      free_segments();
      break;
  }
  ++next_;
  return true;
}

void program::mark_step() {
  auto mark = row<trace::marker_event>(now_);
  mark.name = common_.rows.file().intern("step");
  mark.step = static_cast<std::int64_t>(steps_) - 1;
  common_.rows.now(mark);
}

void program::end_range(const char* name) {
  const time_ns begin = open_ranges_.back();
  open_ranges_.pop_back();
  if (!common_.options.timeline) return;
  auto range = row<trace::host_range_event>(begin);
  range.end = now_;
  range.name = common_.rows.file().intern(name);
  common_.rows.now(range);
}

void program::sample(time_ns time) {
  // These are the watermarks of the recorder. A watermark is never later than the data that the recorder has read.
  for (time_ns at : {time - late_rows::flush_period / 2, time}) {
    trace::watermark_event watermark;
    watermark.time = std::max<time_ns>(at, 0);
    watermark.process = process_;
    watermark.thread = flusher_;
    watermark.complete_until = watermark.time;
    common_.rows.now(watermark);
  }
  const bool training = common_.options.pattern == program_pattern::training;
  const std::uint64_t cached = pool_used_ / std::max<std::uint64_t>(common_.described.cache_bytes, 1) * 64;
  const double values[2] = {static_cast<double>(training ? allocator_.allocated() : requests_.size()),
                            static_cast<double>(training ? allocator_.reserved() : cached)};
  for (int i = 0; i < 2; ++i) {
    trace::counter_event counter;
    counter.time = time;
    counter.process = process_;
    counter.thread = flusher_;
    counter.counter = counters_[i];
    counter.value = values[i];
    common_.rows.now(counter);
  }
  if (!training) {
    trace::pool_event pool;
    pool.time = time;
    pool.process = process_;
    pool.thread = flusher_;
    pool.source = trace::provenance::sampled;
    pool.pool = pool_;
    pool.reserved = pool_reserved_;
    pool.used = pool_used_;
    common_.rows.now(pool);
  }
  if (last_device_sample_ >= 0 && time - last_device_sample_ < 2'000'000'000) return;
  last_device_sample_ = time;
  trace::device_memory_event memory;
  memory.time = time;
  memory.process = process_;
  memory.thread = flusher_;
  memory.source = trace::provenance::sampled;
  memory.device = device_;
  memory.total = std::uint64_t{80} << 30;
  memory.recorder = 85'097'472;
  memory.free = memory.total - memory.recorder - (std::uint64_t{500} << 20) - allocator_.reserved() - pool_reserved_;
  common_.rows.now(memory);
}

void program::write_live(trace::event_id checkpoint, time_ns time) {
  for (const auto& [block, born] : live_) {
    trace::live_block_event live;
    static_cast<trace::alloc_event&>(live) = born;
    live.id = trace::event_id::none;
    live.time = time;
    live.born = born.time;
    live.checkpoint = checkpoint;
    common_.rows.now(live);
  }
}

void program::add_process(time_ns end) {
  trace::file_writer& file = common_.rows.file();
  const bool training = common_.options.pattern == program_pattern::training;
  trace::process_row process;
  process.id = process_;
  process.host = trace::host_id{1};
  process.pid = 4200 + index_;
  process.rank = common_.options.is_job() ? number_ : -1;
  process.command = file.intern(training ? "python3 train.py" : "python3 serve.py");
  process.begin = first_moment();
  process.end = end;
  process.exit_status = end == trace::unknown_time ? -1 : 0;
  process.mode = common_.options.timeline ? trace::recording_mode::timeline : trace::recording_mode::memory;
  file.add(process);
}

void program::finish() { add_process(std::max(now_, busy_until_)); }

}  // namespace sluice::generate

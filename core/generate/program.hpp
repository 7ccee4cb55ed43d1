#pragma once

#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/generate/caching_allocator.hpp"
#include "core/generate/host_samples.hpp"
#include "core/generate/late_rows.hpp"
#include "core/generate/model.hpp"
#include "core/generate/random.hpp"

namespace sluice::generate {

/// The state that all processes of a recording share: the file, the ids, and the model's frames and stacks.
struct common_state {
  /// If `keeps_rows` is false, the programs run but nothing is recorded.
  common_state(trace::file_writer& file, const model& m, const generate_options& o, bool keeps_rows = true)
      : rows(file, keeps_rows), described(m), options(o) {}

  late_rows rows;
  const model& described;
  const generate_options& options;
  std::uint64_t blocks = 0;
  /// Returns the id of stack number `index` of the model. Writes the stack's rows on first use.
  trace::stack_id stack(std::uint32_t index);
  trace::string_id kernel(std::uint32_t index);
  /// Returns the id of call stack number `which` of the kept blocks. The stack has one level for each digit of
  /// `options.kept_stacks`.
  trace::stack_id kept_stack(std::uint64_t which);

 private:
  trace::stack_id call_from(std::uint64_t caller, trace::frame_id frame);
  trace::frame_id add_frame(const frame_model& model);
  std::vector<trace::stack_id> stacks_;
  std::vector<trace::frame_id> frames_;
  std::vector<trace::string_id> kernels_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> edges_;  ///< Maps (caller, frame) to a stack.
  std::uint64_t last_frame_ = 0;
  std::vector<trace::frame_id> kept_frames_;  ///< Ten frames for each level.
};

/// A process that runs a model, with its own clock, allocator and device. Writes its events to the file of `common`.
class program {
 public:
  /// `index`: the position of the process in the recording. `number`: its rank in the job.
  program(common_state& common, std::uint32_t index, std::int64_t number);

  /// Runs the next operation. Returns false if the process waits for the others in a collective. The caller must then
  /// call `resume`.
  bool advance();
  /// Continues after a collective. `ready` is the time at which the last device was ready to start the collective, and
  /// `host` the time at which the last host thread reached it.
  void resume(time_ns ready, time_ns host);
  [[nodiscard]] time_ns now() const { return now_; }
  [[nodiscard]] bool waiting() const { return waiting_; }
  /// The time at which this process's device was ready to start the collective that the process waits for.
  [[nodiscard]] time_ns ready() const { return ready_; }
  /// The number of steps or iterations that have started.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// True between two steps. All events before `now` have then been added.
  [[nodiscard]] bool between_steps() const { return next_ == todo_.size(); }

  /// Writes the rows that are due at `now`. Returns the result of `late_rows::advance`.
  bool deliver() { return common_.rows.advance(now_); }

  /// Adds the samples of counters, pools and memory that a recorder takes at each flush.
  void sample(time_ns time);
  /// The number of live blocks. `write_live` writes one row for each of them.
  std::uint64_t live_blocks() const { return live_.size(); }
  void write_live(trace::event_id checkpoint, time_ns time);
  /// Ends the process.
  void finish();

 private:
  enum class action : std::uint8_t { run, keep, begin_range, end_range, mark_step, admit, retire, discard, trim };
  struct item {
    action described = action::run;
    const operation* target = nullptr;
    std::uint32_t scale = 64;  ///< The factor for sizes and durations, in 64ths; for `admit`, the number of tokens.
    const char* name = nullptr;
  };
  struct held {
    std::uint64_t block = 0;
    std::uint64_t address = 0;
  };
  struct request {
    std::uint64_t tokens_left = 0, tokens = 0;
    std::vector<held> cache;
  };

  void add_tables();
  void add_process(time_ns end);
  [[nodiscard]] time_ns first_moment() const;
  void plan();
  void plan_training();
  void plan_inference();
  void add_all(const std::vector<operation>& operations, std::uint32_t scale = 64);
  void range(const char* name, const std::vector<operation>& operations, std::uint32_t scale = 64);
  void define_graph();

  void run(const operation& o, std::uint32_t scale);
  void give_birth(const operation& o, std::uint32_t scale);
  /// Allocates a block of the framework.
  void allocate(std::uint64_t bytes, bool autograd, trace::stack_id stack);
  /// Allocates some of the kept blocks. Returns false once all of them are allocated.
  bool keep_more();
  void kill(slot s);
  void add_segment(const caching_allocator::place& place, bool autograd, trace::stack_id stack);
  void free_segments();
  void launch(const operation& o, std::uint32_t scale);
  void copy(const operation& o, std::uint32_t scale);
  void add_staging(const operation& o);
  void fill(const operation& o);
  void launch_graph(const operation& o);
  void wait();
  void admit(std::uint64_t tokens);
  void retire();
  void grow_cache(request& r);
  void mark_step();
  void end_range(const char* name);

  template <class Row>
  Row row(time_ns time, bool autograd = false) const;
  void touch(const operation& o, time_ns begin, trace::string_id name);
  trace::event_id call(std::string_view name, time_ns begin, time_ns end, const operation& o, std::uint64_t bytes);
  /// Returns the time at which a recorder would receive the record of device work that ends at `end`. This is the time
  /// of the next flush.
  time_ns delivery(time_ns end);

  common_state& common_;
  random chance_;
  std::uint32_t index_;
  std::int64_t number_;
  trace::process_id process_;
  trace::thread_id main_, autograd_, flusher_;
  trace::device_id device_;
  trace::context_id context_;
  trace::stream_id stream_;
  trace::pool_id pool_;
  trace::counter_id counters_[2] = {};
  trace::graph_id graph_;

  time_ns now_ = 0;
  time_ns busy_until_ = 0;  ///< The time at which the stream will have finished its queued work.
  time_ns ready_ = 0;
  time_ns held_back_until_ = 0;  ///< No record arrives before this time, because a long kernel is running.
  time_ns last_device_sample_ = -1;
  host_samples samples_;
  std::uint64_t correlation_ = 0;
  std::uint64_t steps_ = 0;
  bool waiting_ = false;
  trace::kernel_event collective_;  ///< The collective kernel whose end is not yet known.

  caching_allocator allocator_;
  std::vector<held> tensors_;  ///< The block of each tensor, indexed by slot.
  std::vector<slot> late_deaths_;
  std::vector<bool> lasting_;  ///< For each slot, true if its tensor is kept until the program ends.
  std::unordered_map<std::uint64_t, std::uint64_t> segments_;  ///< Maps the address of a segment to its block id.
  std::map<std::uint64_t, trace::alloc_event> live_;           ///< The live blocks, keyed by block id.
  held pinned_;                                                ///< The pinned staging buffer.
  std::uint64_t kept_ = 0;
  std::uint64_t pool_used_ = 0, pool_reserved_ = 0, next_cache_ = 0;
  std::vector<std::uint64_t> free_cache_;
  std::vector<request> requests_;

  std::vector<item> todo_;
  std::size_t next_ = 0;
  std::vector<time_ns> open_ranges_;
};

}  // namespace sluice::generate

#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/index/tensors/categories.hpp"
#include "tests/core/recordings/recording.hpp"

/// A small synthetic training run, as PyTorch would execute it: a model of a few layers, Adam, and a batch copied in at
/// each step. The true category of each block is known, so tests can compare it with the inferred category.
namespace sluice::testing {

struct training_options {
  int steps = 6;
  int layers = 4;
  std::uint64_t weight_bytes = 16 * mib;
  std::uint64_t activation_bytes = 48 * mib;
  enum class marking : unsigned char { marks, profiler, nvtx, none } marks = marking::marks;
  bool stacks = true;
  bool touches = true;
  bool kernels = true;  ///< Write kernel records with device times, as in `timeline` mode.
  bool named_threads = true;
  bool autograd_thread = true;   ///< Run the backward pass on its own thread, as with CUDA.
  bool linked_backward = false;  ///< That thread's stacks continue the forward pass's (capture's autograd.hpp).
  bool keep_gradients = false;   ///< As with zero_grad(set_to_none=False).
  bool leak = false;             ///< Each step leaks 2 MiB.
  bool hold_output = false;      ///< Keep each output until the next step's output replaces it.
  /// The backward thread keeps a workspace, as cuBLAS does, and the first pass tries convolutions whose workspaces are
  /// live for one call, as cuDNN's benchmark does.
  bool libraries = false;
};

/// Writes the training run to `into`. `truth` returns the true category of each framework block.
class training {
 public:
  explicit training(recording& into, const training_options& options = {}) : into_(into), is_(options) {}

  void tell() {
    into_.standard_tables();
    tables();
    build_model();
    for (int step = 0; step < is_.steps; ++step) one_step(step);
    for (const std::uint64_t block : {input_, output_, loss_}) release(block);
    release(backward_scratch_);
    for (auto* group : {&weights_, &gradients_, &state_})
      for (const std::uint64_t block : *group) release(block);
  }

  [[nodiscard]] const std::map<std::uint64_t, index::category>& truth() const { return truth_; }
  [[nodiscard]] const std::vector<time_ns>& step_begins() const { return begins_; }
  [[nodiscard]] const std::vector<std::uint64_t>& weights() const { return weights_; }
  [[nodiscard]] std::uint64_t scratch() const { return scratch_; }
  [[nodiscard]] time_ns now() const { return now_; }

 private:
  using category = index::category;
  static constexpr std::uint64_t main_thread = 1;
  static constexpr std::uint64_t backward_thread = 2;

  void tables() {
    trace::thread_row thread;
    thread.id = trace::thread_id{backward_thread};
    thread.process = trace::process_id{1};
    thread.tid = 44;
    if (is_.named_threads) thread.name = into_.text("pt_autograd_0");
    into_.writer().add(thread);
    const std::string packages = "/usr/lib/python3/site-packages/";
    root_ = stack({}, "<module>", "/home/me/train.py", 61);
    main_ = stack(root_, "main", "/home/me/train.py", 48);
    model_ = stack(stack(main_, "Module.cuda", packages + "torch/nn/modules/module.py", 1050), "_apply",
                   packages + "torch/nn/modules/module.py", 927);
    data_ = stack(main_, "to_device", "/home/me/train.py", 20);
    const auto linear = packages + "torch/nn/modules/linear.py";
    forward_ = stack(stack(main_, "forward", "/home/me/model.py", 33), "forward", linear, 134);
    backward_ = stack(stack(main_, "backward", packages + "torch/_tensor.py", 630), "backward",
                      packages + "torch/autograd/__init__.py", 364);
    linked_ = stack(stack(forward_, "[inferred: the backward of]", "", 0, trace::frame_kind::native),
                    "torch::autograd::generated::AddmmBackward0", "", 0, trace::frame_kind::native);
    optimizer_ = stack(stack(main_, "step", packages + "torch/optim/adam.py", 227), "_init_group",
                       packages + "torch/optim/adam.py", 169);
  }

  trace::stack_id stack(trace::stack_id parent, const std::string& function, const std::string& file,
                        std::uint64_t line, trace::frame_kind kind = trace::frame_kind::python) {
    trace::frame_row frame;
    frame.id = trace::frame_id{++frames_};
    frame.kind = kind;
    frame.function = into_.text(function);
    frame.file = into_.text(file);
    frame.line = line;
    into_.writer().add(frame);
    trace::stack_row row;
    row.id = trace::stack_id{frames_};
    row.parent = parent;
    row.frame = frame.id;
    into_.writer().add(row);
    return row.id;
  }

  std::uint64_t make(std::uint64_t bytes, category wanted, trace::stack_id id, std::uint64_t thread = main_thread) {
    auto row = into_.event<trace::alloc_event>(tick());
    row.block = trace::block_id{++blocks_};
    row.bytes = bytes;
    row.kind = trace::memory_kind::device;
    row.layer = trace::layer::framework;
    row.device = trace::device_id{1};
    row.stream = trace::stream_id{1};
    row.address = blocks_ << 32;
    row.thread = get_thread(thread);
    if (is_.stacks && row.thread == trace::thread_id{main_thread}) row.stack = id;
    if (is_.linked_backward && row.thread != trace::thread_id{main_thread}) row.stack = linked_;
    into_.writer().add(row);
    truth_[blocks_] = wanted;
    return blocks_;
  }
  void release(std::uint64_t block) {
    if (block != 0) into_.add_free(tick(), block, trace::layer::framework);
  }

  trace::thread_id get_thread(std::uint64_t thread) const {
    return trace::thread_id{is_.autograd_thread ? thread : main_thread};
  }

  void launch(std::string_view kernel, std::initializer_list<std::uint64_t> blocks,
              std::uint64_t thread = main_thread) {
    ++correlation_;
    const time_ns enqueued = tick();
    if (is_.touches)
      for (const std::uint64_t block : blocks) {
        if (block == 0) continue;
        auto row = into_.event<trace::touch_event>(enqueued);
        row.block = trace::block_id{block};
        row.stream = trace::stream_id{1};
        row.correlation = correlation_;
        row.name = into_.text(kernel);
        row.thread = get_thread(thread);
        into_.writer().add(row);
      }
    if (!is_.kernels) return;
    auto row = into_.event<trace::kernel_event>(enqueued + 3'000);
    row.end = row.time + 6'000;
    row.enqueued = enqueued;
    row.name = into_.text(kernel);
    row.device = trace::device_id{1};
    row.stream = trace::stream_id{1};
    row.correlation = correlation_;
    into_.writer().add(row);
  }

  void build_model() {
    for (int i = 0; i < is_.layers; ++i) weights_.push_back(make(is_.weight_bytes, category::weight, model_));
    for (const std::uint64_t weight : weights_) launch("init_uniform", {weight});
    gradients_.assign(weights_.size(), 0);
  }

  void begin_step(int step) {
    begins_.push_back(now_);
    if (is_.marks != training_options::marking::marks) return;
    auto mark = into_.event<trace::marker_event>(now_);
    mark.step = step;
    mark.name = into_.text("step");
    into_.writer().add(mark);
  }
  void end_step(int step) {
    const bool profiler = is_.marks == training_options::marking::profiler;
    if (!profiler && is_.marks != training_options::marking::nvtx) return;
    auto range = into_.event<trace::host_range_event>(begins_.back());
    range.end = now_;
    range.name = into_.text(profiler ? "ProfilerStep#" + std::to_string(step) : "Train Step " + std::to_string(step));
    into_.writer().add(range);
  }

  void copy_in(std::uint64_t block) {
    auto row = into_.event<trace::transfer_event>(tick());
    row.enqueued = row.time;
    row.end = row.time + 5'000;
    row.bytes = 4 * mib;
    row.direction = trace::direction::h2d;
    row.source_kind = trace::memory_kind::host;
    row.destination_kind = trace::memory_kind::device;
    row.destination_block = trace::block_id{block};
    row.device = trace::device_id{1};
    row.stream = trace::stream_id{1};
    into_.writer().add(row);
  }

  void one_step(int step) {
    now_ += 200'000;
    begin_step(step);
    if (!is_.keep_gradients)
      for (std::uint64_t& gradient : gradients_) {
        release(gradient);
        gradient = 0;
      }
    const std::uint64_t fresh = make(4 * mib, category::input, data_);
    release(input_);
    input_ = fresh;
    copy_in(input_);
    forward(step);
    backward(step);
    optimize(step);
    if (is_.leak) make(2 * mib, category::activation, forward_);
    end_step(step);
  }

  void forward(int step) {
    std::uint64_t start = input_;
    activations_.clear();
    for (const std::uint64_t weight : weights_) {
      const std::uint64_t to = make(is_.activation_bytes, category::activation, forward_);
      // A library allocates its scratch memory at its first call and keeps it.
      if (step == 0 && scratch_ == 0) scratch_ = make(8 * mib, category::workspace, forward_);
      const std::uint64_t temporary = make(3 * mib, category::workspace, forward_);
      launch("gemm_tn", {start, weight, to, scratch_, temporary});
      release(temporary);
      launch("relu", {to});
      activations_.push_back(to);
      start = to;
    }
    // The backward pass reads the loss.
    const std::uint64_t output = make(is_.activation_bytes, category::activation, forward_);
    launch("copy_kernel", {start, output});
    launch("softmax", {output});
    if (is_.hold_output) release(output_);
    output_ = output;
    release(loss_);
    loss_ = make(512, category::activation, forward_);
    launch("nll_loss", {output, loss_});
    launch("mean", {loss_});
  }

  /// Sets the block's first bytes to 0, as libraries do for counters that their kernels use.
  void clear(std::uint64_t block) {
    auto row = into_.event<trace::memset_event>(tick());
    row.enqueued = row.time;
    row.end = row.time + 1'000;
    row.block = trace::block_id{block};
    row.bytes = 512;
    row.device = trace::device_id{1};
    row.stream = trace::stream_id{1};
    into_.writer().add(row);
  }

  void try_convolutions(std::uint64_t start) {
    for (std::uint64_t i = 1; i <= 4; ++i) {
      const std::uint64_t tried = make(i * 80 * mib, category::workspace, backward_, backward_thread);
      clear(tried);
      for (int call = 0; call < 3; ++call) launch("sm90_xmma_dgrad_implicit_gemm", {start, tried}, backward_thread);
      release(tried);
    }
  }

  void backward(int step) {
    if (is_.libraries && step == 0) backward_scratch_ = make(32 * mib, category::workspace, backward_, backward_thread);
    std::uint64_t above = make(is_.activation_bytes, category::gradient, backward_, backward_thread);
    launch("nll_loss_backward", {loss_, output_, above}, backward_thread);
    if (!is_.hold_output) {
      release(output_);
      output_ = 0;
    }
    if (is_.libraries && step == 0) try_convolutions(above);
    for (std::size_t i = weights_.size(); i-- > 0;) {
      // The model's input needs no gradient.
      const std::uint64_t below =
          i == 0 ? 0 : make(is_.activation_bytes, category::gradient, backward_, backward_thread);
      const std::uint64_t fresh = make(is_.weight_bytes, category::gradient, backward_, backward_thread);
      if (is_.libraries) clear(backward_scratch_);
      launch("gemm_nt", {above, activations_[i], fresh, backward_scratch_}, backward_thread);
      // If there is already a gradient, add the new one to it.
      if (gradients_[i] != 0) {
        launch("add", {gradients_[i], fresh}, backward_thread);
        release(fresh);
      } else {
        gradients_[i] = fresh;
      }
      if (i > 0) launch("gemm_nn", {above, weights_[i], below}, backward_thread);
      release(above);
      release(activations_[i]);
      above = below;
    }
  }

  void optimize(int step) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (step == 0) {
        state_.push_back(make(is_.weight_bytes, category::optimizer_state, optimizer_));
        state_.push_back(make(is_.weight_bytes, category::optimizer_state, optimizer_));
      }
      const std::uint64_t temporary = make(is_.weight_bytes, category::workspace, optimizer_);
      launch("adam", {weights_[i], gradients_[i], state_[2 * i], state_[2 * i + 1], temporary});
      launch("axpy", {weights_[i], temporary});
      release(temporary);
    }
  }

  time_ns tick() { return now_ += 10'000; }

  recording& into_;
  training_options is_;
  time_ns now_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t correlation_ = 0;
  trace::stack_id root_{}, main_{}, model_{}, data_{}, forward_{}, backward_{}, optimizer_{}, linked_{};
  std::vector<std::uint64_t> weights_, gradients_, state_, activations_;
  std::uint64_t input_ = 0, output_ = 0, loss_ = 0, scratch_ = 0, backward_scratch_ = 0;
  std::vector<time_ns> begins_;
  std::map<std::uint64_t, index::category> truth_;
};

}  // namespace sluice::testing

// A libtorch_cpu.so without PyTorch: an autograd engine with one device thread, and with the names, parameters and node
// layout of the real engine. The node of each operation allocates a gradient of three times its bytes on the engine's
// thread.
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

extern "C" void* fake_torch_empty(std::size_t bytes);

#pragma GCC visibility push(default)

namespace at {
namespace sequence_number {
std::uint64_t get_and_increment();
}
struct RecordFunction {
  static std::uint64_t currentThreadId();
};
}  // namespace at

namespace torch::autograd {

struct Node : std::enable_shared_from_this<Node> {
  explicit Node(std::size_t size) : Node(size, at::sequence_number::get_and_increment()) {}
  Node(std::size_t size, std::uint64_t number)
      : sequence(number), thread(at::RecordFunction::currentThreadId()), bytes(size) {}
  virtual ~Node() = default;
  virtual void apply() {
    if (bytes == 0) throw std::runtime_error("this node fails");
    fake_torch_empty(3 * bytes);
  }
  std::uint64_t sequence;
  std::uint64_t height = 0;
  bool has_parent = false;
  std::uint64_t thread;
  std::size_t bytes;
};
namespace generated {
struct MulBackward0 : Node {
  using Node::Node;
};
struct ViewBackward0 : Node {
  using Node::Node;
};
}  // namespace generated
/// The root node, which runs on the thread that calls backward().
struct GraphRoot : Node {
  GraphRoot() : Node(0, UINT64_MAX) {}
  void apply() override {}
};
struct AccumulateGrad : Node {
  explicit AccumulateGrad(std::size_t size) : Node(size, UINT64_MAX) {}
};

struct GraphTask {
  std::vector<std::shared_ptr<Node>> nodes;
  bool failed = false;
};
struct InputBuffer {};
struct ReadyQueue {};
/// Like the real class, not trivial, so functions return it through an address.
struct future {
  explicit future(bool works) : ok(works) {}
  future(const future& other) : ok(other.ok) {}
  ~future() {}  // NOLINT(modernize-use-equals-default)
  bool ok;
};

struct Engine {
  virtual ~Engine() = default;
  virtual future execute_with_graph_task(const std::shared_ptr<GraphTask>& task, std::shared_ptr<Node> root,
                                         InputBuffer&& inputs);
  void evaluate_function(std::shared_ptr<GraphTask>& task, Node* node, InputBuffer& inputs,
                         const std::shared_ptr<ReadyQueue>& queue);
};

}  // namespace torch::autograd
#pragma GCC visibility pop

namespace {
thread_local std::uint64_t next_sequence = 0;
std::mutex mutex;
std::uint64_t last_thread = 0;
thread_local std::uint64_t this_thread = 0;
/// The calling thread's operations since its last backward pass.
thread_local std::shared_ptr<torch::autograd::GraphTask> made;

torch::autograd::GraphTask& graph() {
  if (!made) made = std::make_shared<torch::autograd::GraphTask>();
  return *made;
}
}  // namespace

std::uint64_t at::sequence_number::get_and_increment() { return next_sequence++; }

std::uint64_t at::RecordFunction::currentThreadId() {
  const std::lock_guard lock(mutex);
  if (this_thread == 0) this_thread = ++last_thread;
  return this_thread;
}

namespace torch::autograd {

void Engine::evaluate_function(std::shared_ptr<GraphTask>& task, Node* node, InputBuffer&,
                               const std::shared_ptr<ReadyQueue>&) {
  if (!task->failed) node->apply();
}

future Engine::execute_with_graph_task(const std::shared_ptr<GraphTask>& task, std::shared_ptr<Node> root,
                                       InputBuffer&&) {
  task->nodes.push_back(std::move(root));
  InputBuffer nothing;
  std::shared_ptr<GraphTask> running = task;
  evaluate_function(running, std::make_shared<GraphRoot>().get(), nothing, std::make_shared<ReadyQueue>());
  std::thread device([this, mine = task]() mutable {
    InputBuffer none;
    const auto queue = std::make_shared<ReadyQueue>();
    for (auto node = mine->nodes.rbegin(); node != mine->nodes.rend(); ++node) {
      try {
        evaluate_function(mine, node->get(), none, queue);
      } catch (const std::exception&) {
        mine->failed = true;
      }
    }
  });
  device.join();
  return future(!task->failed);
}

}  // namespace torch::autograd

// Called from Python through ctypes.
#define EXPORTED extern "C" __attribute__((visibility("default")))
using namespace torch::autograd;

/// An operation whose node is created before its result is allocated. If `bytes` is 0, its backward pass fails.
EXPORTED void* fake_torch_multiply(std::size_t bytes) {
  graph().nodes.push_back(std::make_shared<generated::MulBackward0>(bytes));
  return bytes == 0 ? nullptr : fake_torch_empty(bytes);
}
/// An operation that allocates nothing itself.
EXPORTED void fake_torch_view(std::size_t bytes) {
  graph().nodes.push_back(std::make_shared<generated::ViewBackward0>(bytes));
}
/// Runs the nodes of the calling thread in reverse order, after a leaf's. Returns 1 on success.
EXPORTED int fake_torch_backward(std::size_t leaf_bytes) {
  static Engine engine;
  const std::shared_ptr<GraphTask> task = std::exchange(made, nullptr);
  const future done = engine.execute_with_graph_task(task, std::make_shared<AccumulateGrad>(leaf_bytes), InputBuffer{});
  return done.ok ? 1 : 0;
}
/// Runs a training on a thread without Python, and then allocates a tensor of seven times `bytes`.
EXPORTED void fake_torch_train_alone(std::size_t bytes) {
  std::thread([=] {
    fake_torch_multiply(bytes);
    fake_torch_backward(bytes / 4);
    fake_torch_empty(7 * bytes);
  }).join();
}

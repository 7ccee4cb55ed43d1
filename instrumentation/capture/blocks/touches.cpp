#include "instrumentation/capture/blocks/touches.hpp"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>

#include "instrumentation/capture/blocks/faults.hpp"
#include "instrumentation/capture/blocks/live_blocks.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/producer_emit.hpp"

namespace sluice::capture {

namespace {

// --- parameters of a function ----------------------------------------------------------------------------------------

/// A parameter that may contain addresses.
struct parameter {
  std::uint16_t index;
  std::uint16_t words;
};

struct function_layout {
  std::atomic<std::uint32_t> generation;  ///< Generation of the loaded modules; if it has changed, query again.
  std::uint32_t count;
  std::uint32_t bytes;  ///< Size of all parameters.
  std::uint64_t name;   ///< String key.
  parameter parameters[1];
};

/// The driver accepts 32764 bytes of parameters from CUDA 12.1 on, 4096 bytes before.
constexpr std::size_t max_parameters = 1024;
constexpr std::size_t max_parameter_bytes = std::size_t{1} << 15;

/// A slot of a table with open addressing. A slot keeps its handle forever, because handles are reused. If the table is
/// full, the parameters of further functions are not scanned.
struct function_slot {
  std::atomic<std::uint64_t> handle{0};
  std::atomic<function_layout*> layout{nullptr};
};
constexpr std::size_t function_slots = 16384, function_probes = 32;
function_slot functions[function_slots];
SLUICE_HOT_DATA constinit std::atomic<std::uint32_t> generation{1};
std::atomic<std::uint64_t> memory_taken{0};
std::atomic<std::uint64_t> not_scanned{0};

/// Allocates zeroed memory, which is never freed. Returns null at the limit; the touches of further functions are then
/// lost.
void* take(std::size_t bytes) {
  constexpr std::size_t chunk = std::size_t{1} << 25;
  static std::atomic<char*> memory{nullptr};
  char* base = memory.load(std::memory_order_acquire);
  if (base == nullptr) {
    void* fresh = mmap(nullptr, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED) return nullptr;
    if (memory.compare_exchange_strong(base, static_cast<char*>(fresh), std::memory_order_acq_rel)) {
      base = static_cast<char*>(fresh);
    } else {
      munmap(fresh, chunk);
    }
  }
  const std::size_t needed = (bytes + 15) / 16 * 16;
  const std::uint64_t at = memory_taken.fetch_add(needed, std::memory_order_relaxed);
  if (at + needed <= chunk) return base + at;
  memory_taken.fetch_sub(needed, std::memory_order_relaxed);
  return nullptr;
}

/// cuFuncGetParamInfo returns CUDA_ERROR_INVALID_HANDLE for the handle of a library kernel.
CUresult ask_parameter(CUfunction function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;
  if (driver.function_parameter != nullptr) result = driver.function_parameter(function, index, offset, bytes);
  if (result == CUDA_ERROR_INVALID_HANDLE && driver.kernel_parameter != nullptr) {
    result = driver.kernel_parameter(reinterpret_cast<CUkernel>(function), index, offset, bytes);
  }
  return result;
}

const char* get_name(const call& c, CUfunction function) {
  const char* name = nullptr;
  if (driver.function_name != nullptr && driver.function_name(&name, function) == CUDA_SUCCESS && name != nullptr) {
    return name;
  }
  if (driver.kernel_name != nullptr &&
      driver.kernel_name(&name, reinterpret_cast<CUkernel>(function)) == CUDA_SUCCESS && name != nullptr) {
    return name;
  }
  return c.data->symbolName;
}

SLUICE_RARE function_layout* ask(const call& c, CUfunction function, function_slot& slot) {
  const std::uint32_t present = generation.load(std::memory_order_acquire);
  parameter found[max_parameters];
  std::uint32_t count = 0;
  std::size_t end = 0;
  for (std::size_t i = 0; i < max_parameters; ++i) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    if (ask_parameter(function, i, &offset, &bytes) != CUDA_SUCCESS) break;
    if (bytes > max_parameter_bytes || offset > max_parameter_bytes) return nullptr;
    if (offset + bytes > end) end = offset + bytes;
    // An address has 8 bytes and is 8-byte aligned.
    if (offset % 8 != 0 || bytes < 8) continue;
    found[count++] = {static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(bytes / 8)};
  }
  const std::uint64_t name = ring::intern(get_name(c, function));
  function_layout* old = slot.layout.load(std::memory_order_acquire);
  const bool same = old != nullptr && old->name == name && old->count == count && old->bytes == end &&
                    memcmp(old->parameters, found, count * sizeof(parameter)) == 0;
  if (same) {
    old->generation.store(present, std::memory_order_release);
    return old;
  }
  auto* fresh = static_cast<function_layout*>(take(sizeof(function_layout) + count * sizeof(parameter)));
  if (fresh == nullptr) {
    not_scanned.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  fresh->generation.store(present, std::memory_order_relaxed);
  fresh->count = count;
  fresh->bytes = static_cast<std::uint32_t>(end);
  fresh->name = name;
  memcpy(fresh->parameters, found, count * sizeof(parameter));
  slot.layout.store(fresh, std::memory_order_release);
  return fresh;
}

std::size_t get_first_slot(std::uint64_t handle) {
  return static_cast<std::size_t>((handle * 0x9E3779B97F4A7C15U) >> 40) % function_slots;
}

SLUICE_RARE const function_layout* find_layout(const call& c, CUfunction function) {
  const auto handle = reinterpret_cast<std::uint64_t>(function);
  if (handle == 0) return nullptr;
  const std::size_t first = get_first_slot(handle);
  for (std::size_t i = 0; i < function_probes; ++i) {
    function_slot& slot = functions[(first + i) % function_slots];
    std::uint64_t found = slot.handle.load(std::memory_order_acquire);
    if (found == 0 && slot.handle.compare_exchange_strong(found, handle, std::memory_order_acq_rel)) found = handle;
    if (found != handle) continue;
    function_layout* layout = slot.layout.load(std::memory_order_acquire);
    if (layout != nullptr &&
        layout->generation.load(std::memory_order_acquire) == generation.load(std::memory_order_relaxed)) [[likely]] {
      return layout;
    }
    return ask(c, function, slot);
  }
  not_scanned.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

/// Nearly all functions are found at the first probe.
SLUICE_INLINE const function_layout* get_layout(const call& c, CUfunction function) {
  const auto handle = reinterpret_cast<std::uint64_t>(function);
  const function_slot& slot = functions[get_first_slot(handle)];
  const function_layout* layout = slot.layout.load(std::memory_order_acquire);
  const bool found = layout != nullptr && slot.handle.load(std::memory_order_relaxed) == handle &&
                     layout->generation.load(std::memory_order_acquire) == generation.load(std::memory_order_relaxed);
  return found ? layout : find_layout(c, function);
}

// --- the words of one launch -----------------------------------------------------------------------------------------

/// The parameter words of a launch that may be addresses: those between the lowest and the highest address of any
/// block. The writer, which also knows the live blocks, looks them up in order of time. This spares the launch a lookup
/// that would miss the processor's caches.
class launch_words {
 public:
  launch_words(const call& c, CUstream stream, std::uint64_t name)
      : range_(live_blocks::range()), call_(c), stream_(stream), name_(name) {}

  SLUICE_INLINE void look_up(std::uint64_t word) {
    if (word - range_.first > range_.length) return;
    if (count_ == most) [[unlikely]]
      send_part();
    words_[count_++] = word;
  }

  SLUICE_INLINE void emit() {
    if (count_ != 0) send();
  }

 private:
  /// Most launches have a few words; an optimizer's launch has hundreds, which are sent in parts.
  static constexpr std::uint32_t most = 128;

  SLUICE_RARE void send_part() { send(); }
  SLUICE_INLINE void send() {
    ring::touch_record out{};
    out.header.time = call_.begin;
    out.stream = call_.stream(stream_);
    out.name = name_;
    out.correlation = call_.correlation();
    out.count = count_;
    ring::emit_touch(out, words_);
    count_ = 0;
  }

  const live_blocks::address_range range_;
  const call& call_;
  CUstream stream_;
  std::uint64_t name_;
  std::uint32_t count_ = 0;
  std::uint64_t words_[most];  // Not initialized, because words are written before they are read.
};

// --- the blocks of a graph node --------------------------------------------------------------------------------------

/// The blocks that a node touches, each once, in order of appearance. Most nodes touch a few blocks; an optimizer's
/// nodes touch hundreds.
class touched_blocks {
 public:
  touched_blocks(const call& c, CUstream stream, node_place node, std::uint64_t name)
      : call_(c), stream_(stream), node_(node), name_(name) {}

  SLUICE_INLINE void look_up(std::uint64_t word) {
    if (!live_blocks::may_hold(word)) return;
    if (waiting_ == batch) [[unlikely]]
      look_up_batch();
    words_[waiting_++] = word;
  }

  SLUICE_INLINE void emit() {
    if (waiting_ != 0) look_up_batch();
    // A node without blocks is recorded too, because it may have had blocks before.
    if (count_ != 0 || !reported_) send();
  }

 private:
  static constexpr std::uint32_t few = 16, most = 256, batch = 32;
  static constexpr std::size_t set_slots = 1024;

  [[gnu::noinline]] void look_up_batch() {
    live_blocks::lookup_each(words_, waiting_);
    for (std::uint32_t i = 0; i < waiting_; ++i) {
      if (words_[i] != 0 && words_[i] != last_) add(words_[i]);
    }
    waiting_ = 0;
  }

  void add(std::uint64_t block) {
    last_ = block;
    if (!many_) {
      for (std::uint32_t i = 0; i < count_; ++i) {
        if (blocks_[i] == block) return;
      }
      if (count_ == few) begin_set();
    }
    if (many_ && !enter(block)) return;
    if (count_ == most) send();  // The set still contains them.
    blocks_[count_++] = block;
  }
  SLUICE_RARE void begin_set() {
    memset(set_, 0, sizeof set_);
    many_ = true;
    for (std::uint32_t i = 0; i < count_; ++i) enter(blocks_[i]);
  }
  /// Adds a block. Returns false if it is already in the set. If the set is full, some blocks are recorded twice.
  bool enter(std::uint64_t block) {
    const auto first = static_cast<std::size_t>((block * 0x9E3779B97F4A7C15U) >> 54);
    for (std::size_t i = 0; i < 16; ++i) {
      std::uint64_t& slot = set_[(first + i) % set_slots];
      if (slot == block) return false;
      if (slot != 0) continue;
      slot = block;
      return true;
    }
    return true;
  }

  [[gnu::noinline]] void send() {
    ring::node_touch_record out{};
    out.header.time = call_.begin;
    out.stream = stream_ == nullptr ? 0 : call_.stream(stream_);
    out.name = name_;
    out.graph = node_.graph;
    out.node = node_.node;
    out.correlation = call_.correlation();
    out.count = count_;
    out.more = reported_ ? 1 : 0;
    ring::emit_with(&out.header, ring::record_type::node_touch, sizeof out, blocks_, count_);
    count_ = 0;
    reported_ = true;
  }

  const call& call_;
  CUstream stream_;
  node_place node_;
  std::uint64_t name_;
  bool reported_ = false;
  std::uint64_t last_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t waiting_ = 0;
  bool many_ = false;
  // The arrays are not initialized, because they are written before they are read.
  std::uint64_t words_[batch];  ///< Words that have not been looked up yet.
  std::uint64_t blocks_[most];
  std::uint64_t set_[set_slots];
};

template <class Words>
SLUICE_INLINE void scan(Words& words, const void* source, std::size_t count) {
  const auto* at = static_cast<const char*>(source);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word = 0;
    memcpy(&word, at + i * sizeof word, sizeof word);
    words.look_up(word);
  }
}

/// The parameter buffer in `extra` and its size in bytes; null if there is none.
const void* find_buffer(void** extra, std::size_t& bytes) {
  const void* buffer = nullptr;
  const std::size_t* size = nullptr;
  constexpr int max_options = 16;
  for (int i = 0; i < max_options && extra[2 * i] != CU_LAUNCH_PARAM_END; ++i) {
    if (extra[2 * i] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[2 * i + 1];
    if (extra[2 * i] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = static_cast<const std::size_t*>(extra[2 * i + 1]);
  }
  bytes = size == nullptr ? 0 : *size;
  return buffer;
}

template <class Words>
SLUICE_RARE void scan_buffer(Words& words, const function_layout& layout, void** extra) {
  std::size_t bytes = 0;
  const void* buffer = find_buffer(extra, bytes);
  // The driver reads what the function needs, whatever the given size.
  if (buffer != nullptr) scan(words, buffer, (bytes < layout.bytes ? bytes : layout.bytes) / 8);
}

template <class Words>
SLUICE_INLINE void scan_parameters(Words& words, const function_layout& layout, void** parameters, void** extra) {
  if (parameters == nullptr) [[unlikely]] {
    if (extra != nullptr) scan_buffer(words, layout, extra);
    return;
  }
  for (std::uint32_t i = 0; i < layout.count; ++i) {
    const parameter& p = layout.parameters[i];
    if (parameters[p.index] != nullptr) scan(words, parameters[p.index], p.words);
  }
}

SLUICE_RARE void touch_by_node(const call& c, const function_layout& layout, void** parameters, void** extra,
                               CUstream stream, node_place node) {
  touched_blocks blocks(c, stream, node, layout.name);
  scan_parameters(blocks, layout, parameters, extra);
  blocks.emit();
}

}  // namespace

SLUICE_HOT void touch_parameters(const call& c, CUfunction function, void** parameters, void** extra, CUstream stream,
                                 node_place node) noexcept {
  ring::expect_event();
  const function_layout* layout = get_layout(c, function);
  if (!node.in_graph()) note_launch(c, layout == nullptr ? 0 : layout->name, stream);
  if (layout == nullptr) return;
  if (node.in_graph()) return touch_by_node(c, *layout, parameters, extra, stream, node);
  launch_words words(c, stream, layout->name);
  scan_parameters(words, *layout, parameters, extra);
  words.emit();
}

void touch(const call& c, CUstream stream, node_place node, std::uint64_t name, const std::uint64_t* words,
           std::size_t count) noexcept {
  if (!node.in_graph()) return;
  touched_blocks blocks(c, stream, node, name);
  scan(blocks, words, count);
  blocks.emit();
}

void report_untouched() noexcept {
  const std::uint64_t blocks = live_blocks::untracked();
  const std::uint64_t launches = not_scanned.load(std::memory_order_relaxed);
  if (!options.touches || (blocks == 0 && launches == 0)) return;
  char text[200];
  snprintf(text, sizeof text,
           "touches are incomplete: %llu blocks and %llu launches exceeded what the recorder can track",
           static_cast<unsigned long long>(blocks), static_cast<unsigned long long>(launches));
  ring::message(raw(trace::severity::warning), text);
}

void forget_functions() noexcept { generation.fetch_add(1, std::memory_order_acq_rel); }

}  // namespace sluice::capture

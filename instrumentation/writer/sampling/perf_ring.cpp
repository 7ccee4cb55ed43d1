#include "instrumentation/writer/sampling/perf_ring.hpp"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace sluice::writer {

namespace {

constexpr std::size_t page = 4096;

// Bits of registers in `sample_regs_user` (arch/x86/include/uapi/asm/perf_regs.h). The kernel writes the registers in
// the order of their bits.
constexpr unsigned register_bp = 6, register_sp = 7, register_ip = 8;

perf_event_attr make_attributes(std::int64_t period) {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = static_cast<std::uint64_t>(period);
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = 1U << register_bp | 1U << register_sp | 1U << register_ip;
  attributes.sample_stack_user = perf_stack_bytes;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.sample_id_all = 1;
  attributes.context_switch = 1;
  attributes.task = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  return attributes;
}

int open_event(perf_event_attr& attributes, pid_t tid) {
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

/// Reads forward in one record.
class record_cursor {
 public:
  explicit record_cursor(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  bool take(T& value) {
    if (left_.size() < sizeof value) return false;
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return true;
  }
  bool take(std::size_t count, std::span<const std::byte>& bytes) {
    if (left_.size() < count) return false;
    bytes = left_.first(count);
    left_ = left_.subspan(count);
    return true;
  }
  /// The last `count` bytes of the record.
  [[nodiscard]] record_cursor tail(std::size_t count) const {
    return record_cursor(left_.last(std::min(count, left_.size())));
  }

 private:
  std::span<const std::byte> left_;
};

struct thread_ids {
  std::uint32_t pid, tid;
};

/// Records other than samples end with these members (`sample_id_all`).
bool take_id(const record_cursor& record, std::uint64_t& time) {
  thread_ids ids;
  record_cursor end = record.tail(sizeof ids + sizeof time);
  return end.take(ids) && end.take(time);
}

bool hand_on_sample(record_cursor record, perf_listener& listener) {
  thread_ids ids;
  std::uint64_t time = 0, abi = 0, size = 0, used = 0;
  unwind::user_registers registers;
  if (!record.take(ids) || !record.take(time) || !record.take(abi)) return false;
  if (abi != PERF_SAMPLE_REGS_ABI_NONE &&
      (!record.take(registers.bp) || !record.take(registers.sp) || !record.take(registers.ip))) {
    return false;
  }
  std::span<const std::byte> stack;
  if (!record.take(size) || !record.take(size, stack)) return false;
  if (size != 0 && !record.take(used)) return false;
  if (abi != PERF_SAMPLE_REGS_ABI_64) registers = {};  // A program of 32 bits: its code is not known here.
  listener.hear_sample(static_cast<std::int64_t>(time), registers,
                       {registers.sp, stack.first(std::min<std::uint64_t>(used, stack.size()))});
  return true;
}

bool hand_on(const perf_event_header& header, record_cursor record, perf_listener& listener) {
  std::uint64_t time = 0;
  switch (header.type) {
    case PERF_RECORD_SAMPLE:
      return hand_on_sample(record, listener);
    case PERF_RECORD_SWITCH: {
      if (!take_id(record, time)) return false;
      const auto at = static_cast<std::int64_t>(time);
      if ((header.misc & PERF_RECORD_MISC_SWITCH_OUT) == 0) {
        listener.hear_switch_in(at);
      } else {
        listener.hear_switch_out(at, (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0);
      }
      return true;
    }
    case PERF_RECORD_LOST: {
      std::uint64_t id = 0, count = 0;
      if (!record.take(id) || !record.take(count)) return false;
      listener.hear_loss(count);
      return true;
    }
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: {
      std::uint32_t pid = 0, parent = 0, tid = 0, parent_tid = 0;
      if (!record.take(pid) || !record.take(parent) || !record.take(tid) || !record.take(parent_tid) ||
          !record.take(time)) {
        return false;
      }
      if (header.type == PERF_RECORD_FORK) {
        listener.hear_start(static_cast<pid_t>(pid), static_cast<pid_t>(tid));
      } else {
        listener.hear_end(static_cast<std::int64_t>(time), static_cast<pid_t>(tid));
      }
      return true;
    }
    default:
      return true;
  }
}

}  // namespace

bool read_perf_records(std::span<const std::byte> data, std::uint64_t begin, std::uint64_t end,
                       std::vector<std::byte>& spare, perf_listener& listener) {
  if (end - begin > data.size()) return false;
  const std::size_t mask = data.size() - 1;
  while (begin != end) {
    perf_event_header header;
    if (end - begin < sizeof header) return false;
    const std::size_t at = begin & mask;
    std::memcpy(&header, data.data() + at, sizeof header);  // Records are multiples of 8 bytes: a header never wraps.
    if (header.size < sizeof header || header.size % 8 != 0 || header.size > end - begin) return false;
    std::span<const std::byte> record = data.subspan(at, std::min<std::size_t>(header.size, data.size() - at));
    if (record.size() < header.size) {
      spare.assign(record.begin(), record.end());
      spare.insert(spare.end(), data.begin(),
                   data.begin() + (header.size - static_cast<std::ptrdiff_t>(record.size())));
      record = spare;
    }
    if (!hand_on(header, record_cursor(record.subspan(sizeof header)), listener)) return false;
    begin += header.size;
  }
  return true;
}

std::optional<perf_ring> perf_ring::open(pid_t tid, std::int64_t period, std::size_t bytes, failure& why) {
  perf_event_attr attributes = make_attributes(period);
  attributes.watermark = 1;
  attributes.wakeup_watermark = static_cast<std::uint32_t>(bytes / 2);
  const int descriptor = open_event(attributes, tid);
  if (descriptor < 0) {
    why = {errno, false};
    return std::nullopt;
  }
  void* const memory = mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    why = {errno, true};
    close(descriptor);
    return std::nullopt;
  }
  return perf_ring(descriptor, static_cast<perf_event_mmap_page*>(memory), bytes);
}

perf_ring::perf_ring(perf_ring&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      header_(std::exchange(other.header_, nullptr)),
      bytes_(other.bytes_) {}

perf_ring& perf_ring::operator=(perf_ring&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(header_, other.header_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

perf_ring::~perf_ring() {
  if (header_ != nullptr) munmap(header_, page + bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

void perf_ring::drain(std::vector<std::byte>& spare, perf_listener& listener) {
  const std::uint64_t head = std::atomic_ref(header_->data_head).load(std::memory_order_acquire);
  const std::uint64_t tail = header_->data_tail;
  if (head == tail) return;
  const auto* const data = reinterpret_cast<const std::byte*>(header_) + page;
  // The kernel alone writes the ring. If it cannot be read nevertheless, its content counts as lost.
  if (!read_perf_records({data, bytes_}, tail, head, spare, listener)) listener.hear_loss(1);
  std::atomic_ref(header_->data_tail).store(head, std::memory_order_release);
}

void perf_ring::set_period(std::int64_t period) {
  auto value = static_cast<std::uint64_t>(period);
  ioctl(descriptor_, PERF_EVENT_IOC_PERIOD, &value);
}

int try_perf() {
  constexpr std::int64_t second = 1'000'000'000;
  perf_event_attr attributes = make_attributes(second);
  attributes.disabled = 1;
  const int descriptor = open_event(attributes, 0);
  if (descriptor < 0) return errno;
  close(descriptor);
  return 0;
}

}  // namespace sluice::writer

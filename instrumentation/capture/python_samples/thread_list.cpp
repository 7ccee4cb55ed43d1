#include "instrumentation/capture/python_samples/thread_list.hpp"

#include <pthread.h>
#include <sys/syscall.h>

#include "instrumentation/capture/stacks/python_layout.hpp"

namespace sluice::capture {

namespace {

/// The C library keeps a thread's id in the block to which pthread_self() points, at an offset that it does not publish.
/// Finds it in the calling thread's block; 0 if it is not there.
std::size_t find_tid_in_pthread(memory_batch& memory) {
  constexpr std::size_t searched = 2048;
  std::uint32_t words[searched / 4];
  if (!memory.read_one(static_cast<std::uint64_t>(pthread_self()), words, sizeof words)) return 0;
  const auto own = static_cast<std::uint32_t>(syscall(SYS_gettid));
  for (std::size_t i = 1; i < searched / 4; ++i) {
    if (words[i] == own) return i * 4;
  }
  return 0;
}

}  // namespace

bool thread_list::prepare(const python_symbols& python) noexcept {
  if (python.runtime == nullptr || python.code_type == nullptr) return false;
  at_ = get_thread_list(*python.layout, python.runtime);
  runtime_ = reinterpret_cast<std::uint64_t>(python.runtime);
  ident_at_ = python.layout->thread.thread_id;
  frame_at_ = python.layout->thread.frame;
  bytes_ = (at_.tid == 0 ? ident_at_ : at_.tid) + sizeof(std::uint64_t);
  lists_[0].count = lists_[1].count = lists_[0].interpreter_count = lists_[1].interpreter_count = 0;
  memory_batch memory;
  tid_in_pthread_ = at_.tid == 0 ? find_tid_in_pthread(memory) : 0;
  return bytes_ <= state_bytes && (at_.tid != 0 || tid_in_pthread_ != 0);
}

bool thread_list::read_interpreter(memory_batch& memory, progress& old, interpreter& to) noexcept {
  const std::size_t i = old.next_interpreter;
  if (i < old.fresh_interpreters && old.old.interpreters[i].at == to.at) {
    to = old.old.interpreters[i];
    ++old.next_interpreter;
    return true;
  }
  return memory.read_one(to.at + at_.next_interpreter, &to.next, sizeof to.next) &&
         memory.read_one(to.at + at_.threads, &to.first, sizeof to.first);
}

bool thread_list::read_thread(memory_batch& memory, progress& old, thread& to) noexcept {
  for (std::size_t i = old.next_thread; i < old.fresh_threads; ++i) {
    if (old.old.threads[i].about.state != to.about.state) continue;
    std::memcpy(to.bytes, old.old.threads[i].bytes, bytes_);
    old.next_thread = i + 1;
    return true;
  }
  return memory.read_one(to.about.state, to.bytes, bytes_);
}

std::uint64_t thread_list::find_tid(memory_batch& memory, const thread& one, const list& old) const noexcept {
  if (at_.tid != 0) return read_at<std::uint64_t>(one.bytes, at_.tid);
  if (one.ident == 0) return 0;
  for (std::size_t i = 0; i < old.count; ++i) {
    const thread& known = old.threads[i];
    if (known.about.state == one.about.state && known.ident == one.ident) return known.about.tid;
  }
  std::uint32_t tid = 0;
  return memory.read_one(one.ident + tid_in_pthread_, &tid, sizeof tid) ? tid : 0;
}

void thread_list::walk(memory_batch& memory, std::uint64_t head, progress& old, list& to) noexcept {
  to.count = to.interpreter_count = 0;
  cut_ = false;
  for (std::uint64_t at = head; at != 0 && to.interpreter_count < max_interpreters;) {
    interpreter& whose = to.interpreters[to.interpreter_count++];
    whose.at = at;
    if (!read_interpreter(memory, old, whose)) return;
    for (std::uint64_t state = whose.first; state != 0; ++to.count) {
      cut_ = to.count == max_threads;
      if (cut_) return;
      thread& one = to.threads[to.count];
      one.about.state = state;
      // The check finds freed states, whose memory now holds something else.
      if (!read_thread(memory, old, one) || read_at<std::uint64_t>(one.bytes, at_.interpreter) != at) break;
      one.ident = read_at<std::uint64_t>(one.bytes, ident_at_);
      one.about.frame = read_at<std::uint64_t>(one.bytes, frame_at_);
      one.about.tid = find_tid(memory, one, old.old);
      state = read_at<std::uint64_t>(one.bytes, at_.next_thread);
    }
    at = whose.next;
  }
}

void thread_list::refresh(memory_batch& memory) noexcept {
  list& old = lists_[present_];
  std::uint64_t head = 0;
  memory.clear();
  memory.add(runtime_ + at_.interpreters, &head, sizeof head);
  for (std::size_t i = 0; i < old.interpreter_count; ++i) {
    interpreter& whose = old.interpreters[i];
    memory.add(whose.at + at_.next_interpreter, &whose.next, sizeof whose.next);
    memory.add(whose.at + at_.threads, &whose.first, sizeof whose.first);
  }
  for (std::size_t i = 0; i < old.count; ++i) memory.add(old.threads[i].about.state, old.threads[i].bytes, bytes_);
  const std::size_t parts = memory.read();
  if (parts == 0) return;
  progress done{old, (parts - 1) / 2, 0, 0, 0};
  if (done.fresh_interpreters >= old.interpreter_count) {
    done.fresh_interpreters = old.interpreter_count;
    done.fresh_threads = parts - 1 - 2 * old.interpreter_count;
  }
  walk(memory, head, done, lists_[1 - present_]);
  present_ = 1 - present_;
}

}  // namespace sluice::capture

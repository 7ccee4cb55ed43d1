#include "instrumentation/ring/producer.hpp"

#include <stdlib.h>
#include <sys/mman.h>

#include "instrumentation/ring/clock.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/process_identity.hpp"
#include "instrumentation/ring/producer_emit.hpp"
#include "instrumentation/ring/producer_losses.hpp"
#include "instrumentation/ring/producer_state.hpp"
#include "instrumentation/ring/record_classes.hpp"
#include "instrumentation/ring/ring_size.hpp"

namespace sluice::ring {

SLUICE_HOT_DATA constinit std::atomic<detail::phase> detail::current_phase{phase::off};
SLUICE_HOT_DATA constinit std::atomic<clock_kind> detail::current_clock{clock_kind::tsc};

namespace {

using namespace detail;

/// The epoch that `emit` reads before the first `start`. It is always 0.
constinit std::atomic<std::uint32_t> no_connection{0};

}  // namespace

SLUICE_HOT_DATA constinit std::atomic<std::atomic<std::uint32_t>*> detail::epoch_in_force{&no_connection};
SLUICE_THREAD_LOCAL detail::thread_state detail::this_thread;

namespace {

SLUICE_HOT_DATA constinit fork_wiped_state* region = nullptr;
constinit std::atomic<bool> environment_refused{false};  // `start` from the environment is tried only once.
constinit std::atomic<std::uint32_t> last_epoch{0};
constinit std::atomic<std::uint32_t> lineage{0};
constinit connection destination;  // Guarded by the region's lock.
constinit ring_slot slots[maximum_rings];
constinit std::atomic<std::size_t> slots_used{0};  // Slots from this index on were never used.
constinit pthread_key_t exit_key = 0;
constinit std::atomic<no_ring_reason> last_reason{no_ring_reason::refused};
constinit void* account_view = nullptr;  // Guarded by the region's lock.

// ------------------------------------------------------------------------------------------------- the process's state

void forget_everything() {
  if (region == nullptr) return;
  std::memset(static_cast<void*>(region), 0, sizeof *region);
}

void end_thread(void*) noexcept;

/// Initializes the process's state once. Concurrent first calls wait on a separate lock.
bool prepare_process() noexcept {
  static constinit pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&once);
  bool ready = region != nullptr;
  if (!ready) {
    void* memory = mmap(nullptr, sizeof(fork_wiped_state), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED && pthread_key_create(&exit_key, end_thread) == 0) {
      region = static_cast<fork_wiped_state*>(memory);  // Zero bytes are its initial state.
      // Linux before 4.14 cannot wipe on fork. There, a fork handler clears the region, but not after a raw clone.
      if (madvise(memory, sizeof(fork_wiped_state), MADV_WIPEONFORK) != 0)
        pthread_atfork(nullptr, nullptr, forget_everything);
      epoch_in_force.store(&region->epoch, std::memory_order_release);
      ready = true;
    }
  }
  pthread_mutex_unlock(&once);
  return ready;
}

std::uint32_t next_epoch() noexcept {
  std::uint32_t epoch = 0;
  do {
    epoch = last_epoch.fetch_add(1, std::memory_order_relaxed) + 1;
  } while (epoch == 0 || epoch == thread_state::no_epoch || epoch == thread_state::in_emit);
  return epoch;
}

/// In a new child: drops the parent's rings and begins a new epoch. Call with `lock` held.
void begin_as_child(const region_lock&) noexcept {
  if (region->epoch.load(std::memory_order_relaxed) != 0 ||
      current_phase.load(std::memory_order_relaxed) != phase::active) {
    return;
  }
  const std::size_t used = slots_used.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < used; ++i) {
    if (slots[i].mapped_bytes != 0) unmap_ring(slots[i]);
    slots[i].state.store(slot_state::empty, std::memory_order_relaxed);
  }
  lineage.fetch_add(1, std::memory_order_relaxed);
  region->epoch.store(next_epoch(), std::memory_order_release);
}

/// Ends the connection `epoch`, unless a newer connection has replaced it.
void deactivate(std::uint32_t epoch) noexcept {
  const region_lock lock(*region);
  if (region->epoch.load(std::memory_order_relaxed) != epoch) return;
  current_phase.store(phase::off, std::memory_order_relaxed);
  region->epoch.store(0, std::memory_order_release);
}

// --------------------------------------------------------------------------------------------------- a thread's ring

bool change(ring_slot& slot, slot_state state, slot_state to) noexcept {
  return slot.state.load(std::memory_order_relaxed) == state &&
         slot.state.compare_exchange_strong(state, to, std::memory_order_acquire);
}

/// Frees the memory of a ring whose connection has ended. `slot` must be `changing`.
void discard(ring_slot& slot) noexcept {
  const region_lock lock(*region);  // `stop` reads rings that it does not own.
  if (slot.mapped_bytes != 0) unmap_ring(slot);
  slot.state.store(slot_state::empty, std::memory_order_release);
}

/// Takes a ring whose thread has ended; returns null if there is none. O(rings ever made).
ring_slot* take_idle_ring(std::uint32_t epoch) noexcept {
  const std::size_t used = slots_used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    if (!change(slots[i], slot_state::idle, slot_state::changing)) continue;
    if (slots[i].epoch.load(std::memory_order_relaxed) == epoch) {
      slots[i].state.store(slot_state::owned, std::memory_order_relaxed);
      return &slots[i];
    }
    discard(slots[i]);
  }
  return nullptr;
}

ring_slot* take_empty_slot() noexcept {
  for (std::size_t i = 0; i < maximum_rings; ++i) {
    if (!change(slots[i], slot_state::empty, slot_state::changing)) continue;
    std::size_t used = slots_used.load(std::memory_order_relaxed);
    while (used < i + 1 && !slots_used.compare_exchange_weak(used, i + 1, std::memory_order_release)) {
    }
    return &slots[i];
  }
  return nullptr;
}

/// If no ring counts losses of threads without a ring yet, makes `slot`'s ring do so, and adds their earlier losses.
void keep_account(const ring_slot& slot, const connection& to) noexcept {
  {
    const region_lock lock(*region);
    if (region->account.load(std::memory_order_relaxed) == nullptr) {
      void* view = view_account(slot.ring.header(), account_view);
      if (view == nullptr) return;
      account_view = view;
      region->account.store(static_cast<ring_header*>(view), std::memory_order_release);
    }
  }
  ring_header& account = *region->account.load(std::memory_order_relaxed);
  const std::uint64_t events = region->ringless_events.exchange(0, std::memory_order_relaxed);
  account.ringless_memory_events.fetch_add(region->ringless_memory_events.exchange(0, std::memory_order_relaxed),
                                           std::memory_order_relaxed);
  account.ringless_events.fetch_add(events, std::memory_order_release);
  if (events != 0) take_note_back(to);
}

/// Leaves a note about a ring that could not be made, unless a ring of this process already counts such losses.
void say_why(const connection& to, no_ring_reason why) noexcept {
  if (region->account.load(std::memory_order_acquire) != nullptr) return;
  last_reason.store(why, std::memory_order_relaxed);
  leave_note(to, why, region->ringless_events.load(std::memory_order_relaxed),
             region->ringless_memory_events.load(std::memory_order_relaxed));
}

connection destination_now() noexcept {
  const region_lock lock(*region);
  return destination;
}

/// Writes the final loss note if no ring counts the losses. Before that, the note is rewritten only occasionally.
void leave_last_note() noexcept {
  if (region->ringless_events.load(std::memory_order_relaxed) == 0) return;
  const signals_held hold;
  say_why(destination_now(), last_reason.load(std::memory_order_relaxed));
}

/// Runs in a program that ends without `stop`. Its rings are not marked as closed, but the writer sees that the process
/// has ended.
[[gnu::destructor]] void leave_last_note_at_exit() noexcept {
  if (active()) leave_last_note();
}

/// Takes or makes a ring; returns null if that fails. Sets `epoch` to the connection to which the ring belongs.
ring_slot* take_ring(std::uint32_t& epoch) noexcept {
  connection to;
  {
    const region_lock lock(*region);
    begin_as_child(lock);
    epoch = region->epoch.load(std::memory_order_relaxed);
    to = destination;
  }
  if (epoch == 0) return nullptr;
  if (ring_slot* left = take_idle_ring(epoch)) return left;
  ring_slot* slot = take_empty_slot();
  if (slot == nullptr) {
    say_why(to, no_ring_reason::slots);
    return nullptr;
  }
  no_ring_reason why{};
  const ring_made output = make_ring(*slot, to, why);
  if (output != ring_made::yes) {
    slot->state.store(slot_state::empty, std::memory_order_release);
    say_why(to, why);
    if (output == ring_made::writer_gone) deactivate(epoch);
    return nullptr;
  }
  keep_account(*slot, to);
  slot->epoch.store(epoch, std::memory_order_relaxed);
  slot->state.store(slot_state::owned, std::memory_order_release);
  return slot;
}

void let_go_of_old_ring(thread_state& self) noexcept {
  // After a fork, the slot is not ours, because its memory is unmapped and another thread may use it.
  const bool ours = self.slot != nullptr && self.lineage == lineage.load(std::memory_order_relaxed);
  if (ours) {
    self.slot->state.store(slot_state::changing, std::memory_order_relaxed);
    discard(*self.slot);
  }
  self.slot = nullptr;
  self.epoch = thread_state::no_epoch;
}

/// The calling thread's ring, with the thread introduced to the reader; null if there is none.
ring_slot* ring_of_this_thread(thread_state& self) noexcept {
  const std::uint32_t in_force = region->epoch.load(std::memory_order_acquire);
  if (self.slot == nullptr || in_force == 0 || self.slot->epoch.load(std::memory_order_relaxed) != in_force ||
      self.lineage != lineage.load(std::memory_order_relaxed)) {
    if (self.wait != 0) {
      --self.wait;
      return nullptr;
    }
    // After a fork, begin_as_child must run first, because only then is it known whether the slot is ours.
    std::uint32_t epoch = 0;
    {
      const region_lock lock(*region);
      begin_as_child(lock);
    }
    let_go_of_old_ring(self);
    self.slot = take_ring(epoch);
    self.lineage = lineage.load(std::memory_order_relaxed);
    if (self.slot == nullptr) {
      constexpr std::uint32_t records_between_attempts = 1024;
      self.wait = records_between_attempts;
      return nullptr;
    }
    pthread_setspecific(exit_key, self.slot);
  }
  if (!introduce_thread(*self.slot)) return nullptr;
  self.epoch = self.slot->epoch.load(std::memory_order_relaxed);
  return self.slot;
}

/// Destructor of thread-specific data: leaves the ring for another thread. Later destructors may still emit.
void end_thread(void*) noexcept {
  thread_state& self = this_thread;
  const errno_keeper keep_errno;
  const signals_held hold;
  self.ended = true;
  if (self.slot == nullptr) return;
  const bool current =
      self.lineage == lineage.load(std::memory_order_relaxed) &&
      self.slot->epoch.load(std::memory_order_relaxed) == region->epoch.load(std::memory_order_acquire);
  if (!current) {
    if (region->epoch.load(std::memory_order_relaxed) != 0 ||
        current_phase.load(std::memory_order_relaxed) == phase::off) {
      let_go_of_old_ring(self);
    }
  } else {
    introduce_thread(*self.slot);  // Its name may have changed.
    self.slot->state.store(slot_state::idle, std::memory_order_release);
  }
  self.slot = nullptr;
  self.epoch = thread_state::no_epoch;
}

// ------------------------------------------------------------------------------------------------------------- emit

/// Wakes the writer, or finds out that it is gone.
SLUICE_RARE void call_writer(const ring_slot& slot) noexcept {
  const errno_keeper keep_errno;
  const signals_held hold;
  const bool gone =
      slot.ring.header()->writer_gone.load(std::memory_order_relaxed) != 0 || !wake_writer(destination_now());
  if (gone) deactivate(slot.epoch.load(std::memory_order_relaxed));
}

/// Called when a record was dropped. Checks occasionally whether the writer still exists.
SLUICE_RARE void after_drop(const ring_slot& slot) noexcept {
  const std::uint64_t lost = slot.ring.unreported_loss();
  const bool time_to_ask = lost >= 64 && (lost & (lost - 1)) == 0;
  const bool gone = slot.ring.header()->writer_gone.load(std::memory_order_relaxed) != 0;
  if (gone || time_to_ask) call_writer(slot);
}

SLUICE_RARE bool put_slowly(ring_slot& slot, const outgoing& out) noexcept {
  const bool written = slot.ring.put_slowly(out.record, out.type, out.bytes, out.extra, out.extra_bytes);
  if (!written) {
    after_drop(slot);
  } else if (slot.ring.wants_reader()) {
    call_writer(slot);
  }
  return written;
}

SLUICE_INLINE bool put_simply(ring_producer& ring, const outgoing& out) noexcept {
  return ring.put_simply(out.record, out.type, out.bytes, out.extra, out.extra_bytes);
}

bool put(ring_slot& slot, const outgoing& out) noexcept { return put_simply(slot.ring, out) || put_slowly(slot, out); }

void count_ringless(record_type type) noexcept {
  ring_header* account = region->account.load(std::memory_order_acquire);
  if (is_memory_event(type)) {
    (account != nullptr ? account->ringless_memory_events : region->ringless_memory_events)
        .fetch_add(1, std::memory_order_relaxed);
  }
  (account != nullptr ? account->ringless_events : region->ringless_events).fetch_add(1, std::memory_order_release);
}

/// For a thread whose thread-local state has already been destroyed: borrows a ring for one record.
bool emit_after_end(const outgoing& out) noexcept {
  std::uint32_t epoch = 0;
  ring_slot* slot = take_ring(epoch);
  const bool introduced = slot != nullptr && introduce_thread(*slot);
  if (!introduced) count_ringless(out.type);
  if (slot == nullptr) return false;
  const bool written = introduced && put(*slot, out);
  slot->state.store(slot_state::idle, std::memory_order_release);
  return written;
}

}  // namespace

bool detail::finish_slowly(std::uint32_t in_force, const outgoing& out) noexcept {
  const bool written = put_slowly(*this_thread.slot, out);
  end_emit(in_force);
  return written;
}

bool detail::emit_slowly(const outgoing& out) noexcept {
  if (current_phase.load(std::memory_order_acquire) != phase::active) return false;
  thread_state& self = this_thread;
  if (self.epoch == thread_state::in_emit) {  // A signal handler interrupted `emit`: the ring is inconsistent now.
    count_ringless(out.type);
    return false;
  }
  const errno_keeper keep_errno;
  const signals_held hold;
  if (self.ended) return emit_after_end(out);
  ring_slot* slot = ring_of_this_thread(self);
  if (slot == nullptr) {
    if (current_phase.load(std::memory_order_relaxed) == phase::active) count_ringless(out.type);
    return false;
  }
  return put(*slot, out);
}

namespace {

SLUICE_INLINE bool emit_out(const outgoing& out) noexcept {
  std::uint32_t in_force = 0;
  if (!begin_emit(in_force)) [[unlikely]]
    return emit_slowly(out);
  if (!put_simply(this_thread.slot->ring, out)) [[unlikely]]
    return finish_slowly(in_force, out);
  end_emit(in_force);
  return true;
}

void choose_clock(clock_kind wanted) noexcept {
  const bool no_tsc = wanted == clock_kind::tsc && !tsc_usable();
  destination.clock = no_tsc ? clock_kind::monotonic_ns : wanted;
  current_clock.store(destination.clock, std::memory_order_relaxed);
}

/// Marks the rings of the current connection as finished. Call with `lock` held.
void say_goodbye(const region_lock&) noexcept {
  const std::uint32_t epoch = region->epoch.load(std::memory_order_relaxed);
  current_phase.store(phase::off, std::memory_order_relaxed);
  region->epoch.store(0, std::memory_order_release);
  if (epoch == 0) return;  // A child that never emitted: the rings are its parent's.
  const std::size_t used = slots_used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    ring_slot& slot = slots[i];
    const slot_state state = slot.state.load(std::memory_order_acquire);
    const bool whole = state == slot_state::owned || state == slot_state::idle;
    if (!whole || slot.epoch.load(std::memory_order_relaxed) != epoch) continue;
    slot.ring.header()->closed.store(1, std::memory_order_release);
    if (change(slot, slot_state::idle, slot_state::changing)) {
      unmap_ring(slot);
      slot.state.store(slot_state::empty, std::memory_order_release);
    }
  }
}

}  // namespace

bool start(const producer_options& options) {
  if (current_phase.load(std::memory_order_acquire) == phase::active) return true;
  if (environment_refused.load(std::memory_order_relaxed)) return false;
  const char* name = getenv(socket_variable);
  const bool started = name != nullptr && start(name, options);
  if (!started) environment_refused.store(true, std::memory_order_relaxed);
  return started;
}

bool start(const char* socket_name, const producer_options& options) {
  const errno_keeper keep_errno;
  connection to;
  if (socket_name == nullptr || !parse_writer_address(socket_name, to.to) || !prepare_process()) return false;
  {
    const signals_held hold;
    const region_lock lock(*region);
    if (current_phase.load(std::memory_order_relaxed) == phase::active) say_goodbye(lock);
    const char* asked = getenv("SLUICE_RING_BYTES");
    to.ring_bytes = sensible_ring_bytes(number_or(asked, options.ring_bytes));
    to.rank = rank_from_environment();
    destination = to;
    choose_clock(options.clock);
    for (auto& text : region->texts) text.store(0, std::memory_order_relaxed);
    for (auto& stack : region->stacks) {
      // Most entries were never used; reading them allocates no memory.
      if (stack.load(std::memory_order_relaxed) != 0) stack.store(0, std::memory_order_relaxed);
    }
    region->ringless_events.store(0, std::memory_order_relaxed);
    region->ringless_memory_events.store(0, std::memory_order_relaxed);
    region->account.store(nullptr, std::memory_order_relaxed);
    current_phase.store(phase::active, std::memory_order_relaxed);
    region->epoch.store(next_epoch(), std::memory_order_release);
  }
  const signals_held hold;
  this_thread.wait = 0;
  if (!this_thread.ended) (void)ring_of_this_thread(this_thread);
  return active();
}

std::uint64_t lost_memory_events() noexcept {
  if (!active()) return 0;
  const signals_held hold;
  const region_lock lock(*region);  // Rings are unmapped under this lock.
  const std::uint32_t epoch = region->epoch.load(std::memory_order_relaxed);
  std::uint64_t lost = region->ringless_memory_events.load(std::memory_order_relaxed);
  const ring_header* account = region->account.load(std::memory_order_acquire);
  if (account != nullptr) lost += account->ringless_memory_events.load(std::memory_order_relaxed);
  const std::size_t used = slots_used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    const slot_state state = slots[i].state.load(std::memory_order_acquire);
    const bool whole = state == slot_state::owned || state == slot_state::idle;
    if (!whole || epoch == 0 || slots[i].epoch.load(std::memory_order_relaxed) != epoch) continue;
    lost += slots[i].ring.header()->lost_memory_events.load(std::memory_order_relaxed);
  }
  return lost;
}

void stop() noexcept {
  if (!active()) return;
  const errno_keeper keep_errno;
  const signals_held hold;
  {
    const region_lock lock(*region);
    say_goodbye(lock);
  }
  leave_last_note();
}

std::uint64_t monotonic_now() noexcept { return read_clock(CLOCK_MONOTONIC); }

SLUICE_HOT bool emit_bytes(record_header* record, record_type type, std::size_t bytes) noexcept {
  return emit_out({record, type, bytes, nullptr, 0});
}

SLUICE_HOT bool emit_with(record_header* record, record_type type, std::size_t bytes, const std::uint64_t* extra,
                          std::size_t words) noexcept {
  return emit_out({record, type, bytes, extra, words * sizeof *extra});
}

std::uint64_t introduce_pool_stream(pool_stream_record pool_stream) noexcept {
  pool_stream.key = pool_stream_key(pool_stream);
  // The record is not sent if it might be dropped. A dropped record would be another loss, and its blocks can use full
  // records instead.
  return has_room(sizeof pool_stream) && emit(pool_stream) ? pool_stream.key : 0;
}

bool has_ring() noexcept {
  return this_thread.epoch == epoch_in_force.load(std::memory_order_relaxed)->load(std::memory_order_relaxed);
}

bool has_room(std::size_t bytes) noexcept { return !has_ring() || this_thread.slot->ring.fits(bytes); }

std::uint64_t intern(const char* text) noexcept { return text == nullptr ? 0 : intern(text, strlen(text)); }

std::uint64_t intern(const char* text, std::size_t length) noexcept {
  if (text == nullptr || length == 0) return 0;
  if (length > maximum_text_bytes) length = maximum_text_bytes;
  const std::uint64_t key = hash_text(text, length);
  if (!active()) return key;
  // In a new child the table is empty, so texts are sent again.
  std::atomic<std::uint64_t>* place = get_place(region->texts, key);
  if (place != nullptr && place->load(std::memory_order_relaxed) == key) return key;
  string_record introduction{};
  introduction.header.time = now();
  introduction.key = key;
  introduction.length = length;
  const bool sent = emit_out({&introduction.header, record_type::string, sizeof introduction, text, length});
  if (sent) note_sent(place, key);
  return key;
}

namespace {

void send_stack(std::atomic<std::uint64_t>* place, std::uint64_t key, const std::uint64_t* frames, std::size_t count,
                std::uint64_t base) noexcept {
  stack_record introduction{};
  introduction.header.time = now();
  introduction.key = key;
  introduction.count = count;
  introduction.base = base;
  if (emit_with(&introduction.header, record_type::stack, sizeof introduction, frames, count)) note_sent(place, key);
}

}  // namespace

std::uint64_t intern_stack(const std::uint64_t* frames, std::size_t count) noexcept {
  return intern_stack_on(frames, count, 0);
}

std::uint64_t intern_stack_on(const std::uint64_t* frames, std::size_t count, std::uint64_t base) noexcept {
  if (count == 0 || !active()) return 0;
  if (count > maximum_frames) count = maximum_frames;
  const std::uint64_t key = stack_key(frames, count, base);
  std::atomic<std::uint64_t>* place = get_place(region->stacks, key);
  if (place != nullptr && place->load(std::memory_order_relaxed) == key) return key;
  send_stack(place, key, frames, count, base);
  return key;
}

std::uint64_t introduce_stack(std::uint64_t key, const std::uint64_t* frames, std::size_t count) noexcept {
  if (count == 0 || !active()) return 0;
  send_stack(get_place(region->stacks, key), key, frames, count, 0);
  return key;
}

SLUICE_RARE bool knows_elsewhere(std::uint64_t key) noexcept {
  if (!active()) return true;
  const std::atomic<std::uint64_t>* place = get_place(region->stacks, key);
  return place != nullptr && place->load(std::memory_order_relaxed) == key;
}

SLUICE_HOT bool knows_frame(std::uint64_t key) noexcept {
  // Nearly all keys are found at the first probe.
  const bool known = region != nullptr && region->stacks[key % stack_slots].load(std::memory_order_relaxed) == key;
  return known || knows_elsewhere(key);
}

SLUICE_HOT void expect_event() noexcept {
  const thread_state& self = this_thread;
  const std::uint32_t in_force = epoch_in_force.load(std::memory_order_relaxed)->load(std::memory_order_relaxed);
  if (self.epoch == in_force) self.slot->ring.expect_record();
}

void introduce_frame(frame_record frame) noexcept {
  if (emit(frame)) note_sent(get_place(region->stacks, frame.key), frame.key);
}

bool introduce_module(module_record module, std::uint64_t round) noexcept {
  if (!active()) return true;
  constexpr std::size_t words = (sizeof module - sizeof module.header) / sizeof(std::uint64_t);
  std::uint64_t content[words];
  memcpy(content, reinterpret_cast<const char*>(&module) + sizeof module.header, sizeof content);
  const std::uint64_t key = hash_words(content, words, ~round);
  std::atomic<std::uint64_t>* place = get_place(region->stacks, key);
  if (place != nullptr && place->load(std::memory_order_relaxed) == key) return true;
  const bool sent = emit(module);
  if (sent) note_sent(place, key);
  return sent;
}

void message(unsigned level, const char* text) noexcept {
  message_record said{};
  said.header.time = now();
  said.severity = level;
  said.text = intern(text);
  emit(said);
}

}  // namespace sluice::ring
